"""Evictions under any order of trouble: pods that go down, a budget's controller that is slow or dead, evictions at
the same instant, budgets that change.

However it comes, an eviction of a pod that works leaves at least as many that work as the budget asks for.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.control.requests import request_of
from fairlead.decision.effects import Effect
from fairlead.model.key import Key
from fairlead.model.views import BUDGETS, PODS, Pod
from fairlead.reconcile.disruption_budget import budget_decider
from tests.inprocess import InProcess
from tests.unit.reconcile.mirrors import Mirrors

POD, BUDGET = "/api/v1/namespaces/default/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
KEY = Key("poddisruptionbudgets.policy", "default", "web")
DECIDER = budget_decider()
LABELS = {"app": "web"}
PODS_MAX = 5

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["up", "down", "evict", "make", "stop"]), st.integers(0, PODS_MAX - 1)),
        st.tuples(st.just("evict both"), st.integers(0, PODS_MAX * PODS_MAX - 1)),
        st.tuples(st.sampled_from(["compute", "write"]), st.just(0)),
        st.tuples(st.just("needs"), st.integers(0, 4)),
    ),
    max_size=40,
)


class Story:
    """Pods under one budget. The controller computes in one step and writes in another, or never."""

    def __init__(self, needed: int) -> None:
        self.plane = InProcess()
        self.mirrors = Mirrors(self.plane)
        self.needed = needed
        self.computed: tuple[Effect, ...] = ()
        self.evicted = 0
        for number in range(PODS_MAX):
            self.step("make", number)
        spec = {"minAvailable": needed, "selector": {"matchLabels": LABELS}}
        assert self.plane.post(BUDGET, {"metadata": {"name": "web"}, "spec": spec})[0] == 201
        self.step("compute", 0)
        self.step("write", 0)

    @property
    def working(self) -> list[Pod]:
        return [pod for pod in self.mirrors.view(PODS).list(PODS, "default") if pod.ready and pod.live]

    def step(self, what: str, number: int) -> None:
        path = f"{POD}/web-{number}"
        if what == "make":
            spec = {"nodeName": "n", "containers": [{"name": "main", "image": "a"}]}
            made = self.plane.post(
                POD, {"metadata": {"name": f"web-{number}", "labels": LABELS}, "spec": spec}
            )
            if made[0] == 201:
                self.step("up", number)
        elif what in ("up", "down"):
            ready = [{"type": "Ready", "status": "True" if what == "up" else "False"}]
            self.plane.patch(f"{path}/status", {"status": {"phase": "Running", "conditions": ready}})
        elif what == "stop":
            if "deletionTimestamp" in self.plane.get(path)[1].get("metadata", {}):
                self.plane.delete(path, {"gracePeriodSeconds": 0})
        elif what == "needs":
            self.needed = number
            self.plane.patch(f"{BUDGET}/web", {"spec": {"minAvailable": number}})
        elif what == "compute":
            view = self.mirrors.view(*DECIDER.reads)
            self.computed = DECIDER.decide(view, KEY, self.plane.now).effects
        elif what == "write":
            for effect in self.computed:
                self.plane.send(request_of(effect))  # refused if the budget has changed since
            self.computed = ()
        elif what == "evict":
            self.evict(number)
        else:
            self.evict_both(number % PODS_MAX, number // PODS_MAX)

    def evict(self, number: int) -> None:
        pod = self.mirrors.view(PODS).get(PODS, "default", f"web-{number}")
        did_work = pod is not None and pod.ready and pod.live
        status, _ = self.plane.post(f"{POD}/web-{number}/eviction", {})
        if status == 201 and did_work:
            self.evicted += 1
            assert len(self.working) >= self.needed, "evicted below what is needed"

    def evict_both(self, first: int, second: int) -> None:
        """The second comes in between the first one's judgement and its commit."""
        commit = self.plane.commit

        def meanwhile(transaction: Any) -> Any:
            self.plane.commit = commit  # type: ignore[method-assign]
            self.evict(second)
            return commit(transaction)

        self.plane.commit = meanwhile  # type: ignore[method-assign]
        self.evict(first)
        self.plane.commit = commit  # type: ignore[method-assign]


@settings(max_examples=60, deadline=None)
@given(needed=st.integers(0, 4), steps=STEPS)
def test_no_eviction_leaves_fewer_working_pods_than_the_budget_asks_for(
    needed: int, steps: list[tuple[str, int]]
) -> None:
    story = Story(needed)
    for what, number in steps:
        story.step(what, number)
    budget = story.mirrors.view(BUDGETS).get(BUDGETS, "default", "web")
    assert budget is not None
    assert budget.status.disruptions_allowed >= 0


def test_what_a_budget_allows_can_be_spent_and_no_more() -> None:
    story = Story(needed=3)
    for number in range(PODS_MAX):
        story.evict(number)
    assert (story.evicted, len(story.working)) == (2, 3)
