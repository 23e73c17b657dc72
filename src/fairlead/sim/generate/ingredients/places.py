"""Overrides of places, and of room that is kept: nodes that people cordon or drain for a while, a class that they lend.

Drawn apart, like `control.py`'s, for some of the seeds, and mostly when there are pods already. A drain moves pods
within their budgets and leaves those of Jobs with one failure more, so that such worlds are not compared; neither are
those where replicas without room get Reservations in a class, and stay there when the override has ended: what must
hold then is for the checkers to say.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.kinds.scheduleroverride import CLUSTER_NAMESPACE
from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.control import OVERRIDES
from fairlead.sim.generate.ingredients.templates import manifest, template, workloads
from fairlead.sim.generate.people import APPROVE_OVERRIDE, DELETE, EDIT, SCALE
from fairlead.sim.generate.setting import hollow_node, node_places
from fairlead.sim.scenario import Json

_AFTER = (2.0, 9.0, 14.0)
_LASTS = ("4s", "15s", "30s", "40s")  # less than a world is looked ahead of, also by a wrong clock
_CLASS, _LABEL, _POLICY = "recovery", {"tier": "recovery"}, "classes"
_LARGE = "12"  # two of these fit on a node
_UNFIT = frozenset(
    {"planesettings", "schedulingpolicies", "limitranges"}
)  # which would be others, or refuse such pods
_JOBS = frozenset({"jobs", "cronjobs"})


def loses_work(setting: Setting) -> bool:
    """Whether a drain may end pods whose ends are counted."""
    drains = any(
        thing.plural == OVERRIDES and thing.manifest["spec"]["changes"].get("drain")
        for thing in setting.things
    )
    return drains and any(thing.plural in _JOBS for thing in setting.things)


def _place(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Cordons and drains of nodes and zones, one or two, which stack; with a Deployment where nothing runs. Where there
    are other PlaneSettings, or none yet, a second person has to approve it, who comes or does not."""
    given = [] if workloads(setting) else [_deployment(draw, setting, f"{name}-there")]
    if not any(thing.plural == "planesettings" for thing in setting.things):
        given.append(_settings({}))
    count = draw.weighted("overrides", ((1, 3), (2, 2)))
    return (*given, *(_one(draw.of(f"place {each}"), setting, f"{name}{each}") for each in range(count)))


def _one(draw: Draw, setting: Setting, name: str) -> Thing:
    node, zone = draw.one_of("node", node_places(setting))
    target = f"zone/{zone}" if draw.happens("zone", 0.5) else f"node/{node}"
    changes = {draw.weighted("changes", (("drain", 2), ("cordon", 1))): True}
    spec = {
        "target": target,
        "reason": "a drill",
        "expiresAfter": draw.one_of("lasts", _LASTS),
        "changes": changes,
    }
    made = manifest("fairlead.dev/v1", "SchedulerOverride", name, CLUSTER_NAMESPACE, spec=spec)
    return replace(thing_of(made, APPROVE_OVERRIDE, DELETE), after_seconds=draw.one_of("after", _AFTER))


def _class(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """A class with a node of its own, a Deployment that is larger than the rest, and one or two overrides that let some
    of its replicas use the class."""
    if setting.machines or any(thing.plural in _UNFIT for thing in setting.things):
        return ()
    node = hollow_node("node-9", "b", labels=_LABEL)
    class_ = {"name": _CLASS, "nodeSelector": {"matchLabels": _LABEL}}
    policy = manifest("fairlead.dev/v1", "SchedulingPolicy", _POLICY, "", spec={"capacityClasses": [class_]})
    large = _deployment(draw, setting, f"{name}-large")
    spec = large.manifest["spec"]
    spec["replicas"] = 2 * len(setting.nodes) + 1 + draw.below("more", 2)
    spec["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = _LARGE
    count = draw.weighted("overrides", ((1, 3), (2, 1)))
    return (
        thing_of(node),
        thing_of(policy),
        _settings({"schedulingPolicy": _POLICY}),
        large,
        *(_lent(draw.of(f"class {each}"), large, f"{name}{each}") for each in range(count)),
    )


def _lent(draw: Draw, large: Thing, name: str) -> Thing:
    spec = {
        "target": f"deployment/{large.name}",
        "reason": "a drill",
        "expiresAfter": draw.one_of("lasts", _LASTS),
        "changes": {
            "allowReservedCapacityClass": _CLASS,
            "reservedReplicas": 1 + draw.below("replicas", 2),
        },
    }
    made = manifest("fairlead.dev/v1", "SchedulerOverride", name, large.namespace, spec=spec)
    return replace(thing_of(made, DELETE), after_seconds=draw.one_of("after", _AFTER))


def _deployment(draw: Draw, setting: Setting, name: str) -> Thing:
    made = manifest("apps/v1", "Deployment", name, setting.namespace)
    made["spec"] = {
        "replicas": 1 + draw.below("replicas", 3),
        "selector": {"matchLabels": {"app": name}},
        "template": template(draw, setting, name),
    }
    return thing_of(made, SCALE, SCALE, EDIT)


def _settings(more: Json) -> Thing:
    """One person alone may close all nodes."""
    spec: Json = {**more, "overrides": {"nodesShareMax": 1.0, "capacityShareMax": 1.0}}
    return thing_of(manifest("fairlead.dev/v1", "PlaneSettings", "default", "", spec=spec))


PLACES = (
    Ingredient("OverrideOfPlace", _place, weight=3, only_complete=True),
    Ingredient("OverrideOfClass", _class, weight=2, contends=True, only_complete=True),
)
