"""Which operations each kind has, as OpenAPI paths in the dialect of version 2 or 3.

Used by `api/openapi/documents.py` only. kubectl reads from them whether the server knows `fieldValidation` and `dryRun`
(at the patch operation of the kind); `kubectl explain` finds the kind of a resource through its path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairlead.api.access.reviews import Review
from fairlead.api.openapi.schemas import META, PATCH, Dialect, gvk, list_name, schema_name
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
)
# Custom kinds say nothing of merge keys.
CUSTOM_PATCH_TYPES = tuple(name for name in PATCH_TYPES if name != STRATEGIC)
_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
    "follow": "boolean",
    "insecureSkipTLSVerifyBackend": "boolean",
    "limitBytes": "integer",
    "previous": "boolean",
    "sinceSeconds": "integer",
    "tailLines": "integer",
    "timestamps": "boolean",
}
_WRITE = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "pretty", "propagationPolicy")
_SELECT = ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch")
_LIST = ("allowWatchBookmarks", *_SELECT, "pretty", "sendInitialEvents", "timeoutSeconds", "watch")
_LOG = (
    "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous", "sinceSeconds",
    "sinceTime", "tailLines", "timestamps",
)  # fmt: skip
_TEXT = "text/plain"
_STATUS = f"{META}.Status"
_DELETE_OPTIONS = f"{META}.DeleteOptions"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `body` and `result` are full names of schemas; a result without one is text."""

    path: str
    method: str
    group_version_kind: Json
    result: str
    body: str = ""
    query: tuple[str, ...] = ()
    of_all: str = ""  # what the method is called where it is about all objects at once

    @property
    def action(self) -> str:
        return self.of_all or self.method


def _write(path: str, method: str, me: Json, name: str, query: tuple[str, ...] = _WRITE) -> Operation:
    """One that takes an object and answers with it."""
    return Operation(path, method, me, name, body=PATCH if method == "patch" else name, query=query)


def _delete(
    path: str, me: Json, result: str, query: tuple[str, ...] = _DELETE, of_all: str = ""
) -> Operation:
    return Operation(path, "delete", me, result, body=_DELETE_OPTIONS, query=query, of_all=of_all)


def operations(tables: FieldTables, kind: Kind) -> Iterator[Operation]:
    """Everything that can be done with a kind and its subresources."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    collection = (
        f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    )
    item = f"{collection}/{{name}}"
    me = gvk(kind.group, kind.version, kind.kind)
    name, many = schema_name(tables, kind), list_name(tables, kind)
    if kind.namespaced:
        yield Operation(f"{root}/{kind.plural}", "get", me, many, query=_LIST, of_all="list")
    yield Operation(collection, "get", me, many, query=_LIST, of_all="list")
    yield _write(collection, "post", me, name)
    if kind.deletecollection:
        query = tuple(sorted({*_DELETE, *_SELECT}))
        yield _delete(collection, me, _STATUS, query, of_all="deletecollection")
    yield from _single(item, me, name)
    yield _delete(item, me, name if kind.shows_deleted else _STATUS)
    yield from _subresources(tables, kind, item, me, name)


def _single(path: str, me: Json, name: str) -> Iterator[Operation]:
    yield Operation(path, "get", me, name, query=("pretty",))
    yield _write(path, "put", me, name)
    yield _write(path, "patch", me, name, (*_WRITE, "force"))


def _subresources(tables: FieldTables, kind: Kind, item: str, me: Json, name: str) -> Iterator[Operation]:
    for sub in kind.subresources:
        path = f"{item}/{sub}"
        if sub == "status":
            yield from _single(path, me, name)
        elif sub == "scale":
            yield from _single(path, gvk("autoscaling", "v1", "Scale"), tables["Scale"].full_name)
        elif sub == "binding":
            yield _write(path, "post", gvk("", "v1", "Binding"), tables["Binding"].full_name)
        elif sub == "eviction":
            yield _write(path, "post", gvk("policy", "v1", "Eviction"), tables["Eviction"].full_name)
        elif sub == "finalize":
            yield _write(path, "put", me, name)
        elif sub == "log":
            yield Operation(path, "get", me, "", query=_LOG)


def paths(tables: FieldTables, dialect: Dialect, kinds: Iterable[Kind]) -> Json:
    """The `paths` object of a document."""
    found: dict[str, Json] = {}
    for kind in kinds:
        for operation in operations(tables, kind):
            entry = found.setdefault(
                operation.path, {"parameters": _path_parameters(dialect, operation.path)}
            )
            custom = kind.openapi is not None
            entry[operation.method] = _operation(dialect, operation, kind.group, kind.version, custom)
    return dict(sorted(found.items()))


def review_paths(tables: FieldTables, dialect: Dialect, reviews: Iterable[Review]) -> Json:
    """The same for questions, which take POST alone."""
    found: Json = {}
    for each in reviews:
        path = f"/apis/{each.group}/{each.version}/{each.plural}"
        name, me = tables[each.kind].full_name, gvk(each.group, each.version, each.kind)
        operation = _write(path, "post", me, name, ("pretty",))
        entry = _operation(dialect, operation, each.group, each.version, False)
        found[path] = {"parameters": [], "post": entry}
    return found


def _operation(dialect: Dialect, operation: Operation, group: str, version: str, custom: bool) -> Json:
    patches = CUSTOM_PATCH_TYPES if custom else PATCH_TYPES
    entry: Json = {
        "operationId": _operation_id(operation),
        "tags": ["_".join((group.partition(".")[0] or "core", version))],
        "parameters": [_parameter(dialect, "query", name) for name in operation.query],
        "responses": _responses(dialect, operation),
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.group_version_kind,
    }
    if dialect.version == 2:
        entry["consumes"] = list(patches) if operation.method == "patch" else [JSON]
        entry["produces"] = [JSON if operation.result else _TEXT]
    if operation.body:
        _add_body(dialect, operation, entry, patches)
    return entry


def _add_body(dialect: Dialect, operation: Operation, entry: Json, patch_types: tuple[str, ...]) -> None:
    schema = dialect.ref(operation.body)
    required = operation.method != "delete"
    if dialect.version == 2:
        entry["parameters"].append({"in": "body", "name": "body", "required": required, "schema": schema})
        return
    media = patch_types if operation.method == "patch" else ("*/*",)
    entry["requestBody"] = {"content": {name: {"schema": schema} for name in media}, "required": required}


def _responses(dialect: Dialect, operation: Operation) -> Json:
    found = {"200": _response(dialect, operation.result)}
    if operation.body and operation.method != "delete":
        found["201"] = found["200"] | {"description": "Created"}
    if operation.method in ("post", "delete"):
        found["202"] = found["200"] | {"description": "Accepted"}
    found["default"] = _response(dialect, _STATUS) | {"description": "why it was refused"}
    return found


def _response(dialect: Dialect, result: str) -> Json:
    schema = dialect.ref(result) if result else {"type": "string"}
    if dialect.version == 2:
        return {"description": "OK", "schema": schema}
    return {"description": "OK", "content": {JSON if result else _TEXT: {"schema": schema}}}


def _parameter(dialect: Dialect, place: str, name: str) -> Json:
    kind = _TYPES.get(name, "string")
    common: Json = {"in": place, "name": name}
    if place == "path":
        common["required"] = True
    if dialect.version == 2:
        return common | {"type": kind, "uniqueItems": True}
    return common | {"schema": {"type": kind, "uniqueItems": True}}


def _path_parameters(dialect: Dialect, path: str) -> list[Json]:
    return [_parameter(dialect, "path", name) for name in ("name", "namespace") if f"{{{name}}}" in path]


def _operation_id(operation: Operation) -> str:
    """Unique in a document: the action and the path in camel case."""
    words = [operation.action]
    for part in operation.path.replace("{", "/by-").replace("}", "").split("/"):
        words.extend(part.replace(".", "-").split("-"))
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])
