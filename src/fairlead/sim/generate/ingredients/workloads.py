"""Deployments, ReplicaSets, StatefulSets and DaemonSets."""

from __future__ import annotations

from fairlead.sim.generate.contract import Action, Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest, template
from fairlead.sim.generate.people import (
    DELETE_PODS,
    EDIT,
    EVICT,
    PLAIN,
    ROLL_BACK,
    SCALE,
    SCALE_SUBRESOURCE,
)
from fairlead.sim.scenario import Json

_COUNTED: tuple[Action, ...] = (SCALE, SCALE_SUBRESOURCE, EVICT, DELETE_PODS)
_STRATEGIES: tuple[Json, ...] = (
    {"type": "Recreate"},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}},
)


def _spec(draw: Draw, setting: Setting, name: str) -> Json:
    made = template(draw, setting, name)
    return {
        "replicas": draw.weighted("replicas", ((1, 3), (2, 3), (3, 2))),
        "selector": {"matchLabels": {"app": name}},
        "template": made,
    }


def _deployment(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec = _spec(draw, setting, name)
    if draw.happens("strategy", 0.6):
        spec["strategy"] = draw.one_of("which strategy", _STRATEGIES)
    if draw.happens("history", 0.3):
        spec["revisionHistoryLimit"] = draw.below("revisions kept", 2)
    made = manifest("apps/v1", "Deployment", name, setting.namespace, spec=spec)
    return (thing_of(made, *PLAIN, *_COUNTED, EDIT, ROLL_BACK),)


def _replicaset(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec = _spec(draw, setting, name)
    return (
        thing_of(
            manifest("apps/v1", "ReplicaSet", name, setting.namespace, spec=spec), *PLAIN, *_COUNTED, EDIT
        ),
    )


def _statefulset(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    if draw.happens("too long a name", 0.1):
        name += "-" + "x" * 59  # no pod can have a label with it and a number
    spec = {**_spec(draw, setting, name), "serviceName": "peers"}
    if draw.happens("parallel", 0.4):
        spec["podManagementPolicy"] = "Parallel"
    made = manifest("apps/v1", "StatefulSet", name, setting.namespace, spec=spec)
    return (thing_of(made, *PLAIN, *_COUNTED, EDIT, ROLL_BACK),)


def _daemonset(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec = _spec(draw, setting, name)
    del spec["replicas"]
    if draw.happens("on delete", 0.2):
        spec["updateStrategy"] = {"type": "OnDelete"}
    made = manifest("apps/v1", "DaemonSet", name, setting.namespace, spec=spec)
    return (thing_of(made, *PLAIN, EVICT, DELETE_PODS, EDIT, ROLL_BACK),)


INGREDIENTS = (
    Ingredient("Deployment", _deployment, weight=6),
    Ingredient("ReplicaSet", _replicaset, weight=4),
    Ingredient("StatefulSet", _statefulset, weight=3),
    Ingredient("DaemonSet", _daemonset, weight=2),
)
