"""Disruption budgets: may this pod be evicted now, and what the budget's status is afterwards.

Used by the eviction subresource, which commits the new status together with the deletion, so that two evictions
can never share one allowance. The controller that computes the allowance counts `disruptedPods` back in.

An allowance is what the controller believed when it last wrote. It is not trusted alone: a controller that is down does
not lower it when pods fail. So the pods are counted again here, and the smaller of the two holds. Only the controller
knows how many are needed (`desiredHealthy`); it counts only for the generation it was computed for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.marks import DISRUPTION_TARGET, RELEASED
from fairlead.model.metadata import is_observed
from fairlead.model.selectors import from_object, matches_label_selector

# Evictions recorded but not yet seen by the budget's controller; more than this means it is not running.
#: bound: objects | unconfirmed evictions of one budget | 429
DISRUPTED_PODS_MAX = 2000
# A budget that was changed is usually recomputed by then.
_RECOMPUTED_SECONDS = 10


class EvictionRefusal(NamedTuple):
    why: str
    retry_after_seconds: int = 0


def covers(budget: Json, labels: dict[str, str]) -> bool:
    """Whether a budget protects pods with these labels. An empty selector covers the namespace."""
    selector = (budget.get("spec") or {}).get("selector")
    return selector is not None and matches_label_selector(selector, labels)


def needs_budget(pod: Json) -> bool:
    """A pod that does not run, or is going anyway, costs nobody anything when it goes."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_READY = _Condition("Ready", "True")
_RELEASED = _Condition(RELEASED, "True")
_decode = msgspec.json.Decoder(_Pod).decode


def count_healthy(budget: Json, pods: Iterable[bytes], is_out_of_reach: Callable[[str], bool]) -> int:
    """How many of these stored pods the budget covers that are ready, not on their way out, not released, and not on a
    node that is silent (`is_out_of_reach`)."""
    matches = from_object((budget.get("spec") or {}).get("selector")).matches
    count = 0
    for data in pods:
        pod = _decode(data)
        meta = pod.metadata
        conditions = pod.status.conditions
        if meta.deletion_timestamp or not matches(meta.labels) or _READY not in conditions:
            continue
        count += _RELEASED not in conditions and not is_out_of_reach(pod.spec.node_name)
    return count


def is_free(budget: Json, pod: Json, healthy_now: int, *, lost: bool = False) -> bool:
    """A pod that is not ready, or `lost` where nobody hears of it, was not counted as healthy: without it the
    application is no worse off, which is enough where the budget says so (AlwaysAllow), or where it is met
    (IfHealthyBudget, also when unsaid)."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    if ready and not lost:
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return is_observed(budget) and bool(0 < desired <= min(status.get("currentHealthy", 0), healthy_now))


def refusal(budget: Json, healthy_now: int) -> EvictionRefusal | None:
    """Why the budget has no room now; None if it has."""
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    if not is_observed(budget):
        why = f"The disruption budget {name} is still being processed by the server."
        return EvictionRefusal(why, _RECOMPUTED_SECONDS)
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        return EvictionRefusal(
            f"The disruption budget {name} has too many evictions that its controller has not confirmed."
        )
    desired = status.get("desiredHealthy", 0)
    if status.get("disruptionsAllowed", 0) <= 0 or healthy_now <= desired:
        known = min(status.get("currentHealthy", 0), healthy_now)
        return EvictionRefusal(
            f"The disruption budget {name} needs {desired} healthy pods and has {known} currently"
        )
    return None


def charge(budget: Json, pod: str, now: float) -> Json:
    """The budget with one disruption spent on this pod."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: timestamp(now)}
    return {**budget, "status": status}


def mark_evicted(pod: Json, now: float) -> Json:
    """The pod, saying that it goes because it was evicted: policies of Jobs tell that from a failure of its own."""
    status = pod.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each.get("type") != DISRUPTION_TARGET]
    target = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": timestamp(now),
    }
    return {**pod, "status": {**status, "conditions": [*conditions, target]}}
