"""Quotas never give more than they have, whatever is under way at once: bindings, creates, deletions, counts.

Requests are planned on durable state while others wait for the journal, as in production, and are planned again when the
store says so. After every append the pods that are bound, and the quota's own number, are within the limit.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.plan import AGAIN, Plan
from fairlead.core.errors import ApiError
from fairlead.model.key import Key
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.store.events import Append, Appended, Flush, Resolve, Submitted
from tests.inprocess import InProcess
from tests.unit.api.test_quotas import PLACEMENT, QUOTAS, placement, quota
from tests.unit.api.things import PODS, made, pod

LIMIT, PODS_MADE = 3, 8
GROUP = "fairlead.dev"


class Journalling(InProcess):
    """Appends when told."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[int, tuple[Request, Plan]] = {}
        self.answers: list[int] = []
        self.appending: Any = None
        self._tickets = 1_000_000

    def begin(self, request: Request) -> None:
        try:
            self._go_on(request, self.api.plan(request, self.context()))
        except ApiError as error:
            self.answers.append(error.status)

    def _go_on(self, request: Request, step: Any) -> None:
        if step is AGAIN:
            self.begin(request)
        elif isinstance(step, Plan):
            self._tickets += 1
            self.waiting[self._tickets] = request, step
            self._do(self.store.handle(Submitted(self._tickets, step.transaction)))
        else:
            assert isinstance(step, Reply)
            self.answers.append(step.status)

    def flush(self) -> None:
        self._do(self.store.handle(Flush(self.now)))

    def append(self) -> None:
        if self.appending is not None:
            batch, self.appending = self.appending, None
            self.journal.append(batch)
            self._do(self.store.handle(Appended()))

    def _do(self, instructions: Any) -> None:
        resolved = []
        for instruction in instructions:
            if isinstance(instruction, Append):
                self.appending = instruction.batch
            elif isinstance(instruction, Resolve):
                resolved.append(instruction)
        for each in resolved:
            request, plan = self.waiting.pop(each.ticket)
            try:
                self._go_on(request, plan.finish(each.outcome))
            except ApiError as error:
                self.answers.append(error.status)


def binding(name: str) -> Request:
    body = json.dumps({"target": {"name": "node-1"}}).encode()
    return Request(
        verb="create",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name=name,
        subresource="binding",
        query={},
        body=body,
        content_type="application/json",
    )


def creation(name: str) -> Request:
    return Request(verb="create", group="", version="v1", plural="pods", namespace="default", name="", subresource="", query={}, body=json.dumps(pod(name)).encode(), content_type="application/json")  # fmt: skip


def deletion(name: str) -> Request:
    return Request(
        verb="delete",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name=name,
        subresource="",
        query={"gracePeriodSeconds": "0"},
    )


def count(group: str, resource: str) -> Request:
    body = b'{"status":{"used":{"pods":"0"}}}'
    return Request(
        verb="patch",
        group=group,
        version="v1",
        plural=resource,
        namespace="default",
        name="q",
        subresource="status",
        query={},
        body=body,
        content_type=MERGE_PATCH,
    )


def limited(limit: int) -> Request:
    body = json.dumps({"spec": {"hard": {"pods": str(limit)}}}).encode()
    return Request(
        verb="patch",
        group=GROUP,
        version="v1",
        plural="placementquotas",
        namespace="default",
        name="q",
        subresource="",
        query={},
        body=body,
        content_type=MERGE_PATCH,
    )


numbers = st.integers(0, PODS_MADE - 1)
pauses = st.sampled_from(["flush", "append"])
placing = st.one_of(
    st.tuples(st.just("bind"), numbers),
    st.tuples(st.just("bind"), numbers),
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("count"), st.just(0)),
    st.tuples(st.just("label"), st.just(0)),
    st.tuples(pauses, st.just(0)),
    st.tuples(pauses, st.just(0)),
)


def taken(plane: InProcess) -> int:
    return sum(b'"nodeName"' in entry.data for entry in plane.store.list("pods", "default"))


def told(plane: InProcess, resource: str) -> int:
    entry = plane.store.get(Key(resource, "default", "q"))
    assert entry is not None
    return int((json.loads(entry.data).get("status") or {}).get("used", {}).get("pods", "0"))


@given(st.lists(placing, max_size=60), st.integers(0, 10))
def test_bindings_at_once_never_exceed_a_placement_quota(steps: list[tuple[str, int]], begin: int) -> None:
    plane = Journalling()
    for number in range(PODS_MADE):
        made(plane, PODS, pod(f"p{number}"))
    created = False
    for number, (what, which) in enumerate(steps):
        if number == begin:
            made_quota = Request(
                verb="create", group=GROUP, version="v1", plural="placementquotas", namespace="default",
                name="", subresource="", query={}, body=json.dumps(placement(pods=str(LIMIT))).encode(),
                content_type="application/json",
            )  # fmt: skip
            plane.begin(made_quota)
            created = True
        if what == "bind":
            plane.begin(binding(f"p{which}"))
        elif what == "delete":
            plane.begin(deletion(f"p{which}"))
        elif what == "count":
            plane.begin(count(GROUP, "placementquotas"))
        elif what == "flush":
            plane.flush()
        elif what == "append":
            before = taken(plane)
            plane.append()
            entry = plane.store.get(Key("placementquotas.fairlead.dev", "default", "q"))
            if created and entry is not None:
                assert taken(plane) <= max(LIMIT, before), "more is bound than the quota has"
                if b'"status"' in entry.data:
                    assert taken(plane) <= told(plane, "placementquotas.fairlead.dev"), "a binding was missed"
    while plane.waiting:
        plane.flush()
        plane.append()


@given(st.lists(st.tuples(st.sampled_from(["create", "create", "delete", "count", "flush", "append"]), numbers), max_size=60))  # fmt: skip
def test_creates_at_once_never_exceed_a_resource_quota(steps: list[tuple[str, int]]) -> None:
    plane = Journalling()
    made(plane, QUOTAS, quota(hard={"pods": str(LIMIT)}))
    for what, which in steps:
        if what == "create":
            plane.begin(creation(f"p{which}"))
        elif what == "delete":
            plane.begin(deletion(f"p{which}"))
        elif what == "count":
            plane.begin(count("", "resourcequotas"))
        elif what == "flush":
            plane.flush()
        else:
            plane.append()
            there = len(plane.store.list("pods", "default"))
            assert there <= LIMIT
            assert not there or there <= told(plane, "resourcequotas")
    while plane.waiting:
        plane.flush()
        plane.append()


def test_many_bindings_at_once_go_through_in_one_append() -> None:
    """The newest version is charged, not the durable one: nobody waits for the disk to charge."""
    plane = Journalling()
    for number in range(PODS_MADE):
        made(plane, PODS, pod(f"p{number}"))
    made(plane, PLACEMENT, placement(pods="100"))
    appends = plane.store.appends
    for number in range(PODS_MADE):
        plane.begin(binding(f"p{number}"))
    plane.flush()
    plane.append()
    assert plane.answers == [201] * PODS_MADE
    assert plane.store.appends == appends + 1
    assert told(plane, "placementquotas.fairlead.dev") == PODS_MADE
