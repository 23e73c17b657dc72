"""What a run's status says, as effects: every turn that does not change the world ends in one of these. Pure."""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, EventNote, Stuck, Verdict, Waiting
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.model.kinds.runbook import ABORTING, ENDED, FAILED, SUCCEEDED
from fairlead.model.views import Condition
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun, RunbookRunStatus, StepRecord
from fairlead.reconcile.runbooks.scene import Scene

NAME = "runbook"
RUNNING, DONE, SKIPPED, STEP_FAILED = "Running", "Done", "Skipped", "Failed"
UNDOING, UNDONE, LEFT = "Undoing", "Undone", "Left"
#: bound: plane | a run that waits for a condition looks at it after | -
LOOK_SECONDS = 2.0
_MESSAGE_MAX = 1024


def report(
    run: RunbookRun, status: RunbookRunStatus, verdict: Verdict | None = None, again_at: float = 0.0
) -> Decision:
    """The run says this from now on. A new phase is told in an Event as well."""
    status = structs.replace(
        status, observed_generation=run.metadata.generation, message=status.message[:_MESSAGE_MAX]
    )
    effect = ensure_status(NAME, RUNBOOK_RUNS, run, status)
    if verdict is None:
        verdict = Waiting(status.reason or status.phase, status.message)
    if effect is None:
        return Decision(verdict, again_at=again_at)
    events: tuple[EventNote, ...] = ()
    if status.phase != run.status.phase:
        kind = WARNING if status.phase in (FAILED, ABORTING) else NORMAL
        text = status.message or f"the run is {status.phase}"
        regarding = regarding_of(RUNBOOK_RUNS, run.metadata)
        events = (EventNote(regarding, kind, f"Run{status.phase}", text, after=0),)
    return Decision(verdict, (effect,), again_at, events)


def replaced(status: RunbookRunStatus, record: StepRecord) -> tuple[StepRecord, ...]:
    """The records, with this one in the place of its namesake, or at the end."""
    if any(each.name == record.name for each in status.steps):
        return tuple(record if each.name == record.name else each for each in status.steps)
    return (*status.steps, record)


def finished(record: StepRecord, state: str, now: float, message: str = "", by: str = "") -> StepRecord:
    return structs.replace(
        record,
        state=state,
        finished_at=timestamp(now),
        message=(message or record.message)[:_MESSAGE_MAX],
        by=by or record.by,
    )


def with_condition(
    status: RunbookRunStatus, kind: str, is_true: bool, reason: str, message: str, now: float
) -> tuple[Condition, ...]:
    known = next((each for each in status.conditions if each.type == kind), None)
    word = "True" if is_true else "False"
    since = known.last_transition_time if known is not None and known.status == word else timestamp(now)
    condition = Condition(kind, word, reason, message[:_MESSAGE_MAX], since)
    return (*(each for each in status.conditions if each.type != kind), condition)


def begin_abort(scene: Scene, reason: str, message: str) -> Decision:
    """From now on the run undoes what it did."""
    run = scene.run
    status = structs.replace(
        run.status,
        phase=ABORTING,
        reason=reason,
        message=message,
        conditions=with_condition(run.status, "Aborting", True, reason, message, scene.now),
    )
    return report(run, status, again_at=scene.now)


def end(scene: Scene, status: RunbookRunStatus, phase: str, reason: str, message: str) -> Decision:
    assert phase in ENDED
    status = structs.replace(
        status, phase=phase, reason=reason, message=message, step="", finished_at=timestamp(scene.now)
    )
    verdict = None if phase == SUCCEEDED else Stuck(reason, message)
    return report(scene.run, status, verdict)
