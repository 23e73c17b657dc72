"""CronJob (batch/v1): a Job made again and again on a schedule.

Read by `model/catalog.py`. The job template is checked by the Job's own rules; schedules by `model/cron.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE, NONE, since
from fairlead.model.cron import problem_with
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.job.kind import default_failure_policy
from fairlead.model.kinds.job.validation import check_job_spec
from fairlead.model.kinds.workload import (
    check_counters,
    choose,
    default_template,
    ensure_object,
    fill,
    part,
    show_status,
)
from fairlead.model.kinds.workload_columns import template_columns
from fairlead.model.time_zones import is_time_zone

# Jobs are called after their CronJob, a dash and ten digits, and must fit in a label.
_NAME_MAX = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_COUNTERS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _default_status(obj: Json) -> None:
    show_status(obj)


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    choose(spec, "concurrencyPolicy", "Allow")
    fill(spec, "suspend", False)
    fill(spec, "successfulJobsHistoryLimit", 3)
    fill(spec, "failedJobsHistoryLimit", 1)
    job = ensure_object(ensure_object(spec, "jobTemplate"), "spec")
    default_failure_policy(job)
    default_template(job)


def _job_spec(obj: Json) -> Json:
    return part(part(part(obj, "spec"), "jobTemplate"), "spec")


def _validate(obj: Json, problems: Problems) -> None:
    spec, name = part(obj, "spec"), part(obj, "metadata").get("name") or ""
    _check_schedule(spec.get("schedule"), problems)
    if spec.get("timeZone") is not None:
        _check_zone(spec["timeZone"], problems)
    policy = spec.get("concurrencyPolicy")
    if policy not in _POLICIES:
        problems.unsupported("spec.concurrencyPolicy", policy, _POLICIES)
    check_counters(spec, _COUNTERS, "spec", problems)
    _check_job_template(_job_spec(obj), "spec.jobTemplate.spec", problems)
    if len(name) > _NAME_MAX:
        problems.invalid("metadata.name", name, f"must be no more than {_NAME_MAX} characters")


def _check_schedule(schedule: str | None, problems: Problems) -> None:
    if not schedule:
        problems.required("spec.schedule")
        return
    wrong = problem_with(schedule)
    if wrong:
        problems.invalid("spec.schedule", schedule, wrong)
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        problems.invalid("spec.schedule", schedule, detail)


def _check_zone(zone: str, problems: Problems) -> None:
    if not zone:
        problems.invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        problems.invalid("spec.timeZone", zone, detail)
    elif not is_time_zone(zone):
        problems.invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _check_job_template(job: Json, path: str, problems: Problems) -> None:
    check_job_spec(job, path, problems)
    if job.get("selector") is not None:
        problems.invalid(f"{path}.selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        problems.unsupported(f"{path}.manualSelector", True, ("nil", "false"))


def _suspended(obj: Json, now: float) -> Cell:
    suspend = part(obj, "spec").get("suspend")
    return "<unset>" if suspend is None else str(bool(suspend))


def _last_schedule(obj: Json, now: float) -> Cell:
    stamp = part(obj, "status").get("lastScheduleTime")
    return since(stamp, now) if stamp else NONE


KIND = Kind(
    group="batch",
    version="v1",
    kind="CronJob",
    plural="cronjobs",
    namespaced=True,
    schema="CronJob",
    short_names=("cj",),
    categories=("all",),
    subresources=("status",),
    columns=(
        Column("Schedule", lambda obj, now: part(obj, "spec").get("schedule") or ""),
        Column("Timezone", lambda obj, now: part(obj, "spec").get("timeZone") or NONE),
        Column("Suspend", _suspended, type="boolean"),
        Column("Active", lambda obj, now: len(part(obj, "status").get("active") or ()), type="integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *template_columns(_job_spec),
    ),
    defaults=_defaults,
    status_defaults=_default_status,
    validate=_validate,
)
