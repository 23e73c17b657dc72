"""Which containers of a pod should be started now, later or never again, by order, restart policy and back-off.

Pure; called by `worker.py` for a pod that is to run. Init containers go one after the other; a sidecar among them has
been started when its startup probe says so; then all others at once.

| container      | ended well                 | ended badly                                     |
| -------------- | -------------------------- | ----------------------------------------------- |
| init container | the next one               | again; with restartPolicy Never the pod failed  |
| sidecar        | again                      | again                                           |
| Always         | again                      | again                                           |
| OnFailure      | done                       | again                                           |
| Never          | done                       | done                                            |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.agent.pace import Pace
from fairlead.agent.pod.container import Runs
from fairlead.agent.views import BoundContainer, BoundPod


class ContainerPlan(NamedTuple):
    start: tuple[BoundContainer, ...] = ()  # now
    resting: tuple[BoundContainer, ...] = ()  # again, but not before `again_at`
    again_at: float = 0.0
    done: bool = False  # nothing of it is to run any more; sidecars may still be running


def plan(pod: BoundPod, runs: Mapping[str, Runs], now: float, pace: Pace) -> ContainerPlan:
    made = _Making(now, pace)
    policy = pod.spec.restart_policy
    begun = any(runs[each.name].newest is not None for each in pod.spec.containers)
    if not all(_settled(runs[each.name], policy) for each in pod.spec.containers):
        for each in pod.spec.init_containers:
            own = runs[each.name]
            if each.sidecar:
                made.run(each, own)
                if not own.started and not begun:
                    return made.plan()
            elif not own.succeeded and (not begun or own.done_before >= 0):
                if _failed(own) and policy == "Never":
                    return ContainerPlan(done=True)
                made.run(each, own)
                return made.plan()
        for each in pod.spec.containers:
            if not _settled(runs[each.name], policy):
                made.run(each, runs[each.name])
        return made.plan()
    return ContainerPlan(done=True)


class _Making:
    def __init__(self, now: float, pace: Pace) -> None:
        self._now, self._pace = now, pace
        self._start: list[BoundContainer] = []
        self._resting: list[BoundContainer] = []
        self._again_at = 0.0

    def run(self, container: BoundContainer, own: Runs) -> None:
        """It should be running."""
        if own.may_run:
            return
        at = own.restart_at(self._pace)
        if at <= self._now:
            self._start.append(container)
            return
        self._resting.append(container)
        self._again_at = min(self._again_at or at, at)

    def plan(self) -> ContainerPlan:
        return ContainerPlan(tuple(self._start), tuple(self._resting), self._again_at)


def _failed(own: Runs) -> bool:
    ended = own.ended
    return ended is not None and ended.exit_code != 0 and not own.may_run


def _settled(own: Runs, policy: str) -> bool:
    """It ended and stays so."""
    ended = own.ended
    if ended is None or own.may_run or policy == "Always":
        return False
    return policy == "Never" or ended.exit_code == 0
