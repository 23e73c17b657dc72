"""The cluster as the scheduler sees it: nodes as columns, placed pods, and its own placements not yet confirmed.

Fed with the changes of mirrors (`observe`) and with what the scheduler has decided (`assume`, `forget`). An assumed pod
counts like a placed one; it stops being assumed when a mirror shows it placed, or when its binding is known to have
failed (`forget`). A snapshot that saw the same objects by any way, and has the same assumptions, is the same snapshot.

    observe(resource, before, after)   a mirror's change
    assume(pod, node)                  decided, not yet confirmed
    nominate(pod, node)                it will go there once its victims are gone, not yet confirmed
    forget(key, uid)                   it is known that it did not happen

A pod with a nominated node counts there as if it were placed, for everybody but itself: the room its victims leave is
not given to others. A pod of higher priority may take it by preemption only, for which it is a victim that need not be
evicted. Whoever keeps something that depends on pods reads `changes`; all else that it may depend on moves `epoch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from fairlead.ledger.handover import holds_placement
from fairlead.model import views
from fairlead.model.key import Key
from fairlead.model.views import (
    BUDGETS,
    NAMESPACES,
    NODES,
    OVERRIDES,
    PLACEMENT_QUOTAS,
    PODS,
    RESERVATIONS,
    Namespace,
    Node,
    Pod,
    Resource,
    SchedulerOverride,
    View,
)
from fairlead.schedule.budgets import EvictionBudget, budget_of
from fairlead.schedule.changes import Changes, OccupancyChange
from fairlead.schedule.facts import Amounts, Facts, FactsOf, Port
from fairlead.schedule.holds import Holds, Quota
from fairlead.schedule.matching import Matching
from fairlead.schedule.nodes import Nodes
from fairlead.schedule.overrides import Overrides
from fairlead.schedule.priorities import Priorities


class Placed(msgspec.Struct, frozen=True, gc=False):
    """A pod that takes room on a node."""

    key: Key
    uid: str
    node: str
    facts: Facts
    started: str  # startTime, or creationTimestamp: who came later goes first
    leaving: bool = False  # it has a deletionTimestamp
    assumed: bool = False
    owner: str = ""  # uid of its controller
    nominated: bool = False  # it is not there yet
    counts: bool = True  # for placement quotas: it was not released, or gave its quota to nobody yet
    released: bool = False  # what it counts for is for the next pod of its owner


class Snapshot:
    #: The resources whose changes `observe` takes in, in the order a snapshot from scratch reads them.
    reads: ClassVar[tuple[Resource[Any], ...]] = (
        PODS, NODES, NAMESPACES, BUDGETS, PLACEMENT_QUOTAS, RESERVATIONS, OVERRIDES,
    )  # fmt: skip

    def __init__(self, facts_of: FactsOf | None = None) -> None:
        """`facts_of`: one that knows classes of pods already, of a snapshot before or beside this one."""
        self.nodes = Nodes()
        self.matching = Matching(self.nodes.slots)
        self.changes = Changes()
        self.holds = Holds()
        self.overrides = Overrides()
        self.priorities = Priorities()
        self.facts_of = facts_of or FactsOf()
        self.placed: dict[Key, Placed] = {}
        self.on: dict[str, dict[Key, Placed]] = {}  # by node name, also of nodes that are not known
        self.moves: dict[
            str, int
        ] = {}  # by node name: how often anything was put there, changed or taken away
        self.ports: dict[str, dict[Port, int]] = {}
        self.assumed: dict[Key, Placed] = {}
        self._offers: dict[
            tuple[str, str], dict[Key, Placed]
        ] = {}  # by namespace and owner: who was released
        self.budgets: tuple[EvictionBudget, ...] = ()  # another object whenever one of them changed
        self._budgets: dict[tuple[str, str], EvictionBudget] = {}
        # What most clusters have none of, so that no pod is asked about it.
        self._has_priorities = self._has_quotas = self._has_reservations = False

    # What happens

    def observe(self, resource: str, before: View | None, after: View | None) -> None:
        if resource == PODS.name:
            assert before is None or isinstance(before, Pod)
            assert after is None or isinstance(after, Pod)
            pod = after or before
            assert pod is not None
            self.observe_pod(Key("pods", pod.metadata.namespace, pod.metadata.name), pod, after is not None)
        elif resource == NODES.name:
            assert before is None or isinstance(before, Node)
            assert after is None or isinstance(after, Node)
            self._observe_node(before, after)
        elif resource == NAMESPACES.name:
            space = after or before
            assert isinstance(space, Namespace)
            self.matching.put_namespace(
                space.metadata.name, space.metadata.labels if after is not None else None
            )
        elif resource == PLACEMENT_QUOTAS.name:
            self.holds.observe_quota(before, after)
            self._has_quotas = bool(self.holds)
        elif resource == RESERVATIONS.name:
            self.holds.observe_reservation(before, after)
            self._has_reservations = self.holds.keeps_any
        elif resource == BUDGETS.name:
            self._observe_budget(before, after)
        elif resource == OVERRIDES.name:
            assert before is None or isinstance(before, SchedulerOverride)
            assert after is None or isinstance(after, SchedulerOverride)
            version = self.overrides.version
            self.overrides.observe(before, after)
            if self.overrides.version != version:
                self._follow_priorities()

    def _observe_budget(self, before: View | None, after: View | None) -> None:
        budget = after or before
        assert isinstance(budget, views.DisruptionBudget)
        name = (budget.metadata.namespace, budget.metadata.name)
        self._budgets.pop(name, None)
        if after is not None:
            self._budgets[name] = budget_of(budget)
        self.budgets = tuple(self._budgets[name] for name in sorted(self._budgets))

    def expire(self, now: float) -> bool:
        """Time has come to this: whether any override has ended by it."""
        ended = self.overrides.expire(now)
        if ended:
            self._follow_priorities()
        return ended

    def facts_for(self, pod: Pod) -> Facts:
        """The class that a pod is placed as: its own, unless an override gives it another priority."""
        own = self.facts_of(pod)
        if not self._has_priorities:
            return own
        return self.priorities.facts_of(pod.metadata.uid, own, waits=not pod.spec.node_name)

    def priority_of(self, pod: Pod) -> int:
        return self.facts_for(pod).priority if self._has_priorities else pod.spec.priority

    def reservation_for(self, pod: Pod, node: str) -> str:
        """The reservation on a node that this pod uses there; "" if there is none."""
        return self.holds.usable(self.facts_of(pod), node) if self._has_reservations else ""

    def quotas(self, namespace: str) -> tuple[Quota, ...]:
        """Those of a namespace, counted up to now, and so are those they share a cohort with."""
        found = self.holds.quotas(namespace)
        for quota in found:
            for each in quota.lenders or (quota,):
                if each.stale:
                    self.holds.recount(each, self._placed_in(each.namespace))
        return found

    def offered(self, facts: Facts, quota: Quota) -> Amounts:
        """What of this quota the next such pod gets from one that its owner gave up (`ledger/handover.py`)."""
        found = self._offers.get((facts.namespace, facts.controller)) if facts.controller else None
        if not found:
            return {}
        # Those on their way to a node are about to get theirs.
        ahead = sum(each.owner == facts.controller for each in self.assumed.values())
        for key in sorted(found)[ahead:]:
            slot = self.nodes.slot.get(found[key].node)
            if quota.covers(self._labels(slot) if slot is not None else {}):
                return found[key].facts.requests
        return {}

    def assume(self, pod: Pod, node: str, nominated: bool = False) -> None:
        meta = pod.metadata
        placed = self._placed(Key("pods", meta.namespace, meta.name), pod, node, True, nominated)
        self.assumed[placed.key] = placed
        self._put(placed)

    def nominate(self, pod: Pod, node: str) -> None:
        self.assume(pod, node, True)

    def observe_pod(self, key: Key, pod: Pod, is_there: bool) -> None:
        """A pod as it is now, or as it was when it went."""
        live = is_there and not pod.finished
        nominated = "" if pod.metadata.deletion_timestamp else pod.status.nominated_node_name
        assumed = self.assumed.get(key)
        if assumed is not None and live and not pod.spec.node_name and pod.metadata.uid == assumed.uid:
            shown = assumed.nominated and assumed.node == nominated
            if not shown:
                return  # what was decided still holds
        self.assumed.pop(key, None)  # the truth, whatever was assumed
        if live and (pod.spec.node_name or nominated):
            waits = not pod.spec.node_name
            placed = self._placed(key, pod, nominated if waits else pod.spec.node_name, False, waits)
            if self.placed.get(key) != placed:
                self._put(placed)
        else:
            self._take(key)

    def forget(self, key: Key, uid: str) -> None:
        assumed = self.assumed.get(key)
        if assumed is not None and assumed.uid == uid:
            del self.assumed[key]
            self._take(key)

    def release(self, key: Key) -> Placed | None:
        """Its nomination, if it has one, is void or about to be judged anew."""
        claim = self.placed.get(key)
        if claim is None or not claim.nominated:
            return None
        self.assumed.pop(key, None)
        self._take(key)
        return claim

    def restore(self, claim: Placed) -> None:
        """It was released to look, and holds after all."""
        if claim.assumed:
            self.assumed[claim.key] = claim
        self._put(claim)

    @property
    def epoch(self) -> tuple[int, int]:
        return self.nodes.version, self.matching.epoch + self.holds.version + self.overrides.version

    # Inside

    def _follow_priorities(self) -> None:
        """Others may be raised than before: who is on a node, or has claimed one, counts with what it has now."""
        raised = self.priorities.follow(self.overrides.kept())
        self._has_priorities = bool(self.priorities)
        for key in sorted(raised):
            placed = self.placed.get(key)
            if placed is None:
                continue
            own = placed.facts.own or placed.facts
            facts = self.priorities.facts_of(placed.uid, own, waits=False)
            if facts is not placed.facts:
                changed = msgspec.structs.replace(placed, facts=facts)
                self._put(changed)
                if key in self.assumed:
                    self.assumed[key] = changed

    def _observe_node(self, before: Node | None, after: Node | None) -> None:
        node = after or before
        assert node is not None
        name = node.metadata.name
        nodes = self.nodes
        known = name in nodes.slot
        if after is None:
            if known:
                self._charge_all(name, -1)
                nodes.remove(name)
                if name not in self.on:
                    self.moves.pop(name, None)
            return
        version = nodes.version
        nodes.put(after)
        if self._has_quotas and nodes.version != version:
            self.holds.nodes_moved()
        if nodes.slots > self.matching.slots:
            self.matching.grow(nodes.slots)
        if not known:
            self._charge_all(name, 1)

    def _placed(self, key: Key, pod: Pod, node: str, assumed: bool, nominated: bool) -> Placed:
        meta, own = pod.metadata, self.facts_of(pod)
        controller, released = meta.controller, pod.released
        return Placed(
            key=key,
            uid=meta.uid,
            node=node,
            facts=self.priorities.facts_of(meta.uid, own, waits=False) if self._has_priorities else own,
            started=pod.status.start_time or meta.creation_timestamp,
            leaving=bool(meta.deletion_timestamp),
            assumed=assumed,
            owner=controller.uid if controller is not None else "",
            nominated=nominated,
            counts=not released or holds_placement(pod),
            released=released,
        )

    def _put(self, placed: Placed) -> None:
        old = self.placed.get(placed.key)
        same = old is not None and _takes_the_same(old, placed)
        if old is not None and not same:
            self._take(placed.key)
        self.moves[placed.node] = self.moves.get(placed.node, 0) + 1
        if same:
            self.placed[placed.key] = placed  # it takes what it took before
            self.on[placed.node][placed.key] = placed
            return
        self.placed[placed.key] = placed
        self.on.setdefault(placed.node, {})[placed.key] = placed
        if placed.released and placed.counts and placed.owner:
            self._offers.setdefault((placed.key.namespace, placed.owner), {})[placed.key] = placed
        slot = self.nodes.slot.get(placed.node)
        if slot is not None:
            self._charge(slot, placed, 1)

    def _take(self, key: Key) -> None:
        placed = self.placed.pop(key, None)
        if placed is None:
            return
        self.moves[placed.node] = self.moves.get(placed.node, 0) + 1
        offers = self._offers.get((key.namespace, placed.owner))
        if offers is not None and offers.pop(key, None) is not None and not offers:
            del self._offers[key.namespace, placed.owner]
        beside = self.on[placed.node]
        del beside[key]
        slot = self.nodes.slot.get(placed.node)
        if not beside:
            del self.on[placed.node]
            if slot is None:
                del self.moves[placed.node]
        if slot is not None:
            self._charge(slot, placed, -1)

    def _placed_in(self, namespace: str) -> Iterator[tuple[Facts, Mapping[str, str]]]:
        for placed in self.placed.values():
            slot = self.nodes.slot.get(placed.node)
            if slot is not None and placed.counts and placed.facts.namespace == namespace:
                yield placed.facts, self._labels(slot)

    def _labels(self, slot: int) -> Mapping[str, str]:
        facts = self.nodes.facts[slot]
        return facts.labels if facts is not None else {}

    def _charge_all(self, node: str, sign: int) -> None:
        """A node came or went: so do the pods on it, as far as columns are concerned."""
        slot = self.nodes.slot[node]
        for placed in self.on.get(node, {}).values():
            self._charge(slot, placed, sign)

    def _charge(self, slot: int, placed: Placed, sign: int) -> None:
        facts = placed.facts
        self.changes.append(OccupancyChange(slot, facts, sign, placed.leaving))
        self.nodes.charge(slot, facts, sign)
        if self._has_quotas and placed.counts:
            self.holds.charge(facts, self._labels(slot), sign)
        self.matching.charge(slot, facts, placed.leaving, sign)
        if facts.ports:
            taken = self.ports.setdefault(placed.node, {})
            for port in facts.ports:
                taken[port] = taken.get(port, 0) + sign
                if not taken[port]:
                    del taken[port]


def _takes_the_same(one: Placed, other: Placed) -> bool:
    return (
        one.node == other.node
        and one.facts is other.facts
        and one.leaving == other.leaving
        and one.counts == other.counts
        and one.released == other.released
    )
