"""Neighbours of an incident: the same objects and the same deeds, of other tenants, in other zones, at other times.

    neighbour(objects, steps, number) -> (objects, steps)

Tenants: every namespace that is not the plane's own gets another name. Zones: the zones of nodes go round among them,
so what was short in one is short in another. Times: each pause between two deeds is half to twice as long; their order
stays. All follows from the number. Pure; `incident.py` makes worlds of them, for `fairlead sim from --neighbours`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.marks import ZONE
from fairlead.model.views import NAMESPACES, NODES
from fairlead.sim.chance import Chance
from fairlead.sim.scenario import ScenarioStep

_OWN = frozenset({"default", "kube-system", "kube-node-lease", "kube-public"})
_TIMES = 64  # steps between half and twice

Objects = Sequence[tuple[Key, bytes]]


def neighbour(
    objects: Objects, steps: Iterable[ScenarioStep], number: int
) -> tuple[Objects, tuple[ScenarioStep, ...]]:
    zones = [_zone(data) for key, data in objects if key.resource == NODES.name]
    turned = iter(zones[number % len(zones) :] + zones[: number % len(zones)] if zones else ())
    moved: list[tuple[Key, bytes]] = []
    for key, data in objects:
        if key.resource == NODES.name:
            data = _in_zone(data, next(turned))
        moved.append(_of_tenant(key, data, number))
    return moved, tuple(_steps(steps, number))


def _zone(node: bytes) -> str:
    found = (codec.decode(node)["metadata"].get("labels") or {}).get(ZONE) or ""
    return str(found)


def _in_zone(data: bytes, zone: str) -> bytes:
    node = codec.decode(data)
    labels = node["metadata"].setdefault("labels", {})
    labels.pop(ZONE, None)
    if zone:
        labels[ZONE] = zone
    return codec.encode(node)


def _named(namespace: str, number: int) -> str:
    return namespace if not namespace or namespace in _OWN else f"{namespace[:50]}-{number}"


def _of_tenant(key: Key, data: bytes, number: int) -> tuple[Key, bytes]:
    if key.resource == NAMESPACES.name:
        name = _named(key.name, number)
        if name == key.name:
            return key, data
        renamed = codec.decode(data)
        renamed["metadata"]["name"] = name
        return Key(key.resource, "", name), codec.encode(renamed)
    body = codec.encode(_renamed(codec.decode(data), number))
    return Key(key.resource, _named(key.namespace, number), key.name), body


def _renamed(value: Any, number: int) -> Any:
    """With the names of namespaces wherever a field says one."""
    if isinstance(value, dict):
        return {
            name: _named(each, number)
            if name == "namespace" and isinstance(each, str)
            else _renamed(each, number)
            for name, each in value.items()
        }
    return [_renamed(each, number) for each in value] if isinstance(value, list) else value


def _steps(steps: Iterable[ScenarioStep], number: int) -> Iterable[ScenarioStep]:
    times = Chance(number).stream("neighbour", "pause")
    before = at = 0.0
    for step in steps:
        at += (step.at_seconds - before) * (0.5 + 1.5 * times.choose(_TIMES) / (_TIMES - 1))
        before = step.at_seconds
        request = step.request
        name = _named(request.name, number) if request.plural == NAMESPACES.name else request.name
        body = request.body
        if body:
            sent = _renamed(codec.decode(body), number)
            if request.plural == NAMESPACES.name and "name" in (sent.get("metadata") or {}):
                sent["metadata"]["name"] = _named(sent["metadata"]["name"], number)
            body = codec.encode(sent)
        renamed = structs.replace(request, namespace=_named(request.namespace, number), name=name, body=body)
        yield replace(step, at_seconds=at, request=renamed)
