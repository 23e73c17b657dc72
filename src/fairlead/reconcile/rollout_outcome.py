"""What follows a failed rollout: a Deployment's annotation declares it, and this controller does it.

    fairlead.dev/on-failed-rollout:  wait       nothing; people are told by the condition Progressing, as in Kubernetes
                                     retry      the same template once more, as `kubectl rollout restart`, three times
                                     roll-back  back to the template before, as `kubectl rollout undo`, once
                                     stuck      the condition `fairlead.dev/RolloutStuck` says that a person is needed

A rollout has failed when it has exceeded its progressDeadlineSeconds. What was retried as often as may be, and what was
rolled back and fails again, is stuck. Each act leaves an annotation, so that no leader repeats it, and an Event; a
template that people change is a new rollout, which may be retried and rolled back anew. Beside `deployment/`, which
carries rollouts out and knows nothing of this.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, Decision, EventNote, Reading, Stuck, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Change, Json
from fairlead.decision.ensure import ensure_fields, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import PRESENT
from fairlead.decision.wakes import changed, each_of, itself_if
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import split
from fairlead.model.marks import TEMPLATE_HASH
from fairlead.model.patch.merge import patch_between
from fairlead.model.reasons import LATE, USER
from fairlead.model.views import DEPLOYMENTS, OVERRIDES, REPLICASETS, Condition, Deployment, ReplicaSet
from fairlead.reconcile.deployment.history import revision_of, split_sets

NAME = "rollout-outcome"
OUTCOME = "fairlead.dev/on-failed-rollout"
WAIT, RETRY, ROLL_BACK, STUCK = "wait", "retry", "roll-back", "stuck"
ROLLED_BACK = "fairlead.dev/rolled-back-to"  # the set whose template was taken up again
RETRIED = "fairlead.dev/rollout-retry"  # annotation of the template: how often it was tried again
ROLLOUT_STUCK = "fairlead.dev/RolloutStuck"
#: bound: plane | times that a failed rollout is tried again | it is stuck
RETRIES_MAX = 3


def rollout_outcome_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(DEPLOYMENTS, REPLICASETS, OVERRIDES),
        wakes=(
            Wake(DEPLOYMENTS, itself_if(_concerns), when=PRESENT),
            Wake(OVERRIDES, changed(ledger.bearing, each_of(DEPLOYMENTS, _concerns))),
        ),
        decide=_decide,
    )


def paused_by(view: Reading, namespace: str, target: str, now: float) -> str:
    """The names of the overrides that hold rollouts of `target` ("deployment/web") now; "": none does."""
    overrides = view.list(OVERRIDES)
    if not overrides:
        return ""
    names = (ledger.Name(*split(target)),)
    hold = ledger.holding(overrides, ledger.rollout, namespace, names, now)
    return ", ".join(hold.names) if hold is not None else ""


def _concerns(found: Deployment) -> bool:
    return OUTCOME in found.metadata.annotations or _condition(found, ROLLOUT_STUCK) is not None


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(DEPLOYMENTS, key.namespace, key.name)
    if found is None or found.metadata.deletion_timestamp or not _concerns(found):
        return NOTHING
    progressing = _condition(found, "Progressing")
    is_seen = found.status.observed_generation == found.metadata.generation
    has_failed = is_seen and progressing is not None and progressing.reason == LATE and not found.spec.paused
    outcome = found.metadata.annotations.get(OUTCOME, WAIT)
    if not has_failed or progressing is None:
        return _told(found, None, now)
    holder = paused_by(view, key.namespace, f"deployment/{key.name}", now)
    if holder:
        return Decision(Waiting("RolloutPaused", f"SchedulerOverride {holder} pauses rollouts of {key.name}"))
    owned = view.owned(REPLICASETS, found.metadata.uid, found.metadata.namespace)
    sets = [each for each in owned if not each.metadata.deletion_timestamp]
    new, olds = split_sets(found, sets)
    if outcome == RETRY:
        return _retried(found, progressing, now)
    if outcome == ROLL_BACK:
        return _rolled_back(found, new, olds, progressing, now)
    if outcome == STUCK:
        return _told(found, f"the rollout has failed: {progressing.message}", now)
    return Decision(Waiting(LATE, progressing.message))


def _retried(found: Deployment, failed: Condition, now: float) -> Decision:
    annotations = (found.spec.template.get("metadata") or {}).get("annotations") or {}
    text = annotations.get(RETRIED, "")
    tried = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if tried >= RETRIES_MAX:
        return _told(
            found, f"the rollout has failed, and was tried again {tried} times: {failed.message}", now
        )
    wanted = {"metadata": {"annotations": {RETRIED: str(tried + 1)}}}
    current = {"metadata": {"annotations": annotations}}
    change = ensure_fields(
        NAME,
        found.metadata,
        DEPLOYMENTS,
        found,
        "retry",
        {"spec": {"template": current}},
        {"spec": {"template": wanted}},
    )
    told = f"The rollout has failed and is tried again, {tried + 1} of {RETRIES_MAX}: {failed.message}"
    return _acted(found, change, "RolloutRetried", told)


def _rolled_back(
    found: Deployment,
    new: ReplicaSet | None,
    olds: Sequence[ReplicaSet],
    failed: Condition,
    now: float,
) -> Decision:
    annotations = found.metadata.annotations
    if new is not None and annotations.get(ROLLED_BACK) == new.metadata.name:
        text = f"the rollout back to {new.metadata.name} has failed as well: {failed.message}"
        return _told(found, text, now)
    before = max(olds, key=lambda each: revision_of(each.metadata.annotations), default=None)
    if before is None:
        return _told(found, f"the rollout has failed, and there is none before it: {failed.message}", now)
    template = _plain(before.spec.template)
    patch = {
        "metadata": {"annotations": {ROLLED_BACK: before.metadata.name}},
        "spec": {"template": patch_between(found.spec.template, template)},
    }
    current: Json = {"metadata": {"annotations": annotations}, "spec": {}}
    change = ensure_fields(NAME, found.metadata, DEPLOYMENTS, found, "roll-back", current, patch)
    revision = revision_of(before.metadata.annotations)
    told = f"The rollout has failed and is rolled back to revision {revision}: {failed.message}"
    return _acted(found, change, "RolloutRolledBack", told)


def _acted(found: Deployment, change: Change | None, reason: str, told: str) -> Decision:
    effects = (change,) if change is not None else ()
    note = EventNote(regarding_of(DEPLOYMENTS, found.metadata), NORMAL, reason, told, 0)
    return Decision(Waiting(reason, told), effects, events=(note,) if effects else ())


def _told(found: Deployment, why: str | None, now: float) -> Decision:
    """The condition that a person is needed, or that none is any more."""
    known = _condition(found, ROLLOUT_STUCK)
    others = tuple(each for each in found.status.conditions if each.type != ROLLOUT_STUCK)
    if why is None:
        status = structs.replace(found.status, conditions=others)
        change = ensure_status(NAME, DEPLOYMENTS, found, status)
        return Decision(effects=(change,) if change is not None else ())
    since = known.last_transition_time if known is not None else timestamp(now)
    stuck = Condition(ROLLOUT_STUCK, "True", "RolloutFailed", why, since, owner=USER)
    change = ensure_status(
        NAME, DEPLOYMENTS, found, structs.replace(found.status, conditions=(*others, stuck))
    )
    note = EventNote(regarding_of(DEPLOYMENTS, found.metadata), WARNING, "RolloutStuck", why, 0)
    effects = (change,) if change is not None else ()
    return Decision(Stuck("RolloutStuck", why), effects, events=(note,) if effects else ())


def _condition(found: Deployment, kind: str) -> Condition | None:
    return next((each for each in found.status.conditions if each.type == kind), None)


def _plain(template: Json) -> Json:
    """Without what only sets have."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}
