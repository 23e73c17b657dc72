"""Who does what, and when: an entry of `steps` or `before` as steps of people.

    - {at: 3s, create: MANIFEST}                       also: apply
    - {at: 5s, patch: deployments/web, with: {...}}    a merge patch; `subresource: status`
    - {at: 7s, scale: deployments/web, to: 5}
    - {at: 9s, delete: pods/replica-042}               `policy: Foreground`, `Orphan`
    - {at: 9s, evict: replica-042}                     asked until it goes
    - {at: 9s, drain: node-1}                          cordoned, and its pods evicted

`times: 4` with `every: 0.5s` does it again and again; `$n` then is the number, from `first` (1) on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from fairlead.core import codec
from fairlead.port.request import APPLY_PATCH, Request
from fairlead.sim.scenario import ScenarioStep, create, delete, evict, patch
from fairlead.sim.scenarios.field import ScenarioField
from fairlead.sim.scenarios.kinds import api_version, kind_of_manifest, name_in, object_named

_POLICIES = ("Background", "Foreground", "Orphan")
_ALWAYS = ("at", "times", "every", "first", "namespace")
_NUMBER = "$n"

Make = Callable[[ScenarioField, dict[str, ScenarioField], float, str], ScenarioStep]


def steps_of(field: ScenarioField) -> tuple[ScenarioStep, ...]:
    made = (step for entry in field.items() for step in _steps(entry))
    return tuple(sorted(made, key=lambda step: step.at_seconds))


def created(field: ScenarioField, at: float, namespace: str = "default") -> ScenarioStep:
    """A manifest that is created."""
    manifest = field.object()
    kind = kind_of_manifest(field, manifest)
    if kind.name_of is None:
        name_in(field, manifest)
    own = (manifest.get("metadata") or {}).get("namespace") or namespace
    return create(at, manifest["apiVersion"], kind.plural, manifest, own if kind.namespaced else "")


def _steps(entry: ScenarioField) -> Iterator[ScenarioStep]:
    given = entry.mapping()
    does = [name for name in given if name in _VERBS]
    if len(does) != 1:
        raise entry.refused(f"does one thing: give it one of {', '.join(_VERBS)}")
    make, more = _VERBS[does[0]]
    entry.mapping((*_ALWAYS, does[0], *more))
    at = given["at"].seconds() if "at" in given else 0.1
    namespace = given["namespace"].text() if "namespace" in given else "default"
    step = make(given[does[0]], given, at, namespace)
    if "times" not in given:
        yield step
        return
    every = given["every"].seconds() if "every" in given else 0.0
    first = given["first"].whole() if "first" in given else 1
    for number in range(given["times"].whole(1)):
        yield _numbered(replace(step, at_seconds=at + number * every), first + number)


def _create(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    return created(field, at, namespace)


def _apply(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    manifest = field.object()
    kind = kind_of_manifest(field, manifest)
    own = (manifest.get("metadata") or {}).get("namespace") or namespace
    request = Request(
        verb="patch",
        group=kind.group,
        version=kind.version,
        plural=kind.plural,
        namespace=own if kind.namespaced else "",
        name=name_in(field, manifest),
        query={"fieldManager": "people", "force": "true"},
        body=codec.encode(manifest),
        content_type=APPLY_PATCH,
    )
    return ScenarioStep(at, request)


def _patch(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    kind, space, name = object_named(field, namespace)
    change = _needed(field, given, "with").object()
    below = given["subresource"].text() if "subresource" in given else ""
    return patch(at, api_version(kind), kind.plural, name, change, space, below)


def _scale(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    kind, space, name = object_named(field, namespace)
    if kind.scale is None:
        raise field.refused(f"{kind.plural} cannot be scaled; deployments, replicasets and statefulsets can")
    change = {"spec": {"replicas": _needed(field, given, "to").whole()}}
    return patch(at, api_version(kind), kind.plural, name, change, space, "scale")


def _delete(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    kind, space, name = object_named(field, namespace)
    policy = given["policy"].choice(_POLICIES) if "policy" in given else _POLICIES[0]
    return delete(at, api_version(kind), kind.plural, name, space, policy)


def _evict(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    return evict(at, field.text(), namespace)


def _drain(field: ScenarioField, given: dict[str, ScenarioField], at: float, namespace: str) -> ScenarioStep:
    node = field.text()
    return replace(patch(at, "v1", "nodes", node, {"spec": {"unschedulable": True}}, ""), drains=node)


def _needed(field: ScenarioField, given: dict[str, ScenarioField], name: str) -> ScenarioField:
    if name not in given:
        raise field.refused(f'needs "{name}" beside it')
    return given[name]


_VERBS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "create": (_create, ()),
    "apply": (_apply, ()),
    "patch": (_patch, ("with", "subresource")),
    "scale": (_scale, ("to",)),
    "delete": (_delete, ("policy",)),
    "evict": (_evict, ()),
    "drain": (_drain, ()),
}


def _numbered(step: ScenarioStep, number: int) -> ScenarioStep:
    request = step.request
    body = codec.encode(_filled(codec.decode(request.body), number)) if request.body else b""
    name = request.name.replace(_NUMBER, str(number))
    drains = step.drains.replace(_NUMBER, str(number))
    return replace(step, request=structs.replace(request, name=name, body=body), drains=drains)


def _filled(value: Any, number: int) -> Any:
    """A text that is nothing but `$n` becomes a number."""
    if isinstance(value, dict):
        return {name: _filled(each, number) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, number) for each in value]
    if isinstance(value, str):
        return number if value == _NUMBER else value.replace(_NUMBER, str(number))
    return value
