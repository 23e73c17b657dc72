"""Quotas are charged and reservations used in the transaction that creates or binds: all of it commits, or nothing.

A charge rests on the newest version of the quota, durable or not (`Reader.newest`), and names its revision as a
precondition: many charges can be under way at once, in the order in which they commit, and none is lost or shared.
Which quotas there are is read from durable state; that none was added or changed meanwhile is known from the namespace,
which every new or changed quota touches (`touch_namespace`) and every charge names as a precondition.

A pod that takes the place of a released one is charged what it needs beyond that: the other hands its quota over in
the same transaction (`api/quota_handover.py`).

A status that is not about the present spec is no basis: then pods are counted on the spot. What was bound before the
spec was durable is durable too, and what comes after has charged it.

A quota of a cohort is judged with all of its members, whose revisions are preconditions as well (`api/borrowing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from fairlead.api import borrowing, quota_handover
from fairlead.api.attempt import Attempt
from fairlead.api.objects import put, tree
from fairlead.core.errors import Conflict, lifted_by
from fairlead.ledger import handover, resource_quota
from fairlead.ledger import override as overrides
from fairlead.ledger import quota as ledger
from fairlead.ledger import reservation as reservations
from fairlead.ledger.pod_needs import Usage, add, placed_usage
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds import namespace, placementquota, reservation, resourcequota
from fairlead.model.views import Pod, Reservation, ResourceQuotaSpec, SchedulerOverride
from fairlead.store.contract import AtRevision, Entry, HasUid, Reader

_NODES, _PODS = "nodes", "pods"
PLACEMENT = borrowing.PLACEMENT
RESOURCES = resourcequota.KIND.resource

_reservation = msgspec.json.Decoder(Reservation).decode
_override = msgspec.json.Decoder(SchedulerOverride).decode


class _Found(NamedTuple):
    entry: Entry
    quota: Json


class _Charge(NamedTuple):
    """One quota and what a write makes of it; `over`: what does not fit."""

    entry: Entry
    quota: Json  # as it is afterwards
    over: ledger.Exceeded | None
    others: tuple[Entry, ...] = ()  # with whom it shares a cohort: must be as they are


def touch_namespace(attempt: Attempt) -> None:
    """Whatever was planned in the namespace without knowing this quota's spec is planned again."""
    key = Key(namespace.KIND.resource, "", attempt.key.namespace)
    entry = attempt.read.get(key)
    if entry is not None:
        attempt.preconditions.append(AtRevision(key, entry.revision))
        attempt.operations.append(put(namespace.KIND, key, tree(entry)))


def charge_placement(attempt: Attempt, pod: Pod, node: str) -> None:
    """Charge every PlacementQuota of the pod's namespace that is about this node; Forbidden if one has no room."""
    _charge(
        attempt, placementquota.KIND, pod, handover.BOUND, lambda giver: _placed(attempt, pod, node, giver)
    )


def charge_resources(attempt: Attempt) -> None:
    """Charge every ResourceQuota of the namespace that counts the new object; Forbidden if one has no room."""
    assert attempt.new is not None
    pod = msgspec.convert(attempt.new, Pod) if attempt.kind.resource == _PODS else None
    _charge(attempt, resourcequota.KIND, pod, handover.CREATED, lambda giver: _counted(attempt, pod, giver))


def _charge(
    attempt: Attempt,
    kind: Kind,
    pod: Pod | None,
    stage: str,
    charges: Callable[[quota_handover.Giver | None], list[_Charge]],
) -> None:
    """The pod that it replaces gives it its quota; without one, where it does not fit, any that its owner gave up."""
    giver = quota_handover.named_giver(attempt, pod, stage) if pod is not None else None
    found = charges(giver)
    if pod is not None and giver is None and any(each.over is not None for each in found):
        giver = quota_handover.any_giver(attempt, pod, stage)
        if giver is not None:
            found = charges(giver)
    for entry, charged, over, others in found:
        if over is not None:
            how = f"raise spec.hard ({over.limited}) or remove what it counts"
            why = over.describe(entry.key.name) + quota_handover.describe_holders(attempt)
            lent = (lifted_by(*each.key, "free what it uses, or have it lend more") for each in others)
            raise attempt.forbidden(why, lifted_by(*entry.key, how), *lent)
        attempt.preconditions += [AtRevision(each.key, each.revision) for each in (entry, *others)]
        attempt.operations.append(put(kind, entry.key, charged))
    if giver is not None and found:
        quota_handover.hand_over(attempt, giver, stage)


def _placed(attempt: Attempt, pod: Pod, node: str, giver: quota_handover.Giver | None) -> list[_Charge]:
    read, space = attempt.read, attempt.key.namespace
    labels: dict[str, str] | None = None
    selecting = False
    found: list[_Charge] = []
    for entry, quota in _newest(read, PLACEMENT, space):
        selector = quota["spec"].get("nodeSelector")
        if selector and not selecting:
            selecting = True
            labels = _rest_on_node(attempt, node)
        if not ledger.covers(selector, labels):
            continue
        used = borrowing.current_usage(read, quota, space)
        asked = placed_usage(pod.spec)
        if giver is not None and ledger.covers(selector, borrowing.labels_of(read, giver.pod.spec.node_name)):
            asked = ledger.subtract(asked, placed_usage(giver.pod.spec))
        beside = borrowing.find_cohort(read, entry.key, quota, {each.entry.key: each.quota for each in found})
        over = ledger.find_exceeded(quota["spec"].get("hard") or {}, used, asked, beside.cohort)
        add(used, asked)
        charged = ledger.with_usage(quota, used, attempt.context.now)
        found.append(_Charge(entry, charged, over, beside.others))
    return found


def _counted(attempt: Attempt, pod: Pod | None, giver: quota_handover.Giver | None) -> list[_Charge]:
    resource, space = attempt.kind.resource, attempt.key.namespace
    found = []
    for entry, quota in _newest(attempt.read, RESOURCES, space):
        spec = msgspec.convert(quota.get("spec") or {}, ResourceQuotaSpec)
        if not resource_quota.is_about(spec.hard, resource):
            continue
        if pod is not None:
            if not resource_quota.in_scope(spec, pod):
                continue
            unsaid = resource_quota.list_unstated(spec.hard, pod)
            if unsaid:
                raise attempt.forbidden(
                    f"failed quota: {entry.key.name}: must specify {unsaid}",
                    lifted_by(*entry.key, "take the limit out of spec.hard"),
                    lifted_by("limitranges", space, "", "give containers defaults by a LimitRange"),
                )
            asked = resource_quota.usage_of_pod(pod)
        elif resource_quota.is_scoped(spec):
            continue
        else:
            asked = resource_quota.usage_of_object(resource, msgspec.json.encode(attempt.new))
        if not any(asked.get(name) for name in spec.hard):
            continue
        if giver is not None and resource_quota.in_scope(spec, giver.pod):
            asked = ledger.subtract(asked, resource_quota.usage_of_pod(giver.pod))
        counted = (quota.get("status") or {}).get("hard") == spec.hard
        used = ledger.used_of(quota) if counted else resource_usage_of(attempt.read, spec, space)
        status = {"hard": spec.hard, "used": ledger.add_usage(spec.hard, used, asked)}
        found.append(
            _Charge(entry, {**quota, "status": status}, ledger.find_exceeded(spec.hard, used, asked))
        )
    return found


def use_reservation(attempt: Attempt, pod: Pod, name: str, node: str) -> None:
    """Mark the named reservation as used by this pod; a conflict if it cannot be."""
    key = Key(reservation.KIND.resource, attempt.key.namespace, name)
    entry = attempt.read.newest(key)
    why = "it does not exist"
    if entry is not None:
        found = _reservation(entry.data)
        meta = pod.metadata
        named = meta.annotations.get(reservations.ANNOTATION, "")
        uids = (meta.uid, *(owner.uid for owner in meta.owner_references))
        if not reservations.may_use(found, meta.namespace, named, uids):
            owner = found.spec.owner
            why = f"it is kept for {owner.kind} {owner.name}, which does not own this pod"
            raise attempt.forbidden(f'reservation "{name}" cannot be used: {why}')
        why = reservations.refusal(found, node, attempt.context.now) or _override_is_over(attempt, found)
    if entry is None or why:
        raise Conflict(
            f'Operation cannot be fulfilled on pods/binding "{attempt.key.name}": '
            f'reservation "{name}" cannot be used: {why}',
            kind="pods/binding",
            name=attempt.key.name,
        )
    attempt.preconditions.append(AtRevision(key, entry.revision))
    used = reservations.allocate(tree(entry), attempt.key.name, pod.metadata.uid, attempt.context.now)
    attempt.operations.append(put(reservation.KIND, key, used))


def _override_is_over(attempt: Attempt, found: Reservation) -> str:
    """Why the override that a reservation was made for lends nothing any more; "": it does, and has to at the commit.
    Until the controller has removed what nobody uses, a plane that is behind may still ask for it."""
    key = overrides.made_for(found.metadata)
    if key is None:
        return ""
    entry = attempt.read.newest(key)
    told = f"SchedulerOverride {key.namespace}/{key.name}, for which it was made,"
    if entry is None:
        return f"{told} is gone"
    override = _override(entry.data)
    if not overrides.is_active(override, attempt.context.now):
        return f"{told} has ended"
    attempt.preconditions.append(HasUid(key, override.metadata.uid))
    return ""


# Counting durable state


def resource_usage_of(read: Reader, spec: ResourceQuotaSpec, space: str) -> Usage:
    total: Usage = {}
    if resource_quota.is_about(spec.hard, _PODS):
        pods = (borrowing.decode_pod(each.data) for each in read.list(_PODS, space))
        total = resource_quota.counted_pods(spec, pods)
    if not resource_quota.is_scoped(spec):
        for resource in resource_quota.counted_resources(spec.hard):
            for each in read.list(resource, space):
                add(total, resource_quota.usage_of_object(resource, each.data))
    return total


# Inside


def _newest(read: Reader, resource: str, space: str) -> Iterator[_Found]:
    for durable in read.list(resource, space):
        entry = read.newest(durable.key)
        if entry is not None:
            yield _Found(entry, tree(entry))


def _rest_on_node(attempt: Attempt, node: str) -> dict[str, str] | None:
    """The node's labels, which must be the same when this commits; None if there is no such node."""
    entry = attempt.read.get(Key(_NODES, "", node))
    if entry is None:
        return None
    attempt.preconditions.append(AtRevision(entry.key, entry.revision))
    return borrowing.decode_labels(entry.data)
