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

Json = dict[str, Any]

ADMITTED, QUEUED, SCHEDULED, BOUND = "admitted", "queued", "scheduled", "bound"
STARTING, READY, SERVING = "starting", "ready", "serving"
STAGES = (ADMITTED, QUEUED, SCHEDULED, BOUND, STARTING, READY, SERVING)
ENDED = "ended"  # it has run to its end: no stage on the way, and no trouble either

_LOST = "NodeUnknown"  # reason of Ready=False, as `reconcile/pod_marks.py` says it of pods on a node that is silent
_SLOW = frozenset({"ContainerCreating", "PodInitializing"})  # the usual way, not a reason


class Standing(NamedTuple):
    """`stage` is the last one reached; `owner` has the next step."""

    stage: str
    reason: str = ""
    message: str = ""
    owner: str = ""


class Condition(Protocol):
    """A condition of the pod, as a view has it or as `Told`."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...


class Told(NamedTuple):
    """A condition that is read from the wire."""

    type: str
    status: str
    reason: str
    message: str


def standing(
    node: str,
    is_gated: bool,
    nominated: str,
    phase: str,
    conditions: Iterable[Condition],
    containers: Sequence[Json],
    *,
    is_served: bool = False,
) -> Standing:
    """`containers` are its container statuses, those of init containers first."""
    told = {each.type: each for each in conditions}
    if phase in ("Succeeded", "Failed"):
        return Standing(ENDED, phase)
    if not node:
        return _unplaced(is_gated, nominated, told.get("PodScheduled"))
    agent = f"agent of {node}"
    released = told.get(RELEASED)
    if released is not None and released.status == "True":
        return Standing(BOUND, "Released", released.message, "its owner, who replaces it")
    ready = told.get("Ready")
    if ready is not None and ready.status == "True":
        return Standing(SERVING if is_served else READY)
    if ready is not None and ready.status == "Unknown":
        return Standing(STARTING, "NodeUnknown", ready.message, "node health")
    is_ahead = released is not None and released.status == "False" and bool(released.reason)
    if (is_ahead and ready is None) or (ready is not None and ready.reason == _LOST):
        waits = released if released is not None and is_ahead else ready  # why its release waits says more
        assert waits is not None
        return Standing(STARTING if containers else BOUND, waits.reason, waits.message, "node health")
    if not containers:
        return Standing(BOUND, "NotStarted", f"node {node} has not begun with it", agent)
    return _starting(containers, ready, agent)


def _unplaced(is_gated: bool, nominated: str, scheduled: Condition | None) -> Standing:
    if is_gated:
        return Standing(ADMITTED, "SchedulingGated", "gates in spec.schedulingGates", "who set the gates")
    if nominated:
        return Standing(SCHEDULED, "Nominated", f"waits for room on {nominated}", "scheduler")
    if scheduled is None or scheduled.status == "True":
        return Standing(QUEUED, "", "", "scheduler")
    return Standing(QUEUED, scheduled.reason, scheduled.message, "scheduler")


def _starting(containers: Sequence[Json], ready: Condition | None, agent: str) -> Standing:
    """The first container that holds it up; a running one that is not ready waits for its probe."""
    for each in containers:
        state = each.get("state") or {}
        waiting = state.get("waiting") or {}
        if waiting.get("reason"):
            reason, message = waiting["reason"], waiting.get("message") or ""
            return Standing(STARTING, "" if reason in _SLOW else reason, message, agent)
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode"):
            text = f"container {each.get('name')} ended with exit code {ended['exitCode']}"
            return Standing(STARTING, ended.get("reason") or "Error", ended.get("message") or text, agent)
    idle = next(
        (
            each.get("name")
            for each in containers
            if "running" in (each.get("state") or {}) and not each.get("ready")
        ),
        "",
    )
    if idle:
        return Standing(STARTING, "NotReady", f"container {idle} runs and is not ready", "the container")
    return (
        Standing(STARTING, ready.reason, ready.message, agent)
        if ready is not None
        else Standing(STARTING, owner=agent)
    )


def standing_of_object(pod: Json) -> Standing:
    """Of a pod as it is sent over the wire."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return standing(
        spec.get("nodeName") or "",
        bool(spec.get("schedulingGates")),
        status.get("nominatedNodeName") or "",
        status.get("phase") or "",
        [
            Told(c.get("type") or "", c.get("status") or "", c.get("reason") or "", c.get("message") or "")
            for c in status.get("conditions") or ()
        ],
        [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())],
    )
