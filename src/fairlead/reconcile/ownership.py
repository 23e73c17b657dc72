"""Owners and deletion, read off any view: what `garbage.py` and `namespace.py` decide on, whatever the kind.

A resource that another controller reads is seen in that controller's view of it, any other as it is stored; both answer
the questions below. An object that is held as stored bytes is decoded only as far as the answer needs.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.views import Meta, Owner, Resource, Stored, View

# What deletion depends on: owners, whether it is asked for, and by then the finalizers.
Ties = tuple[tuple[Owner, ...], bool, tuple[str, ...]]
FREE: Ties = ((), False, ())


def resources_of(catalog: Catalog) -> dict[str, Resource[View]]:
    """Every stored resource, in the order of the catalog. Any view of its objects will do: only metadata is read."""
    found: dict[str, Resource[View]] = {}
    for kind in catalog:
        found.setdefault(kind.resource, Resource(kind.resource, kind.api_version, kind.kind, View))
    return found


def meta_of(view: Any) -> Meta:
    meta: Meta = view.metadata
    return meta


def uid_of(view: View) -> str:
    return view.uid if isinstance(view, Stored) else meta_of(view).uid


def revision_of(view: View) -> int:
    return view.revision if isinstance(view, Stored) else meta_of(view).revision


def owners_of(view: View) -> tuple[Owner, ...]:
    found: Any = view
    owners: tuple[Owner, ...] = view.owners if isinstance(view, Stored) else found.metadata.owner_references
    return owners


def is_deleting(view: View) -> bool:
    """Whether its deletion was asked for."""
    found: Any = view
    return view.deleting if isinstance(view, Stored) else bool(found.metadata.deletion_timestamp)


def ties_of(view: View) -> Ties:
    if isinstance(view, Stored) and not view.mentions_owners and not view.mentions_deletion:
        return FREE
    meta = meta_of(view)
    deleting = bool(meta.deletion_timestamp)
    return meta.owner_references, deleting, meta.finalizers if deleting else ()


def owner_key(catalog: Catalog, owner: Owner, namespace: str) -> Key | None:
    """Where the owner of an object in `namespace` must be; None if that cannot be told: its kind is not served
    here, or is in a namespace while the object is in none."""
    group, _, version = owner.api_version.rpartition("/")
    kind = catalog.find_kind(group, version, owner.kind)
    if kind is None or (kind.namespaced and not namespace):
        return None
    return Key(kind.resource, namespace if kind.namespaced else "", owner.name)


def as_reference(owner: Owner) -> Json:
    """The ownerReference as it stands in the object."""
    reference: Json = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
    if owner.controller is not None:
        reference["controller"] = owner.controller
    if owner.block_owner_deletion is not None:
        reference["blockOwnerDeletion"] = owner.block_owner_deletion
    return reference
