"""The StatefulSet controller: numbered pods that come in order, go in reverse order, and keep their names.

One turn reports what was observed and then does the first of these that is needed:

    adopt and release pods and revisions
    record the template as the newest revision         (revisions.py)
    replace pods that have ended, make those that are missing; OrderedReady: one, and only above healthy ones
    delete pods of ordinals that are not wanted; OrderedReady: the highest, once all others are healthy
    rolling update: delete the highest pod of an old revision, once all above it are healthy; not below the partition.
        With maxUnavailable so many at a time, whichever are not healthy counted
    forget old revisions

Healthy is a pod only where its node is within reach (`nodes/reach.py`). A pod is made under a name only when no pod has
it, on its way out or not. Claim templates are not acted upon (there are no volumes yet).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import structs

from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    Reading,
    Refusal,
    Verdict,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.effects import Create, Delete, Effect, delete_object, identity, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.decision.notes import note_children, note_failure, regarding_of
from fairlead.decision.predicates import GONE
from fairlead.decision.wakes import claiming, workload_itself
from fairlead.model.key import Key
from fairlead.model.reasons import HELD_BY_OVERRIDE
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    LEASES,
    NODES,
    PODS,
    STATEFULSETS,
    ControllerRevision,
    Pod,
    StatefulSet,
    StatefulSetStatus,
)
from fairlead.reconcile.children import claim, readiness
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS, is_out_of_reach
from fairlead.reconcile.overrides.heeding import heeding, held_statefulset, with_held
from fairlead.reconcile.revisions import REVISION_LABEL, forget_revisions, in_order, record_revision
from fairlead.reconcile.statefulset_pods import (
    Ranks,
    Revisions,
    is_healthy,
    is_rolling,
    ordinal_of,
    partition_of,
    pod_body,
    ranks_of,
    revisions_of,
    unavailable_max,
)
from fairlead.reconcile.waiting import add_waiting, drop_waiting

_NAME = "statefulset"


def statefulset_decider() -> Decider:
    decider = Decider(
        name=_NAME,
        reads=(STATEFULSETS, PODS, CONTROLLER_REVISIONS, NODES, LEASES),
        dated=(LEASES,),
        wakes=(
            Wake(STATEFULSETS, workload_itself),
            *claiming(STATEFULSETS, PODS),
            Wake(PODS, _of_name, when=GONE, among=STATEFULSETS),
            *claiming(STATEFULSETS, CONTROLLER_REVISIONS),
        ),
        decide=_decide,
        refused=_refused,
    )
    return heeding(decider, STATEFULSETS)


def _of_name(event: WatchEvent[Pod]) -> Iterable[Key]:
    """A set also waits for the name of a pod that is not its own: another's, or one that its namesake left behind."""
    name = event.key.name.rpartition("-")[0]
    found = event.view.get(STATEFULSETS, event.key.namespace, name)
    return (key_of(STATEFULSETS.name, found),) if found and ordinal_of(found, event.key.name) >= 0 else ()


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(STATEFULSETS, key.namespace, key.name)
    if found is None or found.metadata.deletion_timestamp:
        return NOTHING
    found, held = held_statefulset(view, found, now)
    claimed = claim(view, _NAME, STATEFULSETS, found.metadata, found.spec.selector, PODS)
    history = claim(view, _NAME, STATEFULSETS, found.metadata, found.spec.selector, CONTROLLER_REVISIONS)
    # A pod that matches but has no name of ours stays without us.
    claims = [each for each in claimed.effects if ordinal_of(found, each.name) >= 0]
    if claims or history.effects:
        return Decision(Waiting("ClaimingPods"), (*history.effects, *claims)[:EFFECTS_MAX])
    known = in_order(history.mine)
    update, effect = record_revision(view, _NAME, STATEFULSETS, found.metadata, found.spec.template, known)
    if update is None:
        return Decision(Waiting("RecordingRevision"), (effect,) if effect is not None else ())
    ranks = ranks_of(found, claimed.mine)
    revisions = revisions_of(found, known, update)
    verdict, effects = _next(view, found, ranks, revisions, now)
    status = _status(found, ranks, revisions, now)
    if not any(isinstance(effect, Create) for effect in effects):
        status = structs.replace(status, conditions=drop_waiting(status.conditions))
    status = structs.replace(status, conditions=with_held(status.conditions, held, now))
    if held and verdict == SETTLED:
        verdict = Waiting(HELD_BY_OVERRIDE, held)
    if not effects:
        effects += _forgotten(found, ranks, revisions, known)
    written = ensure_status(_NAME, STATEFULSETS, found, status, ("replicas", "availableReplicas"))
    if written is not None:
        effects = [written, *effects]
    again_at = readiness(_present(ranks), found.spec.min_ready_seconds, now).again_at
    if any(is_healthy(found, pod, now) and is_out_of_reach(view, pod) for pod in ranks.members.values()):
        again_at = min(again_at or now + LOOK_AGAIN_SECONDS, now + LOOK_AGAIN_SECONDS)
    notes = note_children(
        regarding_of(STATEFULSETS, found.metadata), effects[:EFFECTS_MAX], _saying(found, "successful")
    )
    return Decision(verdict, tuple(effects[:EFFECTS_MAX]), again_at, notes)


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    """Its pods were reported before they were refused; what they wait for is left to say."""
    found, effect = view.get(STATEFULSETS, key.namespace, key.name), refusal.effect
    if found is None or effect.resource != PODS.name:
        return NOTHING
    regarding, say = regarding_of(STATEFULSETS, found.metadata), _saying(found, "failed error")
    conditions = add_waiting(found.status.conditions, refusal, found.metadata.name, now)
    wanted = structs.replace(found.status, conditions=conditions)
    report = ensure_status(_NAME, STATEFULSETS, found, wanted, ("replicas", "availableReplicas"))
    notes = note_failure(
        regarding, effect, refusal.message, lambda did, name, why: f"{say(did, name)}: {why}"
    )
    return Decision(effects=(report,) if report is not None else (), events=notes)


def _saying(found: StatefulSet, how: str) -> Callable[[str, str], str]:
    return lambda did, name: f"{did} Pod {name} in StatefulSet {found.metadata.name} {how}"


def _present(ranks: Ranks) -> list[Pod]:
    return [*ranks.members.values(), *ranks.condemned]


def _forgotten(
    found: StatefulSet, ranks: Ranks, revisions: Revisions, known: Iterable[ControllerRevision]
) -> list[Effect]:
    in_use = {pod.metadata.labels.get(REVISION_LABEL, "") for pod in _present(ranks)}
    in_use |= {revisions.current, revisions.update}
    return [*forget_revisions(_NAME, found.metadata, tuple(known), in_use, found.spec.revision_history_limit)]


def _next(
    view: Reading, found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float
) -> tuple[Verdict, list[Effect]]:
    """What is to be done to the pods now, and what is waited for."""
    ordered = found.spec.pod_management_policy != "Parallel"
    effects: list[Effect] = []
    for ordinal in ranks.wanted:
        effect, waits = _replica(view, found, ranks, ordinal, revisions, now)
        if effect is not None:
            effects.append(effect)
        if ordered and (effect is not None or waits):
            return Waiting(waits or "PodMissing", f"{found.metadata.name}-{ordinal}"), effects
    for pod in ranks.condemned:
        effect = _gone(found, pod)
        if effect is not None:
            effects.append(effect)
        if ordered:
            return Waiting("ScalingDown", pod.metadata.name), effects
    if effects or ranks.condemned:
        # What goes makes room, also in a quota: it does not wait for what is refused.
        effects.sort(key=lambda effect: isinstance(effect, Create))
        return Waiting("Scaling"), effects
    if not is_rolling(found):
        return _verdict(view, found, ranks, now), []
    return _update(view, found, ranks, revisions, now)


def _replica(
    view: Reading, found: StatefulSet, ranks: Ranks, ordinal: int, revisions: Revisions, now: float
) -> tuple[Effect | None, str]:
    """What one wanted ordinal needs, and why its successors wait for it."""
    pod = ranks.members.get(ordinal)
    meta = found.metadata
    if pod is None:
        body = pod_body(found, ordinal, revisions)
        there = view.get(PODS, meta.namespace, body["metadata"]["name"])
        occasion = f"{ordinal}.{body['metadata']['labels'][REVISION_LABEL]}"
        create = ensure_child(_NAME, meta, PODS, there, body, occasion, (premise_of(STATEFULSETS, meta),))
        return create, "PodMissing" if not there else "NameTaken"
    if pod.released and not pod.finished:
        return _given_up(found, pod), "PodReleased"  # it has surely ended, or somebody confirmed that
    if pod.metadata.deletion_timestamp:
        return None, "PodTerminating"
    if pod.finished:
        return _gone(found, pod), "PodEnded"
    return None, "" if _is_up(view, found, pod, now) else "PodNotReady"


def _given_up(found: StatefulSet, pod: Pod) -> Delete | None:
    """Its node is not there to end it: the object goes at once, and its name is free."""
    meta = pod.metadata
    if meta.deletion_timestamp and not meta.deletion_grace_period_seconds:
        return None
    label = identity(_NAME, found.metadata.uid, "give-up", meta.uid)
    return delete_object(
        label, PODS, meta, grace_seconds=0, premises=(premise_of(STATEFULSETS, found.metadata),)
    )


def _gone(found: StatefulSet, pod: Pod) -> Delete | None:
    """While the set is as it was: a deletion that comes late does not undo what people asked for since."""
    premises = (premise_of(STATEFULSETS, found.metadata),)
    return ensure_gone(_NAME, found.metadata, PODS, pod, premises=premises)


def _update(
    view: Reading, found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float
) -> tuple[Verdict, list[Effect]]:
    """The highest pods that are not of the update revision go; whoever is not healthy above them is waited for."""
    said = unavailable_max(found)
    down = sum(not _is_up(view, found, ranks.members.get(each), now) for each in ranks.wanted)
    room = 1 if said is None else said - down
    effects: list[Effect] = []
    verdict: Verdict | None = None
    for ordinal in reversed(ranks.wanted[partition_of(found) :]):
        if room <= 0:
            break
        pod = ranks.members.get(ordinal)
        if pod is None:
            return Waiting("NameTaken", f"{found.metadata.name}-{ordinal}"), effects
        is_up = _is_up(view, found, pod, now)
        if pod.metadata.labels.get(REVISION_LABEL) != revisions.update:
            effect = _gone(found, pod)
            effects += [effect] if effect is not None else []
            verdict = verdict or Waiting("RollingUpdate", pod.metadata.name)
            room -= is_up or said is None
        elif not is_up and said is None:
            return Waiting("PodNotReady", pod.metadata.name), []
    return verdict or _verdict(view, found, ranks, now), effects


def _is_up(view: Reading, found: StatefulSet, pod: Pod | None, now: float) -> bool:
    """Healthy, as far as it told, and where somebody can hear of it: others may go on its account."""
    return pod is not None and is_healthy(found, pod, now) and not is_out_of_reach(view, pod)


def _verdict(view: Reading, found: StatefulSet, ranks: Ranks, now: float) -> Verdict:
    for pod in ranks.members.values():
        if not _is_up(view, found, pod, now):
            return Waiting("PodNotReady", pod.metadata.name)
    return SETTLED


def _status(found: StatefulSet, ranks: Ranks, revisions: Revisions, now: float) -> StatefulSetStatus:
    pods = [pod for pod in _present(ranks) if not pod.finished]
    staying = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    running = [pod for pod in pods if pod.status.phase == "Running"]
    counted = readiness(running, found.spec.min_ready_seconds, now)

    def of(revision: str) -> int:
        return sum(pod.metadata.labels.get(REVISION_LABEL) == revision for pod in staying)

    current, update = revisions.current, revisions.update
    # Once every pod is of the new revision and ready, it is the current one.
    if is_rolling(found) and len(pods) == found.spec.replicas == counted.ready == of(update):
        current = update
    return StatefulSetStatus(
        observed_generation=found.metadata.generation,
        replicas=len(pods),
        ready_replicas=counted.ready,
        available_replicas=counted.available,
        current_replicas=of(current),
        updated_replicas=of(update),
        current_revision=current,
        update_revision=update,
        conditions=found.status.conditions,
        progress=found.status.progress,
    )
