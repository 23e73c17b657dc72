"""The conditions that a node gives to a pod, as kubelet words them; those of others stay as they are.

Called by `status.py`. A transition time moves only with the condition's status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.times import timestamp
from fairlead.model.at_most_one import DEADLINE
from fairlead.model.stages import standing_of_object
from fairlead.model.views import Json

_INITIALIZED, _CONTAINERS_READY, _READY = "Initialized", "ContainersReady", "Ready"
_SANDBOX = "PodReadyToStartContainers"


class ConditionFacts(NamedTuple):
    phase: str
    sandbox: bool  # there is one, with an address
    uninitialized: Sequence[str]  # init containers that are not through
    unready: Sequence[str]  # containers and sidecars
    gates: Sequence[str]
    deadline: tuple[bool, str, str] | None = None  # of its supervisor: whether it has one, reason, message


def conditions(facts: ConditionFacts, before: Sequence[Json], now: float) -> list[Json]:
    known = {each.get("type"): each for each in before}
    wanted = _wanted(facts, known)
    ours = {kind for kind, *_ in wanted}
    made = [each for each in before if each.get("type") not in ours]
    at = timestamp(now)
    for kind, good, reason, message in wanted:
        status = "True" if good else "False"
        old = known.get(kind) or {}
        since = old.get("lastTransitionTime") if old.get("status") == status else None
        condition: Json = {"type": kind, "status": status}
        if old.get("observedGeneration"):
            condition["observedGeneration"] = old["observedGeneration"]
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        condition["lastTransitionTime"] = since or at
        if "lastProbeTime" in old:
            condition["lastProbeTime"] = old["lastProbeTime"]
        made.append(condition)
    return made


def with_owner(told: Sequence[Json], pod: Json) -> list[Json]:
    """The conditions of this pod, of which those about readiness say who has the next step."""
    owner = standing_of_object({**pod, "status": {**pod["status"], "conditions": told}}).owner
    return [
        {**each, "owner": owner}
        if owner and each["type"] in (_READY, _CONTAINERS_READY) and each["status"] != "True"
        else each
        for each in told
    ]


def _wanted(facts: ConditionFacts, known: dict[str | None, Json]) -> list[tuple[str, bool, str, str]]:
    containers = _containers_ready(facts)
    ready = containers
    if containers[0]:
        ready = _gates(facts.gates, known)
    wanted = [
        (_SANDBOX, facts.sandbox, "", ""),
        (_INITIALIZED, *_initialized(facts)),
        (_READY, *ready),
        (_CONTAINERS_READY, *containers),
    ]
    return wanted if facts.deadline is None else [*wanted, (DEADLINE, *facts.deadline)]


def _initialized(facts: ConditionFacts) -> tuple[bool, str, str]:
    if facts.phase == "Succeeded":
        return True, "PodCompleted", ""
    if facts.uninitialized:
        listed = " ".join(facts.uninitialized)
        return False, "ContainersNotInitialized", f"containers with incomplete status: [{listed}]"
    return True, "", ""


def _containers_ready(facts: ConditionFacts) -> tuple[bool, str, str]:
    if facts.phase == "Succeeded":
        return False, "PodCompleted", ""
    if facts.phase == "Failed":
        return False, "PodFailed", ""
    if facts.unready:
        listed = " ".join(facts.unready)
        return False, "ContainersNotReady", f"containers with unready status: [{listed}]"
    return True, "", ""


def _gates(gates: Sequence[str], known: dict[str | None, Json]) -> tuple[bool, str, str]:
    problems = []
    for gate in gates:
        condition = known.get(gate)
        if condition is None:
            problems.append(f'corresponding condition of pod readiness gate "{gate}" does not exist.')
        elif condition.get("status") != "True":
            told = condition.get("status")
            problems.append(f'the status of pod readiness gate "{gate}" is not "True", but {told}')
    return (False, "ReadinessGatesNotReady", ", ".join(problems)) if problems else (True, "", "")
