"""The controller of runs: one look at a run gives its next step, or says what it waits for.

    Pending    preconditions: all hold, and the first step begins; or Failed, and nothing was done
    Running    the step that is under way (`steps.py`); before each look the abort rules, the deadline, and people
    Asking     the same, for a step that asks a person
    Settling   all steps are done: postconditions; Succeeded, or Failed once they had their time
    Aborting   everything is undone, the last step first (`undoing.py`); Aborted

All that it knows is in the run: whoever leads next goes on where the last one was, at every step. What a run does is
asked of the API as who created the run (`api/runbooks/acting.py`). Conditions may rest on objects of any kind, so a run
that waits for one looks every LOOK_SECONDS instead of being woken by each change of anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import NOTHING, Decision, Reading, Refusal, Waiting
from fairlead.decision.decider import Decider, Wake, key_of
from fairlead.decision.ensure import ensure_fields, ensure_gone
from fairlead.decision.wakes import itself
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.kinds.runbook import ABORTED, ABORTING, ENDED, FAILED, FINALIZER, SETTLING, SUCCEEDED
from fairlead.model.runbooks.procedure import STEP_SECONDS, compile_procedure
from fairlead.model.served import Served
from fairlead.model.views import Resource, View
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun
from fairlead.reconcile.runbooks import steps
from fairlead.reconcile.runbooks.reporting import (
    LOOK_SECONDS,
    NAME,
    RUNNING,
    UNDOING,
    begin_abort,
    end,
    report,
    with_condition,
)
from fairlead.reconcile.runbooks.scene import Scene, seen_resources
from fairlead.reconcile.runbooks.undoing import is_overdue, leave, undo

#: bound: objects | runs of one runbook in a namespace that are kept after their end | the oldest are deleted
RUNS_KEPT_MAX = 100


def runbook_decider(catalog: Catalog = CATALOG) -> Decider:
    """`catalog`: the kinds that runs may read and create; the controller is made anew as custom ones come and go."""
    runs = _Runs(catalog)
    return Decider(
        name=NAME,
        reads=runs.reads,
        wakes=(Wake(RUNBOOK_RUNS, itself),),
        decide=runs.decide,
        refused=runs.refused,
        unsettled=runs.unsettled,
        dated=(RUNBOOK_RUNS,),
        kinds=catalog if isinstance(catalog, Served) else None,
        remade=lambda: runbook_decider(catalog),
    )


class _Runs:
    """Decides on runs, with the kinds that a catalog has as this is made."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._resources = seen_resources(catalog)
        others = (each for name, each in self._resources.items() if name != RUNBOOK_RUNS.name)
        self.reads: tuple[Resource[View], ...] = (RUNBOOK_RUNS, *others)

    def unsettled(self, view: Reading) -> Iterator[Key]:
        for run in view.list(RUNBOOK_RUNS):
            if run.status.phase not in ENDED or FINALIZER in run.metadata.finalizers:
                yield key_of(RUNBOOK_RUNS.name, run)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        run = view.get(RUNBOOK_RUNS, key.namespace, key.name)
        if run is None:
            return NOTHING
        if run.status.phase in ENDED:
            return _tidy(view, run)
        return _advance(self._scene(view, run, now))

    def refused(self, view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
        """The API refused what a step does: the run is aborted with its words. What it refuses to undo is tried again
        until the time for that is over."""
        run = view.get(RUNBOOK_RUNS, key.namespace, key.name)
        if run is None or run.status.phase in ENDED:
            return NOTHING
        scene = self._scene(view, run, now)
        if run.status.phase != ABORTING:
            named = run.status.step or "the run"
            return begin_abort(scene, "StepRefused", f"{named}: {refusal.message}")
        under_way = next((each for each in run.status.steps if each.state == UNDOING), None)
        if under_way is None:
            return NOTHING
        if is_overdue(scene):
            return leave(scene, under_way, refusal.message)
        return Decision(Waiting("UndoRefused", refusal.message))

    def _scene(self, view: Reading, run: RunbookRun, now: float) -> Scene:
        procedure = compile_procedure(run.spec.procedure, self._catalog, None, Problems(), "spec.procedure")
        seen = None
        if procedure.is_measuring:
            seen = view.sighting(RUNBOOK_RUNS, run.metadata.namespace, run.metadata.name)
        return Scene(view, run, procedure, self._resources, now, None if seen is None else seen.at)


def _advance(scene: Scene) -> Decision:
    run, status, now = scene.run, scene.run.status, scene.now
    if status.phase == ABORTING:
        return undo(scene)
    if run.metadata.deletion_timestamp and not status.started_at:
        return end(scene, status, ABORTED, "Deleted", "the run was deleted before it began")
    if run.metadata.deletion_timestamp:
        return begin_abort(scene, "Deleted", "the run was deleted before it ended")
    if run.spec.abort is not None:
        return begin_abort(scene, "AbortedByPerson", f"{run.spec.abort.reason} ({run.spec.abort.by})")
    if scene.awaits_readings:
        return _await_readings(scene)
    if not status.started_at:
        return _start(scene) if FINALIZER in run.metadata.finalizers else _hold(run, now)
    broken = scene.met(scene.procedure.abort_when)
    if broken.name:
        return begin_abort(scene, "AbortRule", f"{broken.name}: {broken.why}")
    if status.phase == SETTLING:
        return _settle(scene)
    deadline = parse_time(status.started_at) + scene.procedure.timeout_seconds
    if now >= deadline:
        told = f"the run was not done within {scene.procedure.timeout_seconds} s"
        return begin_abort(scene, "RunTimedOut", told)
    current = scene.current
    if current is not None and current[1].state == RUNNING:
        return steps.carry_out(scene, *current)
    names = {each.name for each in status.steps}
    following = next((each for each in scene.procedure.steps if each.name not in names), None)
    if following is not None:
        return steps.begin(scene, following)
    settling = structs.replace(
        status, phase=SETTLING, step="", reason="Settling", message="all steps are done"
    )
    conditions = with_condition(status, "PostconditionsMet", False, "Settling", "not looked at yet", now)
    return report(run, structs.replace(settling, conditions=conditions), again_at=now)


def _hold(run: RunbookRun, now: float) -> Decision:
    """Before anything is done: a run that is deleted is to be undone first."""
    wanted = {"metadata": {"finalizers": [*run.metadata.finalizers, FINALIZER]}}
    held = ensure_fields(NAME, run.metadata, RUNBOOK_RUNS, run, "finalizers", {}, wanted)
    return Decision(Waiting("Beginning", "it is about to begin"), (held,) if held is not None else (), now)


def _await_readings(scene: Scene) -> Decision:
    """Nothing is judged by numbers that nobody took; who takes them writes into the run, which wakes it."""
    run, now = scene.run, scene.now
    if run.status.phase == SETTLING:
        deadline = _settled_by(scene)
        if now >= deadline:
            return _not_settled(scene, "nothing was measured for it")
    elif run.status.started_at:
        deadline = parse_time(run.status.started_at) + scene.procedure.timeout_seconds
        if now >= deadline:
            told = f"the run was not done within {scene.procedure.timeout_seconds} s: nothing was measured for it"
            return begin_abort(scene, "RunTimedOut", told)
    else:
        deadline = parse_time(run.metadata.creation_timestamp) + STEP_SECONDS
        if now >= deadline:
            told = f"nothing was done: metrics and decisions were not measured within {STEP_SECONDS} s"
            return end(scene, run.status, FAILED, "NotMeasured", told)
    waiting = Waiting("NotMeasured", "its metrics and decisions are being measured")
    return Decision(waiting, again_at=min(deadline, now + 5 * LOOK_SECONDS))


def _start(scene: Scene) -> Decision:
    status, now = scene.run.status, scene.now
    unmet = scene.unmet(scene.procedure.preconditions)
    if unmet.name:
        told = f"{unmet.name}: {unmet.why}"
        conditions = with_condition(status, "PreconditionsMet", False, "PreconditionFailed", told, now)
        failed = structs.replace(status, conditions=conditions)
        return end(scene, failed, FAILED, "PreconditionFailed", f"nothing was done: {told}")
    conditions = with_condition(status, "PreconditionsMet", True, "AllHold", "", now)
    begun = structs.replace(status, phase="Running", started_at=timestamp(now), conditions=conditions)
    return report(scene.run, begun, again_at=now)


def _settle(scene: Scene) -> Decision:
    status, now = scene.run.status, scene.now
    unmet = scene.unmet(scene.procedure.postconditions)
    if not unmet.name:
        conditions = with_condition(status, "PostconditionsMet", True, "AllHold", "", now)
        return end(scene, structs.replace(status, conditions=conditions), SUCCEEDED, "Done", "it helped")
    told = f"{unmet.name}: {unmet.why}"
    deadline = _settled_by(scene)
    if now >= deadline:
        return _not_settled(scene, told)
    conditions = with_condition(status, "PostconditionsMet", False, "Settling", told, now)
    waiting = structs.replace(status, message=f"waits until {told}", conditions=conditions)
    return report(scene.run, waiting, Waiting("Settling", told), min(deadline, now + LOOK_SECONDS))


def _settled_by(scene: Scene) -> float:
    conditions = scene.run.status.conditions
    since = next(each.last_transition_time for each in conditions if each.type == "PostconditionsMet")
    return parse_time(since) + scene.procedure.settle_seconds


def _not_settled(scene: Scene, why: str) -> Decision:
    """All steps were done: undoing them would undo what may have helped."""
    status, reason = scene.run.status, "PostconditionFailed"
    conditions = with_condition(status, "PostconditionsMet", False, reason, why, scene.now)
    failed = structs.replace(status, conditions=conditions)
    return end(scene, failed, FAILED, reason, f"all steps are done, but {why}; nothing was undone")


def _tidy(view: Reading, run: RunbookRun) -> Decision:
    """A run that has ended holds nobody up, and is kept while there are not too many of its sort."""
    meta = run.metadata
    if FINALIZER in meta.finalizers:
        left = [each for each in meta.finalizers if each != FINALIZER] or None
        freed = ensure_fields(
            NAME, meta, RUNBOOK_RUNS, run, "finalizers", {}, {"metadata": {"finalizers": left}}
        )
        return Decision(effects=(freed,) if freed is not None else ())
    ended = [
        each
        for each in view.list(RUNBOOK_RUNS, meta.namespace)
        if each.spec.runbook == run.spec.runbook and each.status.phase in ENDED
    ]
    if len(ended) <= RUNS_KEPT_MAX:
        return NOTHING
    oldest = min(ended, key=lambda each: (each.status.finished_at, each.metadata.name))
    gone = ensure_gone(NAME, meta, RUNBOOK_RUNS, oldest)
    return Decision(effects=(gone,) if gone is not None else ())
