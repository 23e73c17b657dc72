"""Disruption budgets: may this pod be evicted now, and what the budget's status is afterwards.

Used by the eviction subresource, which commits the new status together with the deletion, so that two evictions
can never share one allowance. The controller that computes the allowance counts `disruptedPods` back in.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.selectors import matches_label_selector

# Evictions recorded but not yet seen by the budget's controller; more than this means it is not running.
DISRUPTED_PODS_MAX = 2000
# A budget that was changed is usually recomputed by then.
_RECOMPUTED_SECONDS = 10


class Refusal(NamedTuple):
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


def is_free(budget: Json, pod: Json) -> bool:
    """A pod that is not ready was not counted as healthy: without it the application is no worse off, which is
    enough where the budget says so (AlwaysAllow), or where it is met (IfHealthyBudget, also when unsaid)."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def refusal(budget: Json) -> Refusal | None:
    """Why the budget has no room now; None if it has."""
    metadata, status, name = budget["metadata"], budget.get("status") or {}, budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 1):
        why = f"The disruption budget {name} is still being processed by the server."
        return Refusal(why, _RECOMPUTED_SECONDS)
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        return Refusal(
            f"The disruption budget {name} has too many evictions that its controller has not confirmed."
        )
    if status.get("disruptionsAllowed", 0) <= 0:
        return Refusal(
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
            f"{status.get('currentHealthy', 0)} currently"
        )
    return None


def charged(budget: Json, pod: str, now: float) -> Json:
    """The budget with one disruption spent on this pod."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: timestamp(now)}
    return {**budget, "status": status}
