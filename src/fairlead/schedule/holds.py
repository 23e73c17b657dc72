"""What keeps pods off nodes though there is room: placement quotas of their namespace, reservations of others.

Part of the snapshot, which is its only writer. A quota's use is what its status says or what the snapshot counts,
whichever is more: the status knows bindings that no mirror shows yet, the snapshot knows placements that are not bound
yet. It is a forecast; binding charges the quota in its own transaction. `version` moves when an answer may have changed
by anything but the comings and goings of pods.

Quotas of a cohort are judged together, whatever their namespaces. That pods of a lender wait is not forecast: the API
judges it as a pod is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead.core.quantity import NANO, Quantity, parse
from fairlead.ledger import reservation as ledger
from fairlead.ledger.cohort import Cohort, CohortMember
from fairlead.model.key import Key
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import PlacementQuota, Reservation, View
from fairlead.schedule.facts import Amounts, Facts, amount

_MILLI = NANO // 1000


class QuotaLimits(NamedTuple):
    selector: LabelMatcher | None  # None: all nodes
    hard: Amounts
    cohort: str = ""
    may_borrow: Amounts | None = None
    may_lend: Amounts | None = None


@dataclass(slots=True, eq=False)
class Quota:
    namespace: str
    name: str
    spec: QuotaLimits
    told: Amounts  # by its status
    lenders: tuple[Quota, ...] = ()  # the members of its cohort, itself among them
    counted: Amounts = field(default_factory=dict)  # by the snapshot
    stale: bool = True  # it has to be counted anew

    @property
    def selector(self) -> LabelMatcher | None:
        """None: all nodes."""
        return self.spec.selector

    @property
    def hard(self) -> Amounts:
        return self.spec.hard

    def used(self, resource: str) -> int:
        return max(self.told.get(resource, 0), self.counted.get(resource, 0))

    def covers(self, labels: Mapping[str, str]) -> bool:
        return self.selector is None or self.selector.matches(labels)

    def exceeded(self, asked: Amounts) -> str:
        """`cpu (requested 500m, used 4, limited 4)`; "" if there is room. In a cohort also who borrows from whom."""
        cohort = self._cohort()
        return ", ".join(
            f"{name} (requested {_spelt(name, asked[name])}, used {_spelt(name, self.used(name))}, "
            f"limited {_spelt(name, limit)}{_told(cohort, name)})"
            for name, limit in self.hard.items()
            if asked.get(name)
            and asked[name] > (limit - self.used(name) if cohort is None else cohort.room(name))
        )

    def _cohort(self) -> Cohort | None:
        if not self.lenders:
            return None
        return Cohort(self.spec.cohort, self._address, tuple(each._member() for each in self.lenders))

    def _member(self) -> CohortMember:
        used = {name: self.used(name) for name in self.hard}
        return CohortMember(
            self._address, self.hard, used, self.spec.may_borrow or {}, self.spec.may_lend or {}, claimed={}
        )

    @property
    def _address(self) -> str:
        return f"{self.namespace}/{self.name}"

    def charge(self, facts: Facts, sign: int) -> None:
        counted = self.counted
        for name in self.hard:
            if name in facts.requests:
                counted[name] = counted.get(name, 0) + sign * facts.requests[name]


@dataclass(frozen=True, slots=True)
class ReservedRoom:
    """Room that an active reservation keeps on a node."""

    namespace: str
    name: str
    node: str
    owner: str  # uid
    capacity_class: str
    room: tuple[tuple[str, int], ...]

    def is_for(self, facts: Facts) -> bool:
        if facts.namespace != self.namespace:
            return False
        return facts.reservation == self.name or (bool(facts.controller) and facts.controller == self.owner)


Placements = Iterable[tuple[Facts, Mapping[str, str]]]  # of each placed pod, with the labels of its node


class Holds:
    def __init__(self) -> None:
        self.version = 0
        self._quotas: dict[str, dict[str, Quota]] = {}  # by namespace and name
        self._cohorts = False  # whether any quota names one
        self._kept: dict[Key, ReservedRoom] = {}
        self._by_node: dict[str, dict[Key, ReservedRoom]] = {}

    def __bool__(self) -> bool:
        return bool(self._quotas)

    @property
    def keeps_any(self) -> bool:
        return bool(self._kept)

    def quotas(self, namespace: str) -> tuple[Quota, ...]:
        """In the order of names; some may be stale."""
        found = self._quotas.get(namespace)
        return tuple(found[name] for name in sorted(found)) if found else ()

    def share(self, namespace: str, other: str) -> bool:
        """Whether what pods of the other namespace take may change what there is for those of the first."""
        if namespace == other:
            return True
        return self._cohorts and any(
            each.namespace == other
            for quota in self._quotas.get(namespace, {}).values()
            for each in quota.lenders
        )

    def recount(self, quota: Quota, placements: Placements) -> None:
        quota.counted, quota.stale = {}, False
        for facts, labels in placements:
            if quota.covers(labels):
                quota.charge(facts, 1)

    def kept(self) -> Iterator[tuple[str, Iterable[ReservedRoom]]]:
        """By node, for nodes with any."""
        for node, found in self._by_node.items():
            yield node, found.values()

    def usable(self, facts: Facts, node: str) -> str:
        """The reservation on this node that such a pod uses, the one it names first; "" if there is none."""
        found = [each for each in self._by_node.get(node, {}).values() if each.is_for(facts)]
        return min(found, key=lambda each: (each.name != facts.reservation, each.name)).name if found else ""

    # Changes, by the snapshot only

    def observe_quota(self, before: View | None, after: View | None) -> None:
        quota = after or before
        assert isinstance(quota, PlacementQuota)
        space, name = quota.metadata.namespace, quota.metadata.name
        spaced = self._quotas.setdefault(space, {})
        known = spaced.get(name)
        if after is None:
            spaced.pop(name, None)
            if not spaced:
                del self._quotas[space]
            self.version += known is not None
            self._join_cohorts()
            return
        said = quota.spec
        spec = QuotaLimits(
            from_object(said.node_selector) if said.node_selector else None,
            *(_limits(said.hard), said.cohort, _limits(said.borrowing_limit), _limits(said.lending_limit)),
        )
        told = {each: amount(each, text) for each, text in quota.status.used.items()}
        if known is None or known.spec != spec:
            spaced[name] = Quota(space, name, spec, told)
            self.version += 1
            self._join_cohorts()
            return
        before_used = {each: known.used(each) for each in known.hard}
        known.told = told
        # Mostly a status catches up with what was counted, and nobody has to look again.
        self.version += before_used != {each: known.used(each) for each in known.hard}

    def _join_cohorts(self) -> None:
        """Quotas are few, and seldom change what they say."""
        found: dict[tuple[str, LabelMatcher | None], list[Quota]] = {}
        every = [spaced[name] for _, spaced in sorted(self._quotas.items()) for name in sorted(spaced)]
        for quota in every:
            if quota.spec.cohort:
                found.setdefault((quota.spec.cohort, quota.selector), []).append(quota)
        for quota in every:
            quota.lenders = tuple(found.get((quota.spec.cohort, quota.selector), ()))
        self._cohorts = bool(found)

    def observe_reservation(self, before: View | None, after: View | None) -> None:
        found = after or before
        assert isinstance(found, Reservation)
        meta = found.metadata
        key = Key("reservations.fairlead.dev", meta.namespace, meta.name)
        known = self._kept.get(key)
        kept = _kept(found) if after is not None and ledger.keeps(found) else None
        if kept == known:
            return
        self.version += 1
        if known is not None:
            del self._kept[key]
            beside = self._by_node[known.node]
            del beside[key]
            if not beside:
                del self._by_node[known.node]
        if kept is not None:
            self._kept[key] = kept
            self._by_node.setdefault(kept.node, {})[key] = kept

    def charge(self, facts: Facts, labels: Mapping[str, str], sign: int) -> None:
        """A pod came to a node with these labels (1) or left it (-1)."""
        for quota in self._quotas.get(facts.namespace, {}).values():
            if not quota.stale and quota.covers(labels):
                quota.charge(facts, sign)

    def nodes_moved(self) -> None:
        """Nodes may have other labels."""
        for spaced in self._quotas.values():
            for quota in spaced.values():
                quota.stale = quota.stale or quota.selector is not None


def _kept(found: Reservation) -> ReservedRoom:
    meta, spec = found.metadata, found.spec
    room = tuple(sorted((name, amount(name, value)) for name, value in spec.requests.items()))
    return ReservedRoom(
        namespace=meta.namespace,
        name=meta.name,
        node=found.status.node_name,
        owner=spec.owner.uid,
        capacity_class=spec.capacity_class,
        room=room,
    )


def _told(cohort: Cohort | None, resource: str) -> str:
    if cohort is None:
        return ""
    return f"; {cohort.describe(resource, lambda value: _spelt(resource, value))}"


def _limits(amounts: Mapping[str, str]) -> Amounts:
    return {each: _limit(each, text) for each, text in sorted(amounts.items())}


def _limit(resource: str, text: str) -> int:
    """In the unit of the columns, rounded down: what is requested is rounded up."""
    return parse(text).nano // (_MILLI if resource == "cpu" else NANO)


def _spelt(resource: str, value: int) -> str:
    binary = resource in ("memory", "ephemeral-storage")
    return str(Quantity(value * (_MILLI if resource == "cpu" else NANO), "binary" if binary else "decimal"))
