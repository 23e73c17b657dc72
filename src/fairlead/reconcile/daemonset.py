"""The DaemonSet controller: one pod on every node that should have one.

One turn reports what was observed and then does the first of these that is needed:

    adopt and release pods
    delete pods where none should be, second pods of a node, and pods that have ended
    make the pods that are missing (never beside one that is still on its way out)
    rolling update: replace pods of an old revision, so many at a time that at most maxUnavailable are unavailable

A change of a node concerns every DaemonSet, and events name no other objects: it wakes the key with no name, whose turn
does for all of them the part that nodes give rise to. Two turns may then look at one DaemonSet at once, so that part
is only what is harmless twice: creates under names that follow from the node, and deletes of pods that must go.
maxSurge is not acted upon: an update first takes the old pod away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.core.times import parse_time
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.model.views import (
    DAEMONSETS,
    NODES,
    PODS,
    DaemonSet,
    DaemonSetStatus,
    Node,
    Pod,
    Resource,
    View,
)
from fairlead.reconcile.children import child_name, claim, readiness
from fairlead.reconcile.daemonset_pods import (
    REVISION_LABEL,
    Place,
    Template,
    is_available,
    places_of,
    pod_body,
    template_of,
)
from fairlead.reconcile.deployment_rollout import resolved
from fairlead.store.contract import Key

_NAME = "daemonset"
EVERY = Key(DAEMONSETS.name, "", "")
# A pod that ends at once is not replaced at once.
REPLACED_AFTER_SECONDS = 10.0
_ALWAYS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


class DaemonSetDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (DAEMONSETS, PODS, NODES)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        found: dict[Key, None] = {}
        for each in (before, after):
            if isinstance(each, DaemonSet):
                found[Key(DAEMONSETS.name, each.metadata.namespace, each.metadata.name)] = None
            elif isinstance(each, Pod):
                owner = each.metadata.controller
                if owner is not None and owner.kind == DAEMONSETS.kind:
                    found[Key(DAEMONSETS.name, each.metadata.namespace, owner.name)] = None
        if isinstance(before, Node) or isinstance(after, Node):
            return (EVERY,) if _matters(before, after) else ()
        return tuple(found)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if key == EVERY:
            effects: list[Effect] = []
            for each in view.list(DAEMONSETS):
                if not each.metadata.deletion_timestamp:
                    effects += _decide(view, each, now, only_nodes=True).effects
            # What is written wakes the sets written to, not those there was no room for.
            again_at = now if len(effects) > EFFECTS_MAX else 0.0
            return Decision(effects=tuple(effects[:EFFECTS_MAX]), again_at=again_at)
        found = view.get(DAEMONSETS, key.namespace, key.name)
        if found is None or found.metadata.deletion_timestamp:
            return NOTHING
        return _decide(view, found, now)


def _matters(before: View | None, after: View | None) -> bool:
    """Heartbeats of nodes concern no DaemonSet."""
    if not isinstance(before, Node) or not isinstance(after, Node):
        return True
    old, new = before.metadata, after.metadata
    return (old.uid, old.labels, old.deletion_timestamp) != (
        new.uid,
        new.labels,
        new.deletion_timestamp,
    ) or before.spec != after.spec


def _decide(view: Reading, found: DaemonSet, now: float, *, only_nodes: bool = False) -> Decision:
    claimed = claim(view, _NAME, DAEMONSETS, found.metadata, found.spec.selector, PODS)
    if claimed.effects and not only_nodes:
        return Decision(Waiting("ClaimingPods"), claimed.effects[:EFFECTS_MAX])
    template = template_of(found)
    places = places_of(template, view.list(NODES), claimed.mine)
    effects = _misplaced(found, places) + _missing(view, found, template, places)
    counted = readiness(claimed.mine, found.spec.min_ready_seconds, now)
    again_at = counted.again_at
    if not only_nodes:
        replaced, due = _ended(found, places, now)
        effects += replaced + _doubled(found, places)
        again_at = min((at for at in (again_at, due) if at), default=0.0)
        if not effects:
            effects = _outdated(found, template, places, now)
    wanted = _status(found, template, places, now)
    status = ensure_status(_NAME, DAEMONSETS, found, wanted, _ALWAYS)
    if status is not None:
        effects = [status, *effects]
    settled = wanted.number_available >= wanted.desired_number_scheduled and not effects
    verdict = SETTLED if settled else Waiting("PodsUnavailable", f"{wanted.number_unavailable} unavailable")
    return Decision(verdict, tuple(effects[:EFFECTS_MAX]), again_at)


def _misplaced(found: DaemonSet, places: Sequence[Place]) -> list[Effect]:
    """Pods where none may be."""
    pods = [pod for place in places if not place.may_stay for pod in (place.chosen, *place.others) if pod]
    return _gone(found, pods)


def _doubled(found: DaemonSet, places: Sequence[Place]) -> list[Effect]:
    """Second pods of a node."""
    return _gone(found, [pod for place in places if place.may_stay for pod in place.others])


def _gone(found: DaemonSet, pods: Iterable[Pod]) -> list[Effect]:
    effects = [ensure_gone(_NAME, found.metadata, PODS, pod) for pod in pods]
    return [effect for effect in effects if effect is not None]


def _missing(view: Reading, found: DaemonSet, template: Template, places: Sequence[Place]) -> list[Effect]:
    effects: list[Effect] = []
    meta = found.metadata
    for place in places:
        if not place.should_run or not place.is_empty or len(effects) >= EFFECTS_MAX:
            continue
        attempt = 0
        while view.get(PODS, meta.namespace, name := child_name(meta, place.node, str(attempt))) is not None:
            attempt += 1
        body = pod_body(found, template, place.node, name)
        effect = ensure_child(_NAME, meta, PODS, None, body, f"{place.node}.{attempt}.{template.revision}")
        if effect is not None:
            effects.append(effect)
    return effects


def _ended(found: DaemonSet, places: Sequence[Place], now: float) -> tuple[list[Effect], float]:
    """Pods that ended make room for the next, but not faster than every few seconds."""
    due = [
        (parse_time(pod.metadata.creation_timestamp) + REPLACED_AFTER_SECONDS, pod)
        for place in places
        for pod in place.ended
    ]
    again_at = min((at for at, _ in due if at > now), default=0.0)
    return _gone(found, [pod for at, pod in due if at <= now]), again_at


def _outdated(found: DaemonSet, template: Template, places: Sequence[Place], now: float) -> list[Effect]:
    """Pods of an old revision that may go now: unavailable ones at once, others while few enough are unavailable."""
    strategy = found.spec.update_strategy
    if (strategy.get("type") or "RollingUpdate") != "RollingUpdate":
        return []
    desired = [place for place in places if place.should_run]
    allowed = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    room = max(1, resolved(allowed, len(desired), up=True))
    useless: list[Pod] = []
    working: list[Pod] = []
    for place in desired:
        pod = place.chosen
        is_up = pod is not None and is_available(found, pod, now)
        room -= not is_up
        if pod is not None and pod.metadata.labels.get(REVISION_LABEL) != template.revision:
            (working if is_up else useless).append(pod)
    return _gone(found, [*useless, *working[: max(0, room)]])


def _status(found: DaemonSet, template: Template, places: Sequence[Place], now: float) -> DaemonSetStatus:
    desired = [place for place in places if place.should_run]
    chosen = [place.chosen for place in desired if place.chosen is not None]
    available = sum(is_available(found, pod, now) for pod in chosen)
    return DaemonSetStatus(
        observed_generation=found.metadata.generation,
        desired_number_scheduled=len(desired),
        current_number_scheduled=sum(not place.is_empty for place in desired),
        number_misscheduled=sum(not place.should_run and not place.is_empty for place in places),
        number_ready=sum(pod.ready for pod in chosen),
        updated_number_scheduled=sum(
            pod.metadata.labels.get(REVISION_LABEL) == template.revision for pod in chosen
        ),
        number_available=available,
        number_unavailable=len(desired) - available,
        conditions=found.status.conditions,
    )
