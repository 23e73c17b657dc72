"""The closed list of verbs that a step may call: what each changes, what it changes back, and what it found before.

Each is a patch of one object, or an eviction, bound to the object's uid and revision and to the run
(`api/runbooks/acting.py` of the API). Called by `steps.py` and `undoing.py`. Pure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.core import codec
from fairlead.decision.effects import Change, Effect, change_object, delete_object, identity, premise_of
from fairlead.model.kind import Json
from fairlead.model.patch.merge import patch_between
from fairlead.model.runbooks.filling import fill_in, fill_text
from fairlead.model.runbooks.procedure import VERBS, RunbookStep
from fairlead.model.runbooks.sight import seen
from fairlead.model.views import PODS, REPLICASETS, Deployment, View
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.reconcile.ownership import meta_of
from fairlead.reconcile.runbooks.reporting import NAME
from fairlead.reconcile.runbooks.scene import Scene

_REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"
_BOOLEANS = {
    "cordon": ("unschedulable", True),
    "uncordon": ("unschedulable", False),
    "pauseRollout": ("paused", True),
    "resumeRollout": ("paused", False),
}


class Impossible(Exception):
    """The verb cannot be carried out; the text says why."""


class VerbTarget(NamedTuple):
    namespace: str
    name: str
    found: View


def target_of(scene: Scene, step: RunbookStep) -> VerbTarget:
    assert step.kind is not None
    namespace = ""
    if step.kind.namespaced:
        given = fill_text(step.given.get("namespace") or "", scene.places)
        namespace = given or scene.run.metadata.namespace
    name = fill_text(step.given["name"], scene.places)
    found = scene.view.get(scene.resources[step.kind.resource], namespace, name)
    if found is None:
        raise Impossible(f"there is no {step.kind.singular_name} {name}")
    return VerbTarget(namespace, name, found)


def value_before(scene: Scene, step: RunbookStep) -> str:
    """What the verb will change, as it is: kept in the run's record before anything is done."""
    target, verb = target_of(scene, step), step.given["verb"]
    if verb == "evict":
        return meta_of(target.found).uid
    if verb == "rollBack":
        return meta_of(target.found).annotations.get(_REVISION, "")
    return _text(_current(target.found, _field(step)))


def carry_out(scene: Scene, step: RunbookStep, before: str) -> Effect | None:
    """The effect; None if everything is as it should be already."""
    target, verb = target_of(scene, step), step.given["verb"]
    if verb == "evict":
        if meta_of(target.found).uid != before:
            return None  # another pod has its name: the one that was meant is gone
        return _evict(scene, step, target)
    if verb == "rollBack":
        return _roll_back(scene, step, target, before)
    return _set(scene, step, target, _field(step), _wanted(scene, step), "do")


def undo(scene: Scene, step: RunbookStep, before: str) -> Effect | None:
    """The effect that puts back what was before; None if there is nothing to put back, or it is not ours any more."""
    if VERBS[step.given["verb"]].undone_by:
        return None
    try:
        target = target_of(scene, step)
    except Impossible:
        return None
    field = _field(step)
    if _text(_current(target.found, field)) != _text(_wanted(scene, step)):
        return None  # somebody has changed it since: it is theirs now
    return _set(scene, step, target, field, _value(before), "undo")


def _field(step: RunbookStep) -> tuple[str, ...]:
    assert step.kind is not None
    if step.given["verb"] == "scale":
        assert step.kind.scale is not None
        return step.kind.scale.spec_replicas
    return "spec", _BOOLEANS[step.given["verb"]][0]


def _wanted(scene: Scene, step: RunbookStep) -> Any:
    if step.given["verb"] != "scale":
        return _BOOLEANS[step.given["verb"]][1]
    wanted = fill_in(step.given["replicas"], scene.places)
    try:
        count = int(wanted)
    except ValueError:
        raise Impossible(f"replicas must be a whole number, not {wanted}") from None
    if count < 0:
        raise Impossible(f"replicas must not be negative, as {count} is")
    return count


def _current(found: View, field: tuple[str, ...]) -> Any:
    value: Any = seen(found)
    for name in field:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return codec.encode(value).decode()


def _value(text: str) -> Any:
    return codec.decode(text.encode()) if text else None


def _set(
    scene: Scene, step: RunbookStep, target: VerbTarget, field: tuple[str, ...], value: Any, intent: str
) -> Change | None:
    if _current(target.found, field) == value:
        return None
    patch: Any = None if value is False else value  # absent is what it was before somebody set it
    for name in reversed(field):
        patch = {name: patch}
    return _change(scene, step, target, patch, intent)


def _change(scene: Scene, step: RunbookStep, target: VerbTarget, patch: Json, intent: str) -> Change:
    assert step.kind is not None
    resource, meta = scene.resources[step.kind.resource], meta_of(target.found)
    label = identity(
        NAME, scene.run.metadata.uid, f"{intent}-{step.name}", f"{meta.uid}@{meta.resource_version}"
    )
    return change_object(label, resource, meta, patch, (premise_of(RUNBOOK_RUNS, scene.run.metadata),))


def _evict(scene: Scene, step: RunbookStep, target: VerbTarget) -> Effect | None:
    meta = meta_of(target.found)
    if meta.deletion_timestamp:
        return None
    label = identity(NAME, scene.run.metadata.uid, f"do-{step.name}", meta.uid)
    premises = (premise_of(RUNBOOK_RUNS, scene.run.metadata),)
    return delete_object(label, PODS, meta, premises=premises, evicts=True)


def _roll_back(scene: Scene, step: RunbookStep, target: VerbTarget, before: str) -> Change | None:
    """The template of the newest revision below the one that was there, as `kubectl rollout undo` takes it."""
    deployment = target.found
    assert isinstance(deployment, Deployment)
    if deployment.metadata.annotations.get(_REVISION, "") != before:
        return None  # it is at another revision already
    older = [
        (int(number), each)
        for each in scene.view.owned(REPLICASETS, deployment.metadata.uid, deployment.metadata.namespace)
        if (number := each.metadata.annotations.get(_REVISION, "")).isdigit()
        and (not before.isdigit() or int(number) < int(before))
    ]
    if not older:
        raise Impossible(f"deployment {target.name} has no earlier revision to go back to")
    template: Json = codec.clone(max(older, key=lambda each: each[0])[1].spec.template)
    (template.get("metadata", {}).get("labels") or {}).pop(_HASH, None)
    patch = patch_between(deployment.spec.template, template)
    return _change(scene, step, target, {"spec": {"template": patch}}, "do") if patch else None
