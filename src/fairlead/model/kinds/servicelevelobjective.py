"""ServiceLevelObjective (fairlead.dev/v1): how available a workload or a Service is to be, and how much was kept of it.

Read by `model/catalog.py`. The plane writes down when availability changed (`reconcile/objectives.py`); what is spent
is summed when somebody looks (`model/objectives.py`).
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.cells import AGE, NONE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import name_problems
from fairlead.model.objectives import DEFAULT_WINDOW_SECONDS, Lacked, ObjectiveAccount, Seen

TARGETS = ("Deployment", "StatefulSet", "DaemonSet", "Service")
#: bound: objects | window of a ServiceLevelObjective, at most | 422
WINDOW_SECONDS_MAX = 90 * 86400
_WINDOW_MIN = 60
_OBJECTIVE_MIN, _OBJECTIVE_MAX = 50.0, 99.999


def _defaults(objective: Json) -> None:
    spec = part(objective, "spec")
    if spec.get("windowSeconds") is None:
        spec["windowSeconds"] = DEFAULT_WINDOW_SECONDS


def _validate(objective: Json, problems: Problems) -> None:
    spec = part(objective, "spec")
    target = part(spec, "target")
    if target.get("kind") not in TARGETS:
        problems.unsupported("spec.target.kind", target.get("kind"), TARGETS)
    if not target.get("name"):
        problems.required("spec.target.name", "name what it is about")
    else:
        for text in name_problems("subdomain", target["name"]):
            problems.invalid("spec.target.name", target["name"], text)
    wanted = spec.get("objective")
    if wanted is None:
        problems.required(
            "spec.objective", "the percent of time in which it is to be available, such as 99.9"
        )
    elif not _OBJECTIVE_MIN <= wanted <= _OBJECTIVE_MAX:
        fix = f"must be a percentage between {_OBJECTIVE_MIN:g} and {_OBJECTIVE_MAX:g}"
        problems.invalid("spec.objective", wanted, fix)
    window = spec.get("windowSeconds")
    if window is not None and not _WINDOW_MIN <= window <= WINDOW_SECONDS_MAX:
        fix = f"must be between {_WINDOW_MIN} (a minute) and {WINDOW_SECONDS_MAX} (90 days)"
        problems.invalid("spec.windowSeconds", window, fix)


def account_of(objective: Json) -> ObjectiveAccount:
    """From the wire's form; what is missing in it was not seen."""
    spec, status = part(objective, "spec"), part(objective, "status")
    earlier = part(status, "earlier")
    return ObjectiveAccount(
        float(spec.get("objective") or _OBJECTIVE_MAX),
        float(spec.get("windowSeconds") or DEFAULT_WINDOW_SECONDS),
        [
            Seen(parse_time(each["at"]), each.get("available") or 0, each.get("wanted") or 0)
            for each in status.get("changes") or ()
            if each.get("at")
        ],
        Lacked(
            parse_time(earlier["since"]) if earlier.get("since") else 0.0,
            parse_time(earlier["until"]) if earlier.get("until") else 0.0,
            earlier.get("lackedSeconds") or 0.0,
        ),
    )


def _target(objective: Json, now: float) -> Cell:
    target = part(part(objective, "spec"), "target")
    return f"{target.get('kind')}/{target.get('name')}"


def _objective(objective: Json, now: float) -> Cell:
    wanted = part(objective, "spec").get("objective")
    return f"{wanted:g}%" if wanted is not None else NONE


def _availability(objective: Json, now: float) -> Cell:
    account = account_of(objective)
    return f"{100 * account.availability(now):.3f}%" if account.seen else NONE


def _spent(objective: Json, now: float) -> Cell:
    account = account_of(objective)
    return f"{100 * account.spent(now):.1f}%" if account.seen else NONE


def _burn(objective: Json, now: float) -> Cell:
    account = account_of(objective)
    return f"{account.burn(now):.1f}" if account.seen else NONE


def _met(objective: Json, now: float) -> Cell:
    account = account_of(objective)
    return "Unknown" if not account.seen else str(account.spent(now) < 1.0)


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="ServiceLevelObjective",
    plural="servicelevelobjectives",
    short_names=("slo",),
    namespaced=True,
    schema="ServiceLevelObjective",
    subresources=("status",),
    columns=(
        Column("Target", _target, description="What it is about."),
        Column("Objective", _objective, description="The share of the time in which it is to be available."),
        Column("Availability", _availability, description="Of the time that was seen within the window."),
        Column("Spent", _spent, description="What was missed within the window, of what may be."),
        Column("Burn", _burn, description="How fast it is being spent; 1 spends all in a window."),
        Column("Met", _met, description="Whether the budget is not spent."),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
)
