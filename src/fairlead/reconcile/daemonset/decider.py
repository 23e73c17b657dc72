"""The DaemonSet controller: one pod on every node that should have one.

One turn reports what was observed and then does the first of these that is needed:

    adopt and release pods and revisions
    record the template as the newest revision      (reconcile/revisions.py)
    delete pods where none should be, second pods of a node, and pods that have ended
    make the pods that are missing
    rolling update: replace pods of an old revision  (rollout.py)
    forget old revisions

A change of a node concerns every DaemonSet and wakes each: what is refused to one keeps no other from its pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from fairlead.core.times import parse_time
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Refusal, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.decision.notes import note_children, note_failure, regarding_of
from fairlead.decision.wakes import changed, claiming, each_of, workload_itself
from fairlead.model.key import Key
from fairlead.model.premise import Premise, Premises
from fairlead.model.reasons import HELD_BY_OVERRIDE
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    DAEMONSETS,
    LEASES,
    NODES,
    PODS,
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
    Node,
    Pod,
)
from fairlead.reconcile.children import child_name, claim, readiness
from fairlead.reconcile.daemonset.pods import Place, Template, is_available, places_of, pod_body, template_of
from fairlead.reconcile.daemonset.rollout import choose_outdated, choose_surplus, is_surging, wants_another
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS, is_out_of_reach
from fairlead.reconcile.overrides.heeding import heeding, held_daemonset, with_held
from fairlead.reconcile.revisions import REVISION_LABEL, forget_revisions, in_order, record_revision
from fairlead.reconcile.waiting import add_waiting, drop_waiting

_NAME = "daemonset"
# A pod that ends at once is not replaced at once.
#: bound: plane | a failed pod of a DaemonSet is replaced after | -
REPLACED_AFTER_SECONDS = 10.0
_ALWAYS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def daemonset_decider() -> Decider:
    decider = Decider(
        name=_NAME,
        reads=(DAEMONSETS, PODS, NODES, CONTROLLER_REVISIONS, LEASES),
        dated=(LEASES,),
        wakes=(
            Wake(DAEMONSETS, workload_itself),
            *claiming(DAEMONSETS, PODS),
            *claiming(DAEMONSETS, CONTROLLER_REVISIONS),
            Wake(NODES, changed(_shape, each_of(DAEMONSETS))),
        ),
        decide=_decide,
        refused=_refused,
    )
    return heeding(decider, DAEMONSETS)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(DAEMONSETS, key.namespace, key.name)
    if found is None or found.metadata.deletion_timestamp:
        return NOTHING
    decision = _reconcile(view, found, now)
    told = note_children(regarding_of(DAEMONSETS, found.metadata), decision.effects)
    return structs.replace(decision, events=told) if told else decision


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    """Its pods were reported before they were refused; what they wait for is left to say."""
    found, effect = view.get(DAEMONSETS, key.namespace, key.name), refusal.effect
    if found is None or effect.resource != PODS.name:
        return NOTHING
    conditions = add_waiting(found.status.conditions, refusal, found.metadata.name, now)
    wanted = structs.replace(found.status, conditions=conditions)
    report = ensure_status(_NAME, DAEMONSETS, found, wanted, _ALWAYS)
    notes = note_failure(regarding_of(DAEMONSETS, found.metadata), effect, refusal.message)
    return Decision(effects=(report,) if report is not None else (), events=notes)


def _shape(node: Node | None) -> object:
    """All of a node that concerns DaemonSets; heartbeats do not."""
    if node is None:
        return None
    return node.metadata.uid, node.metadata.labels, node.metadata.deletion_timestamp, node.spec


def _reconcile(view: Reading, found: DaemonSet, now: float) -> Decision:
    found, held = held_daemonset(view, found, now)
    meta, selector = found.metadata, found.spec.selector
    claimed = claim(view, _NAME, DAEMONSETS, meta, selector, PODS)
    history = claim(view, _NAME, DAEMONSETS, meta, selector, CONTROLLER_REVISIONS)
    claims = (*history.effects, *claimed.effects)
    known = in_order(history.mine)
    update, effect = record_revision(view, _NAME, DAEMONSETS, meta, found.spec.template, known)
    if claims:
        return Decision(Waiting("ClaimingPods"), claims[:EFFECTS_MAX])
    if update is None:
        return Decision(Waiting("RecordingRevision"), (effect,) if effect is not None else ())
    template = template_of(found, update.metadata.labels.get(REVISION_LABEL, update.metadata.name))
    places = places_of(template, view.list(NODES), claimed.mine)
    again_at = readiness(claimed.mine, found.spec.min_ready_seconds, now).again_at

    def is_lost(pod: Pod) -> bool:
        return is_out_of_reach(view, pod)

    replaced, due = _ended(found, places, now)
    again_at = min((at for at in (again_at, due) if at), default=0.0)
    # What goes makes room, also in a quota: it does not wait for what is refused.
    effects = _misplaced(view, found, places) + replaced
    effects += _gone(found, choose_surplus(found, template, places, now, is_lost))
    missing = _missing(view, found, template, places, wants_another(found, template, places, now))
    effects += missing
    if not effects:
        effects = _gone(found, choose_outdated(found, template, places, now, is_lost))
    if not effects and _is_behind(template, places) and any(map(is_lost, claimed.mine)):
        again_at = min(again_at or now + LOOK_AGAIN_SECONDS, now + LOOK_AGAIN_SECONDS)
    if not effects:
        effects += _forgotten(found, template, claimed.mine, known)
    wanted = _status(found, template, places, now)
    if not missing:
        wanted = structs.replace(wanted, conditions=drop_waiting(wanted.conditions))
    wanted = structs.replace(wanted, conditions=with_held(wanted.conditions, held, now))
    status = ensure_status(_NAME, DAEMONSETS, found, wanted, _ALWAYS)
    if status is not None:
        effects = [status, *effects]
    if held and not effects:
        return Decision(Waiting(HELD_BY_OVERRIDE, held), (), again_at)
    is_settled = wanted.number_available >= wanted.desired_number_scheduled and not effects
    verdict = (
        SETTLED if is_settled else Waiting("PodsUnavailable", f"{wanted.number_unavailable} unavailable")
    )
    return Decision(verdict, tuple(effects[:EFFECTS_MAX]), again_at)


def _is_behind(template: Template, places: Sequence[Place]) -> bool:
    """Whether a pod of an old revision is there."""
    return any(
        pod.metadata.labels.get(REVISION_LABEL) != template.revision
        for place in places
        for pod in (place.chosen, *place.others)
        if pod is not None
    )


def _forgotten(
    found: DaemonSet, template: Template, pods: Iterable[Pod], known: Sequence[ControllerRevision]
) -> list[Effect]:
    hashes = {pod.metadata.labels.get(REVISION_LABEL) for pod in pods} | {template.revision}
    in_use = [each.metadata.name for each in known if each.metadata.labels.get(REVISION_LABEL) in hashes]
    return [*forget_revisions(_NAME, found.metadata, known, in_use, found.spec.revision_history_limit)]


def _misplaced(view: Reading, found: DaemonSet, places: Sequence[Place]) -> list[Effect]:
    """Pods where none may be, as long as their node is as it was seen: a taint that was taken off drives none out."""
    effects: list[Effect] = []
    for place in places:
        pods = [pod for pod in (place.chosen, *place.others) if pod]
        if not place.may_stay and pods:
            effects += _gone(found, pods, _as_seen(view, place.node))
    return effects


def _as_seen(view: Reading, name: str) -> Premises:
    """That a node is as it was looked at, or not there. A pod that was adopted may be meant for none."""
    node = view.get(NODES, "", name) if name else None
    if node is not None:
        return (premise_of(NODES, node.metadata),)
    return (Premise(Key(NODES.name, "", name), 0),) if name else ()


def _gone(found: DaemonSet, pods: Iterable[Pod], more: Premises = ()) -> list[Effect]:
    premises = (premise_of(DAEMONSETS, found.metadata), *more)
    effects = [ensure_gone(_NAME, found.metadata, PODS, pod, premises=premises) for pod in pods]
    return [effect for effect in effects if effect is not None]


def _missing(
    view: Reading, found: DaemonSet, template: Template, places: Sequence[Place], doubled: frozenset[str]
) -> list[Effect]:
    """Beside another pod only on `doubled` nodes; beside one on its way out only if updates surge."""
    effects: list[Effect] = []
    meta, surging = found.metadata, is_surging(found)
    for place in places:
        empty = place.chosen is None and not place.ended and (surging or not place.leaving)
        if len(effects) >= EFFECTS_MAX or not place.should_run or not (empty or place.node in doubled):
            continue
        # The set's revision moves as its pods come and go: a replacement has another name, so that clients who wait for
        # the first to be gone see it go. That the set is still at this revision is the premise of the create.
        attempt = meta.revision
        while view.get(PODS, meta.namespace, name := child_name(meta, place.node, str(attempt))) is not None:
            attempt += 1
        body = pod_body(found, template, place.node, name)
        occasion = f"{place.node}.{attempt}.{template.revision}"
        effect = ensure_child(_NAME, meta, PODS, None, body, occasion, (premise_of(DAEMONSETS, meta),))
        if effect is not None:
            effects.append(effect)
    return effects


def _ended(found: DaemonSet, places: Sequence[Place], now: float) -> tuple[list[Effect], float]:
    """Pods that ended make room for the next, but not faster than every few seconds."""
    due = [
        (parse_time(pod.metadata.creation_timestamp) + REPLACED_AFTER_SECONDS, pod)
        for place in places
        for pod in place.ended
    ]
    again_at = min((at for at, _ in due if at > now), default=0.0)
    return _gone(found, [pod for at, pod in due if at <= now]), again_at


def _status(found: DaemonSet, template: Template, places: Sequence[Place], now: float) -> DaemonSetStatus:
    desired = [place for place in places if place.should_run]
    chosen = [place.chosen for place in desired if place.chosen is not None]
    available = sum(is_available(found, pod, now) for pod in chosen)
    return DaemonSetStatus(
        observed_generation=found.metadata.generation,
        desired_number_scheduled=len(desired),
        current_number_scheduled=sum(not place.is_empty for place in desired),
        number_misscheduled=sum(not place.should_run and not place.is_empty for place in places),
        number_ready=sum(pod.ready for pod in chosen),
        updated_number_scheduled=sum(
            pod.metadata.labels.get(REVISION_LABEL) == template.revision for pod in chosen
        ),
        number_available=available,
        number_unavailable=len(desired) - available,
        progress=found.status.progress,
        conditions=found.status.conditions,
    )
