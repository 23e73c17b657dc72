"""Deployment: replicas of a template, kept by ReplicaSets, replaced step by step when the template changes.

Per turn the first of these that has something to do: claim ReplicaSets; create the new one (or, if the strategy is
Recreate, empty the old ones first); number the revision; scale when the number of replicas changed; take the next step
of the rollout; forget old revisions; report. Sizes come from `deployment_rollout.py`, the history from
`deployment_history.py`, conditions from `deployment_status.py`, and what holds a rollout back from
`deployment_caution.py`. Pods are looked at only to see whether old ones are gone, or out of reach when others are about
to be given up for them; how many are available is what the ReplicaSets report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Verdict,
    Waiting,
)
from fairlead.decision.effects import OPERATION, Change, Create, Effect, identity
from fairlead.decision.ensure import ensure_child, ensure_field, ensure_fields, ensure_gone, ensure_status
from fairlead.decision.heeds import GONE, Heeds
from fairlead.decision.notes import NORMAL, WARNING, about
from fairlead.model.views import (
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    NODES,
    PODS,
    REPLICASETS,
    Deployment,
    DeploymentStatus,
    Meta,
    Pod,
    ReplicaSet,
    Resource,
    View,
)
from fairlead.reconcile.children import claim, claimants
from fairlead.reconcile.deployment_caution import (
    LOOK_AGAIN_SECONDS,
    cautious,
    is_held,
    is_late,
    late_notes,
    pause_due_at,
    pause_of,
)
from fairlead.reconcile.deployment_history import (
    REVISION,
    TEMPLATE_HASH,
    annotations_of_new,
    forgotten,
    new_name,
    new_set,
    next_revision,
    sizes_noted,
    split,
)
from fairlead.reconcile.deployment_rollout import (
    Limits,
    Sizes,
    emptied,
    first_size,
    grown,
    is_recreate,
    is_scaling,
    limits,
    rolled,
    scaled,
)
from fairlead.reconcile.deployment_status import (
    PROGRESSING,
    TIMED_OUT,
    create_failed,
    deadline,
    is_complete,
    wanted_status,
)
from fairlead.store.contract import Key

NAME = "deployment"


class _Scene(NamedTuple):
    """What a turn looks at."""

    view: Reading
    deployment: Deployment
    new: ReplicaSet | None
    olds: list[ReplicaSet]  # oldest first
    bounds: Limits

    @property
    def sets(self) -> list[ReplicaSet]:
        return [*self.olds, self.new] if self.new is not None else self.olds


class DeploymentDecider:
    name = NAME
    reads: tuple[Resource[View], ...] = (DEPLOYMENTS, REPLICASETS, PODS, NODES, EVIDENCE_POLICIES)
    heeds: Heeds = ((PODS.name, GONE), (NODES.name, 0))

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if resource == PODS.name:
            return _of_gone_pod(before) if after is None else ()
        if resource == REPLICASETS.name:
            return dict.fromkeys(key for found in (before, after) if (key := _owner_of(found)) is not None)
        found = after if after is not None else before
        return (_key_of(found),) if isinstance(found, Deployment) else ()

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        if resource == EVIDENCE_POLICIES.name:
            return [_key_of(each) for each in view.list(DEPLOYMENTS) if is_late(each)]
        return claimants(view, DEPLOYMENTS, before, after) if resource == REPLICASETS.name else ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None:
            return NOTHING
        claimed = claim(view, NAME, DEPLOYMENTS, found.metadata, found.spec.selector, REPLICASETS)
        if claimed.effects:
            return Decision(Waiting("ClaimingReplicaSets"), claimed.effects[:EFFECTS_MAX])
        scene = _Scene(view, found, *split(found, claimed.mine), limits(found))
        status = wanted_status(
            found, scene.new, scene.olds, scene.bounds, now, lambda: pause_of(view, found, scene.new, now)
        )
        again_at = deadline(found, status) or pause_due_at(view, found, status, now)
        if not found.metadata.deletion_timestamp:
            reason, effects, waits = _next_step(scene, status)
            if waits:
                again_at = min(again_at or now + LOOK_AGAIN_SECONDS, now + LOOK_AGAIN_SECONDS)
            if effects:
                effects = effects[:EFFECTS_MAX]
                return Decision(Waiting(reason), tuple(effects), again_at, _scalings(scene, effects))
        report = ensure_status(NAME, DEPLOYMENTS, found, status)
        notes = late_notes(found, status) if report is not None else ()
        return Decision(_verdict(scene, status), (report,) if report is not None else (), again_at, notes)

    def refused(self, view: Reading, key: Key, effect: Effect, message: str, now: float) -> Decision:
        """What to report when the API keeps refusing to create the new ReplicaSet."""
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None or not isinstance(effect, Create):
            return NOTHING
        status = ensure_status(NAME, DEPLOYMENTS, found, create_failed(found, message, now))
        told = f'Failed to create new replica set "{effect.name}": {message}'
        note = EventNote(about(DEPLOYMENTS, found.metadata), WARNING, "ReplicaSetCreateError", told)
        return Decision(
            Waiting("ReplicaSetCreateError", message), (status,) if status else (), events=(note,)
        )


def _next_step(scene: _Scene, status: DeploymentStatus) -> tuple[str, Sequence[Effect], bool]:
    """(reason, effects) of the first thing that is to be done; nothing if all is as it should be for now. And whether
    pods out of reach are waited for."""
    spec, new = scene.deployment.spec, scene.new
    recreate = is_recreate(spec.strategy)
    steps: list[tuple[str, Sequence[Effect]]] = []
    waits = False
    if new is not None:
        steps.append(("NumberingRevision", _numbered(scene, new)))
    if spec.paused or is_scaling(scene.sets, scene.bounds):
        scaling, waits = _scaled(scene, rolling=not recreate)
        steps.append(("Scaling", scaling))
    if not spec.paused and recreate:
        steps.append(("RollingOut", _recreated(scene)))
    elif not spec.paused and not is_held(status, new):
        rolling, lost = _rolled(scene)
        waits |= lost
        steps.append(("RollingOut", rolling))
    if spec.paused or is_complete(scene.deployment, status):
        steps.append(("ForgettingRevisions", _forgotten(scene)))
    reason, effects = next((step for step in steps if step[1]), ("", ()))
    return reason, effects, waits


def _scaled(scene: _Scene, *, rolling: bool) -> tuple[Sequence[Effect], bool]:
    new, olds, bounds = scene.new, scene.olds, scene.bounds
    sizes, waits = cautious(
        scene.view,
        scene.sets,
        lambda seen: scaled(
            seen(new) if new is not None else None, [*map(seen, olds)], bounds, rolling=rolling
        ),
    )
    return _sized(scene, sizes), waits


def _rolled(scene: _Scene) -> tuple[Sequence[Effect], bool]:
    new, olds, bounds = scene.new, scene.olds, scene.bounds
    if new is None:
        return _created(scene, first_size(olds, bounds)), False
    sizes, waits = cautious(
        scene.view, scene.sets, lambda seen: rolled(seen(new), [*map(seen, olds)], bounds)
    )
    return _sized(scene, sizes), waits


def _recreated(scene: _Scene) -> Sequence[Effect]:
    """Old pods are gone, not only on their way, before the first new one is made."""
    down = _sized(scene, emptied(scene.olds))
    if down or any(_has_pods(scene.view, old) for old in scene.olds):
        return down
    if scene.new is None:
        return _created(scene, first_size(scene.olds, scene.bounds))
    return _sized(scene, grown(scene.new, scene.olds, scene.bounds))


def _has_pods(view: Reading, found: ReplicaSet) -> bool:
    return found.status.replicas > 0 or any(not pod.finished for pod in view.owned(PODS, found.metadata.uid))


def _created(scene: _Scene, replicas: int) -> Sequence[Effect]:
    deployment, meta = scene.deployment, scene.deployment.metadata
    name, label = new_name(deployment)
    there = scene.view.get(REPLICASETS, meta.namespace, name)
    if there is not None:
        return _collided(scene, there)
    body = new_set(deployment, name, label, replicas, next_revision(scene.olds), scene.bounds)
    create = ensure_child(NAME, meta, REPLICASETS, there, body, label)
    return (create,) if create is not None else ()


def _collided(scene: _Scene, there: ReplicaSet) -> Sequence[Effect]:
    """Another object has the name that follows from the template: count one up and get another name. If it is our
    own on its way out, wait for it."""
    deployment = scene.deployment
    if any(old.metadata.uid == there.metadata.uid and old.metadata.deletion_timestamp for old in scene.olds):
        return ()
    status = msgspec.structs.replace(deployment.status, collision_count=deployment.status.collision_count + 1)
    report = ensure_status(NAME, DEPLOYMENTS, deployment, status)
    return (report,) if report is not None else ()


def _numbered(scene: _Scene, new: ReplicaSet) -> Sequence[Effect]:
    """The revision on the new set, then the same on the Deployment."""
    meta = scene.deployment.metadata
    wanted = annotations_of_new(scene.deployment, new, scene.olds)
    current = new.metadata.annotations
    revision = wanted.get(REVISION, current.get(REVISION, ""))
    changes = (
        ensure_fields(
            NAME, meta, REPLICASETS, new, "revision",
            {"metadata": {"annotations": current}}, {"metadata": {"annotations": wanted}},
        ),
        ensure_fields(
            NAME, meta, DEPLOYMENTS, scene.deployment, "revision",
            {"metadata": {"annotations": meta.annotations}},
            {"metadata": {"annotations": {REVISION: revision, **_not_ours(meta)}}},
        ),
        ensure_field(
            NAME, meta, REPLICASETS, new, ("spec", "minReadySeconds"),
            new.spec.min_ready_seconds, scene.deployment.spec.min_ready_seconds,
        ),
    )  # fmt: skip
    return _one_per_object(change for change in changes if change is not None)


def _not_ours(meta: Meta) -> dict[str, None]:
    """`kubectl rollout undo` copies what marks a set as our doing to the Deployment, where it says nothing."""
    marked = meta.annotations.get(OPERATION, "").startswith(identity(NAME, meta.uid, "create") + "/")
    return {OPERATION: None} if marked else {}


def _one_per_object(changes: Iterable[Change]) -> Sequence[Effect]:
    """Each is bound to a revision, which the one before it would have moved; the others follow in the next turn."""
    first: dict[Key, Effect] = {}
    for change in changes:
        first.setdefault(change.key, change)
    return tuple(first.values())


def _sized(scene: _Scene, sizes: Sizes) -> Sequence[Effect]:
    noted = sizes_noted(scene.bounds)
    changes = []
    for found in scene.sets:
        if found.metadata.name not in sizes:
            continue
        change = ensure_fields(
            NAME, scene.deployment.metadata, REPLICASETS, found, "scale",
            {"spec": {"replicas": found.spec.replicas}, "metadata": {"annotations": found.metadata.annotations}},
            {"spec": {"replicas": sizes[found.metadata.name]}, "metadata": {"annotations": noted}},
        )  # fmt: skip
        if change is not None:
            changes.append(change)
    return changes


def _scalings(scene: _Scene, effects: Sequence[Effect]) -> tuple[EventNote, ...]:
    """One for each set that gets another size by these effects, be it new."""
    sizes = {found.metadata.name: found.spec.replicas for found in scene.sets}
    notes = []
    for place, effect in enumerate(effects):
        asked = effect.body if isinstance(effect, Create) else getattr(effect, "patch", {})
        after = (asked.get("spec") or {}).get("replicas")
        before = sizes.get(effect.name, 0)
        if effect.resource != REPLICASETS.name or after is None or after == before:
            continue
        way = "up" if after > before else "down"
        told = f"Scaled {way} replica set {effect.name} from {before} to {after}"
        regarding = about(DEPLOYMENTS, scene.deployment.metadata)
        notes.append(EventNote(regarding, NORMAL, "ScalingReplicaSet", told, place))
    return tuple(notes)


def _forgotten(scene: _Scene) -> Sequence[Effect]:
    meta = scene.deployment.metadata
    deletes = (ensure_gone(NAME, meta, REPLICASETS, old) for old in forgotten(scene.deployment, scene.olds))
    return [delete for delete in deletes if delete is not None]


def _verdict(scene: _Scene, status: DeploymentStatus) -> Verdict:
    if scene.deployment.metadata.deletion_timestamp:
        return Waiting("Deleting")
    for each in status.conditions:
        if each.type == PROGRESSING and each.reason == TIMED_OUT:
            return Waiting(each.reason, each.message)  # late, but it may still get there
    if is_complete(scene.deployment, status):
        return SETTLED
    if scene.deployment.spec.paused:
        return Waiting("Paused")
    wanted = scene.deployment.spec.replicas
    return Waiting("PodsUnavailable", f"{status.available_replicas} of {wanted} replicas are available")


def _key_of(found: Deployment) -> Key:
    return Key(DEPLOYMENTS.name, found.metadata.namespace, found.metadata.name)


def _owner_of(found: View | None) -> Key | None:
    if not isinstance(found, ReplicaSet):
        return None
    owner = found.metadata.controller
    if owner is None or owner.kind != DEPLOYMENTS.kind:
        return None
    return Key(DEPLOYMENTS.name, found.metadata.namespace, owner.name)


def _of_gone_pod(pod: View | None) -> tuple[Key, ...]:
    """The Deployment whose ReplicaSet a pod belonged to, as far as the names tell: Recreate waits for old pods."""
    if not isinstance(pod, Pod):
        return ()
    owner, label = pod.metadata.controller, pod.metadata.labels.get(TEMPLATE_HASH)
    if owner is None or not label or not owner.name.endswith(f"-{label}"):
        return ()
    return (Key(DEPLOYMENTS.name, pod.metadata.namespace, owner.name.removesuffix(f"-{label}")),)
