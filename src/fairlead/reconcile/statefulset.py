"""The StatefulSet controller: numbered pods that come in order, go in reverse order, and keep their names.

One turn reports what was observed and then does the first of these that is needed:

    keep the current template          (statefulset_pods.py says why)
    adopt and release pods
    replace pods that have ended, make those that are missing; OrderedReady: one, and only above healthy ones
    delete pods of ordinals that are not wanted; OrderedReady: the highest, once all others are healthy
    rolling update: delete the highest pod of an old revision, once all above it are healthy; not below the partition

A pod is made under a name only when no pod has it, on its way out or not. Claim templates are not acted upon (there
are no volumes yet), nor is rollingUpdate.maxUnavailable: an update takes one pod at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Verdict, Waiting
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_child, ensure_fields, ensure_gone, ensure_status
from fairlead.model.views import PODS, STATEFULSETS, Pod, Resource, StatefulSet, StatefulSetStatus, View
from fairlead.reconcile.children import claim, readiness
from fairlead.reconcile.statefulset_pods import (
    CURRENT_TEMPLATE,
    REVISION_LABEL,
    Ranks,
    Revisions,
    is_healthy,
    is_rolling,
    kept_template,
    ordinal_of,
    partition_of,
    pod_body,
    ranks_of,
    revisions_of,
)
from fairlead.store.contract import Key

_NAME = "statefulset"


class StatefulSetDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (STATEFULSETS, PODS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        found: dict[Key, None] = {}
        for each in (before, after):
            if isinstance(each, StatefulSet):
                found[Key(STATEFULSETS.name, each.metadata.namespace, each.metadata.name)] = None
            elif isinstance(each, Pod):
                owner = each.metadata.controller
                if owner is not None and owner.kind == STATEFULSETS.kind:
                    found[Key(STATEFULSETS.name, each.metadata.namespace, owner.name)] = None
        return tuple(found)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(STATEFULSETS, key.namespace, key.name)
        if found is None or found.metadata.deletion_timestamp:
            return NOTHING
        claimed = claim(view, _NAME, STATEFULSETS, found.metadata, found.spec.selector, PODS)
        # A pod that matches but has no name of ours stays without us.
        claims = [each for each in claimed.effects if ordinal_of(found, each.name) >= 0]
        if claims:
            return Decision(Waiting("ClaimingPods"), tuple(claims[:EFFECTS_MAX]))
        ranks = ranks_of(found, claimed.mine)
        revisions = revisions_of(found)
        kept = _keep_template(found, ranks, revisions, now)
        if kept is not None:
            return Decision(Waiting("KeepingTemplate"), (kept,))
        counted = readiness(_present(ranks), found.spec.min_ready_seconds, now)
        verdict, effects = _next(view, found, ranks, revisions, now)
        status = ensure_status(
            _NAME,
            STATEFULSETS,
            found,
            _status(found, ranks, revisions, now),
            ("replicas", "availableReplicas"),
        )
        if status is not None:
            effects = [status, *effects]
        return Decision(verdict, tuple(effects[:EFFECTS_MAX]), counted.again_at)


def _present(ranks: Ranks) -> list[Pod]:
    return [*ranks.members.values(), *ranks.condemned]


def _keep_template(found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float) -> Effect | None:
    """Before the first pod, and when every pod is of the new revision and healthy, the spec's template is current."""
    annotations = found.metadata.annotations
    if CURRENT_TEMPLATE in annotations and revisions.current == revisions.update:
        return None
    pods = _present(ranks)
    complete = len(pods) == found.spec.replicas and all(
        pod.metadata.labels.get(REVISION_LABEL) == revisions.update and is_healthy(found, pod, now)
        for pod in pods
    )
    if CURRENT_TEMPLATE in annotations and pods and not complete:
        return None
    wanted = {"metadata": {"annotations": {CURRENT_TEMPLATE: kept_template(revisions.update_template)}}}
    current = {"metadata": {"annotations": annotations}}
    return ensure_fields(_NAME, found.metadata, STATEFULSETS, found, "keep-template", current, wanted)


def _next(
    view: Reading, found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float
) -> tuple[Verdict, list[Effect]]:
    """What is to be done to the pods now, and what is waited for."""
    ordered = found.spec.pod_management_policy != "Parallel"
    effects: list[Effect] = []
    for ordinal in ranks.wanted:
        effect, waits = _replica(view, found, ranks, ordinal, revisions, now)
        if effect is not None:
            effects.append(effect)
        if ordered and (effect is not None or waits):
            return Waiting(waits or "PodMissing", f"{found.metadata.name}-{ordinal}"), effects
    for pod in ranks.condemned:
        effect = ensure_gone(_NAME, found.metadata, PODS, pod)
        if effect is not None:
            effects.append(effect)
        if ordered:
            return Waiting("ScalingDown", pod.metadata.name), effects
    if effects or ranks.condemned:
        return Waiting("Scaling"), effects
    return _update(found, ranks, revisions, now) if is_rolling(found) else (_verdict(found, ranks, now), [])


def _replica(
    view: Reading, found: StatefulSet, ranks: Ranks, ordinal: int, revisions: Revisions, now: float
) -> tuple[Effect | None, str]:
    """What one wanted ordinal needs, and why its successors wait for it."""
    pod = ranks.members.get(ordinal)
    meta = found.metadata
    if pod is None:
        body = pod_body(found, ordinal, revisions)
        there = view.get(PODS, meta.namespace, body["metadata"]["name"])
        occasion = f"{ordinal}.{body['metadata']['labels'][REVISION_LABEL]}"
        return ensure_child(
            _NAME, meta, PODS, there, body, occasion
        ), "PodMissing" if not there else "NameTaken"
    if pod.metadata.deletion_timestamp:
        return None, "PodTerminating"
    if pod.finished:
        return ensure_gone(_NAME, meta, PODS, pod), "PodEnded"
    return None, "" if is_healthy(found, pod, now) else "PodNotReady"


def _update(
    found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float
) -> tuple[Verdict, list[Effect]]:
    """The highest pod that is not of the update revision goes; whoever is not healthy above it is waited for."""
    for ordinal in reversed(ranks.wanted[partition_of(found) :]):
        pod = ranks.members.get(ordinal)
        if pod is None:
            return Waiting("NameTaken", f"{found.metadata.name}-{ordinal}"), []
        if pod.metadata.labels.get(REVISION_LABEL) != revisions.update:
            effect = ensure_gone(_NAME, found.metadata, PODS, pod)
            return Waiting("RollingUpdate", pod.metadata.name), [effect] if effect is not None else []
        if not is_healthy(found, pod, now):
            return Waiting("PodNotReady", pod.metadata.name), []
    return _verdict(found, ranks, now), []


def _verdict(found: StatefulSet, ranks: Ranks, now: float) -> Verdict:
    for pod in ranks.members.values():
        if not is_healthy(found, pod, now):
            return Waiting("PodNotReady", pod.metadata.name)
    return SETTLED


def _status(found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float) -> StatefulSetStatus:
    pods = [pod for pod in _present(ranks) if not pod.finished]
    staying = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    running = [pod for pod in pods if pod.status.phase == "Running"]
    counted = readiness(running, found.spec.min_ready_seconds, now)

    def of(revision: str) -> int:
        return sum(pod.metadata.labels.get(REVISION_LABEL) == revision for pod in staying)

    return StatefulSetStatus(
        observed_generation=found.metadata.generation,
        replicas=len(pods),
        ready_replicas=counted.ready,
        available_replicas=counted.available,
        current_replicas=of(revisions.current),
        updated_replicas=of(revisions.update),
        current_revision=revisions.current,
        update_revision=revisions.update,
        conditions=found.status.conditions,
    )
