"""What a Job's status may claim: counters that only grow, an end that does not come undone.

Called by the Job descriptor for writes of the status subresource. The order in which a controller sets
conditions is its own affair; here only contradictions are refused.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.kind import Json
from fairlead.model.kinds.job.policies import index_intervals
from fairlead.model.kinds.workload import check_counters, part

_COUNTERS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget", "SuccessCriteriaMet")
_EXCLUSIVE = (
    ("Complete", "Failed"),
    ("Complete", "FailureTarget"),
    ("SuccessCriteriaMet", "Failed"),
    ("SuccessCriteriaMet", "FailureTarget"),
)


def true_conditions(obj: Json) -> frozenset[str]:
    """The types of the conditions that hold."""
    conditions = part(obj, "status").get("conditions") or ()
    return frozenset(entry.get("type", "") for entry in conditions if entry.get("status") == "True")


def validate_job_status(new: Json, old: Json, problems: Problems) -> None:
    status, before = part(new, "status"), part(old, "status")
    check_counters(status, _COUNTERS, "status", problems)
    held, held_before = true_conditions(new), true_conditions(old)
    _check_conditions(status, held, held_before, problems)
    _check_times(new, status, before, held, problems)
    if "Complete" in held or "Failed" in held:
        _check_finished(status, problems)
    ready = status.get("ready")
    if ready is not None and ready > (status.get("active") or 0):
        problems.invalid("status.ready", ready, "cannot set more ready pods than active")
    for name in ("failed", "succeeded"):
        count = status.get(name) or 0
        if count < (before.get(name) or 0):
            problems.invalid(f"status.{name}", count, f"cannot decrease the {name} counter")
    _check_indexes(part(new, "spec"), status, problems)


def _check_conditions(
    status: Json, held: frozenset[str], held_before: frozenset[str], problems: Problems
) -> None:
    conditions = status.get("conditions") or []
    for one, other in _EXCLUSIVE:
        if one in held and other in held:
            detail = f"cannot set {one}=True and {other}=true conditions"
            problems.invalid("status.conditions", conditions, detail)
    for name in _TERMINAL:
        if name in held_before and name not in held:
            detail = f"cannot disable the terminal {name}=True condition"
            problems.invalid("status.conditions", conditions, detail)


def _check_times(new: Json, status: Json, before: Json, held: frozenset[str], problems: Problems) -> None:
    started, ended = status.get("startTime"), status.get("completionTime")
    if ended and "Complete" not in held:
        detail = "cannot set completionTime when there is no Complete=True condition"
        problems.invalid("status.completionTime", ended, detail)
    if not ended and "Complete" in held:
        problems.required("status.completionTime", "completionTime is required for Complete jobs")
    if started and ended and parse_time(ended) < parse_time(started):
        problems.invalid("status.completionTime", ended, "completionTime cannot be set before startTime")
    if ended and before.get("completionTime") and ended != before["completionTime"]:
        problems.invalid("status.completionTime", ended, "completionTime cannot be mutated")
    if before.get("startTime") not in (None, started) and not part(new, "spec").get("suspend"):
        problems.required("status.startTime", "startTime cannot be removed for unsuspended job")


def _check_finished(status: Json, problems: Problems) -> None:
    for name in ("active", "terminating"):
        if (status.get(name) or 0) > 0:
            problems.invalid(f"status.{name}", status[name], f"{name}>0 is invalid for finished job")
    if not status.get("startTime"):
        problems.required("status.startTime", "startTime is required for finished job")
    uncounted = part(status, "uncountedTerminatedPods")
    if uncounted.get("succeeded") or uncounted.get("failed"):
        detail = "uncountedTerminatedPods needs to be empty for finished job"
        problems.invalid("status.uncountedTerminatedPods", uncounted, detail)


def _check_indexes(spec: Json, status: Json, problems: Problems) -> None:
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    completions = spec.get("completions")
    if completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        problems.invalid("status.completedIndexes", completed, detail)
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        problems.invalid("status.failedIndexes", failed, detail)
    if completions is None:
        return
    for name, text in (("completedIndexes", completed), ("failedIndexes", failed or "")):
        try:
            index_intervals(text, completions)
        except ValueError as wrong:
            problems.invalid(f"status.{name}", text, f"error parsing {name}: {wrong}")
