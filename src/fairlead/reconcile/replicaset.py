"""ReplicaSet: as many live pods of one template as are asked for, never more.

Per turn one of: claim and release pods; report that pods came, went or became unusable; create what is missing; delete
what is too many; report the rest. What has become of the pods is reported first and alone, for two reasons:
Deployments act on this status, and each report moves the set on to a new revision.

Every create and delete commits only while the set is at the revision it was decided on (its premise). So what was
decided on an older picture and still is on its way comes to nothing as soon as the set, or what it reports of its pods,
has changed; it cannot meet what was decided on the newer one.

Pods are numbered: the next number follows the highest among those present, live or not, and is never below the
revision of the set. Names and identities follow from it. Whoever repeats a create, after a lost answer or as the next
leader, finds the set and its pods as they were, asks for the same name and gets AlreadyExists. And no number comes
back: each pod took a revision of the store, so whatever numbers were given out before the set last changed are lower
than its revision now (docs/adr/0010). A pod that takes the place of a released one is named after that as
well (`replacements.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.core.times import timestamp
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
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import OPERATION, Create, Delete, Effect, identity, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.decision.notes import note_children, note_failure, regarding_of
from fairlead.decision.wakes import claiming, itself
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.model.views import (
    LEASES,
    NODES,
    PODS,
    REPLICASETS,
    Condition,
    Pod,
    ReplicaSet,
    ReplicaSetStatus,
)
from fairlead.reconcile.children import (
    Readiness,
    child_name,
    claim,
    deletion_order,
    from_template,
    readiness,
)
from fairlead.reconcile.nodes.reach import is_out_of_reach
from fairlead.reconcile.overrides.heeding import heeding, held_replicaset
from fairlead.reconcile.replacements import delete_unwanted, make_replacements, still_there, swap_back
from fairlead.reconcile.waiting import add_waiting, drop_waiting, refused_owner, strip_name

NAME = "replicaset"
REPLICA_FAILURE = "ReplicaFailure"


_STAYING_MAX = 60  # pods that a deletion can name as those it counts on; the API takes 64 objects


def replicaset_decider() -> Decider:
    decider = Decider(
        name=NAME,
        reads=(REPLICASETS, PODS, NODES, LEASES),
        dated=(LEASES,),
        wakes=(Wake(REPLICASETS, itself), *claiming(REPLICASETS, PODS)),
        decide=_decide,
        refused=_refused,
    )
    return heeding(decider, REPLICASETS)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(REPLICASETS, key.namespace, key.name)
    if found is None:
        return NOTHING
    found = held_replicaset(view, found, now)
    claimed = claim(view, NAME, REPLICASETS, found.metadata, found.spec.selector, PODS)
    if claimed.effects:
        return Decision(Waiting("ClaimingPods"), claimed.effects[:EFFECTS_MAX])
    live = [pod for pod in claimed.mine if pod.live]
    counted = readiness(live, found.spec.min_ready_seconds, now)
    status = ensure_status(NAME, REPLICASETS, found, _status(found, live, counted), always=("replicas",))
    effects: Sequence[Effect] = ()
    is_final = False
    has_news = _has_news(found, live, counted)
    if not found.metadata.deletion_timestamp and (not has_news or len(live) == found.spec.replicas):
        effects = _due(view, found, claimed.mine, live, now)
        is_final = not effects
    if has_news:
        effects = ()  # what has become of those before is reported first
    verdict = _verdict(found, live, counted)
    notes = note_children(regarding_of(REPLICASETS, found.metadata), effects)
    reported = (status,) if status else ()
    return Decision(verdict, tuple(effects) or reported, counted.again_at, notes, is_final=is_final)


def _due(
    view: Reading, found: ReplicaSet, mine: Sequence[Pod], live: Sequence[Pod], now: float
) -> Sequence[Effect]:
    """What must come and go."""
    premise = premise_of(REPLICASETS, found.metadata)
    swap = swap_back(NAME, found, mine, live, now, premise)
    if swap is not None:
        return (swap,)
    return (
        _missing(view, found, mine, live, premise)
        or _surplus(view, found, live, now, premise)
        or delete_unwanted(NAME, found, mine, live, premise)
    )


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    """What to report while the API refuses to create or delete a pod: that, and how many pods there are."""
    found, effect = view.get(REPLICASETS, key.namespace, key.name), refusal.effect
    if found is None or not isinstance(effect, Create | Delete):
        return NOTHING
    meta, reason = found.metadata, "FailedCreate" if isinstance(effect, Create) else "FailedDelete"
    message = strip_name(refusal, meta.name) if isinstance(effect, Create) else refusal.message
    known = _failure(found)
    since = known.last_transition_time if known is not None else timestamp(now)
    owner = refused_owner(refusal, reason)
    failed = Condition(REPLICA_FAILURE, "True", reason, message, since, owner=owner)
    live = [pod for pod in view.owned(PODS, meta.uid, meta.namespace) if pod.live]
    counted = readiness(live, found.spec.min_ready_seconds, now)
    others = (each for each in found.status.conditions if each.type != REPLICA_FAILURE)
    conditions = (*add_waiting(others, refusal, meta.name, now), failed)
    status = ensure_status(
        NAME, REPLICASETS, found, _status(found, live, counted, conditions), always=("replicas",)
    )
    notes = note_failure(regarding_of(REPLICASETS, meta), effect, message)
    return Decision(Waiting(reason, message), (status,) if status else (), counted.again_at, events=notes)


def _missing(
    view: Reading, found: ReplicaSet, mine: Sequence[Pod], live: Sequence[Pod], premise: Premise
) -> list[Create]:
    missing = min(found.spec.replicas - len(live) - still_there(found, mine), EFFECTS_MAX)
    if missing <= 0:
        return []
    meta = found.metadata
    made = identity(NAME, meta.uid, "create") + "/"
    number = max((_number(pod, made) for pod in mine), default=0)
    number = max(number + 1, meta.revision)
    creates = make_replacements(view, NAME, found, mine, missing, number, premise)
    while len(creates) < missing:
        name = child_name(meta, str(number))
        body = from_template(found.spec.template, REPLICASETS, meta, name)
        there = view.get(PODS, meta.namespace, name)
        create = ensure_child(NAME, meta, PODS, there, body, str(number), (premise,))
        if create is not None:  # otherwise the name is taken by chance: on to the next number
            creates.append(create)
        number += 1
    return creates


def _surplus(
    view: Reading, found: ReplicaSet, live: Sequence[Pod], now: float, premise: Premise
) -> list[Delete]:
    surplus = len(live) - found.spec.replicas
    if surplus <= 0:
        return []
    # Which nodes are heard is no part of the set: where it counts, another victim may be chosen after an answer was
    # lost, and the first deletion may still arrive. It then finds that the pods which were to stay have changed.
    guarded = found.spec.replicas <= _STAYING_MAX
    ranked = deletion_order(
        live,
        found.spec.min_ready_seconds,
        now,
        lambda pod: guarded and is_out_of_reach(view, pod),
    )
    staying = [premise_of(PODS, pod.metadata) for pod in ranked[surplus:]] if guarded else []
    deletes = (
        ensure_gone(NAME, found.metadata, PODS, pod, premises=(premise, *staying))
        for pod in ranked[: min(surplus, EFFECTS_MAX)]
    )
    return [delete for delete in deletes if delete is not None]


def _number(pod: Pod, made: str) -> int:
    """Of a pod that this set made; 0 for one that it adopted."""
    operation = pod.metadata.annotations.get(OPERATION, "")
    text = operation.removeprefix(made)
    if text != operation:
        text = text.rpartition(".")[2]  # a replacement's says first whom it replaces
    return int(text) if text != operation and text.isascii() and text.isdigit() and len(text) <= 18 else 0


def _failure(found: ReplicaSet) -> Condition | None:
    return next((each for each in found.status.conditions if each.type == REPLICA_FAILURE), None)


def _status(
    found: ReplicaSet,
    live: Sequence[Pod],
    counted: Readiness,
    conditions: tuple[Condition, ...] | None = None,
) -> ReplicaSetStatus:
    """A failure to create or delete, and what that waits for, stays reported until the number is right."""
    labels = ((found.spec.template.get("metadata") or {}).get("labels") or {}).items()
    if conditions is None:
        conditions = found.status.conditions
    if len(live) == found.spec.replicas:
        conditions = tuple(each for each in drop_waiting(conditions) if each.type != REPLICA_FAILURE)
    return ReplicaSetStatus(
        replicas=len(live),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in live),
        ready_replicas=counted.ready,
        available_replicas=counted.available,
        observed_generation=found.metadata.generation,
        conditions=conditions,
    )


def _has_news(found: ReplicaSet, live: Sequence[Pod], counted: Readiness) -> bool:
    """Whether pods came or went since the last report, or fewer can be used. That more can be used may wait: in a
    large set some pod always becomes ready, and nothing else would ever be done."""
    status = found.status
    return (
        len(live) != status.replicas
        or counted.ready < status.ready_replicas
        or counted.available < status.available_replicas
    )


def _verdict(found: ReplicaSet, live: Sequence[Pod], counted: Readiness) -> Verdict:
    wanted = found.spec.replicas
    if found.metadata.deletion_timestamp:
        return Waiting("Deleting")
    if len(live) != wanted:
        reason = "MissingPods" if len(live) < wanted else "SurplusPods"
        return Waiting(reason, f"{len(live)} pods are live, {wanted} are wanted")
    if counted.available < wanted:
        return Waiting("PodsUnavailable", f"{counted.available} of {wanted} pods are available")
    return SETTLED
