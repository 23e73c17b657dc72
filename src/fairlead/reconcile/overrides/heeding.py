"""What controllers of workloads make of SchedulerOverrides: a workload as it is to be while somebody holds it.

A held workload is looked at with another spec: `pauseRollout` is Kubernetes' own pause of a Deployment, a partition
that covers all of a StatefulSet, a strategy OnDelete of a DaemonSet; `pauseExpansion` is the size that the override
noted, where the spec asks for more. So nothing that a controller does anyway stops, such as replacing a lost pod. Which
holds there are is told in the workload's condition HELD, and taken back when the last has ended: `heeding` makes a
controller come back at every end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider, KeysOf, Wake, WatchEvent, key_of
from fairlead.decision.wakes import changed
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.reasons import DESIRED, HELD, HELD_BY_OVERRIDE, owner_of
from fairlead.model.views import (
    OVERRIDES,
    Condition,
    DaemonSet,
    Deployment,
    Meta,
    ReplicaSet,
    Resource,
    SchedulerOverride,
    StatefulSet,
)

W = TypeVar("W", Deployment, StatefulSet, ReplicaSet)


def heeding(decider: Decider, resource: Resource[Any]) -> Decider:
    """The same controller, which also looks when an override comes, goes or ends that covers one of its objects."""
    sort = resource.kind.lower()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        decision = decider.decide(view, key, now)
        overrides = view.list(OVERRIDES)
        found = view.get(resource, key.namespace, key.name) if overrides else None
        if found is None:
            return decision
        names = ledger.names_of(found.metadata, sort)
        ends = [
            ledger.end_of(each)
            for each in ledger.active(overrides, now)
            if ledger.covers(each, key.namespace, names)
        ]
        at = min((each for each in (*ends, decision.again_at) if each), default=0.0)
        return structs.replace(decision, again_at=at) if at != decision.again_at else decision

    return dataclasses.replace(
        decider,
        reads=(*decider.reads, OVERRIDES),
        wakes=(*decider.wakes, Wake(OVERRIDES, changed(ledger.bearing, _covered(resource, sort)))),
        decide=decide,
    )


def _covered(resource: Resource[Any], sort: str) -> KeysOf[SchedulerOverride]:
    def keys(event: WatchEvent[SchedulerOverride]) -> Iterable[Key]:
        override = event.newest
        return [
            key_of(resource.name, each)
            for each in event.view.list(resource)
            if ledger.covers(override, each.metadata.namespace, ledger.names_of(each.metadata, sort))
        ]

    return keys


def held_deployment(view: Reading, found: Deployment, now: float) -> tuple[Deployment, str]:
    """As it is to be, and what holds it; "": nothing does."""
    found, size = _sized(view, found, "deployment", now)
    hold = _holding(view, ledger.rollout, found.metadata, "deployment", now)
    if hold is None:
        return found, size
    told = f"{hold.told} pauses its rollout"
    spec = structs.replace(found.spec, paused=True)
    return structs.replace(found, spec=spec), _joined(told, size)


def held_statefulset(view: Reading, found: StatefulSet, now: float) -> tuple[StatefulSet, str]:
    found, size = _sized(view, found, "statefulset", now)
    hold = _holding(view, ledger.rollout, found.metadata, "statefulset", now)
    if hold is None:
        return found, size
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": found.spec.replicas}}
    spec = structs.replace(found.spec, update_strategy=strategy)
    return structs.replace(found, spec=spec), _joined(f"{hold.told} pauses its rollout", size)


def held_daemonset(view: Reading, found: DaemonSet, now: float) -> tuple[DaemonSet, str]:
    """Its size is that of the cluster: there is no expansion of its own."""
    hold = _holding(view, ledger.rollout, found.metadata, "daemonset", now)
    if hold is None:
        return found, ""
    spec = structs.replace(found.spec, update_strategy={"type": "OnDelete"})
    return structs.replace(found, spec=spec), f"{hold.told} pauses its rollout"


def held_replicaset(view: Reading, found: ReplicaSet, now: float) -> ReplicaSet:
    """One of a Deployment has the size that the Deployment gives it."""
    return found if found.metadata.controller is not None else _sized(view, found, "replicaset", now)[0]


def with_held(conditions: Iterable[Condition], held: str, now: float) -> tuple[Condition, ...]:
    """The conditions of a workload, with what holds it."""
    known = next((each for each in conditions if each.type == HELD), None)
    others = tuple(each for each in conditions if each.type != HELD)
    if not held:
        return others
    since = known.last_transition_time if known is not None else timestamp(now)
    owner = owner_of(DESIRED, HELD_BY_OVERRIDE)
    return (*others, Condition(HELD, "True", HELD_BY_OVERRIDE, held, since, owner=owner))


def _sized(view: Reading, found: W, sort: str, now: float) -> tuple[W, str]:
    overrides = view.list(OVERRIDES)
    if not overrides:
        return found, ""
    meta = found.metadata
    noted = ledger.held_size(overrides, meta.namespace, meta.uid, ledger.names_of(meta, sort), now)
    if noted is None or noted[0] >= found.spec.replicas:
        return found, ""
    size, hold = noted
    told = f"{hold.told} keeps it at {size} of {found.spec.replicas} replicas"
    spec: Any = structs.replace(found.spec, replicas=size)
    return structs.replace(found, spec=spec), told


def _holding(view: Reading, change: ledger.Change, meta: Meta, sort: str, now: float) -> ledger.Hold | None:
    overrides = view.list(OVERRIDES)
    if not overrides:
        return None
    return ledger.holding(overrides, change, meta.namespace, ledger.names_of(meta, sort), now)


def _joined(*told: str) -> str:
    return "; ".join(each for each in told if each)
