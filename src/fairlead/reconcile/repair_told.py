"""RepairComplete: a workload whose pods had left something over says whether that is done with, and which generation of
it was looked at.

    RepairComplete=False   something of it is left over; its message cites the rule
    RepairComplete=True    nothing is left over any more

A workload that never had anything left over has no such condition: no write is spent on saying so. Used by `repair.py`
with each look; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import Reading
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_status
from fairlead.ledger import repair
from fairlead.model.views import (
    DAEMONSETS,
    DEPLOYMENTS,
    REPLICASETS,
    STATEFULSETS,
    Condition,
    Pod,
    Resource,
    View,
)

CONDITION = "RepairComplete"
LEFT, DONE = "LeftOver", "NothingLeftOver"
WORKLOADS: tuple[Resource[Any], ...] = (DEPLOYMENTS, STATEFULSETS, DAEMONSETS)
_CITED_MAX = 3


def told_on_workloads(
    controller: str, view: Reading, found: Iterable[tuple[repair.Finding, View]], now: float
) -> Iterator[Effect]:
    left: dict[str, list[repair.Finding]] = {}  # by the uid of the workload
    for finding, each in found:
        if isinstance(each, Pod):
            left.setdefault(_workload_of(view, each), []).append(finding)
    for resource in WORKLOADS:
        for workload in view.list(resource):
            known = next((each for each in workload.status.conditions if each.type == CONDITION), None)
            mine = left.get(workload.metadata.uid)
            if (known is None and not mine) or workload.metadata.deletion_timestamp:
                continue
            wanted = _condition(known, mine or [], workload.metadata.generation, now)
            others = tuple(each for each in workload.status.conditions if each.type != CONDITION)
            if wanted != known:
                status = structs.replace(workload.status, conditions=(*others, wanted))
                effect = ensure_status(controller, resource, workload, status)
                if effect is not None:
                    yield effect


def _condition(known: Condition | None, left: list[repair.Finding], generation: int, now: float) -> Condition:
    status = "False" if left else "True"
    cited = ", ".join(f"{each.rule.name} of {each.key.name}" for each in left[:_CITED_MAX])
    more = f" and {len(left) - _CITED_MAX} more" if len(left) > _CITED_MAX else ""
    message = f"left over: {cited}{more}" if left else "nothing of it is left over"
    since = known.last_transition_time if known is not None and known.status == status else timestamp(now)
    return Condition(
        CONDITION, status, LEFT if left else DONE, message, since, observed_generation=generation
    )


def _workload_of(view: Reading, pod: Pod) -> str:
    owner = pod.metadata.controller
    if owner is None:
        return ""
    if owner.kind == REPLICASETS.kind:
        found = view.get(REPLICASETS, pod.metadata.namespace, owner.name)
        above = found.metadata.controller if found is not None else None
        return above.uid if above is not None else owner.uid
    return owner.uid
