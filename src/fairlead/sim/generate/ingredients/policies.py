"""What the plane itself is told in mid-run: PlaneSettings, SchedulingPolicies, the EvidencePolicy."""

from __future__ import annotations

from fairlead.model.policy import evidence_rows
from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest
from fairlead.sim.generate.people import APPLY, DELETE, RECREATE, set_fields
from fairlead.sim.scenario import Json

_ONLY = "default"  # the name of the only PlaneSettings
_SETTINGS: tuple[Json, ...] = (
    {"queues": {"default": {"backoffSeconds": 0.5, "backoffMaxSeconds": 5.0}}},
    {"controllers": {"default": {"turnsMax": 1}}},
    {"retries": {"create": {"attemptsMax": 2}, "bind": {"attemptsMax": 1}}},
    {"loop": {"resyncSeconds": 15.0, "resyncSpreadSeconds": 1.0}},
    {"retryBudget": {"share": 0.1, "perSecond": 0.5, "burst": 1}},
    {"breaker": {"failuresMax": 2}},
)
_TURN = set_fields(
    "change settings",
    *({"spec": {**{key: None for each in _SETTINGS for key in each}, **new}} for new in _SETTINGS),
)
_PLUGINS: tuple[Json, ...] = (
    {"scoring": {"strategy": "MostAllocated", "resources": [{"name": "cpu", "weight": 2}]}},
    {"plugins": [{"name": "TaintToleration", "weight": 5}, {"name": "NodePorts", "disabled": True}]},
    {"plugins": [{"name": "PodTopologySpread", "disabled": True}]},
)
_PLACE = set_fields("change a policy", *({"spec": each} for each in _PLUGINS))


def _plane_settings(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    if any(thing.plural == "planesettings" for thing in setting.things):
        return ()
    spec = draw.one_of("settings", _SETTINGS)
    made = manifest("fairlead.dev/v1", "PlaneSettings", _ONLY, "", spec=spec)
    return (thing_of(made, _TURN, _TURN, APPLY, DELETE, RECREATE),)


def _scheduling_policy(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    if any(thing.plural == "schedulingpolicies" for thing in setting.things):
        return ()
    spec = draw.one_of("policy", _PLUGINS)
    made = manifest("fairlead.dev/v1", "SchedulingPolicy", _ONLY, "", spec=spec)
    return (thing_of(made, _PLACE, APPLY, DELETE, RECREATE),)


def _evidence_policy(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    if any(thing.plural == "evidencepolicies" for thing in setting.things):
        return ()
    made = manifest("fairlead.dev/v1", "EvidencePolicy", _ONLY, "", spec=evidence_rows.default_spec())
    return (thing_of(made, APPLY, DELETE, RECREATE),)


INGREDIENTS = (
    Ingredient("PlaneSettings", _plane_settings, weight=2, only_complete=True),
    Ingredient("SchedulingPolicy", _scheduling_policy, weight=2, only_complete=True),
    Ingredient("EvidencePolicy", _evidence_policy, weight=1, only_complete=True),
)
