"""ChaosExperiment (fairlead.dev/v1): faults of the simulator, injected into a running plane for a while.

Read by `model/catalog.py`. Admission (`api/admission/chaos.py`) refuses it unless the PlaneSettings allow experiments,
and stamps when it ends; `runtime/server/chaos.py` injects. Only the way between the plane and the API is struck, never
a node or its processes; what could make the plane take pods off a node has to be asked for (`touchesNodes`).
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.cells import AGE, NONE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.policy.plane_knobs import CONTROLLERS

# Faults by what they strike; `sim/faults.py` says what each does, and a test compares the names.
CALL_FAULTS = (
    "request_lost",
    "request_late",
    "reply_lost",
    "request_slow",
    "throttled",
    "racing_write",
)
WATCH_FAULTS = ("watch_lag", "watch_broken", "watch_expired")
PLANE_FAULTS = ("plane_pause",)
FAULTS = (*CALL_FAULTS, *WATCH_FAULTS, *PLANE_FAULTS)
STRUCK = ("scheduler", *CONTROLLERS)
# What a plane infers the health of nodes from: pods may be taken off a node because of it.
OF_NODES = frozenset({"nodes", "leases.coordination.k8s.io"})

#: bound: objects | seconds that a ChaosExperiment lasts | 422
SECONDS_MAX = 3600
#: bound: objects | controllers or resources that one ChaosExperiment names, each | 422
NAMED_MAX = 64
_REASON_MAX = 1024


def _validate(experiment: Json, problems: Problems) -> None:
    spec = part(experiment, "spec")
    if not str(spec.get("reason") or "").strip():
        problems.required("spec.reason", "say what is to be learned, in a sentence")
    if len(spec.get("reason") or "") > _REASON_MAX:
        problems.too_long("spec.reason", _REASON_MAX)
    if not 1 <= (spec.get("seconds") or 0) <= SECONDS_MAX:
        problems.invalid("spec.seconds", spec.get("seconds"), f"a number from 1 to {SECONDS_MAX}")
    for field in ("controllers", "resources"):
        if len(spec.get(field) or ()) > NAMED_MAX:
            problems.too_many(f"spec.{field}", len(spec[field]), NAMED_MAX)
    for index, name in enumerate((spec.get("controllers") or ())[:NAMED_MAX]):
        if name not in STRUCK:
            problems.unsupported(f"spec.controllers[{index}]", name, STRUCK)
    for index, resource in enumerate((spec.get("resources") or ())[:NAMED_MAX]):
        if resource in OF_NODES and not spec.get("touchesNodes"):
            told = "pods may be taken off nodes because of it: say spec.touchesNodes: true if that is meant"
            problems.invalid(f"spec.resources[{index}]", resource, told)
    _check_faults(spec, problems)


def _check_faults(spec: Json, problems: Problems) -> None:
    faults = spec.get("faults") or []
    if not 1 <= len(faults) <= len(FAULTS):
        problems.invalid("spec.faults", len(faults), f"1 to {len(FAULTS)} of them")
    seen: dict[str, int] = {}
    for index, fault in enumerate(faults[: len(FAULTS)]):
        name, percent = fault.get("name") or "", fault.get("percent") or 0
        at = f"spec.faults[{index}]"
        if name not in FAULTS:
            problems.unsupported(f"{at}.name", name, FAULTS)
            continue
        if name in seen:
            problems.invalid(f"{at}.name", name, "is named twice")
        seen[name] = percent
        if not 1 <= percent <= 100:
            problems.invalid(f"{at}.percent", percent, "a number from 1 to 100")
        for field, named in (("controllers", CALL_FAULTS), ("resources", WATCH_FAULTS)):
            if name in named and not spec.get(field):
                problems.required(f"spec.{field}", f"{name} strikes those that are named here")
    for named in (CALL_FAULTS, WATCH_FAULTS):
        if sum(seen.get(name, 0) for name in named) > 100:
            problems.invalid("spec.faults", len(faults), f"{', '.join(named)} share 100 percent")


def _same_spec(new: Json, old: Json, problems: Problems) -> None:
    if part(new, "spec") != part(old, "spec"):
        problems.invalid("spec", "changed", "an experiment is not changed: delete it and make another")


def ends_at(experiment: Json) -> float:
    """0: it was not stamped, and has no effect."""
    told = part(experiment, "status").get("endsAt")
    return parse_time(told) if told else 0.0


def _running(experiment: Json, now: float) -> Cell:
    return "True" if now < ends_at(experiment) else "False"


def _injected(experiment: Json, now: float) -> Cell:
    return sum(each.get("count") or 0 for each in part(experiment, "status").get("injected") or ())


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="ChaosExperiment",
    plural="chaosexperiments",
    namespaced=False,
    schema="ChaosExperiment",
    subresources=("status",),
    columns=(
        Column("Running", _running, description="Whether it injects faults now."),
        Column(
            "Ends", lambda each, now: part(each, "status").get("endsAt") or NONE, description="When it ends."
        ),
        Column("Injected", _injected, "integer", description="Faults so far."),
        Column(
            "Faults",
            lambda each, now: ",".join(fault["name"] for fault in part(each, "spec").get("faults") or ()),
            description="What may go wrong.",
        ),
        AGE,
    ),
    validate=_validate,
    validate_update=_same_spec,
)
