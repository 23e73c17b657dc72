"""The Reservation controller: finds the node that keeps the room, and ends what has come to its end.

    Pending     a node of those meant that is ready and has the room: Active; otherwise it waits
    Active      its node is gone: Pending
    any of them its time is over: Expired, and removed a while later; its owner is gone: Released, and removed
    Allocated   its pod is gone: Released, and removed; while that runs it stays, also past its time: it keeps no room,
                and is all that tells where the pod's capacity came from
    deleted     the finalizer that some have (`ledger.IN_USE`) is removed when no pod uses it

Which pod uses it is written by the API in the transaction that binds the pod; against an API that cannot do that
(Kubernetes) the pod says what it was bound with, and it is marked as Allocated here, by a second write. Everything is
read off the objects, so a crash loses nothing. One key stands for all reservations: two decisions can never give away
the same room.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_fields, ensure_gone, ensure_status
from fairlead.decision.predicates import ENDED, GONE, NEW, PLACED, PRESENT
from fairlead.decision.wakes import always, changed
from fairlead.ledger import reservation as ledger
from fairlead.ledger.pod_needs import Usage, add, exact, placed_usage
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.selectors import from_object
from fairlead.model.views import (
    NODES,
    PODS,
    RESERVATIONS,
    Condition,
    Node,
    Owner,
    Pod,
    Reservation,
    ReservationOwner,
    Resource,
    View,
)
from fairlead.reconcile.ownership import owner_key, resources_of, uid_of

_NAME = "reservation"
ALL = Key(RESERVATIONS.name, "", "")
# How long an expired one can still be looked at.
#: bound: plane | an expired reservation is kept for | it is removed
EXPIRED_KEPT_SECONDS = 600.0
_READY = "Ready"

Held = dict[str, Usage]  # by node, what active reservations keep


def reservation_decider(catalog: Catalog = CATALOG) -> Decider:
    """Any object may own a reservation: that one is gone wakes the controller, whatever its kind."""
    keeper = _Keeper(catalog)
    reads = tuple(keeper.resources.values())
    return Decider(
        name=_NAME,
        reads=reads,
        wakes=(
            Wake(RESERVATIONS, always(ALL), when=PRESENT),
            Wake(PODS, _of_ended_or_bound_pod, when=ENDED | NEW | PLACED, among=RESERVATIONS),
            Wake(NODES, changed(_room_of, always(ALL)), when=PRESENT, among=RESERVATIONS),
            *(Wake(each, always(ALL), when=GONE, among=RESERVATIONS) for each in reads),
        ),
        decide=keeper.decide,
    )


def _of_ended_or_bound_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    before, after = event.before, event.after
    if after is None:
        return ()
    ended = after.finished and not (before is not None and before.finished)
    placed = before is None or before.spec.node_name != after.spec.node_name
    return (ALL,) if ended or (placed and ledger.BOUND_WITH in after.metadata.annotations) else ()


def _room_of(node: Node | None) -> object:
    """All of a node that may give room."""
    return (
        (node.metadata.labels, node.spec, node.status.allocatable, node.ready) if node is not None else None
    )


class _Keeper:
    """Decides for all reservations. `catalog`: the kinds that their owners may be of."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        typed: dict[str, Resource[View]] = {each.name: each for each in (RESERVATIONS, PODS, NODES)}
        self.resources: dict[str, Resource[View]] = {**typed, **resources_of(catalog), **typed}

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.list(RESERVATIONS)
        if not found:
            return NOTHING
        held: Held = {}
        for each in found:
            if ledger.keeps(each):
                add(held.setdefault(each.status.node_name, {}), ledger.room_of(each))
        effects: list[Effect] = []
        times: list[float] = []
        waiting = 0
        for each in found:
            if each.metadata.deletion_timestamp:
                last = each.status
                ending = _let_go(view, each) or _status(each, last.phase, last.node_name, _told(each), now)
                if ending is not None:
                    effects.append(ending)
                continue
            phase, node, message = self._wanted(view, each, held, now)
            waiting += phase == ledger.PENDING
            user = _bound_with(view, each) if phase == ledger.ACTIVE else None
            if user is not None:
                phase, message = ledger.ALLOCATED, f"pod {user.name} uses it"
            effect: Effect | None = _status(each, phase, node, message, now, user)
            removable = phase == ledger.EXPIRED and now >= ledger.end_of(each) + EXPIRED_KEPT_SECONDS
            if effect is None and (phase == ledger.RELEASED or removable):
                effect = ensure_gone(_NAME, each.metadata, RESERVATIONS, each)
            if effect is not None:
                effects.append(effect)
            outlived = phase == ledger.ALLOCATED and now >= ledger.end_of(each)  # its pod's end wakes this
            if phase != ledger.RELEASED and not removable and not outlived:
                further = EXPIRED_KEPT_SECONDS if phase == ledger.EXPIRED else 0.0
                times.append(ledger.end_of(each) + further)
        again_at = now if len(effects) > EFFECTS_MAX else min(times, default=0.0)
        verdict = Waiting("NoRoom", f"{waiting} reservations wait for room") if waiting else SETTLED
        return Decision(verdict, tuple(effects[:EFFECTS_MAX]), again_at)

    def _wanted(self, view: Reading, found: Reservation, held: Held, now: float) -> tuple[str, str, str]:
        """Phase, node and why."""
        phase, node = found.status.phase or ledger.PENDING, found.status.node_name
        if phase in (ledger.RELEASED, ledger.EXPIRED):
            return phase, node, _told(found)
        owner = found.spec.owner
        if not self._is_there(view, found):
            return ledger.RELEASED, node, f"{owner.kind} {owner.name}, its owner, is gone"
        user = found.status.allocated_to if phase == ledger.ALLOCATED else None
        there = view.get(PODS, found.metadata.namespace, user.name) if user is not None else None
        if user is not None and (there is None or there.metadata.uid != user.uid):
            return ledger.RELEASED, node, f"pod {user.name}, which used it, is gone"
        over = now >= ledger.end_of(found)
        if over and there is not None and there.finished:
            return ledger.RELEASED, node, f"pod {there.metadata.name}, which used it, has ended"
        if over and there is None:
            return ledger.EXPIRED, node, "its time is over"
        if phase == ledger.ALLOCATED:
            return phase, node, _told(found)
        if phase == ledger.ACTIVE and view.get(NODES, "", node) is not None:
            return phase, node, ""
        place, why = _place(view, found, held)
        if not place:
            return ledger.PENDING, "", why
        add(held.setdefault(place, {}), ledger.room_of(found))
        return ledger.ACTIVE, place, ""

    def _is_there(self, view: Reading, found: Reservation) -> bool:
        """Whether its owner is; one of a kind that is not served here is taken to be."""
        owner = found.spec.owner
        reference = Owner(owner.kind, owner.name, owner.uid, owner.api_version)
        key = owner_key(self._catalog, reference, found.metadata.namespace)
        if key is None:
            return True
        there = view.get(self.resources[key.resource], key.namespace, key.name)
        return there is not None and uid_of(there) == owner.uid


def _place(view: Reading, found: Reservation, held: Held) -> tuple[str, str]:
    """The first node by name that has the room; or why there is none."""
    spec = found.spec
    if spec.node_name:
        named = view.get(NODES, "", spec.node_name)
        nodes = [] if named is None else [named]
    else:
        matches = from_object(spec.node_selector).matches
        nodes = [node for node in view.list(NODES) if matches(node.metadata.labels)]
    if not nodes:
        return (
            "",
            f"node {spec.node_name} does not exist" if spec.node_name else "nodeSelector matches no node",
        )
    room = ledger.room_of(found)
    for node in nodes:
        if node.ready and not node.spec.unschedulable and _fits(view, node, room, held):
            return node.metadata.name, ""
    return "", f"none of {len(nodes)} nodes is ready, schedulable, and has room for it"


def _fits(view: Reading, node: Node, room: Usage, held: Held) -> bool:
    name = node.metadata.name
    used = dict(held.get(name, {}))
    for pod in view.on_node(name):
        if isinstance(pod, Pod) and not pod.finished:
            add(used, placed_usage(pod.spec))
    free = exact(node.status.allocatable)
    return all(used.get(each, 0) + asked <= free.get(each, 0) for each, asked in room.items())


def _bound_with(view: Reading, found: Reservation) -> ReservationOwner | None:
    """The pod on its node that was bound with it, and of which the API could not tell."""
    if not found.spec.allocate_once or not found.status.node_name:
        return None
    meta = found.metadata
    for pod in view.on_node(found.status.node_name):
        if not isinstance(pod, Pod) or pod.metadata.namespace != meta.namespace or pod.finished:
            continue
        if pod.metadata.annotations.get(ledger.BOUND_WITH) == meta.name:
            return ReservationOwner("v1", "Pod", pod.metadata.name, pod.metadata.uid)
    return None


def _status(
    found: Reservation, phase: str, node: str, message: str, now: float, user: ReservationOwner | None = None
) -> Effect | None:
    status = found.status
    held = "True" if phase == ledger.ACTIVE else "False"
    known = next((each for each in status.conditions if each.type == _READY), None)
    since = known.last_transition_time if known is not None and known.status == held else timestamp(now)
    ready = Condition(_READY, held, phase, message, since)
    others = tuple(each for each in status.conditions if each.type != _READY)
    wanted = structs.replace(
        status,
        phase=phase,
        node_name=node,
        observed_generation=found.metadata.generation,
        conditions=(*others, ready),
        allocated_to=user if user is not None else status.allocated_to,
    )
    return ensure_status(_NAME, RESERVATIONS, found, wanted)


def _let_go(view: Reading, found: Reservation) -> Effect | None:
    """What is being deleted may go, unless a pod uses its room: that one's end wakes this."""
    now, user = list(found.metadata.finalizers), found.status.allocated_to
    if ledger.IN_USE not in now:
        return None
    pod = view.get(PODS, found.metadata.namespace, user.name) if user is not None else None
    if pod is not None and user is not None and pod.metadata.uid == user.uid and not pod.finished:
        return None
    then = [name for name in now if name != ledger.IN_USE] or None
    current, wanted = {"metadata": {"finalizers": now}}, {"metadata": {"finalizers": then}}
    return ensure_fields(_NAME, found.metadata, RESERVATIONS, found, "let-go", current, wanted)


def _told(found: Reservation) -> str:
    return next((each.message for each in found.status.conditions if each.type == _READY), "")
