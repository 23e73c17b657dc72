"""`ensure_*`: what is wanted against what is there gives the effect that closes the gap, or None.

Deciders use these so that identities, preconditions and merge patches are right in one place. An effect carries the
uid and revision of what it was decided on; a status or a field that already is as wanted gives no effect, so a Decider
that runs again on a settled state writes nothing (laws.md 7). Pure; nothing is read here but what is handed in.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from fairlead.decision.effects import (
    OPERATION,
    Change,
    ChangeStatus,
    Create,
    Delete,
    Json,
    change_object,
    change_status,
    create_object,
    delete_object,
    identity,
)
from fairlead.model.patch.merge import patch_between
from fairlead.model.premise import Premises
from fairlead.model.views import Meta, Resource, View


class HasMetadata(Protocol):
    """Any view of an object."""

    @property
    def metadata(self) -> Meta: ...


class Reporting(HasMetadata, Protocol):
    """A view of an object with a status."""

    @property
    def status(self) -> View: ...


def ensure_child(
    controller: str,
    owner: Meta,
    resource: Resource[Any],
    found: HasMetadata | None,
    body: Json,
    occasion: str,
    premises: Premises = (),
) -> Create | None:
    """The child that `body` describes (with metadata.name), unless `found`, what is under its name, is there.
    It gets the owner's namespace, and the operation's identity as an annotation."""
    if found is not None:
        return None
    label = identity(controller, owner.uid, "create", occasion)
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), OPERATION: label}
    whole = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        **body,
        "metadata": {**metadata, "namespace": owner.namespace, "annotations": annotations},
    }
    return create_object(label, resource, owner.namespace, metadata["name"], whole, premises)


def ensure_gone(
    controller: str,
    owner: Meta,
    resource: Resource[Any],
    found: HasMetadata | None,
    policy: str = "Background",
    premises: Premises = (),
) -> Delete | None:
    """The deletion of this very object, unless it is gone or going."""
    if found is None or found.metadata.deletion_timestamp:
        return None
    meta = found.metadata
    label = identity(controller, owner.uid, "delete", meta.uid)
    return delete_object(label, resource, meta, policy=policy, premises=premises)


def ensure_fields(
    controller: str,
    owner: Meta,
    resource: Resource[Any],
    obj: HasMetadata,
    intent: str,
    current: Json,
    wanted: Json,
    premises: Premises = (),
) -> Change | None:
    """The fields in `wanted` (a tree, null removes) where they differ from the same in `current`."""
    patch = patch_between(current, wanted, removes=False)
    if not patch:
        return None
    meta = obj.metadata
    # Which version of which object is changed is the occasion: after any change of it the question is a new one.
    label = identity(controller, owner.uid, intent, f"{meta.uid}@{meta.resource_version}")
    return change_object(label, resource, meta, patch, premises)


def ensure_field(
    controller: str,
    owner: Meta,
    resource: Resource[Any],
    obj: HasMetadata,
    path: tuple[str, ...],
    current: Any,
    wanted: Any,
) -> Change | None:
    """One field, named by its path; None as `wanted` removes it."""
    return ensure_fields(
        controller, owner, resource, obj, ".".join(path), _nested(path, current), _nested(path, wanted)
    )


def ensure_status(
    controller: str, resource: Resource[Any], obj: Reporting, wanted: View, always: tuple[str, ...] = ()
) -> ChangeStatus | None:
    """`wanted` is a status view of the object's own type. Only fields that differ are written; a field at its
    default is removed, so that a status does not show its past. `always`: fields the API wants present."""
    if wanted == obj.status:
        return None
    default = type(wanted)()
    patch: Json = {}
    for name, wire in zip(wanted.__struct_fields__, wanted.__struct_encode_fields__, strict=True):
        value, current = getattr(wanted, name), getattr(obj.status, name)
        if wire in always:
            patch[wire] = _plain(value)
        elif value != current:
            if isinstance(value, dict) and isinstance(current, dict) and value:
                patch[wire] = {**dict.fromkeys(current), **value}
            else:
                patch[wire] = None if value == getattr(default, name) else _plain(value)
    meta = obj.metadata
    label = identity(controller, meta.uid, "status", meta.resource_version)
    return change_status(label, resource, meta, patch)


def _nested(path: tuple[str, ...], value: Any) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """As JSON; views lose the fields that are at their defaults."""
    if isinstance(value, View):
        names, values = value.__struct_encode_fields__, value.__struct_defaults__
        default = dict(zip(names[len(names) - len(values) :], values, strict=True))
        return {
            key: item
            for key, item in msgspec.to_builtins(value).items()
            if key not in default or item != default[key]
        }
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
