"""`shrink`: one ReplicaSet that only ever becomes smaller, pod by pod, while lists come in any order.

Who has no answer to a deletion decides again which pod is too many. If that is another one than the first, whose
deletion is still on its way, one too few is left.

    before   node-0, and ReplicaSet web with its 7 pods
    5 s      it wants 6, and one less every eight seconds, until it wants 1
    60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.scenario import Scenario, create, patch
from fairlead.sim.worlds import small

# Nobody dies, and a lease outlasts a lost answer: what is late meets the leader that sent it.
FAULTS = replace(
    small.FAULTS,
    request_late=0.15,
    list_reordered=0.9,
    watch_expired=0.3,
    crash_at_write=0.0,
    crash_after_write=0.0,
    crash_mid_step=0.0,
    incident=0.0,
)
_LEADERSHIP = LeadershipSettings(duration_seconds=40.0, renew_seconds=5.0, retry_seconds=3.0)
_SETS = ("apps/v1", "replicasets")
_PODS = 7


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="shrink",
        standing=(small.node(), create(1.0, *_SETS, small.workload("ReplicaSet", "web", _PODS))),
        steps=tuple(
            patch(8.0 * number - 3.0, *_SETS, "web", {"spec": {"replicas": _PODS - number}})
            for number in range(1, _PODS)
        ),
        deciders=small.controllers("replicaset", "garbage-collector"),
        leadership=_LEADERSHIP,
    )
