"""The step that a run is at: it is recorded as begun, carried out in a turn of its own, and recorded as done.

    begin       the status says Running, with what a verb will change as it is now
    carry_out   create, delete, verb: one effect. The API marks the step Done in the same transaction, with what came of
                it (`api/runbooks/acting.py`): there is no moment at which it was done and the record does not say so.
                wait, ask: nothing, until the condition holds or the answer is there; then the status says Done

Called by `decider.py`. Pure.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.core import codec
from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import Decision, Waiting
from fairlead.decision.effects import (
    OPERATION,
    Effect,
    create_object,
    delete_object,
    identity,
    premise_of,
)
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.kind import Json
from fairlead.model.kinds.runbook import ASKING
from fairlead.model.kinds.runbook import RUNNING as RUN_RUNNING
from fairlead.model.runbooks.filling import UnfilledError, fill_in, fill_text
from fairlead.model.runbooks.objects import name_for
from fairlead.model.runbooks.procedure import RunbookStep
from fairlead.model.views import Resource, View
from fairlead.model.views.runbooks import RUNBOOK_RUNS, StepRecord
from fairlead.reconcile.ownership import is_deleting, meta_of, uid_of
from fairlead.reconcile.runbooks import verbs
from fairlead.reconcile.runbooks.reporting import (
    DONE,
    LOOK_SECONDS,
    NAME,
    RUNNING,
    SKIPPED,
    begin_abort,
    finished,
    replaced,
    report,
)
from fairlead.reconcile.runbooks.scene import Scene

# On what a run makes, so that people see where it comes from.
RUN_LABEL = "fairlead.dev/runbook-run"


def begin(scene: Scene, step: RunbookStep) -> Decision:
    """The record of a step, before anything is done."""
    run, now = scene.run, scene.now
    record = StepRecord(step.name, RUNNING, timestamp(now))
    try:
        if step.when is not None and not scene.holds(step.when):
            record = finished(record, SKIPPED, now, f"{step.when.text.strip()} is false")
        elif step.action == "verb":
            record = structs.replace(record, before=verbs.value_before(scene, step))
        asks = step.action == "ask" and record.state == RUNNING
        question = fill_text(step.given["question"], scene.places) if asks else ""
    except (EvaluationError, UnfilledError, verbs.Impossible) as error:
        return begin_abort(scene, "StepImpossible", f"{step.name}: {error}")
    status = structs.replace(
        run.status,
        phase=RUN_RUNNING,
        reason="",
        message="",
        step=step.name,
        steps=replaced(run.status, record),
    )
    if asks:
        status = structs.replace(status, phase=ASKING, reason="Asked", message=question)
    return report(run, status, again_at=now)


def carry_out(scene: Scene, step: RunbookStep, record: StepRecord) -> Decision:
    """What a step that is under way does now."""
    deadline = parse_time(record.started_at) + step.timeout_seconds
    if scene.now >= deadline:
        told = f"{step.name} was not done within {step.timeout_seconds} s"
        return begin_abort(scene, "StepTimedOut", told)
    try:
        return _do(scene, step, record, deadline)
    except (UnfilledError, verbs.Impossible) as error:
        return begin_abort(scene, "StepImpossible", f"{step.name}: {error}")


def _do(scene: Scene, step: RunbookStep, record: StepRecord, deadline: float) -> Decision:
    match step.action:
        case "create":
            return _create(scene, step, deadline)
        case "delete":
            return _delete(scene, step, record, deadline)
        case "wait":
            return _wait(scene, step, record, deadline)
        case "ask":
            return _ask(scene, step, record, deadline)
        case _:
            return _call(scene, step, record, deadline)


def _done(scene: Scene, record: StepRecord, message: str, by: str = "") -> Decision:
    done = finished(record, DONE, scene.now, message, by)
    status = structs.replace(
        scene.run.status, phase=RUN_RUNNING, reason="", message="", steps=replaced(scene.run.status, done)
    )
    return report(scene.run, status, again_at=scene.now)


def _acting(step: RunbookStep, effect: Effect, deadline: float) -> Decision:
    return Decision(Waiting("StepUnderWay", f"{step.name} is being done"), (effect,), deadline)


def rendered(scene: Scene, step: RunbookStep) -> Json:
    """The object that a step creates."""
    assert step.kind is not None
    meta = scene.run.metadata
    body: Json = fill_in(codec.clone(step.given["object"]), scene.places)
    metadata: Json = body.get("metadata") or {}
    label = identity(NAME, meta.uid, "create", step.name)
    namespace = (metadata.get("namespace") or meta.namespace) if step.kind.namespaced else None
    return {
        **body,
        "metadata": {
            **metadata,
            "name": name_for(meta.name, meta.uid, step.name),
            **({"namespace": namespace} if namespace else {}),
            "labels": {**(metadata.get("labels") or {}), RUN_LABEL: meta.name[:63].rstrip("-.")},
            "annotations": {**(metadata.get("annotations") or {}), OPERATION: label},
        },
    }


def _create(scene: Scene, step: RunbookStep, deadline: float) -> Decision:
    assert step.kind is not None
    resource, body = scene.resources[step.kind.resource], rendered(scene, step)
    metadata = body["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    label = metadata["annotations"][OPERATION]
    there = scene.view.get(resource, namespace, name)
    if there is not None and meta_of(there).annotations.get(OPERATION) != label:
        return begin_abort(
            scene, "NameTaken", f"{step.name}: {step.kind.singular_name} {name} exists already"
        )
    if there is not None:  # it is ours: the mirror of runs has yet to say so
        return Decision(Waiting("OwnWrite", f"{step.name} is done"), again_at=scene.now + LOOK_SECONDS)
    premises = (premise_of(RUNBOOK_RUNS, scene.run.metadata),)
    # In the version of the template, which need not be the one that is read.
    written = Resource(resource.name, step.kind.api_version, step.kind.kind, View)
    return _acting(step, create_object(label, written, namespace, name, body, premises), deadline)


def made_by(scene: Scene, record: StepRecord) -> tuple[Resource[View], View] | None:
    """What a step created, if it is there still."""
    made = record.made
    if made is None:
        return None
    for resource in scene.resources.values():
        if (resource.api_version, resource.kind) == (made.api_version, made.kind):
            found = scene.view.get(resource, made.namespace, made.name)
            if found is not None and uid_of(found) == made.uid and not is_deleting(found):
                return resource, found
    return None


def deletion(scene: Scene, record: StepRecord, intent: str) -> Effect | None:
    """Of what a step created; None if it is gone or going."""
    found = made_by(scene, record)
    if found is None:
        return None
    resource, there = found
    label = identity(NAME, scene.run.metadata.uid, intent, meta_of(there).uid)
    premises = (premise_of(RUNBOOK_RUNS, scene.run.metadata),)
    return delete_object(label, resource, meta_of(there), premises=premises)


def _delete(scene: Scene, step: RunbookStep, record: StepRecord, deadline: float) -> Decision:
    creator = scene.record(step.given["step"])
    effect = deletion(scene, creator, f"delete-{step.name}") if creator is not None else None
    if effect is None:
        return _done(scene, record, f"what {step.given['step']} made was gone already")
    return _acting(step, effect, deadline)


def _wait(scene: Scene, step: RunbookStep, record: StepRecord, deadline: float) -> Decision:
    assert step.until is not None
    try:
        if scene.holds(step.until):
            return _done(scene, record, "")
        told = f"{step.name} waits until {step.until.text.strip()}"
    except EvaluationError as error:  # an object that is not there yet, perhaps
        told = f"{step.name} waits: {error}"
    status = structs.replace(scene.run.status, reason="Waiting", message=told)
    again_at = min(deadline, scene.now + LOOK_SECONDS)
    return report(scene.run, status, Waiting("ConditionNotMet", told), again_at)


def _ask(scene: Scene, step: RunbookStep, record: StepRecord, deadline: float) -> Decision:
    answer = next((each for each in scene.run.spec.answers if each.step == step.name), None)
    if answer is not None:
        told = ", ".join(f"{name}={value}" for name, value in sorted(answer.values.items()))
        return _done(scene, record, told, answer.by)
    again_at = min(deadline, scene.now + LOOK_SECONDS) if scene.procedure.abort_when else deadline
    return Decision(Waiting("Asked", scene.run.status.message), again_at=again_at)


def _call(scene: Scene, step: RunbookStep, record: StepRecord, deadline: float) -> Decision:
    effect = verbs.carry_out(scene, step, record.before)
    if effect is None:
        return _done(scene, record, "it was so already")
    return _acting(step, effect, deadline)
