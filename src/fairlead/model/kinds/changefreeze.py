"""ChangeFreeze (fairlead.dev/v1): times in which workloads are not changed, once or again and again.

Read by `model/catalog.py`. In no namespace, so that who works in a namespace does not lift it; what it refuses, and to
whom, is `api/brakes/`, by the server's clock at each write. Nothing runs when one begins or ends.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import SECOND, parse_duration, parse_time, timestamp
from fairlead.model.cells import AGE, NONE
from fairlead.model.cron import problem_with
from fairlead.model.freeze_times import next_window, window_at
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_problems
from fairlead.model.time_zones import is_time_zone

ROLLOUTS, CREATES = "Rollouts", "Creates"
FORBIDS = (ROLLOUTS, CREATES)
#: bound: grants | time that a window of a schedule lasts | 422
DURATION_SECONDS_MAX = 31 * 86400
#: bound: grants | namespaces, users or groups that one freeze names, each | 422
NAMED_MAX = 256
_REASON_MAX = 1024


def _defaults(freeze: Json) -> None:
    spec = part(freeze, "spec")
    if not spec.get("forbids"):
        spec["forbids"] = [ROLLOUTS]


def _validate(freeze: Json, problems: Problems) -> None:
    spec = part(freeze, "spec")
    if not str(spec.get("reason") or "").strip():
        problems.required("spec.reason", "say why, in a sentence: it is what a refusal says")
    if len(spec.get("reason") or "") > _REASON_MAX:
        problems.too_long("spec.reason", _REASON_MAX)
    for index, each in enumerate(spec.get("forbids") or ()):
        if each not in FORBIDS:
            problems.unsupported(f"spec.forbids[{index}]", each, FORBIDS)
    exceptions = part(spec, "exceptions")
    for path, values in (
        ("spec.namespaces", spec.get("namespaces")),
        ("spec.exceptions.users", exceptions.get("users")),
        ("spec.exceptions.groups", exceptions.get("groups")),
    ):
        if len(values or ()) > NAMED_MAX:
            problems.too_many(path, len(values or ()), NAMED_MAX)
    for index, space in enumerate((spec.get("namespaces") or ())[:NAMED_MAX]):
        for text in label_problems(space):
            problems.invalid(f"spec.namespaces[{index}]", space, text)
    if spec.get("schedule"):
        _validate_schedule(spec, problems)
    else:
        _validate_window(spec, problems)


def _validate_window(spec: Json, problems: Problems) -> None:
    for field in ("duration", "timeZone"):
        if spec.get(field):
            problems.invalid(
                f"spec.{field}", spec[field], "belongs to a schedule; give start and end, or schedule"
            )
    start, end = spec.get("start"), spec.get("end")
    if not start or not end:
        problems.required("spec.start", "a freeze has an end: give start and end, or schedule and duration")
    elif parse_time(end) <= parse_time(start):
        problems.invalid("spec.end", end, f"must be after spec.start, {start}")


def _validate_schedule(spec: Json, problems: Problems) -> None:
    for field in ("start", "end"):
        if spec.get(field):
            problems.invalid(f"spec.{field}", spec[field], "give start and end, or schedule and duration")
    schedule, zone, lasts = spec["schedule"], spec.get("timeZone"), spec.get("duration")
    wrong = problem_with(schedule)
    if not wrong and schedule.startswith(("TZ=", "CRON_TZ=", "@every")):
        wrong = "a time zone is said in spec.timeZone, and @every has no beginning"
    if wrong:
        problems.invalid("spec.schedule", schedule, wrong)
    if zone and not is_time_zone(zone):
        problems.invalid("spec.timeZone", zone, "is no time zone of the IANA database, such as Europe/Berlin")
    if not lasts:
        problems.required("spec.duration", "say how long each time lasts, such as 12h")
        return
    try:
        seconds = parse_duration(lasts) / SECOND
    except ValueError as error:
        problems.invalid("spec.duration", lasts, str(error))
        return
    if not 60 <= seconds <= DURATION_SECONDS_MAX:
        problems.invalid("spec.duration", lasts, f"must be between 1m and {DURATION_SECONDS_MAX // 3600}h")


def _in_force(freeze: Json, now: float) -> Cell:
    return "True" if window_at(part(freeze, "spec"), now) is not None else "False"


def _ends(freeze: Json, now: float) -> Cell:
    window = window_at(part(freeze, "spec"), now)
    return timestamp(window.end) if window is not None else NONE


def _next(freeze: Json, now: float) -> Cell:
    window = next_window(part(freeze, "spec"), now)
    return timestamp(window.start) if window is not None else NONE


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="ChangeFreeze",
    plural="changefreezes",
    namespaced=False,
    schema="ChangeFreeze",
    columns=(
        Column("In Force", _in_force, description="Whether it forbids anything now."),
        Column("Ends", _ends, description="When that ends."),
        Column("Next", _next, description="When it begins next."),
        Column(
            "Namespaces", lambda freeze, now: ",".join(part(freeze, "spec").get("namespaces") or ()) or "all"
        ),
        Column("Forbids", lambda freeze, now: ",".join(part(freeze, "spec").get("forbids") or ())),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
)
