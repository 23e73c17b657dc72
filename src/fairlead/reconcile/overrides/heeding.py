"""What controllers of workloads make of SchedulerOverrides: a workload as it is to be while somebody holds it.

A held workload is looked at with another spec: `pauseRollout` is Kubernetes' own pause of a Deployment, a partition
that covers all of a StatefulSet, a strategy OnDelete of a DaemonSet; `pauseExpansion` is the size that the override
noted, where the spec asks for more. So nothing that a controller does anyway stops, such as replacing a lost pod. And
nothing is taken away: a workload that grew before this plane heard of the override keeps what it has. Of one that was
made since, nothing is noted: it keeps what it has, as where it was made anew and adopted the pods of its namesake, and
gets no more. Which holds there are is told in the workload's condition HELD, and taken back when
the last has ended: `heeding` makes a controller come back at every end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
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
    PODS,
    REPLICASETS,
    Condition,
    DaemonSet,
    Deployment,
    Meta,
    ReplicaSet,
    Reservation,
    Resource,
    SchedulerOverride,
    StatefulSet,
)
from fairlead.reconcile.deployment.history import revision_of
from fairlead.reconcile.deployment.rollout import DESIRED as ROLLOUT_SIZE
from fairlead.reconcile.deployment.rollout import is_recreate, limits
from fairlead.reconcile.statefulset_pods import ordinal_of

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
    found, size = _sized(view, found, "deployment", now, _told_to_sets)
    hold = _holding(view, ledger.rollout, found.metadata, "deployment", now)
    if hold is None:
        return found, size
    told = f"{hold.told} pauses its rollout"
    spec = structs.replace(found.spec, paused=True)
    return structs.replace(found, spec=spec), _joined(told, size)


def held_statefulset(view: Reading, found: StatefulSet, now: float) -> tuple[StatefulSet, str]:
    found, size = _sized(view, found, "statefulset", now, _up_to_the_last)
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
    if found.metadata.controller is not None:
        return found
    return _sized(view, found, "replicaset", now, _live)[0]


def with_held(conditions: Iterable[Condition], held: str, now: float) -> tuple[Condition, ...]:
    """The conditions of a workload, with what holds it."""
    known = next((each for each in conditions if each.type == HELD), None)
    others = tuple(each for each in conditions if each.type != HELD)
    if not held:
        return others
    since = known.last_transition_time if known is not None else timestamp(now)
    owner = owner_of(DESIRED, HELD_BY_OVERRIDE)
    return (*others, Condition(HELD, "True", HELD_BY_OVERRIDE, held, since, owner=owner))


def _sized(
    view: Reading, found: W, sort: str, now: float, having: Callable[[Reading, W], int]
) -> tuple[W, str]:
    overrides = view.list(OVERRIDES)
    if not overrides:
        return found, ""
    meta, names = found.metadata, ledger.names_of(found.metadata, sort)
    noted = ledger.held_size(overrides, meta.namespace, meta.uid, names, now, having(view, found))
    if noted is None or noted[0] >= found.spec.replicas:
        return found, ""
    size, hold = noted
    told = f"{hold.told} keeps it at {size} of {found.spec.replicas} replicas"
    spec: Any = structs.replace(found.spec, replicas=size)
    return structs.replace(found, spec=spec), told


def _told_to_sets(view: Reading, found: Deployment) -> int:
    """The size that its sets were given last, as it is noted on them: a rollout makes more than that for a while, or
    fewer, or none where it recreates. Sets that were emptied before keep an older note. Anybody who may write a set may
    write such a note: it counts for no more than a rollout of that size would leave at this moment."""
    sets = view.owned(REPLICASETS, found.metadata.uid, found.metadata.namespace)
    used = [each for each in sets if each.spec.replicas]
    if not used:
        used = sorted(sets, key=lambda each: revision_of(each.metadata.annotations))[-1:]
    told = [each.metadata.annotations.get(ROLLOUT_SIZE, "") for each in used]
    sizes = [int(each) for each in told if each.isascii() and each.isdigit() and len(each) < 10]
    size, there = max(sizes, default=0), sum(each.spec.replicas for each in used)
    if size <= there:
        return size if sizes else there
    if is_recreate(found.spec.strategy):
        return there or size
    of_that_size = structs.replace(found, spec=structs.replace(found.spec, replicas=size))
    return size if size - limits(of_that_size).unavailable <= there else there


def _up_to_the_last(view: Reading, found: StatefulSet) -> int:
    """Its pods are numbered, and a size leaves none out."""
    start = int(found.spec.ordinals.get("start") or 0)
    owned = view.owned(PODS, found.metadata.uid, found.metadata.namespace)
    live = (pod for pod in owned if pod.live)
    return max((ordinal_of(found, pod.metadata.name) + 1 - start for pod in live), default=0)


def _live(view: Reading, found: ReplicaSet) -> int:
    return sum(pod.live for pod in view.owned(PODS, found.metadata.uid, found.metadata.namespace))


def _holding(view: Reading, change: ledger.Change, meta: Meta, sort: str, now: float) -> ledger.Hold | None:
    overrides = view.list(OVERRIDES)
    if not overrides:
        return None
    return ledger.holding(overrides, change, meta.namespace, ledger.names_of(meta, sort), now)


def _joined(*told: str) -> str:
    return "; ".join(each for each in told if each)


def key_of_reservation(event: WatchEvent[Reservation]) -> Iterable[Key]:
    """The override that it was made for."""
    found = ledger.made_for(event.newest.metadata)
    return (found,) if found is not None else ()
