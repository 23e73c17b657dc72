"""A namespace that is deleted: everything in it is deleted first, then its own finalizer is taken off.

`decide` is called whenever the namespace or something in it changes; it gives deletions, kind after kind, and
when nothing is left, the finalization.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.model.catalog import Catalog
from fairlead.model.kind import Json
from fairlead.port.request import Request
from fairlead.reconcile.ownership import is_deleting
from fairlead.store.contract import Key, Reader

NAMESPACES = "namespaces"
FINALIZER = "kubernetes"


def decide(read: Reader, catalog: Catalog, name: str) -> list[Request]:
    entry = read.get(Key(NAMESPACES, "", name))
    if entry is None or not is_deleting(entry):
        return []
    namespace: Json = codec.decode(entry.data)
    filled = [kind for kind in catalog if kind.namespaced and read.list(kind.resource, name)]
    unasked = [
        kind for kind in filled if not all(is_deleting(each) for each in read.list(kind.resource, name))
    ]
    if unasked:
        return [Request("deletecollection", kind.group, kind.version, kind.plural, name) for kind in unasked]
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    if filled or FINALIZER not in finalizers:
        return []  # what is left has finalizers or grace of its own; its end wakes us
    namespace["spec"]["finalizers"] = [each for each in finalizers if each != FINALIZER]
    return [Request("update", "", "v1", NAMESPACES, "", name, "finalize", body=codec.encode(namespace))]
