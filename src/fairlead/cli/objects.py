"""How every verb takes the name of an object: `KIND/NAME`, or `KIND/NAMESPACE/NAME` as tables print it.

KIND is whatever the server's discovery knows (`cli/resources.py`): plural, singular, short name, with a group or not.
What does not exist is a NotFound that says what does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.cli.client import ApiClient
from fairlead.cli.resources import ApiResource, resolve
from fairlead.core.errors import ApiError, NotFound, UsageError

#: bound: plane | names among which similar ones are looked for | the rest is not suggested
NAMES_READ_MAX = 500  # of which similar ones are looked for
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_TOLD_MAX = 3


class Typed(NamedTuple):
    """What was typed, before anybody was asked. Empty strings: not said."""

    kind: str
    namespace: str
    name: str


class NamedObject(NamedTuple):
    resource: ApiResource
    namespace: str  # "" of what has none
    name: str

    @property
    def path(self) -> str:
        return self.resource.path(self.namespace, self.name)


def split_typed(typed: str, namespace: str | None = None) -> Typed:
    """`namespace` is what -n says; both must mean the same."""
    kind, *rest = typed.split("/")
    if not kind or not all(rest) or len(rest) > 2:
        raise UsageError(f"{typed!r} names no object: write KIND/NAME, as in pod/web, and -n NAMESPACE")
    told = rest[0] if len(rest) == 2 else ""
    if told and namespace and told != namespace:
        raise UsageError(f"{typed!r} is in namespace {told}, and -n says {namespace}: give one of them")
    return Typed(kind, told or namespace or "", rest[-1] if rest else "")


def resolve_object(client: ApiClient, typed: str, namespace: str | None, default: str = "") -> NamedObject:
    """One object, which may not exist. `default`: the kind of a name that stands alone."""
    if default and "/" not in typed:
        typed = f"{default}/{typed}"
    words = split_typed(typed, namespace)
    if not words.name:
        raise UsageError(f"{typed!r} names no object: write KIND/NAME, as in pod/web")
    resource = resolve(client, words.kind)
    there = (words.namespace or client.target.namespace) if resource.namespaced else ""
    return NamedObject(resource, there, words.name)


def exists(client: ApiClient, found: NamedObject) -> bool:
    """In all namespaces if none is named."""
    if found.namespace or not found.resource.namespaced:
        try:
            client.get(found.path)
        except NotFound:
            return False
        return True
    return bool(_namespaces_with(client, found))


def not_found(client: ApiClient, wanted: Sequence[NamedObject], what: str = "") -> NotFound:
    """The error for an object that was not found, with what may have been meant. Several: one name, many kinds."""
    first = wanted[0]
    said = f'there is no {what or first.resource.singular} "{first.name}"'
    if first.namespace:
        said += f" in namespace {first.namespace}"
        if not exists(client, NamedObject(resolve(client, "namespaces"), "", first.namespace)):
            return NotFound(f"{said}: there is no such namespace")
    near = list(dict.fromkeys(text for each in wanted for text in _similar(client, each, len(wanted) > 1)))
    elsewhere = {
        place: None
        for each in wanted
        if first.namespace
        for place in _namespaces_with(client, each)
        if place != first.namespace
    }
    if elsewhere:
        told = ", ".join(list(elsewhere)[:_TOLD_MAX])
        return NotFound(f"{said}: there is one in {told}; use -n {next(iter(elsewhere))}")
    if near:
        return NotFound(f"{said}: did you mean {' or '.join(near[:_TOLD_MAX])}?")
    return NotFound(f"{said}: `fairlead get {first.resource.plural}{_scope(first)}` lists those there are")


def _scope(found: NamedObject) -> str:
    if not found.resource.namespaced:
        return ""
    return f" -n {found.namespace}" if found.namespace else " -A"


def _similar(client: ApiClient, found: NamedObject, with_kind: bool) -> list[str]:
    import difflib  # only for those who mistyped

    try:
        page = client.get(
            found.resource.path(found.namespace), {"limit": str(NAMES_READ_MAX)}, accept=_METADATA
        )
    except ApiError:
        return []  # who may not list them is told nothing about them
    names = [item["metadata"]["name"] for item in page.get("items") or ()]
    longer = [name for name in names if name.startswith(f"{found.name}-")]
    near = dict.fromkeys((*longer, *difflib.get_close_matches(found.name, names, n=_TOLD_MAX)))
    return [f"{found.resource.singular}/{name}" if with_kind else name for name in near]


def _namespaces_with(client: ApiClient, found: NamedObject) -> list[str]:
    try:
        page = client.get(
            found.resource.path(""), {"fieldSelector": f"metadata.name={found.name}"}, accept=_METADATA
        )
    except ApiError:
        return []
    return [item["metadata"].get("namespace", "") for item in page.get("items") or ()]
