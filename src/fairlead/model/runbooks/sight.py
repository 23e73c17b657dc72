"""What expressions of a runbook see of an object, and what is known of it before there is one.

A run is advanced by a controller, which sees of most kinds what controllers decide on (`model/views/`), and of all
others the whole object. `VIEWS` says which is which; a test holds it against the roster of controllers. `seen` makes
the value of any of them, `static_of` the type that expressions are checked against. A field that is absent has the
view's default there: `deployment.status.readyReplicas` is 0, and needs no `has()`.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from fairlead.core import codec
from fairlead.model.cel.static import BOOL, DYN, INT, STRING, StaticType
from fairlead.model.fields import FieldTables, ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.kind import Json, Kind
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import (
    AUTOSCALERS,
    BUDGETS,
    CONTROLLER_REVISIONS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    OVERRIDES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    RESOURCE_QUOTAS,
    SCHEDULING_POLICIES,
    STATEFULSETS,
    Stored,
    View,
)
from fairlead.model.views.objectives import OBJECTIVES
from fairlead.model.views.runbooks import RUNBOOK_RUNS

VIEWS: Mapping[str, type[View]] = {
    each.name: each.type
    for each in (
        AUTOSCALERS, BUDGETS, CONTROLLER_REVISIONS, CRONJOBS, DAEMONSETS, DEPLOYMENTS, ENDPOINT_SLICES,
        EVIDENCE_POLICIES, JOBS, LEASES, NAMESPACES, NODES, OBJECTIVES, OVERRIDES, PLACEMENT_QUOTAS, PLANE_SETTINGS,
        PODS, REPLICASETS, RESERVATIONS, RESOURCE_QUOTAS, RUNBOOK_RUNS, SCHEDULING_POLICIES, SERVICES, STATEFULSETS,
    )
}  # fmt: skip
_TYPES_KEPT = 128
_SCALARS: Mapping[str, StaticType] = {
    "string": STRING,
    "int32": INT,
    "int64": INT,
    "boolean": BOOL,
    "time": STRING,
}
_PLAIN: Mapping[Any, StaticType] = {str: STRING, int: INT, bool: BOOL}


def seen(view: View) -> Json:
    """An object as expressions see it."""
    if isinstance(view, Stored):  # where nobody else reads the kind
        return seen_of(view.key.resource, view.data)
    return _plain(view)


def seen_of(resource: str, data: bytes) -> Json:
    """The same of stored bytes."""
    view = VIEWS.get(resource)
    if view is None:
        found: Json = codec.decode(data)
        found["metadata"].pop("managedFields", None)
        return found
    return _plain(msgspec.json.decode(data, type=view))


def _plain(view: View) -> Json:
    """There and back again, which is several times faster than a walk through its parts."""
    found: Json = codec.decode(codec.encode(view))
    return found


class ViewStatic(StaticType):
    """What is known of a view."""

    __slots__ = ("_view",)

    def __init__(self, view: type[View]) -> None:
        super().__init__("map")
        self._view = view

    def field(self, name: str) -> StaticType | None:
        return _fields_of(self._view).get(name)


class ListStatic(StaticType):
    """A list whose elements are known."""

    __slots__ = ("_element",)

    def __init__(self, element: StaticType) -> None:
        super().__init__("list")
        self._element = element

    def element(self) -> StaticType:
        return self._element


class ObjectStatic(StaticType):
    """What a field table says of an object."""

    __slots__ = ("_tables", "_type")

    def __init__(self, tables: FieldTables, name: str) -> None:
        super().__init__("map")
        self._tables = tables
        self._type = tables[name]

    def field(self, name: str) -> StaticType | None:
        found = self._type.fields.get(name)
        return None if found is None else _of_table(self._tables, found.type)


def static_of(kind: Kind, tables: FieldTables | None) -> StaticType:
    """The type of an object of this kind. `tables`: None where it is enough to know that it was checked before."""
    view = VIEWS.get(kind.resource)
    return ViewStatic(view) if view is not None else table_static_of(kind, tables) or DYN


def table_static_of(kind: Kind, tables: FieldTables | None) -> StaticType | None:
    """All fields that an object of this kind may have; None where they are not known: custom kinds may be open."""
    if tables is None or kind.structure is not None or kind.schema not in tables.types:
        return None
    return ObjectStatic(tables, kind.schema)


def list_of(static: StaticType) -> StaticType:
    return ListStatic(static)


def _of_table(tables: FieldTables, found: Type) -> StaticType:
    match found:
        case Ref(name):
            return ObjectStatic(tables, name)
        case ListOf(item):
            return ListStatic(_of_table(tables, item))
        case MapOf():
            return StaticType("map")
        case Scalar(name):
            return _SCALARS.get(name, DYN)


@lru_cache(maxsize=_TYPES_KEPT)
def _fields_of(view: type[View]) -> Mapping[str, StaticType]:
    hints = get_type_hints(view)
    names = zip(view.__struct_fields__, view.__struct_encode_fields__, strict=True)
    return {wire: _of_hint(hints[name]) for name, wire in names}


def _of_hint(hint: Any) -> StaticType:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, View):
        return ViewStatic(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return ListStatic(_of_hint(arguments[0]))
    if origin is dict:
        return StaticType("map") if arguments[1] is not Any else DYN
    if origin in (Union, types.UnionType):
        given = [each for each in arguments if each is not type(None)]
        return _of_hint(given[0]) if len(given) == 1 and _is_view(given[0]) else DYN
    return DYN


def _is_view(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, View)
