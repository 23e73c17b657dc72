"""A pod's status as its node tells it: phase, conditions, containers, addresses. Pure; called by `worker.py`.

`status_of` says all that the node knows; `difference` is the merge patch that makes a reader see it, {} if nobody
could tell it from what is there. What others write (PodScheduled, qosClass, conditions of controllers) is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.agent.contract import ContainerEnded
from fairlead.agent.pod.conditions import ConditionFacts, conditions, with_owner
from fairlead.agent.pod.container import KILLED, LOST_MESSAGE, LOST_REASON, Runs, container_id
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.core.times import timestamp
from fairlead.model.views import Json


class NodeStanding(NamedTuple):
    """Where a pod stands on its node."""

    address: str
    host_address: str
    sandbox: bool  # something can run in it
    over: bool  # nothing runs, and nothing will
    runs: Mapping[str, Runs]
    reason: str = ""  # why the node ended it
    message: str = ""
    waiting: tuple[str, str] = ("", "")  # why nothing is started yet: reason and message
    deadline: tuple[bool, str, str] | None = None  # `at_most_one.deadline_of`


def status_of(pod: BoundPod, standing: NodeStanding, now: float) -> Json:
    spec, before = pod.spec, pod.status
    initialized = not _uninitialized(pod, standing)
    inits = [_container(pod, each, standing, initialized) for each in spec.init_containers]
    mains = [_container(pod, each, standing, initialized) for each in spec.containers]
    phase = pod.phase if pod.finished else _phase(pod, standing, initialized)
    told_reason, told_message = before.get("reason") or "", before.get("message") or ""
    status: Json = {
        "phase": phase,
        "startTime": before.get("startTime") or timestamp(now),
        "hostIP": standing.host_address,
        "hostIPs": [{"ip": standing.host_address}],
        "containerStatuses": mains,
    }
    if inits:
        status["initContainerStatuses"] = inits
    if standing.address:
        status["podIP"] = standing.address
        status["podIPs"] = [{"ip": standing.address}]
    status["reason"] = standing.reason or (told_reason if pod.finished else "")
    status["message"] = standing.message or (told_message if pod.finished else "")
    sidecars = [each for each in spec.init_containers if each.sidecar]
    facts = ConditionFacts(
        phase=phase,
        sandbox=standing.sandbox and bool(standing.address),
        uninitialized=_uninitialized(pod, standing),
        unready=[each.name for each in (*sidecars, *spec.containers) if not standing.runs[each.name].ready],
        gates=[gate.get("conditionType") or "" for gate in spec.readiness_gates],
        deadline=standing.deadline,
    )
    told = conditions(facts, before.get("conditions") or (), now)
    status["conditions"] = with_owner(told, {"spec": {"nodeName": spec.node_name}, "status": status})
    return status


def difference(wanted: Json, there: Json) -> Json:
    """A merge patch from one to the other; empty texts stand for absent ones."""
    patch: Json = {}
    for field, value in wanted.items():
        held = there.get(field)
        if value == "":
            if held:
                patch[field] = None
        elif field == "conditions":
            if not _same_conditions(value, held or ()):
                patch[field] = value
        elif value != held:
            patch[field] = value
    return patch


def _same_conditions(wanted: list[Json], there: list[Json] | tuple[()]) -> bool:
    held = {each.get("type"): each for each in there}
    return all(held.get(each["type"]) == each for each in wanted) and len(held) == len(wanted)


# Phase


def _uninitialized(pod: BoundPod, standing: NodeStanding) -> list[str]:
    if any(standing.runs[each.name].newest is not None for each in pod.spec.containers):
        return []  # the containers proper have been started: that is behind it
    return [
        each.name
        for each in pod.spec.init_containers
        if not (standing.runs[each.name].started if each.sidecar else standing.runs[each.name].succeeded)
    ]


def _phase(pod: BoundPod, standing: NodeStanding, initialized: bool) -> str:
    if standing.over:
        if standing.reason:
            return "Failed"
        ends = [standing.runs[each.name].ended for each in pod.spec.containers]
        good = initialized and all(end is not None and end.exit_code == 0 for end in ends)
        return "Succeeded" if good else "Failed"
    mains = [standing.runs[each.name] for each in pod.spec.containers]
    if not initialized or any(runs.newest is None for runs in mains):
        return "Pending"
    return "Running"


# Containers


def _container(pod: BoundPod, container: BoundContainer, standing: NodeStanding, initialized: bool) -> Json:
    runs = standing.runs[container.name]
    uid, state = pod.metadata.uid, runs.newest
    status: Json = {
        "name": container.name,
        "image": container.image,
        "imageID": container.image if state is not None else "",
        "restartCount": max(0, runs.attempt),
        "ready": runs.succeeded if _one_time(pod, container) else runs.ready,
        "started": runs.started,
        "state": _state(pod, container, standing, runs, initialized),
        "lastState": {},
    }
    if state is not None:
        status["containerID"] = container_id(uid, container.name, state.attempt)
        last = runs.previous
        if "waiting" in status["state"] and runs.ended is not None:
            last = runs.ended
        if last is not None:
            status["lastState"] = {"terminated": _terminated(uid, container.name, last)}
    return _kept(pod, container, status)


def _state(
    pod: BoundPod, container: BoundContainer, standing: NodeStanding, runs: Runs, initialized: bool
) -> Json:
    uid, state = pod.metadata.uid, runs.newest
    if state is None:
        if standing.over:
            return {"terminated": {"exitCode": KILLED, "reason": LOST_REASON, "message": LOST_MESSAGE}}
        return {"waiting": _waiting(pod, container, standing, runs, initialized)}
    if state.ended is None:
        return {"running": {"startedAt": timestamp(state.started_at)}}
    if not standing.over and runs.trouble is not None:
        return {"waiting": _worded(*runs.trouble)}
    return {"terminated": _terminated(uid, container.name, state.ended)}


def _waiting(
    pod: BoundPod, container: BoundContainer, standing: NodeStanding, runs: Runs, initialized: bool
) -> Json:
    if runs.trouble is not None:
        return _worded(*runs.trouble)
    reason, message = standing.waiting
    if reason:
        return _worded(reason, message)
    first = not pod.spec.init_containers or container.name == pod.spec.init_containers[0].name
    return _worded("ContainerCreating" if initialized or first else "PodInitializing", "")


def _worded(reason: str, message: str) -> Json:
    return {"reason": reason, "message": message} if message else {"reason": reason}


def _terminated(uid: str, name: str, end: ContainerEnded) -> Json:
    told: Json = {
        "exitCode": end.exit_code,
        "reason": end.reason or ("Error" if end.exit_code else "Completed"),
        "containerID": container_id(uid, name, end.attempt),
    }
    for field, at in (("startedAt", end.started_at), ("finishedAt", end.finished_at)):
        if at:
            told[field] = timestamp(at)
    if end.signal:
        told["signal"] = end.signal
    if end.message:
        told["message"] = end.message
    return told


def _one_time(pod: BoundPod, container: BoundContainer) -> bool:
    """An init container that is no sidecar: ready once it is through."""
    return not container.sidecar and any(each.name == container.name for each in pod.spec.init_containers)


def _kept(pod: BoundPod, container: BoundContainer, status: Json) -> Json:
    """The API lets a container that ended for good not rise again. An init container whose work was lost with its
    directory does, unseen: what it said before stands until it ends again."""
    if pod.spec.restart_policy == "Always" or container.sidecar or "terminated" in status["state"]:
        return status
    told = pod.told_of(container.name)
    ended = (told.get("state") or {}).get("terminated")
    final = ended is not None and (pod.spec.restart_policy == "Never" or not ended.get("exitCode"))
    return told if final else status
