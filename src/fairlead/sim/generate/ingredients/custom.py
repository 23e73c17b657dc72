"""Definitions of custom kinds that come and go, objects of them, and objects that these own."""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest
from fairlead.sim.generate.people import DELETE, RECREATE, set_fields
from fairlead.sim.scenario import Json

GROUP, VERSION = "example.com", "example.com/v1"
_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TURN = set_fields("change a custom object", {"spec": {"height": 3}}, {"spec": {"height": None}})


def _definition() -> Json:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
    spec = {"group": GROUP, "scope": "Namespaced", "names": {"plural": "beacons", "kind": "Beacon"}}
    parts = {"spec": {**spec, "versions": [version]}}
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"beacons.{GROUP}", "", **parts)


def _custom(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    if any(thing.resource == f"beacons.{GROUP}" for thing in setting.things):
        return ()
    definition = thing_of(_definition(), *((DELETE,) if draw.happens("definition goes", 0.3) else ()))
    beacon = thing_of(
        manifest(VERSION, "Beacon", name, setting.namespace, spec={"height": 2}), _TURN, DELETE, RECREATE
    )
    if not draw.happens("owns", 0.5):
        return definition, beacon
    owned = manifest("v1", "ConfigMap", f"{name}-map", setting.namespace, data={"a": "b"})
    return definition, beacon, thing_of(owned, owner=beacon)


INGREDIENTS = (Ingredient("custom kind", _custom, weight=2, only_complete=True),)
