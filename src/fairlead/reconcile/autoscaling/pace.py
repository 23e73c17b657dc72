"""How fast an autoscaler may go: windows of stabilization, policies, and the bounds of its spec, as in Kubernetes.

Called by `decider.py` with what the metrics recommend. Pure arithmetic on numbers; what has to be remembered is in
`memory.py`. An autoscaler without a behavior goes by the same rules with Kubernetes' defaults: up at once, by four
pods or by as many as there are in 15 seconds, whichever is more; down to the highest recommendation of five minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.core.quantity import NANO, from_json
from fairlead.model.kind import Json
from fairlead.model.policy.plane_knobs import Numbers
from fairlead.reconcile.autoscaling.memory import Rescaling, ScalingMemory, highest_since, lowest_since

_UP: Json = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Json = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


class ScalingPolicy(NamedTuple):
    type: str
    value: int
    period_seconds: int


class PaceRules(NamedTuple):
    """Of one direction."""

    window_seconds: float
    select: str
    policies: tuple[ScalingPolicy, ...]
    tolerance: float


class Behavior(NamedTuple):
    up: PaceRules
    down: PaceRules

    bound_seconds: float = 0.0  # the window of the bound on amplification (`blocked.py`)

    @property
    def remembered_seconds(self) -> float:
        """How far back policies and that bound look."""
        periods = (each.period_seconds for each in (*self.up.policies, *self.down.policies))
        return max((self.bound_seconds, *periods))


class Paced(NamedTuple):
    """How many there may be now; `reason` and `message` of what holds it back, "" for nothing."""

    replicas: int
    reason: str = ""
    message: str = ""


def behavior_of(given: Json, knobs: Numbers) -> Behavior:
    up, down = given.get("scaleUp") or {}, given.get("scaleDown") or {}
    return Behavior(
        _rules(up, _UP, 0.0, knobs["tolerance"]),
        _rules(down, _DOWN, knobs["downscaleStabilizationSeconds"], knobs["tolerance"]),
        knobs["amplificationWindowSeconds"],
    )


def _rules(given: Json, default: Json, window: float, tolerance: float) -> PaceRules:
    told = given.get("stabilizationWindowSeconds")
    own = given.get("tolerance")
    policies = given.get("policies") or default["policies"]
    return PaceRules(
        float(told) if told is not None else window,
        given.get("selectPolicy") or default["selectPolicy"],
        tuple(ScalingPolicy(each["type"], each["value"], each["periodSeconds"]) for each in policies),
        from_json(own).nano / NANO if own is not None else tolerance,
    )


def stabilized(current: int, recommended: int, memory: ScalingMemory, rules: Behavior, now: float) -> Paced:
    """Up by no more than the lowest recommendation of its window, down to no less than the highest of its own."""
    up = min(recommended, lowest_since(memory, now - rules.up.window_seconds, recommended))
    down = max(recommended, highest_since(memory, now - rules.down.window_seconds, recommended))
    found = min(max(current, up), down)
    if found == recommended:
        return Paced(found)
    if recommended > found:
        return Paced(
            found,
            "ScaleUpStabilized",
            "recent recommendations were lower than current one, applying the lowest recent recommendation",
        )
    return Paced(
        found,
        "ScaleDownStabilized",
        "recent recommendations were higher than current one, applying the highest recent recommendation",
    )


def limited(
    current: int, wanted: int, least: int, most: int, memory: ScalingMemory, rules: Behavior, now: float
) -> Paced:
    """Within the bounds of the spec, and no faster than its policies allow."""
    if wanted > current:
        limit = max(current, _fastest_up(current, memory.rescalings, rules.up, now))
        highest, reason = min(most, limit), ("TooManyReplicas" if most <= limit else "ScaleUpLimit")
        if wanted > highest:
            return Paced(highest, reason, _LIMITED[reason])
    elif wanted < current:
        limit = min(current, _fastest_down(current, memory.rescalings, rules.down, now))
        lowest, reason = max(least, limit), ("TooFewReplicas" if least >= limit else "ScaleDownLimit")
        if wanted < lowest:
            return Paced(lowest, reason, _LIMITED[reason])
    return Paced(wanted)


_LIMITED = {
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
}


def _fastest_up(current: int, made: Iterable[Rescaling], rules: PaceRules, now: float) -> int:
    proposed = [
        start + value if kind == "Pods" else -(-start * (100 + value) // 100)
        for start, kind, value in _allowances(current, made, rules, now)
    ]
    return (min if rules.select == "Min" else max)(proposed, default=current)


def _fastest_down(current: int, made: Iterable[Rescaling], rules: PaceRules, now: float) -> int:
    proposed = [
        start - value if kind == "Pods" else start * (100 - min(100, value)) // 100
        for start, kind, value in _allowances(current, made, rules, now)
    ]
    return (max if rules.select == "Min" else min)(proposed, default=current)


def _allowances(
    current: int, made: Iterable[Rescaling], rules: PaceRules, now: float
) -> list[tuple[int, str, int]]:
    """Of each policy: replicas at the start of its period, and by what type and value they may change."""
    if rules.select == "Disabled":
        return []
    return [
        (size_at(current, made, now - each.period_seconds), each.type, each.value) for each in rules.policies
    ]


def size_at(current: int, made: Iterable[Rescaling], since: float) -> int:
    """How many there would be without what this autoscaler did since then."""
    return current - sum(each.after - each.before for each in made if each.at > since)
