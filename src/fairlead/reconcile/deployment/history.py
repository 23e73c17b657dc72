"""The ReplicaSets of a Deployment as its history: which one is new, what it is called, revisions, who is forgotten.

The new set is the one with the Deployment's own template. Going back to an earlier template finds the set of then,
which gets the next revision and remembers its former ones; that is all that `kubectl rollout undo` needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairlead.core import ids
from fairlead.decision.effects import OPERATION, Json
from fairlead.model.marks import TEMPLATE_HASH
from fairlead.model.views import DEPLOYMENTS, Deployment, ReplicaSet
from fairlead.reconcile.children import controller_reference
from fairlead.reconcile.deployment.rollout import DESIRED, MAXIMUM, RolloutLimits

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
# Annotations of a Deployment that say nothing about its template.
_OWN = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED,
        MAXIMUM,
        OPERATION,
    )
)
_HISTORY_CHARACTERS_MAX = 2000
_DIGITS_MAX = 19  # of a number of 64 bits

_sorted = msgspec.json.Encoder(order="sorted")


def template_hash(template: Json, collisions: int) -> str:
    """Ten characters that stand for a template, whatever the order of its fields."""
    entropy = _sorted.encode(template) + (b"" if not collisions else str(collisions).encode())
    return ids.name_suffix(entropy, 0) + ids.name_suffix(entropy, 1)


def is_same_template(one: Json, other: Json) -> bool:
    """Equal but for the hash label."""
    return one.get("spec") == other.get("spec") and _metadata(one) == _metadata(other)


def _metadata(template: Json) -> Json:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    rest = {key: value for key, value in metadata.items() if key != "labels" and value}
    return {**rest, "labels": labels}


def by_age(sets: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    return sorted(sets, key=lambda found: (found.metadata.creation_timestamp, found.metadata.name))


def split_sets(
    deployment: Deployment, sets: Sequence[ReplicaSet]
) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
    """The new set, if it is there, and the others, oldest first. If two have the same template, the older one is the
    new set."""
    ordered = by_age(sets)
    template = deployment.spec.template
    new = next(
        (
            found
            for found in ordered
            if not found.metadata.deletion_timestamp and is_same_template(found.spec.template, template)
        ),
        None,
    )
    return new, [found for found in ordered if found is not new]


def revision_of(annotations: dict[str, str]) -> int:
    text = annotations.get(REVISION, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else 0
    return number if number < 2**63 - 1 else 0  # the next one must be a number as well


def next_revision(olds: Sequence[ReplicaSet]) -> int:
    return max((revision_of(old.metadata.annotations) for old in olds), default=0) + 1


def new_name(deployment: Deployment) -> tuple[str, str]:
    """(name, hash) of the set for the Deployment's template."""
    label = template_hash(deployment.spec.template, deployment.status.collision_count)
    return f"{deployment.metadata.name}-{label}", label


def new_set(
    deployment: Deployment, name: str, label: str, replicas: int, revision: int, bounds: RolloutLimits
) -> Json:
    """The body of the new ReplicaSet."""
    spec, meta = deployment.spec, deployment.metadata
    template_meta = spec.template.get("metadata") or {}
    labels = {**(template_meta.get("labels") or {}), TEMPLATE_HASH: label}
    selector = {
        **spec.selector,
        "matchLabels": {**(spec.selector.get("matchLabels") or {}), TEMPLATE_HASH: label},
    }
    wanted: Json = {
        "replicas": replicas,
        "selector": selector,
        "template": {**spec.template, "metadata": {**template_meta, "labels": labels}},
    }
    if spec.min_ready_seconds:
        wanted["minReadySeconds"] = spec.min_ready_seconds
    return {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {**copy_annotations(deployment), **sizes_noted(bounds), REVISION: str(revision)},
            "ownerReferences": [controller_reference(DEPLOYMENTS, meta)],
        },
        "spec": wanted,
    }


def copy_annotations(deployment: Deployment) -> dict[str, str]:
    """A Deployment's annotations that its new set repeats (the cause of a change, for instance)."""
    annotations = deployment.metadata.annotations
    return {key: value for key, value in annotations.items() if key not in _OWN}


def sizes_noted(bounds: RolloutLimits) -> dict[str, str]:
    return {DESIRED: str(bounds.desired), MAXIMUM: str(bounds.maximum)}


def annotations_of_new(deployment: Deployment, new: ReplicaSet, olds: Sequence[ReplicaSet]) -> dict[str, str]:
    """What the new set should be annotated with; a set that comes back remembers the revisions it had."""
    current = new.metadata.annotations
    wanted = copy_annotations(deployment)
    number, had = next_revision(olds), revision_of(current)
    if had >= number:
        return wanted
    wanted[REVISION] = str(number)
    if had:
        former = [part for part in current.get(REVISION_HISTORY, "").split(",") if part]
        text = ",".join([*former, str(had)])
        while len(text) > _HISTORY_CHARACTERS_MAX:
            text = text.partition(",")[2]
        wanted[REVISION_HISTORY] = text
    return wanted


def choose_forgotten(deployment: Deployment, olds: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Old sets beyond the history limit, the earliest revisions first; only those that are empty and know it."""
    idle = [
        old
        for old in olds
        if old.spec.replicas == 0
        and old.status.replicas == 0
        and old.status.observed_generation >= old.metadata.generation
        and not old.metadata.deletion_timestamp
    ]
    surplus = len(idle) - deployment.spec.revision_history_limit
    idle.sort(key=lambda old: (revision_of(old.metadata.annotations), old.metadata.name))
    return idle[: max(0, surplus)]
