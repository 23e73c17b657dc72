"""What acts on workloads from outside: overrides that people lay down, autoscalers, what follows a failed rollout.

Drawn apart from other ingredients, for some of the seeds, so that the others stay what they are. An override ends by
itself while the world is young, or is released before: what the world then comes to is compared with a world in which
it never was (`without_overrides`), so that nothing of it may last.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.reconcile import rollout_outcome as outcome
from fairlead.reconcile.autoscaling.measuring import EXTERNAL
from fairlead.sim.endstate import EndState
from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest, template, workloads
from fairlead.sim.generate.people import APPLY, APPROVE_OVERRIDE, DELETE, EDIT, ROLL_BACK, SCALE, set_fields
from fairlead.sim.generate.setting import node_places
from fairlead.sim.scenario import Json, Scenario

OVERRIDES = "scheduleroverrides"
_LASTS = ("3s", "12s", "25s", "40s")
_CHANGES: tuple[tuple[Json, int], ...] = (
    ({"pauseExpansion": True}, 4),
    ({"pauseRollout": True}, 3),
    ({"pauseExpansion": True, "pauseRollout": True}, 3),
    ({"pauseRepair": True}, 1),
    ({"pauseAutoscaler": True}, 1),
    ({"avoidZones": ["one"]}, 2),
    ({"avoidZones": ["all"]}, 4),
)
_SCALED = ("deployments", "replicasets", "statefulsets")
_DEADLINE = 6


def without_overrides(scenario: Scenario) -> Scenario:
    """The same objects and the same people, none of whom lays down an override."""
    steps = tuple(step for step in scenario.steps if step.request.plural != OVERRIDES)
    return replace(scenario, steps=steps)


def but_for_overrides(found: EndState) -> EndState:
    return {name: line for name, line in found.items() if not name.startswith(OVERRIDES)}


def _override(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """One or two, also of one target: they stack, and each ends by itself. Where nothing is there to be held they come
    with a Deployment."""
    given: tuple[Thing, ...] = ()
    if not workloads(setting):
        made = manifest("apps/v1", "Deployment", f"{name}-held", setting.namespace)
        made["spec"] = _spec(draw, setting, f"{name}-held")
        given = (thing_of(made, SCALE, SCALE, EDIT, ROLL_BACK),)
        setting = replace(setting, things=(*setting.things, *given))
    count = draw.weighted("overrides", ((1, 3), (2, 2)))
    return (
        *given,
        *(_one(draw.of(f"override {each}"), setting, f"{name}{each}") for each in range(count)),
    )


def _one(draw: Draw, setting: Setting, name: str) -> Thing:
    held = workloads(setting)
    target = f"namespace/{setting.namespace}"
    if draw.happens("one workload", 0.7):
        target = f"workload/{draw.one_of('target', held).name}"
    changes = draw.weighted("changes", _CHANGES)
    if "avoidZones" in changes:
        zones = sorted({zone for _, zone in node_places(setting)})
        changes = {"avoidZones": zones if changes["avoidZones"] == ["all"] else zones[:1]}
    spec = {
        "target": target,
        "reason": "a drill",
        "expiresAfter": draw.one_of("lasts", _LASTS),
        "changes": changes,
    }
    made = manifest("fairlead.dev/v1", "SchedulerOverride", name, setting.namespace, spec=spec)
    if "avoidZones" in changes:  # of so few nodes that is more than one person may close
        return thing_of(made, APPROVE_OVERRIDE, APPROVE_OVERRIDE, DELETE)
    return thing_of(made, DELETE)


def _demanded(value: int) -> Json:
    return {"data": {"value": str(value)}}


_DEMAND = set_fields("change a demand", *map(_demanded, (0, 15, 35)))


def _autoscaler(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Of a workload that is there, by a demand that people tell."""
    scaled = [each for each in setting.things if each.plural in _SCALED]
    if not scaled:
        return ()
    target = draw.one_of("target", scaled)
    demand = manifest("v1", "ConfigMap", f"{name}-demand", setting.namespace, **_demanded(15))
    demand["metadata"]["labels"][EXTERNAL] = name
    metric = {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "10"}}
    spec: Json = {
        "scaleTargetRef": {
            "apiVersion": target.api_version,
            "kind": target.manifest["kind"],
            "name": target.name,
        },
        "minReplicas": 1,
        "maxReplicas": draw.one_of("most", (2, 4)),
        "metrics": [{"type": "External", "external": metric}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    }
    made = manifest("autoscaling/v2", "HorizontalPodAutoscaler", name, setting.namespace, spec=spec)
    return (thing_of(demand, _DEMAND, _DEMAND), thing_of(made, APPLY, DELETE))


def _spec(draw: Draw, setting: Setting, name: str) -> Json:
    replicas = 1 + draw.below("replicas", 3)
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(draw, setting, name),
    }


def _broken(name: str) -> Json:
    container = {"name": "main", "image": f"{name}:9", "resources": {"requests": {"cpu": "500"}}}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


def _outcome(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """A Deployment that people give a template for which no node has room, and what is to follow from that."""
    spec = {**_spec(draw, setting, name), "progressDeadlineSeconds": _DEADLINE}
    made = manifest("apps/v1", "Deployment", name, setting.namespace, spec=spec)
    follows = draw.one_of("follows", (outcome.WAIT, outcome.RETRY, outcome.ROLL_BACK, outcome.STUCK))
    made["metadata"]["annotations"] = {outcome.OUTCOME: follows}
    spoil = set_fields("break a template", _broken(name))
    return (thing_of(made, spoil, spoil, EDIT, SCALE),)


# How far an autoscaler goes, and whether a rollout is late, is chance's.
CONTROLS = (
    Ingredient("SchedulerOverride", _override, weight=3, only_complete=True),
    Ingredient("HorizontalPodAutoscaler", _autoscaler, weight=1, contends=True),
    Ingredient("RolloutOutcome", _outcome, weight=1, contends=True),
)
