"""The checkers of processes and of silence let what is right pass and tell a fabricated violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.model.at_most_one import ACCEPTED, DEADLINE, accepted_message
from fairlead.model.marks import AT_MOST_ONE, NODE_LEASES, RELEASED, SUSPECT, UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.sim.checkers.contract import Checker, Observed
from fairlead.sim.checkers.roster import process_checkers
from fairlead.sim.checkers.silence import SilenceIsReal
from fairlead.sim.processes import runs as causes
from fairlead.sim.processes.runs import ProcessRun, RunLog
from fairlead.sim.violation import Violation
from tests.sim.checkers.story import Story

Json = dict[str, Any]
LEASES = "leases.coordination.k8s.io"
POLICIES = "evidencepolicies.fairlead.dev"


class Tale(Story):
    """Commits and runs before the eyes of these checkers."""

    def __init__(self) -> None:
        super().__init__()
        told = process_checkers()
        checkers: tuple[Checker, ...] = (*told, SilenceIsReal())
        self.observed, self.log = Observed(checkers), RunLog(told)
        spec = rows.default_spec()
        self.commit(POLICIES, {"metadata": {"name": "default"}, "spec": spec}, namespace="")
        for name in ("a", "b"):
            self.node(name)
            self.renew(name)

    def node(self, name: str, *taints: str) -> None:
        spec = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
        self.commit("nodes", {"metadata": {"name": name}, "spec": spec}, namespace="")

    def renew(self, name: str) -> None:
        lease = {"metadata": {"name": name}, "spec": {"leaseDurationSeconds": 40}}
        self.commit(LEASES, lease, namespace=NODE_LEASES)

    def pod(
        self,
        name: str,
        node: str = "a",
        kind: str = "ReplicaSet",
        uid: str = "",
        one: str = "true",
        **more: Any,
    ) -> None:
        reference = {"kind": kind, "name": "set", "uid": "set", "controller": True}
        meta = {
            "name": name,
            "uid": uid or name,
            "ownerReferences": [reference],
            "annotations": {AT_MOST_ONE: one},
        }
        self.commit("pods", {"metadata": meta, "spec": {"nodeName": node}, "status": more})

    def runs(self, name: str, node: str = "a", attempt: int = 0) -> ProcessRun:
        run = ProcessRun(
            uid=name,
            namespace="default",
            name=name,
            container="main",
            attempt=attempt,
            node=node,
            since_ms=int(self.seconds * 1000),
        )
        self.log.began(run)
        return run

    def ends(self, run: ProcessRun, cause: str = "") -> None:
        self.log.ended(run, int(self.seconds * 1000), cause)


def said(attempt: int) -> Json:
    return {"containerStatuses": [{"name": "main", "restartCount": attempt, "state": {"running": {}}}]}


def two_of_a_set_of_one(tale: Tale) -> None:
    tale.commit("replicasets.apps", {"metadata": {"name": "set", "uid": "set"}, "spec": {"replicas": 1}})
    tale.pod("p")
    tale.pod("q", "b")
    tale.runs("p")
    tale.runs("q", "b")


def two_of_one_name(tale: Tale) -> None:
    tale.pod("db-0", kind="StatefulSet", uid="old")
    tale.runs("old")
    tale.pod("db-0", "b", kind="StatefulSet", uid="new")
    tale.runs("new", "b")


def an_attempt_run_twice(tale: Tale) -> None:
    tale.ends(tale.runs("p"))
    tale.runs("p")


def two_attempts_at_a_time(tale: Tale) -> None:
    tale.runs("p")
    tale.runs("p", attempt=1)


def a_process_of_nobody(tale: Tale) -> None:
    tale.runs("p")
    tale.rest()


def a_status_without_a_process(tale: Tale) -> None:
    tale.ends(tale.runs("p"))
    tale.pod("p", **said(0))
    tale.rest()


ENDS = {"type": DEADLINE, "status": "True", "reason": ACCEPTED, "message": accepted_message(40)}


def a_process_after_its_deadline(tale: Tale) -> None:
    tale.pod("p", conditions=[ENDS])
    run = tale.runs("p")
    tale.seconds = 41.0
    tale.ends(run)


def a_start_after_the_deadline(tale: Tale) -> None:
    tale.pod("p", conditions=[ENDS])
    tale.seconds = 41.0
    tale.runs("p")


def one_that_waits_though_its_lease_is_held(tale: Tale) -> None:
    _fence(tale)
    for _ in range(20):
        tale.seconds += 7.0
        tale.renew("a")


def _fence(tale: Tale) -> None:
    tale.renew("a")
    tale.pod("p", conditions=[ENDS])
    run = tale.runs("p")
    tale.seconds += 40.0
    tale.ends(run, causes.DEADLINE)
    tale.seconds += 10.0
    tale.renew("a")


def one_of_many_ended_by_a_deadline(tale: Tale) -> None:
    tale.pod("p", one="false")
    tale.ends(tale.runs("p"), causes.DEADLINE)


def one_that_is_wanted_was_stopped(tale: Tale) -> None:
    tale.pod("p")
    tale.ends(tale.runs("p"), causes.STOPPED)


def released_without_a_deadline(tale: Tale) -> None:
    tale.pod("p")
    tale.seconds = 600.0
    tale.pod("p", conditions=[{"type": RELEASED, "status": "True", "reason": "NodeFenced"}])


def a_suspicion_too_early(tale: Tale) -> None:
    tale.seconds = 19.0
    tale.node("a", SUSPECT)


def given_up_too_early(tale: Tale) -> None:
    tale.seconds = 39.0
    tale.node("a", SUSPECT, UNREACHABLE)


def released_although_it_was_heard(tale: Tale) -> None:
    tale.pod("p")
    tale.seconds = 60.0
    tale.renew("a")
    tale.seconds = 61.0
    tale.pod("p", conditions=[{"type": RELEASED, "status": "True", "reason": "NodeSilent"}])


BROKEN: tuple[tuple[str, Callable[[Tale], None]], ...] = (
    ("at-most-one", two_of_a_set_of_one),
    ("at-most-one", two_of_one_name),
    ("runs-once", an_attempt_run_twice),
    ("runs-once", two_attempts_at_a_time),
    ("truthful-at-rest", a_process_of_nobody),
    ("truthful-at-rest", a_status_without_a_process),
    ("ends-in-time", a_process_after_its_deadline),
    ("ends-in-time", a_start_after_the_deadline),
    ("runs-while-leased", one_that_waits_though_its_lease_is_held),
    ("outlives-the-plane", one_of_many_ended_by_a_deadline),
    ("outlives-the-plane", one_that_is_wanted_was_stopped),
    ("silence-is-real", released_without_a_deadline),
    ("silence-is-real", a_suspicion_too_early),
    ("silence-is-real", given_up_too_early),
    ("silence-is-real", released_although_it_was_heard),
)


@pytest.mark.parametrize(("invariant", "tell"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Tale], None]) -> None:
    with pytest.raises(Violation) as told:
        tell(Tale())
    assert told.value.invariant == invariant


def test_what_is_right_passes() -> None:
    tale = Tale()
    tale.commit("replicasets.apps", {"metadata": {"name": "set", "uid": "set"}, "spec": {"replicas": 1}})
    tale.pod("p", conditions=[ENDS])
    first = tale.runs("p")
    tale.seconds = 38.0
    tale.node("a", SUSPECT)
    tale.ends(first, causes.DEADLINE)
    tale.seconds = 45.0
    tale.node("a", UNREACHABLE)
    tale.pod("p", conditions=[{"type": RELEASED, "status": "True", "reason": "NodeFenced"}])
    tale.renew("b")
    tale.pod("q", "b")
    tale.ends(tale.runs("q", "b"))
    tale.runs("q", "b", attempt=1)
    tale.pod("q", "b", **said(1))
    tale.rest()


@pytest.mark.parametrize("why", ["finished", "runs", "gaps"])
def test_one_that_its_deadline_ended_may_stay_so(why: str) -> None:
    tale = Tale()
    _fence(tale)
    if why == "finished":
        tale.pod("p", phase="Succeeded")
    if why == "runs":
        tale.runs("p", attempt=1)
    for _ in range(20):
        tale.seconds += 45.0 if why == "gaps" else 7.0
        tale.renew("a")


def test_one_whose_status_says_that_a_deadline_ends_it_may_end_so() -> None:
    tale = Tale()
    tale.pod("p", one="false", conditions=[ENDS])
    tale.ends(tale.runs("p"), causes.DEADLINE)
