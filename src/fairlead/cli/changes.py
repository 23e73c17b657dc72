"""A change as a person names it on the command line, made into requests: manifests, deletions, drains.

A manifest of an object that exists is an edit: the fields it has are changed, one that is null is removed, the others
stay. One of an object that does not exist is its creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.cli.live_state import group_resource
from fairlead.cli.manifests import documents
from fairlead.cli.resources import ApiResource, Getter, resolve
from fairlead.core import codec
from fairlead.core.errors import NotFound, UsageError
from fairlead.model.key import Key
from fairlead.model.marks import POOL, REGION, ZONE
from fairlead.model.views import NODES
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.sim.preview.change import ProposedChange
from fairlead.sim.preview.state import LiveState

_DOMAINS = {"zone": ZONE, "region": REGION, "pool": POOL}


def change_of(
    client: Getter,
    state: LiveState,
    files: Sequence[str],
    deletions: Sequence[str],
    drains: Sequence[str],
    namespace: str,
) -> ProposedChange:
    known = {key for key, _ in state.objects}
    asks: list[Request] = []
    told: list[str] = []
    for document in documents(files):
        request = _edit(client, document, namespace, known)
        asks.append(request)
        told.append(f"{'create' if request.verb == 'create' else 'edit'} {_named(document)}")
    for each in deletions:
        asks.append(_deletion(client, each, namespace, known))
        told.append(f"delete {each}")
    nodes: list[str] = []
    for each in drains:
        nodes += _nodes(each, state)
        told.append(f"drain {each}")
    if not asks and not nodes:
        raise UsageError("nothing to look ahead for: give -f FILE, --delete KIND/NAME or --drain node/NAME")
    return ProposedChange(tuple(asks), tuple(dict.fromkeys(nodes)), told=", ".join(told))


def _edit(client: Getter, document: dict[str, Any], namespace: str, known: set[Key]) -> Request:
    group, slash, _ = str(document.get("apiVersion", "")).partition("/")
    resource = resolve(client, f"{document['kind']}{f'.{group}' if slash else ''}")
    meta = {**(document.get("metadata") or {})}
    name = str(meta.get("name", ""))
    if not name:
        raise UsageError(f"{document['kind']}: metadata.name is missing: say which object is meant")
    at = str(meta.get("namespace") or namespace) if resource.namespaced else ""
    exists = Key(group_resource(resource), at, name) in known
    if resource.namespaced:
        meta["namespace"] = at
    body = {**document, "metadata": meta}
    if exists:
        body.pop("status", None)
    return Request(
        verb="patch" if exists else "create",
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        namespace=at,
        name=name if exists else "",
        body=codec.encode(body),
        content_type=MERGE_PATCH if exists else "application/json",
    )


def _deletion(client: Getter, text: str, namespace: str, known: set[Key]) -> Request:
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name:
        raise UsageError(f'--delete "{text}": name the object as KIND/NAME, such as pod/web-0')
    resource: ApiResource = resolve(client, kind)
    at = namespace if resource.namespaced else ""
    if Key(group_resource(resource), at, name) not in known:
        where = f" in {at}" if at else ""
        raise NotFound(f'--delete "{text}": there is no such object{where}; -n names another namespace')
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    return Request(
        verb="delete",
        group=resource.group,
        version=resource.version,
        plural=resource.plural,
        namespace=at,
        name=name,
        body=codec.encode(options),
    )


def _nodes(text: str, state: LiveState) -> Iterable[str]:
    what, slash, name = text.partition("/")
    nodes = {key.name: data for key, data in state.objects if key.resource == NODES.name}
    if what == "node" and slash:
        if name not in nodes:
            told = f'--drain "{text}": there is no such node: `fairlead get nodes` lists those there are'
            raise NotFound(told)
        return [name]
    label = _DOMAINS.get(what)
    if label is None or not name:
        raise UsageError(f'--drain "{text}": use node/NAME, zone/NAME, region/NAME or pool/NAME')
    found = [
        node
        for node, data in nodes.items()
        if (codec.decode(data)["metadata"].get("labels") or {}).get(label) == name
    ]
    if not found:
        raise UsageError(f'--drain "{text}": no node has the label {label}={name}')
    return sorted(found)


def _named(document: dict[str, Any]) -> str:
    return f"{str(document['kind']).lower()}/{(document.get('metadata') or {}).get('name', '')}"
