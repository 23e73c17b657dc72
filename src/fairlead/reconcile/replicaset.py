"""ReplicaSet: as many live pods of one template as are asked for, never more.

Per turn one of: claim and release pods; create what is missing; delete what is too many; report. Only bad news (fewer
pods ready or available than the status says) goes before creates and deletes, because Deployments act on this status.

Pods are numbered: the next one has the highest number among those present, live or not, plus one, and its name follows
from that number. Whoever repeats a create, after a lost answer or as the next leader, asks for the same name and gets
AlreadyExists. A number is used again only if the newest pod is gone without a trace: that cannot be told from
not having been seen yet, and creating the same name is right in both cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Verdict, Waiting
from fairlead.decision.effects import Create, Delete, Effect
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.model.views import (
    PODS,
    REPLICASETS,
    Condition,
    Pod,
    ReplicaSet,
    ReplicaSetStatus,
    Resource,
    View,
)
from fairlead.reconcile.children import (
    ORDINAL,
    Readiness,
    child_name,
    claim,
    claimants,
    deletion_order,
    from_template,
    readiness,
)
from fairlead.store.contract import Key

NAME = "replicaset"
REPLICA_FAILURE = "ReplicaFailure"


class ReplicaSetDecider:
    name = NAME
    reads: tuple[Resource[View], ...] = (REPLICASETS, PODS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if resource == REPLICASETS.name:
            return _itself(before, after)
        return dict.fromkeys(owner for pod in (before, after) if (owner := _owner_of(pod)) is not None)

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        return claimants(view, REPLICASETS, before, after) if resource == PODS.name else ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(REPLICASETS, key.namespace, key.name)
        if found is None:
            return NOTHING
        claimed = claim(view, NAME, REPLICASETS, found.metadata, found.spec.selector, PODS)
        if claimed.effects:
            return Decision(Waiting("ClaimingPods"), claimed.effects[:EFFECTS_MAX])
        live = [pod for pod in claimed.mine if pod.live]
        counted = readiness(live, found.spec.min_ready_seconds, now)
        status = ensure_status(NAME, REPLICASETS, found, _status(found, live, counted), always=("replicas",))
        effects: list[Effect] = []
        if not found.metadata.deletion_timestamp:
            effects += self._missing(view, found, claimed.mine, live)
            effects += self._surplus(found, live, now)
        if status is not None and (not effects or _is_bad_news(found, counted)):
            effects = [status, *effects]
        return Decision(_verdict(found, live, counted), tuple(effects[:EFFECTS_MAX]), counted.again_at)

    def refused(self, view: Reading, key: Key, effect: Effect, message: str, now: float) -> Decision:
        """What to report when the API keeps refusing to create or delete a pod."""
        found = view.get(REPLICASETS, key.namespace, key.name)
        if found is None or not isinstance(effect, Create | Delete):
            return NOTHING
        reason = "FailedCreate" if isinstance(effect, Create) else "FailedDelete"
        known = _failure(found)
        if known is not None and (known.reason, known.message) == (reason, message):
            return NOTHING
        failure = Condition(REPLICA_FAILURE, "True", reason, message, timestamp(now))
        live = [pod for pod in view.owned(PODS, found.metadata.uid) if pod.live]
        wanted = _status(found, live, readiness(live, found.spec.min_ready_seconds, now), failure)
        status = ensure_status(NAME, REPLICASETS, found, wanted, always=("replicas",))
        return Decision(Waiting(reason, message), (status,) if status else ())

    def _missing(
        self, view: Reading, found: ReplicaSet, mine: Sequence[Pod], live: Sequence[Pod]
    ) -> list[Create]:
        missing = min(found.spec.replicas - len(live), EFFECTS_MAX)
        if missing <= 0:
            return []
        meta = found.metadata
        ordinal = max((_ordinal(pod) for pod in mine), default=-1)
        creates: list[Create] = []
        while len(creates) < missing:
            ordinal += 1
            name = child_name(meta, str(ordinal))
            body = from_template(found.spec.template, REPLICASETS, meta, name, **{ORDINAL: str(ordinal)})
            there = view.get(PODS, meta.namespace, name)
            create = ensure_child(NAME, meta, PODS, there, body, str(ordinal))
            if create is not None:  # otherwise the name is taken by chance: on to the next number
                creates.append(create)
        return creates

    def _surplus(self, found: ReplicaSet, live: Sequence[Pod], now: float) -> list[Delete]:
        surplus = len(live) - found.spec.replicas
        if surplus <= 0:
            return []
        ranked = deletion_order(live, found.spec.min_ready_seconds, now)
        deletes = (
            ensure_gone(NAME, found.metadata, PODS, pod) for pod in ranked[: min(surplus, EFFECTS_MAX)]
        )
        return [delete for delete in deletes if delete is not None]


def _itself(before: View | None, after: View | None) -> tuple[Key, ...]:
    found = after if after is not None else before
    assert isinstance(found, ReplicaSet)
    return (Key(REPLICASETS.name, found.metadata.namespace, found.metadata.name),)


def _owner_of(pod: View | None) -> Key | None:
    if not isinstance(pod, Pod):
        return None
    owner = pod.metadata.controller
    if owner is None or owner.kind != REPLICASETS.kind:
        return None
    return Key(REPLICASETS.name, pod.metadata.namespace, owner.name)


def _ordinal(pod: Pod) -> int:
    text = pod.metadata.annotations.get(ORDINAL, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else -1


def _failure(found: ReplicaSet) -> Condition | None:
    return next((each for each in found.status.conditions if each.type == REPLICA_FAILURE), None)


def _status(
    found: ReplicaSet, live: Sequence[Pod], counted: Readiness, failure: Condition | None = None
) -> ReplicaSetStatus:
    """A failure to create or delete stays reported until the number is right."""
    labels = ((found.spec.template.get("metadata") or {}).get("labels") or {}).items()
    if failure is None and len(live) != found.spec.replicas:
        failure = _failure(found)
    others = tuple(each for each in found.status.conditions if each.type != REPLICA_FAILURE)
    return ReplicaSetStatus(
        replicas=len(live),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in live),
        ready_replicas=counted.ready,
        available_replicas=counted.available,
        observed_generation=found.metadata.generation,
        conditions=(*others, failure) if failure else others,
    )


def _is_bad_news(found: ReplicaSet, counted: Readiness) -> bool:
    status = found.status
    return counted.ready < status.ready_replicas or counted.available < status.available_replicas


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
