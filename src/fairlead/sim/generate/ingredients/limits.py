"""What limits pods: ResourceQuotas, PlacementQuotas, LimitRanges, PriorityClasses, PodDisruptionBudgets."""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import CLASSES, manifest, workloads
from fairlead.sim.generate.people import APPLY, DELETE, RECREATE, set_fields
from fairlead.sim.scenario import Json


def _hard(pods: int) -> Json:
    return {"spec": {"hard": {"pods": str(pods)}}}


_QUOTA = set_fields("lower or raise a quota", _hard(1), _hard(2), _hard(4), _hard(20))
_MIN = set_fields("change a budget", {"spec": {"minAvailable": 0}}, {"spec": {"minAvailable": 1}})


def _resource_quota(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    hard = {"pods": str(draw.one_of("pods", (0, 1, 2, 3, 10)))}
    if draw.happens("cpu", 0.3):
        hard["requests.cpu"] = draw.one_of("how much cpu", ("1", "3"))
    if draw.happens("count", 0.3):
        hard["count/replicasets.apps"] = "2"
    made = manifest("v1", "ResourceQuota", name, setting.namespace, spec={"hard": hard})
    return (thing_of(made, _QUOTA, _QUOTA, APPLY, DELETE, RECREATE),)


def _placement_quota(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec: Json = {"hard": {"pods": str(1 + draw.below("pods", 4))}}
    if draw.happens("zone", 0.4):
        spec["nodeSelector"] = {"matchLabels": {"topology.kubernetes.io/zone": "a"}}
    made = manifest("fairlead.dev/v1", "PlacementQuota", name, setting.namespace, spec=spec)
    return (thing_of(made, _QUOTA, APPLY, DELETE, RECREATE),)


def _limit_range(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    limit = {"type": "Container", "defaultRequest": {"memory": "64Mi"}, "max": {"cpu": "4"}}
    made = manifest("v1", "LimitRange", name, setting.namespace, spec={"limits": [limit]})
    return (thing_of(made, APPLY, DELETE, RECREATE),)


def _priority_class(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """It comes as late as any thing may: pods that name it are refused before."""
    free = [
        each
        for each in CLASSES
        if not any(t.plural == "priorityclasses" and t.name == each for t in setting.things)
    ]
    if not free:
        return ()
    value = draw.one_of("value", (1000, -5))
    made = manifest("scheduling.k8s.io/v1", "PriorityClass", free[0], "", value=value)
    return (thing_of(made, DELETE),)


def _budget(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    guarded = workloads(setting)
    app = draw.one_of("guards", guarded).name if guarded else name
    spec: Json = {"selector": {"matchLabels": {"app": app}}}
    # How many of pods that nobody scales are wanted cannot be told: shares of them mean nothing.
    scaled = any(each.name == app and "replicas" in each.manifest["spec"] for each in guarded)
    plain: Json = {"minAvailable": 1}
    spec |= draw.one_of("wants", (plain, {"maxUnavailable": 1}, {"minAvailable": "50%"})) if scaled else plain
    made = manifest("policy/v1", "PodDisruptionBudget", name, setting.namespace, spec=spec)
    actions = (_MIN, APPLY, DELETE, RECREATE) if "minAvailable" in spec else (APPLY, DELETE, RECREATE)
    return (thing_of(made, *actions),)


INGREDIENTS = (
    Ingredient("PriorityClass", _priority_class, weight=1, contends=True),
    Ingredient("ResourceQuota", _resource_quota, weight=3, contends=True),
    Ingredient("PlacementQuota", _placement_quota, weight=2, contends=True, only_complete=True),
    Ingredient("LimitRange", _limit_range, weight=1),
    Ingredient("PodDisruptionBudget", _budget, weight=2),
)
