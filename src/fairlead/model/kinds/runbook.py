"""Runbook and RunbookRun (fairlead.dev/v1): what to do in an incident, and one use of it.

Read by `model/catalog.py`. Whether the expressions of a Runbook compile and what it names exists is judged where the
kinds are known (`api/runbooks/checking.py`); who created a run, and the procedure that it follows, are written there
too (`api/runbooks/stamping.py`). A Runbook is in no namespace: it grants nothing, because a run acts with the rights of
who created it. A run is in the namespace of what it is about.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import name_problems

GROUP, VERSION = "fairlead.dev", "v1"
PENDING, RUNNING, ASKING, SETTLING, ABORTING = "Pending", "Running", "Asking", "Settling", "Aborting"
SUCCEEDED, FAILED, ABORTED = "Succeeded", "Failed", "Aborted"
PHASES = (PENDING, RUNNING, ASKING, SETTLING, ABORTING, SUCCEEDED, FAILED, ABORTED)
ENDED = frozenset({SUCCEEDED, FAILED, ABORTED})
# On a run from its beginning to its end: whoever deletes it in between aborts it.
FINALIZER = "fairlead.dev/runbook"
_FIXED = ("runbook", "params", "requestedBy", "procedure")


def phase_of(run: Json) -> str:
    return str(part(run, "status").get("phase") or PENDING)


def _validate_run(run: Json, problems: Problems) -> None:
    name = str(part(run, "spec").get("runbook") or "")
    for text in name_problems("subdomain", name):
        problems.invalid("spec.runbook", name, text)


def _validate_run_update(new: Json, old: Json, problems: Problems) -> None:
    after, before = part(new, "spec"), part(old, "spec")
    for field in _FIXED:
        if after.get(field) != before.get(field):
            problems.forbidden(f"spec.{field}", "a run is what it was created as; create another")


def _validate_run_status(new: Json, old: Json, problems: Problems) -> None:
    phase, before = phase_of(new), phase_of(old)
    if phase not in PHASES:
        problems.unsupported("status.phase", phase, PHASES)
    elif before in ENDED and phase != before:
        problems.forbidden("status.phase", f"the run has ended ({before})")
    readings = part(new, "status").get("readings")
    if readings is not None and readings != part(old, "status").get("readings"):
        if not readings.get("at"):
            problems.required("status.readings.at", "when it was measured")
        if not isinstance(readings.get("values"), dict):
            problems.invalid("status.readings.values", readings.get("values"), "must be an object")


def _is_reading(new: Json, old: Json) -> bool:
    """Whether a write brings other readings, which the server alone writes, and nothing else."""
    before, after = part(old, "status").get("readings"), part(new, "status").get("readings")
    return before != after and _unread(new) == _unread(old)


def _unread(run: Json) -> tuple[Json, Json, Json]:
    changing = ("resourceVersion", "managedFields")
    metadata = {name: value for name, value in run["metadata"].items() if name not in changing}
    status = {name: value for name, value in part(run, "status").items() if name != "readings"}
    return metadata, part(run, "spec"), status


def _steps_of(book: Json, now: float) -> Cell:
    return len(part(book, "spec").get("steps") or ())


def _summary(book: Json, now: float) -> Cell:
    return str(part(book, "spec").get("summary") or "")


def _user(run: Json, now: float) -> Cell:
    return str(part(part(run, "spec"), "requestedBy").get("username") or "")


RUNBOOK = Kind(
    group=GROUP,
    version=VERSION,
    kind="Runbook",
    plural="runbooks",
    namespaced=False,
    schema="Runbook",
    columns=(
        Column("Steps", _steps_of, type="integer", description="How many steps it has."),
        Column("Summary", _summary, description="What it is for."),
        AGE,
    ),
)

RUN = Kind(
    group=GROUP,
    version=VERSION,
    kind="RunbookRun",
    plural="runbookruns",
    namespaced=True,
    schema="RunbookRun",
    subresources=("status",),
    columns=(
        Column("Runbook", lambda run, now: str(part(run, "spec").get("runbook") or "")),
        Column("Phase", lambda run, now: phase_of(run), description="How far it has come."),
        Column(
            "Step", lambda run, now: str(part(run, "status").get("step") or ""), description="That it is at."
        ),
        Column("By", _user, description="With whose rights it acts."),
        AGE,
    ),
    selectable={"spec.runbook": lambda run: str(part(run, "spec").get("runbook") or "")},
    validate=_validate_run,
    validate_update=_validate_run_update,
    validate_status=_validate_run_status,
    heartbeat=_is_reading,
)
