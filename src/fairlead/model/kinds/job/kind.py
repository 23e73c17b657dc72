"""Job (batch/v1): pods that run to their end, a number of times.

Read by `model/catalog.py`; `model/kinds/cronjob.py` uses the parts that a job template shares. A Job chooses its pods
by its own uid: defaults write selector and template labels unless `manualSelector` asks them not to, so metadata.uid
must be stamped before. Rules: `validation.py`, `policies.py`, `status.py`.
"""

from __future__ import annotations

from fairlead.core.times import human_duration, parse_time
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.job.status import true_conditions, validate_job_status
from fairlead.model.kinds.job.validation import (
    NAME_LABELS,
    UID_LABEL,
    UID_LABELS,
    validate_job,
    validate_job_update,
)
from fairlead.model.kinds.workload import choose, default_template, ensure_object, fill, part, show_status
from fairlead.model.kinds.workload_columns import PROGRESS, template_columns

_INT32_MAX = 2**31 - 1
# What the Status column shows, first match wins; a deletion in progress comes after the final two.
_FINAL = (("Complete", "Complete"), ("Failed", "Failed"))
_PASSING = (
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def default_failure_policy(spec: Json) -> None:
    """A condition pattern without a status means True. Holds for jobs and for templates of jobs."""
    for rule in part(spec, "podFailurePolicy").get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            choose(pattern, "status", "True")


def _default_status(obj: Json) -> None:
    show_status(obj)


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    fill(spec, "parallelism", 1)
    fill(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _INT32_MAX)
    choose(spec, "completionMode", "NonIndexed")
    fill(spec, "suspend", False)
    fill(spec, "manualSelector", False)
    replaced = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    choose(spec, "podReplacementPolicy", replaced)
    default_failure_policy(spec)
    default_template(spec)
    metadata = part(obj, "metadata")
    if not spec["manualSelector"]:
        _generate_selector(spec, metadata)
    labels = part(part(spec, "template"), "metadata").get("labels")
    if labels and metadata and not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _generate_selector(spec: Json, metadata: Json) -> None:
    """Labels that the user set are kept; validation then says what they should have been."""
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    labels = ensure_object(ensure_object(spec["template"], "metadata"), "labels")
    for key in NAME_LABELS:
        labels.setdefault(key, name)
    for key in UID_LABELS:
        labels.setdefault(key, uid)
    ensure_object(ensure_object(spec, "selector"), "matchLabels").setdefault(UID_LABEL, uid)


def _status(obj: Json, now: float) -> Cell:
    held = true_conditions(obj)
    for condition, text in _FINAL:
        if condition in held:
            return text
    if part(obj, "metadata").get("deletionTimestamp"):
        return "Terminating"
    for condition, text in _PASSING:
        if condition in held:
            return text
    return "Running"


def _completions(obj: Json, now: float) -> Cell:
    spec, succeeded = part(obj, "spec"), part(obj, "status").get("succeeded") or 0
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(obj: Json, now: float) -> Cell:
    status = part(obj, "status")
    started, ended = status.get("startTime"), status.get("completionTime")
    if not started:
        return ""
    return human_duration((parse_time(ended) if ended else now) - parse_time(started))


KIND = Kind(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    namespaced=True,
    schema="Job",
    categories=("all",),
    subresources=("status",),
    columns=(
        Column("Status", _status, description="Status of the job."),
        Column("Completions", _completions, description="Pods that succeeded, of those wanted."),
        Column("Duration", _duration, description="Time required to complete the job."),
        AGE,
        *template_columns(),
        PROGRESS,
    ),
    selectable={"status.successful": lambda obj: str(part(obj, "status").get("succeeded") or 0)},
    defaults=_defaults,
    status_defaults=_default_status,
    validate=validate_job,
    validate_update=validate_job_update,
    validate_status=validate_job_status,
)
