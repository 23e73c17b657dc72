"""Objects as people name them in a scenario: `deployments/web`, `Pod`, `placementquotas`; and manifests."""

from __future__ import annotations

from typing import Any

from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Kind
from fairlead.sim.scenarios.field import ScenarioField

Json = dict[str, Any]


def kind_named(field: ScenarioField, name: str) -> Kind:
    wanted = name.lower()
    for kind in CATALOG:
        if wanted in (kind.plural, kind.resource, kind.kind.lower(), *kind.short_names):
            return kind
    raise field.refused(f'no kind is called "{name}"; name one as pods, deployments or placementquotas')


def object_named(field: ScenarioField, namespace: str) -> tuple[Kind, str, str]:
    """KIND/NAME: its kind, namespace and name."""
    named, slash, name = field.text().partition("/")
    if not slash or not name:
        raise field.refused("names an object as KIND/NAME, such as deployments/web")
    kind = kind_named(field, named)
    return kind, namespace if kind.namespaced else "", name


def kind_of_manifest(field: ScenarioField, manifest: Json) -> Kind:
    for needed in ("apiVersion", "kind"):
        if not isinstance(manifest.get(needed), str):
            raise field.refused(f"is no manifest: {needed} is missing")
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = CATALOG.find_kind(group, version, manifest["kind"])
    if kind is None:
        raise field.refused(f"nothing is called {manifest['kind']} in {manifest['apiVersion']}")
    return kind


def name_in(field: ScenarioField, manifest: Json) -> str:
    name = (manifest.get("metadata") or {}).get("name")
    if not isinstance(name, str) or not name:
        raise field.refused("metadata.name is missing")
    return name


def api_version(kind: Kind) -> str:
    return f"{kind.group}/{kind.version}" if kind.group else kind.version
