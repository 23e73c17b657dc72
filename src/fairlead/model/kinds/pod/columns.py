"""What `kubectl get pods` shows. The status column condenses phase, containers and deletion into one word.

Placed in the descriptor by `kind.py`. `summarise` walks the container statuses in the order in which kubectl's
users have learnt to read them: what keeps a pod from running wins over what already runs.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.core.times import human_duration, parse_time
from fairlead.model.cells import AGE, NONE
from fairlead.model.kind import Cell, Column, Json
from fairlead.model.stages import standing_of_object


class Summary(NamedTuple):
    """One pod in three cells."""

    ready: int
    total: int
    status: str
    restarts: int
    restarted_at: str  # "" when no container has ended yet


def summarise(pod: Json) -> Summary:
    """Containers ready, the word for the pod's state, and its restarts."""
    spec: Json = pod.get("spec") or {}
    status: Json = pod.get("status") or {}
    conditions = status.get("conditions") or []
    word = status.get("reason") or status.get("phase") or ""
    if any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions):
        word = "SchedulingGated"
    first = _initial(spec, status)
    word = first.word or word
    if first.word and not _is_true(conditions, "Initialized"):
        ready, restarts, restarted_at = first.ready, first.restarts, first.restarted_at
    else:
        main = _main(status, conditions, word)
        word = main.word
        ready = first.ready + main.ready
        restarts = first.sidecar_restarts + main.restarts
        restarted_at = max(first.sidecar_restarted_at, main.restarted_at)
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            word = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            word = "Terminating"
    total = len(spec.get("containers") or ()) + len(_sidecars(spec))
    return Summary(ready, total, word, restarts, restarted_at)


class _Initial(NamedTuple):
    word: str  # "" when all init containers are through
    ready: int
    restarts: int
    restarted_at: str
    sidecar_restarts: int
    sidecar_restarted_at: str


class _Main(NamedTuple):
    word: str
    ready: int
    restarts: int
    restarted_at: str


def _sidecars(spec: Json) -> set[str]:
    listed = spec.get("initContainers") or ()
    return {container.get("name") for container in listed if container.get("restartPolicy") == "Always"}


def _initial(spec: Json, status: Json) -> _Initial:
    """Init containers in order, up to the first that holds the pod up."""
    sidecars = _sidecars(spec)
    ready = restarts = sidecar_restarts = 0
    restarted_at = sidecar_restarted_at = ""
    for index, each in enumerate(status.get("initContainerStatuses") or ()):
        count, ended = each.get("restartCount") or 0, _last_end(each)
        restarts += count
        restarted_at = max(restarted_at, ended)
        sidecar = each.get("name") in sidecars
        if sidecar:
            sidecar_restarts += count
            sidecar_restarted_at = max(sidecar_restarted_at, ended)
        state = each.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and each.get("started"):
            ready += 1 if each.get("ready") else 0
            continue
        word = _init_word(state, index, len(spec.get("initContainers") or ()))
        return _Initial(
            word=word,
            ready=ready,
            restarts=restarts,
            restarted_at=restarted_at,
            sidecar_restarts=sidecar_restarts,
            sidecar_restarted_at=sidecar_restarted_at,
        )
    return _Initial(
        word="",
        ready=ready,
        restarts=restarts,
        restarted_at=restarted_at,
        sidecar_restarts=sidecar_restarts,
        sidecar_restarted_at=sidecar_restarted_at,
    )


def _init_word(state: Json, index: int, total: int) -> str:
    terminated, waiting = state.get("terminated"), state.get("waiting") or {}
    if terminated is not None:
        return "Init:" + _end_word(terminated)
    reason = waiting.get("reason")
    if reason and reason != "PodInitializing":
        return f"Init:{reason}"
    return f"Init:{index}/{total}"


def _main(status: Json, conditions: list[Json], word: str) -> _Main:
    """The containers proper, last to first, so that the first one's trouble is the one shown."""
    ready = restarts = 0
    restarted_at = ""
    running = False
    for each in reversed(status.get("containerStatuses") or ()):
        restarts += each.get("restartCount") or 0
        restarted_at = max(restarted_at, _last_end(each))
        state = each.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            word = waiting["reason"]
        elif terminated is not None:
            word = _end_word(terminated)
        elif each.get("ready") and state.get("running") is not None:
            running = True
            ready += 1
    if word == "Completed" and running:
        word = "Running" if _is_true(conditions, "Ready") else "NotReady"
    return _Main(word, ready, restarts, restarted_at)


def _end_word(terminated: Json) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _last_end(container: Json) -> str:
    ended = (container.get("lastState") or {}).get("terminated") or {}
    return ended.get("finishedAt") or ""


def _is_true(conditions: list[Json], kind: str) -> bool:
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


def _ready(pod: Json, now: float) -> Cell:
    summary = summarise(pod)
    return f"{summary.ready}/{summary.total}"


def _status(pod: Json, now: float) -> Cell:
    return summarise(pod).status


def _restarts(pod: Json, now: float) -> Cell:
    summary = summarise(pod)
    if summary.restarts and summary.restarted_at:
        return f"{summary.restarts} ({human_duration(now - parse_time(summary.restarted_at))} ago)"
    return str(summary.restarts)


def _address(pod: Json, now: float) -> Cell:
    status: Json = pod.get("status") or {}
    for each in status.get("podIPs") or ():
        return each.get("ip") or NONE
    return status.get("podIP") or NONE


def _node(pod: Json, now: float) -> Cell:
    return (pod.get("spec") or {}).get("nodeName") or NONE


def _nominated_node(pod: Json, now: float) -> Cell:
    return (pod.get("status") or {}).get("nominatedNodeName") or NONE


def _readiness_gates(pod: Json, now: float) -> Cell:
    gates = (pod.get("spec") or {}).get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = (pod.get("status") or {}).get("conditions") or []
    passed = sum(1 for gate in gates if _is_true(conditions, gate.get("conditionType") or ""))
    return f"{passed}/{len(gates)}"


def _stage(pod: Json, now: float) -> Cell:
    stage, reason, *_ = standing_of_object(pod)
    return f"{stage}: {reason}" if reason else stage


COLUMNS = (
    Column("Ready", _ready, description="Containers that are ready, of all that should run."),
    Column("Status", _status, description="State of the pod and its containers in one word."),
    Column("Restarts", _restarts, description="Restarts of the containers, and how long ago the last was."),
    AGE,
    Column("IP", _address, priority=1, description="Address of the pod."),
    Column("Node", _node, priority=1, description="Node the pod is bound to."),
    Column("Nominated Node", _nominated_node, priority=1, description="Node being cleared for the pod."),
    Column("Readiness Gates", _readiness_gates, priority=1, description="Further conditions that hold."),
    Column("Stage", _stage, priority=1, description="How far it has come, and what holds it up."),
)
