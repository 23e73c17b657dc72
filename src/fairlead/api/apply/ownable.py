"""Which fields can be owned at all, and through which address: what the server keeps up is nobody's, and a part of an
object with an address of its own is owned through that alone. Used by `managing.py` and `api/verbs/apply.py`."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.apply.sets import FieldSet
from fairlead.model.apply.trees import TreeDifference
from fairlead.model.kind import Json, Kind

_STRIPPED = frozenset(
    f"f:{name}"
    for name in (
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
        "resourceVersion",
    )
)  # fmt: skip
_HEAD = frozenset({"f:apiVersion", "f:kind"})
_METADATA, _STATUS = "f:metadata", "f:status"
_SPECIAL = frozenset({*_HEAD, _METADATA, _STATUS})


def filter_of(kind: Kind, subresource: str) -> Callable[[FieldSet], FieldSet]:
    return lambda fields: keep_ownable(kind, subresource, fields)


def keep_ownable_changes(kind: Kind, subresource: str, found: TreeDifference) -> TreeDifference:
    removed = keep_ownable(kind, subresource, found.removed) if found.removed else found.removed
    return TreeDifference(keep_ownable(kind, subresource, found.changed), removed)


def keep_ownable(kind: Kind, subresource: str, fields: FieldSet) -> FieldSet:
    """The set without what cannot be owned through this address."""
    if not fields:
        return fields
    if subresource == "status":
        return _through_status(kind, fields)
    if subresource == "scale" and kind.scale is not None:
        return _only(fields, kind.scale.spec_replicas)
    if fields.keys().isdisjoint(_SPECIAL):
        return fields
    own = {step: below for step, below in fields.items() if step not in _HEAD}
    if _STATUS in own and "status" in kind.subresources:
        del own[_STATUS]
    metadata = own.get(_METADATA)
    if metadata is not None:
        metadata = {step: below for step, below in metadata.items() if step not in _STRIPPED and step != "."}
        if metadata:
            own[_METADATA] = metadata
        else:
            del own[_METADATA]
    return own


def touches_metadata(kind: Kind, new: Json, old: Json) -> bool:
    """Whether a write to the status changes what it may change beside it."""
    after, before = new["metadata"], old["metadata"]
    return any(after.get(name) != before.get(name) for name in kind.status_metadata)


def _through_status(kind: Kind, fields: FieldSet) -> FieldSet:
    found: FieldSet = {_STATUS: fields[_STATUS]} if _STATUS in fields else {}
    if kind.status_metadata and _METADATA in fields:
        metadata = fields[_METADATA]
        kept = {
            f"f:{name}": metadata[f"f:{name}"] for name in kind.status_metadata if f"f:{name}" in metadata
        }
        if kept:
            found = {_METADATA: kept, **found}
    return found


def _only(fields: FieldSet, path: tuple[str, ...]) -> FieldSet:
    """The set of this one field, if it is in there."""
    node: FieldSet | None = fields
    for name in path:
        node = node.get(f"f:{name}") if node is not None else None
    if node is None:
        return {}
    found: FieldSet = {}
    for name in reversed(path):
        found = {f"f:{name}": found}
    return found
