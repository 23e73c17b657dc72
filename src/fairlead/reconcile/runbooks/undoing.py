"""A run that is aborted: what it created is deleted, what its verbs changed is changed back, the last step first.

Each undoing is recorded as begun and, by the API and in the same transaction, as done, like a step. What cannot be
undone (a pod that was evicted, an object that its creator may not delete any more) is named in the end as left.
Called by `decider.py`. Pure.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import parse_time
from fairlead.decision.contract import Decision, Waiting
from fairlead.decision.effects import Effect
from fairlead.model.kinds.runbook import ABORTED
from fairlead.model.runbooks.procedure import VERBS, RunbookStep
from fairlead.model.views.runbooks import StepRecord
from fairlead.reconcile.runbooks import verbs
from fairlead.reconcile.runbooks.reporting import (
    DONE,
    LEFT,
    RUNNING,
    STEP_FAILED,
    UNDOING,
    UNDONE,
    end,
    finished,
    replaced,
    report,
)
from fairlead.reconcile.runbooks.scene import Scene
from fairlead.reconcile.runbooks.steps import deletion, made_by

#: bound: plane | time in which an aborted run is undone | what is left is named in its status
UNDO_SECONDS_MAX = 600.0


def undo(scene: Scene) -> Decision:
    """The next thing to undo; the end, if there is none."""
    for record in reversed(scene.run.status.steps):
        step = scene.procedure.step(record.name)
        if record.state == RUNNING:
            return _record(
                scene, finished(record, STEP_FAILED, scene.now, "it was under way, and is not done")
            )
        if record.state == UNDOING:
            effect = _undoing(scene, step, record) if step is not None else None
            if effect is None:
                return _record(scene, finished(record, UNDONE, scene.now, "there was nothing left to undo"))
            if scene.now >= _deadline(scene):
                return leave(scene, record, f"it was not undone within {UNDO_SECONDS_MAX:g} s")
            return Decision(Waiting("Undoing", f"{record.name} is being undone"), (effect,), _deadline(scene))
        if record.state == DONE and step is not None and step.action in ("create", "verb"):
            return _begin(scene, step, record)
    return _ended(scene)


def leave(scene: Scene, record: StepRecord, why: str) -> Decision:
    """It stays as it is, and the status says so."""
    return _record(scene, finished(record, LEFT, scene.now, f"left: {why}"))


def is_overdue(scene: Scene) -> bool:
    return scene.now >= _deadline(scene)


def _begin(scene: Scene, step: RunbookStep, record: StepRecord) -> Decision:
    if step.action == "verb" and VERBS[step.given["verb"]].undone_by:
        return leave(scene, record, VERBS[step.given["verb"]].undone_by)
    if step.action == "verb" and record.made is None:
        return _record(scene, finished(record, UNDONE, scene.now, "it had changed nothing"))
    if step.action == "create" and made_by(scene, record) is None:
        return _record(scene, finished(record, UNDONE, scene.now, "what it made was gone already"))
    return _record(scene, structs.replace(record, state=UNDOING))


def _undoing(scene: Scene, step: RunbookStep, record: StepRecord) -> Effect | None:
    if step.action == "create":
        return deletion(scene, record, f"undo-{step.name}")
    return verbs.undo(scene, step, record.before)


def _record(scene: Scene, record: StepRecord) -> Decision:
    status = structs.replace(scene.run.status, step=record.name, steps=replaced(scene.run.status, record))
    return report(scene.run, status, again_at=scene.now)


def _deadline(scene: Scene) -> float:
    since = next(each.last_transition_time for each in scene.run.status.conditions if each.type == "Aborting")
    return parse_time(since) + UNDO_SECONDS_MAX


def _ended(scene: Scene) -> Decision:
    status = scene.run.status
    left = [each.name for each in status.steps if each.state == LEFT]
    told = f"{status.message}; not undone: {', '.join(left)}" if left else status.message
    return end(scene, status, ABORTED, status.reason, told)
