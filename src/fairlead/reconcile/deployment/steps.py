"""The steps of a Deployment: what its controller does next to its ReplicaSets, as effects.

Called by `decider.py` with the sets as they are; the first step that has something to do is the turn's. Numbers come
from `rollout.py`, names and revisions from `history.py`, caution from `caution.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from fairlead.decision.contract import (
    EventNote,
    Reading,
)
from fairlead.decision.effects import OPERATION, Change, Create, Effect, identity, premise_of
from fairlead.decision.ensure import ensure_child, ensure_field, ensure_fields, ensure_gone, ensure_status
from fairlead.decision.notes import NORMAL, regarding_of
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.key import Key
from fairlead.model.views import (
    DEPLOYMENTS,
    PODS,
    REPLICASETS,
    Deployment,
    DeploymentStatus,
    Meta,
    Pod,
    ReplicaSet,
)
from fairlead.reconcile.deployment.caution import hold_back, is_held
from fairlead.reconcile.deployment.history import (
    REVISION,
    annotations_of_new,
    choose_forgotten,
    new_name,
    new_set,
    next_revision,
    sizes_noted,
)
from fairlead.reconcile.deployment.rollout import (
    RolloutLimits,
    Sizes,
    empty_sets,
    first_size,
    grow_new_set,
    is_recreate,
    is_scaling,
    roll_step,
    scale_sets,
)
from fairlead.reconcile.deployment.status import is_complete

NAME = "deployment"


class RolloutScene(NamedTuple):
    """What a turn looks at."""

    view: Reading
    deployment: Deployment
    new: ReplicaSet | None
    olds: list[ReplicaSet]  # oldest first
    bounds: RolloutLimits

    @property
    def new_name(self) -> str:
        return self.new.metadata.name if self.new is not None else ""

    @property
    def sets(self) -> list[ReplicaSet]:
        return [*self.olds, self.new] if self.new is not None else self.olds


def next_step(scene: RolloutScene, status: DeploymentStatus) -> tuple[str, Sequence[Effect], bool]:
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


def _scaled(scene: RolloutScene, *, rolling: bool) -> tuple[Sequence[Effect], bool]:
    new, olds, bounds = scene.new, scene.olds, scene.bounds
    sizes, waits = hold_back(
        scene.view,
        scene.sets,
        lambda seen: scale_sets(
            seen(new) if new is not None else None, [*map(seen, olds)], bounds, rolling=rolling
        ),
    )
    return _sized(scene, sizes), waits


def _rolled(scene: RolloutScene) -> tuple[Sequence[Effect], bool]:
    new, olds, bounds = scene.new, scene.olds, scene.bounds
    if new is None:
        return _created(scene, first_size(olds, bounds)), False
    sizes, waits = hold_back(scene.view, scene.sets, lambda seen: roll_step(new, olds, bounds, seen))
    return _sized(scene, sizes), waits


def _recreated(scene: RolloutScene) -> Sequence[Effect]:
    """Old pods are gone, not only on their way, before the first new one is made. One of which at most one may run is
    released when it has surely ended on its silent node: for that its object may stay. Any other may still run."""
    down = _sized(scene, empty_sets(scene.olds))
    if down or any(_has_pods(scene.view, old) for old in scene.olds):
        return down
    if scene.new is None:
        return _created(scene, first_size(scene.olds, scene.bounds))
    return _sized(scene, grow_new_set(scene.new, scene.olds, scene.bounds))


def _has_pods(view: Reading, found: ReplicaSet) -> bool:
    pods = view.owned(PODS, found.metadata.uid, found.metadata.namespace)
    return found.status.replicas > 0 or any(not pod.finished and not _has_surely_ended(pod) for pod in pods)


def _has_surely_ended(pod: Pod) -> bool:
    return pod.released and is_at_most_one(pod.metadata)


def _created(scene: RolloutScene, replicas: int) -> Sequence[Effect]:
    deployment, meta = scene.deployment, scene.deployment.metadata
    name, label = new_name(deployment)
    there = scene.view.get(REPLICASETS, meta.namespace, name)
    if there is not None:
        return _collided(scene, there)
    body = new_set(deployment, name, label, replicas, next_revision(scene.olds), scene.bounds)
    create = ensure_child(NAME, meta, REPLICASETS, there, body, label, (premise_of(DEPLOYMENTS, meta),))
    return (create,) if create is not None else ()


def _collided(scene: RolloutScene, there: ReplicaSet) -> Sequence[Effect]:
    """Another object has the name that follows from the template: count one up and get another name. If it is our
    own on its way out, wait for it."""
    deployment = scene.deployment
    if any(old.metadata.uid == there.metadata.uid and old.metadata.deletion_timestamp for old in scene.olds):
        return ()
    status = msgspec.structs.replace(deployment.status, collision_count=deployment.status.collision_count + 1)
    report = ensure_status(NAME, DEPLOYMENTS, deployment, status)
    return (report,) if report is not None else ()


def _numbered(scene: RolloutScene, new: ReplicaSet) -> Sequence[Effect]:
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


def _sized(scene: RolloutScene, sizes: Sizes) -> Sequence[Effect]:
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


def scalings(scene: RolloutScene, effects: Sequence[Effect]) -> tuple[EventNote, ...]:
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
        regarding = regarding_of(DEPLOYMENTS, scene.deployment.metadata)
        notes.append(EventNote(regarding, NORMAL, "ScalingReplicaSet", told, place))
    return tuple(notes)


def _forgotten(scene: RolloutScene) -> Sequence[Effect]:
    meta = scene.deployment.metadata
    premises = (premise_of(DEPLOYMENTS, meta),)
    deletes = (
        ensure_gone(NAME, meta, REPLICASETS, old, premises=premises)
        for old in choose_forgotten(scene.deployment, scene.olds)
    )
    return [delete for delete in deletes if delete is not None]
