"""How far a pod has come: one stage, why it has come no further, and whose turn it is.

    admitted -> queued -> scheduled -> bound -> starting -> ready -> serving

`standing` is a pure function of what the pod itself says, but for the last stage, which its Service's endpoints tell.
The pod's column in `kubectl get -o wide`, `ledger/progress.py` (a workload's sum) and `control/stages.py` (metrics)
all ask here, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from fairlead.model.marks import RELEASED
from fairlead.model.reasons import (
    ADMITTED,
    BOUND,
    FAILED_MOUNT,
    GATED,
    LOST,
    MOUNT_FAILED,
    NOMINATED,
    NOT_READY,
    NOT_STARTED,
    OTHER_SCHEDULER,
    QUEUED,
    READY,
    SCHEDULED,
    SERVING,
    STARTING,
    owner_of,
)

Json = dict[str, Any]

STAGES = (ADMITTED, QUEUED, SCHEDULED, BOUND, STARTING, READY, SERVING)
ENDED = "ended"  # it has run to its end: no stage on the way, and no trouble either

DEFAULT_SCHEDULER = "default-scheduler"
_RELEASED = "NodeSilent"  # why, if the condition does not say it
_SLOW = frozenset({"ContainerCreating", "PodInitializing"})  # the usual way, not a reason


class Standing(NamedTuple):
    """`stage` is the last one reached; `owner` has the next step."""

    stage: str
    reason: str = ""
    message: str = ""
    owner: str = ""


class ConditionLike(Protocol):
    """A condition of the pod, as a view has it or as `WireCondition`."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def owner(self) -> str: ...


class WireCondition(NamedTuple):
    """A condition that is read from the wire."""

    type: str
    status: str
    reason: str
    message: str
    owner: str


def standing(
    node: str,
    gates: Sequence[str],
    nominated: str,
    phase: str,
    conditions: Iterable[ConditionLike],
    containers: Sequence[Json],
    *,
    is_served: bool = False,
    scheduler: str = DEFAULT_SCHEDULER,
) -> Standing:
    """`containers` are its container statuses, those of init containers first."""
    told = {each.type: each for each in conditions}
    if phase in ("Succeeded", "Failed"):
        return Standing(ENDED, phase)
    if not node:
        return _unplaced(gates, nominated, scheduler, told.get("PodScheduled"))
    released, ready = told.get(RELEASED), told.get("Ready")
    if released is not None and released.status == "True":
        return _at(BOUND, released.reason or _RELEASED, released.message, node)
    if ready is not None and ready.status == "True":
        return Standing(SERVING if is_served else READY)
    begun = STARTING if containers else BOUND
    is_ahead = released is not None and released.status == "False" and bool(released.reason)
    if ready is not None and (ready.status == "Unknown" or ready.reason == LOST):
        if released is not None and is_ahead:  # why its release waits says more
            return _at(begun, released.reason, released.message, node)
        return _at(begun, LOST, ready.message, node)
    if released is not None and is_ahead and ready is None:
        return _at(begun, released.reason, released.message, node)
    if not containers:
        return _at(BOUND, NOT_STARTED, f"node {node} has not begun with it", node)
    return _starting(containers, ready, node)


def _at(stage: str, reason: str, message: str, node: str = "") -> Standing:
    return Standing(stage, reason, message, owner_of(stage, reason, node=node))


def _unplaced(
    gates: Sequence[str], nominated: str, scheduler: str, scheduled: ConditionLike | None
) -> Standing:
    if gates:
        return _at(ADMITTED, GATED, f"it is held back by scheduling gates: {', '.join(gates)}")
    if scheduler != DEFAULT_SCHEDULER:
        owner = owner_of(QUEUED, OTHER_SCHEDULER, scheduler=scheduler)
        text = f"it asks for the scheduler {scheduler}; this one is {DEFAULT_SCHEDULER}"
        return Standing(QUEUED, OTHER_SCHEDULER, text, owner)
    if nominated:
        return _at(SCHEDULED, NOMINATED, f"waits for room on {nominated}")
    if scheduled is None or scheduled.status == "True":
        return _at(QUEUED, "", "")
    owner = scheduled.owner or owner_of(QUEUED, scheduled.reason)
    return Standing(QUEUED, scheduled.reason, scheduled.message, owner)


def _starting(containers: Sequence[Json], ready: ConditionLike | None, node: str) -> Standing:
    """The first container that holds it up; a running one that is not ready waits for its probe."""
    for each in containers:
        state = each.get("state") or {}
        waiting = state.get("waiting") or {}
        if waiting.get("reason"):
            reason, message = waiting["reason"], waiting.get("message") or ""
            if reason in _SLOW:
                reason = FAILED_MOUNT if message.startswith(MOUNT_FAILED) else ""
            return _at(STARTING, reason, message, node)
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode"):
            text = f"container {each.get('name')} ended with exit code {ended['exitCode']}"
            return _at(STARTING, ended.get("reason") or "Error", ended.get("message") or text, node)
    idle = next(
        (
            each.get("name")
            for each in containers
            if "running" in (each.get("state") or {}) and not each.get("ready")
        ),
        "",
    )
    if idle:
        return _at(STARTING, NOT_READY, f"container {idle} runs and is not ready", node)
    reason, message = (ready.reason, ready.message) if ready is not None else ("", "")
    return _at(STARTING, reason, message, node)


def standing_of_object(pod: Json) -> Standing:
    """Of a pod as it is sent over the wire."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return standing(
        spec.get("nodeName") or "",
        [each.get("name") or "" for each in spec.get("schedulingGates") or ()],
        status.get("nominatedNodeName") or "",
        status.get("phase") or "",
        [
            WireCondition(
                c.get("type") or "",
                c.get("status") or "",
                c.get("reason") or "",
                c.get("message") or "",
                c.get("owner") or "",
            )
            for c in status.get("conditions") or ()
        ],
        [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())],
        scheduler=spec.get("schedulerName") or DEFAULT_SCHEDULER,
    )
