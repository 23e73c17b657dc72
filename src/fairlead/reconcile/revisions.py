"""The history of a StatefulSet or DaemonSet: one ControllerRevision per template it has had, the newest last.

    a template that is new            gets a revision, numbered one above all others
    a template it has had before      gets its old revision back, with a new number
    revisions that no pod is of       are kept up to revisionHistoryLimit, the newest of them

`data` is the patch that brings a template back, which is all that `kubectl rollout undo` needs. A revision is called
after its owner and a hash of `data`; if a stranger has that name, the hash is another one. For a StatefulSet it is the
name that Kubernetes' controller gives. Revisions are recognized by what they hold, whoever made them and whatever they
are called, so that no pod restarts when one controller takes over from another (docs/adr/0020). Revisions are claimed
like pods. Used by the Deciders of both kinds before they touch any pod; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.core import codec, ids
from fairlead.decision.contract import Reading
from fairlead.decision.effects import OPERATION, Delete, Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_field, ensure_gone
from fairlead.model.views import CONTROLLER_REVISIONS, ControllerRevision, Json, Meta, Resource
from fairlead.reconcile.children import controller_reference

HASH_LABEL = "controller.kubernetes.io/hash"
REVISION_LABEL = "controller-revision-hash"
_PREFIX_MAX = 223  # of an owner's name in the name of a revision, as Kubernetes cuts it
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class RecordedRevision(NamedTuple):
    """The revision of the template that is wanted now, or the effect that makes it the newest. Neither: wait."""

    update: ControllerRevision | None
    effect: Effect | None


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    return sorted(
        (each for each in revisions if not each.metadata.deletion_timestamp),
        key=lambda each: (each.revision, each.metadata.creation_timestamp, each.metadata.name),
    )


def template_in(revision: ControllerRevision) -> Json:
    """The template that a revision keeps; {} if what it holds is none of ours."""
    spec = revision.data.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(template, dict):
        return {}
    return {key: value for key, value in template.items() if key != "$patch"}


def record_revision(
    view: Reading,
    controller: str,
    resource: Resource[Any],
    owner: Meta,
    template: Json,
    revisions: Sequence[ControllerRevision],
) -> RecordedRevision:
    """`revisions`: the owner's own, in order."""
    wanted = _without_nulls(template)
    equal = [each for each in revisions if _without_nulls(template_in(each)) == wanted]
    if equal and equal[-1] is revisions[-1]:
        return RecordedRevision(equal[-1], None)
    number = revisions[-1].revision + 1 if revisions else 1
    if equal:
        found = equal[-1]
        renumbered = ensure_field(
            controller, owner, CONTROLLER_REVISIONS, found, ("revision",), found.revision, number
        )
        return RecordedRevision(None, renumbered)
    collisions = 0
    name, label = _named(owner, template, collisions)
    while (there := view.get(CONTROLLER_REVISIONS, owner.namespace, name)) is not None:
        if there.metadata.deletion_timestamp:
            return RecordedRevision(None, None)  # on its way out: wait until the name is free
        collisions += 1
        name, label = _named(owner, template, collisions)
    body = _body(resource, owner, template, name, label, number)
    return RecordedRevision(
        None,
        ensure_child(
            controller,
            owner,
            CONTROLLER_REVISIONS,
            None,
            body,
            f"{name}.{number}",
            (premise_of(resource, owner),),
        ),
    )


def _without_nulls(tree: Any) -> Any:
    """A null says the same as nothing. Kubernetes' controllers keep `creationTimestamp: null`, which its API may leave
    out: a revision of theirs is taken for what it is, whatever its hash, and no pod restarts when one takes over."""
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    return [_without_nulls(each) for each in tree] if isinstance(tree, list) else tree


def _named(owner: Meta, template: Json, collisions: int) -> tuple[str, str]:
    label = ids.fnv_name(codec.encode_as_go(_data(template)) + str(collisions).encode())
    return f"{owner.name[:_PREFIX_MAX]}-{label}", label


def _data(template: Json) -> Json:
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def _body(resource: Resource[Any], owner: Meta, template: Json, name: str, label: str, number: int) -> Json:
    annotations = {
        key: value for key, value in owner.annotations.items() if key not in (_LAST_APPLIED, OPERATION)
    }
    labels = (template.get("metadata") or {}).get("labels") or {}
    return {
        "metadata": {
            "name": name,
            "labels": {**labels, HASH_LABEL: label, REVISION_LABEL: label},
            "annotations": annotations,
            "ownerReferences": [controller_reference(resource, owner)],
        },
        "data": _data(template),
        "revision": number,
    }


def forget_revisions(
    controller: str, owner: Meta, revisions: Sequence[ControllerRevision], in_use: Iterable[str], limit: int
) -> list[Delete]:
    """The oldest that nobody needs, beyond what is to be remembered. `in_use` are names."""
    used = frozenset(in_use)
    idle = [each for each in revisions if each.metadata.name not in used]
    deletes = (
        ensure_gone(controller, owner, CONTROLLER_REVISIONS, each)
        for each in idle[: max(0, len(idle) - limit)]
    )
    return [each for each in deletes if each is not None]
