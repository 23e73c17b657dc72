"""Effects built from what a Decider has at hand: its own name, a resource, an object's metadata.

Called by the Deciders of this folder only. Each function fills in the address, the identity and the preconditions
of one effect, so that none is forgotten.
"""

from __future__ import annotations

from typing import Any

from fairlead.decision.effects import OPERATION, Change, ChangeStatus, Create, Delete, identity, plural_of
from fairlead.model.views import Json, Meta, Resource


def owner_reference(resource: Resource[Any], owner: Meta) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def create(
    controller: str,
    resource: Resource[Any],
    owner: Meta,
    owner_resource: Resource[Any],
    occasion: str,
    body: Json,
) -> Create:
    """A child of `owner`: the body gets its owner and the mark by which the action is known again."""
    label = identity(controller, owner.uid, "create", occasion)
    metadata = {
        **body["metadata"],
        "annotations": {**(body["metadata"].get("annotations") or {}), OPERATION: label},
        "ownerReferences": [owner_reference(owner_resource, owner)],
    }
    name, namespace = metadata["name"], metadata.get("namespace", "")
    body = {**body, "metadata": metadata}
    return Create(label, resource.name, resource.api_version, plural_of(resource), namespace, name, body)


def change(controller: str, resource: Resource[Any], meta: Meta, intent: str, patch: Json) -> Change:
    return Change(
        identity(controller, meta.uid, intent, str(meta.revision)),
        resource.name,
        resource.api_version,
        plural_of(resource),
        meta.namespace,
        meta.name,
        meta.uid,
        meta.revision,
        patch,
    )


def change_status(controller: str, resource: Resource[Any], meta: Meta, status: Json) -> ChangeStatus:
    return ChangeStatus(
        identity(controller, meta.uid, "status", str(meta.revision)),
        resource.name,
        resource.api_version,
        plural_of(resource),
        meta.namespace,
        meta.name,
        meta.uid,
        meta.revision,
        {"status": status},
    )


def delete(
    controller: str, resource: Resource[Any], meta: Meta, intent: str = "delete", policy: str = "Background"
) -> Delete:
    return Delete(
        identity(controller, meta.uid, intent),
        resource.name,
        resource.api_version,
        plural_of(resource),
        meta.namespace,
        meta.name,
        meta.uid,
        meta.revision,
        policy,
    )
