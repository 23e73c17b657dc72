"""Capacity that people allowed: replicas that find no room get a Reservation in the class that an override names.

A key is an override. Each waiting pod of the target gets one Reservation, of its controller, by a name that follows
from that controller, the override and a number: asked for again, after a lost answer or by the next leader, it is the
same one. How many there may be is counted by the server in the transaction that makes one
(`api/admission/override/steps.py`), and the create commits only before the override ends. They end with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.core.quantity import NANO, Quantity
from fairlead.core.times import parse_time
from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import OPERATION, Effect, create_object, identity
from fairlead.decision.ensure import ensure_gone
from fairlead.decision.wakes import each_of, itself
from fairlead.ledger import override as ledger
from fairlead.ledger import reservation as reservations
from fairlead.ledger.pod_needs import requests_of
from fairlead.model.key import Key
from fairlead.model.kinds.reservation import name_for
from fairlead.model.kinds.scheduleroverride import CLUSTER, NAMESPACE, split
from fairlead.model.marks import POOL, ZONE
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.views import (
    OVERRIDES,
    PLANE_SETTINGS,
    PODS,
    RESERVATIONS,
    SCHEDULING_POLICIES,
    Json,
    Owner,
    Pod,
    Reservation,
    SchedulerOverride,
)
from fairlead.reconcile.overrides.heeding import key_of_reservation

NAME = "override-capacity"
_INTENT_MAX = 50  # a label, with a number behind it


def capacity_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(OVERRIDES, PODS, RESERVATIONS, SCHEDULING_POLICIES, PLANE_SETTINGS),
        wakes=(
            Wake(OVERRIDES, itself),
            Wake(PODS, _of_pod, among=OVERRIDES),
            Wake(RESERVATIONS, key_of_reservation),
            Wake(SCHEDULING_POLICIES, each_of(OVERRIDES, _allows)),
            Wake(PLANE_SETTINGS, each_of(OVERRIDES, _allows)),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def _allows(override: SchedulerOverride) -> bool:
    return bool(override.spec.changes.allow_reserved_capacity_class)


def _of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    pod = event.after
    if pod is None or pod.spec.node_name or not pod.live:
        return ()
    names = ledger.names_of_owner(pod.metadata)
    return [
        _key(each)
        for each in event.view.list(OVERRIDES)
        if _allows(each) and ledger.covers(each, pod.metadata.namespace, names)
    ]


def _unsettled(view: Reading) -> Iterable[Key]:
    """Also those that are gone, and left a reservation."""
    left = (ledger.made_for(each.metadata) for each in view.list(RESERVATIONS))
    keys = {*(_key(each) for each in view.list(OVERRIDES) if _allows(each)), *(key for key in left if key)}
    return sorted(keys)


def _key(override: SchedulerOverride) -> Key:
    return Key(OVERRIDES.name, override.metadata.namespace, override.metadata.name)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(OVERRIDES, key.namespace, key.name)
    made = [each for each in view.list(RESERVATIONS) if ledger.made_for(each.metadata) == key]
    if found is None or not ledger.is_active(found, now):
        waits = found is not None and now < ledger.end_of(found)
        return NOTHING if waits else Decision(effects=tuple(_ended(made)))
    if not _allows(found):
        return NOTHING
    ends = ledger.end_of(found)
    class_ = _class_of(view, found.spec.changes.allow_reserved_capacity_class)
    if class_ is None:
        told = f"the SchedulingPolicy in use has no capacity class {found.spec.changes.allow_reserved_capacity_class}"
        return Decision(Waiting("NoSuchClass", told), again_at=ends)
    effects = tuple(_claims(view, found, made, class_))
    return Decision(Waiting("Reserving") if effects else SETTLED, effects, ends)


def _ended(made: list[Reservation]) -> Iterator[Effect]:
    """What nobody uses goes with the override; what a pod uses ends with the pod."""
    for each in made:
        if each.status.phase in (reservations.PENDING, reservations.ACTIVE, ""):
            gone = ensure_gone(NAME, each.metadata, RESERVATIONS, each)
            if gone is not None:
                yield gone


def _class_of(view: Reading, name: str) -> Json | None:
    settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
    policy = policy_in_use(settings, lambda named: view.get(SCHEDULING_POLICIES, "", named)).policy
    classes = (policy.spec.get("capacityClasses") or ()) if policy is not None else ()
    return next((each for each in classes if each.get("name") == name), None)


def _claims(
    view: Reading, found: SchedulerOverride, made: list[Reservation], class_: Json
) -> Iterator[Effect]:
    """A reservation for each pod that waits and has none, as long as the number lasts."""
    left = found.spec.changes.reserved_replicas - len({*found.status.reserved, *map(_name, made)})
    served = sum(each.status.phase in (reservations.PENDING, reservations.ACTIVE, "") for each in made)
    # A binding that takes a reservation commits with it; reservations may be seen before pods are.
    given = {each.status.allocated_to.uid for each in made if each.status.allocated_to is not None}
    waiting = [
        pod
        for pod in view.list(PODS, _namespace(found))
        if _waits(found, pod) and pod.metadata.uid not in given
    ]
    # Those of the newest template first: what an old one lacks, a rollout is about to take away.
    waiting.sort(key=lambda pod: parse_time(pod.metadata.creation_timestamp), reverse=True)
    for pod in waiting[served:]:
        if left <= 0:
            return
        owner = pod.metadata.controller
        assert owner is not None
        number = found.spec.changes.reserved_replicas - left + 1
        left -= 1
        yield _reserve(found, pod, owner, class_, number)


def _namespace(found: SchedulerOverride) -> str:
    sort, name = split(found.spec.target)
    return "" if sort == CLUSTER else (name if sort == NAMESPACE else "") or found.metadata.namespace


def _waits(found: SchedulerOverride, pod: Pod) -> bool:
    meta = pod.metadata
    if pod.spec.node_name or not pod.live or pod.spec.scheduling_gates or meta.controller is None:
        return False
    refused = any(
        each.type == "PodScheduled" and each.status == "False" and each.reason == "Unschedulable"
        for each in pod.status.conditions
    )
    return refused and ledger.covers(found, meta.namespace, ledger.names_of_owner(meta))


def _reserve(found: SchedulerOverride, pod: Pod, owner: Owner, class_: Json, number: int) -> Effect:
    meta, changes = found.metadata, found.spec.changes
    intent = f"{meta.name[:_INTENT_MAX].rstrip('-.')}-{number}".replace(".", "-")
    name = name_for(owner.uid, intent)
    body: Json = {
        "apiVersion": RESERVATIONS.api_version,
        "kind": RESERVATIONS.kind,
        "metadata": {
            "name": name,
            "namespace": pod.metadata.namespace,
            "annotations": {ledger.MADE_FOR: ledger.mark_of(found)},
            "finalizers": [reservations.IN_USE],
        },
        "spec": {
            "owner": {
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "name": owner.name,
                "uid": owner.uid,
            },
            "intent": intent,
            "capacityClass": changes.allow_reserved_capacity_class,
            "nodeSelector": _narrowed(found, pod, class_["nodeSelector"]),
            "requests": _requests(pod),
            "expiresAt": found.spec.expires_at,
        },
    }
    label = identity(NAME, meta.uid, "reserve", f"{owner.uid}/{number}")
    body["metadata"]["annotations"][OPERATION] = label
    premises = (ledger.premise_of(found),)
    return create_object(label, RESERVATIONS, pod.metadata.namespace, name, body, premises)


def _narrowed(found: SchedulerOverride, pod: Pod, selector: Json) -> Json:
    """The nodes of the class that the pod may be on, within the scope, and not in what the same override avoids."""
    labels = {**(selector.get("matchLabels") or {}), **pod.spec.node_selector}
    expressions = list(selector.get("matchExpressions") or ())
    if found.spec.scope:
        sort, name = split(found.spec.scope)
        expressions.append({"key": ledger.PLACE_LABELS[sort], "operator": "In", "values": [name]})
    changes = found.spec.changes
    for key, avoided in ((ZONE, changes.avoid_zones), (POOL, changes.avoid_pools)):
        if avoided:
            expressions.append({"key": key, "operator": "NotIn", "values": list(avoided)})
    return {"matchLabels": labels, "matchExpressions": expressions}


def _requests(pod: Pod) -> dict[str, str]:
    amounts = {**requests_of(pod.spec), "pods": NANO}
    binary = ("memory", "ephemeral-storage")
    return {
        name: str(Quantity(value, "binary" if name in binary else "decimal"))
        for name, value in sorted(amounts.items())
    }


def _name(each: Reservation) -> str:
    return f"{each.metadata.namespace}/{each.metadata.name}"
