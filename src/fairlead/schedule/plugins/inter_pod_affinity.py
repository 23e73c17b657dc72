"""Near to some pods, away from others: what a pod asks of its neighbours, and what they ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fairlead.core.bounded_dict import BoundedDict
from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX, Lower, Prepared
from fairlead.schedule.domains import Domains
from fairlead.schedule.facts import Facts, PodTerm
from fairlead.schedule.matching import ANSWERS_KEPT, Meant, clause_of
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.snapshot import Placed, Snapshot

_AWAY = "node(s) didn't match pod affinity rules"
_NEAR = "node(s) didn't match pod anti-affinity rules"
_UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
_REQUIRED_WEIGHT = 1  # what a neighbour's required affinity counts for when nodes are scored


class InterPodAffinity:
    name: ClassVar[str] = "InterPodAffinity"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", "pods.added", "pods.deleted", "namespaces"})
    evicting_helps: ClassVar[bool] = True
    concerns: ClassVar[tuple[str, ...]] = ("user", "autoscaler")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        # Also for pods that nobody cares about now: the next pod of the batch may.
        return _Neighbours(snapshot, facts)


class _Counted:
    """Pods of one description per domain, and whether a further pod is one of them."""

    def __init__(self, snapshot: Snapshot, key: str, meant: Meant) -> None:
        self._meant, self._spaces = meant, snapshot.matching.spaces
        self._means: BoundedDict[Facts, bool] = BoundedDict(ANSWERS_KEPT)
        self.domains = Domains(snapshot.nodes, key, snapshot.matching.counts(meant))

    def means(self, facts: Facts) -> bool:
        known = self._means.get(facts)
        if known is None:
            known = self._means.keep(facts, self._meant.matches(facts.namespace, facts.labels, self._spaces))
        return known

    def left(self, slot: int, removed: Sequence[Placed]) -> int:
        """The number of the slot's domain if those of the slot were gone."""
        domains = self.domains
        gone = sum(self.means(each.facts) for each in removed) if domains.counts(slot) else 0
        return domains.number(slot) - gone


class _Neighbours:
    def __init__(self, snapshot: Snapshot, facts: Facts) -> None:
        self._snapshot, self._facts = snapshot, facts
        together = Meant(tuple(clause_of(term) for term in facts.affinity))
        self._near = [_Counted(snapshot, term.topology_key, together) for term in facts.affinity]
        self._away = [_Counted(snapshot, term.topology_key, _meant(term)) for term in facts.anti_affinity]
        self._liked = [
            (-term.weight if term.anti else term.weight, _Counted(snapshot, term.topology_key, _meant(term)))
            for term in facts.preferred_pods
        ]
        self._asks = bool(self._near or self._away or self._liked)
        self._is_one_of_them = together.matches(facts.namespace, facts.labels, snapshot.matching.spaces)
        # By what is asked by pods that are there; a term that no domain has a pod of is in neither.
        self._unwelcome: dict[PodTerm, Domains] = {}
        self._asked_for: dict[PodTerm, Domains] = {}
        self._terms: BoundedDict[Facts, list[PodTerm]] = BoundedDict(ANSWERS_KEPT)
        for term, counts in snapshot.matching.holdings():
            if self._is_meant(term):
                domains = Domains(snapshot.nodes, term.topology_key, counts)
                if domains.numbers.any():
                    self._holding(term)[term] = domains
        self._mask: Mask | None = None
        self._stale = True

    @property
    def relative(self) -> bool:
        return bool(self._liked or self._asked_for)

    def _is_meant(self, term: PodTerm) -> bool:
        facts = self._facts
        return clause_of(term).matches(facts.namespace, facts.labels, self._snapshot.matching.spaces)

    def _terms_that_mean_it(self, other: Facts) -> list[PodTerm]:
        known = self._terms.get(other)
        if known is None:
            terms = (*other.affinity, *other.anti_affinity, *other.preferred_pods)
            known = self._terms.keep(other, [term for term in terms if self._is_meant(term)])
        return known

    def _holding(self, term: PodTerm) -> dict[PodTerm, Domains]:
        return self._unwelcome if term.anti and not term.weight else self._asked_for

    # Filter

    def mask(self) -> Mask | None:
        if self._stale:
            asks = self._near or self._away or self._unwelcome
            self._mask = self._near_enough() & self._far_enough() & self._welcome() if asks else None
            self._stale = False
        return self._mask

    def _first(self, removed: Sequence[Placed] = (), slot: int = -1) -> bool:
        """Nobody that it wants to be near is anywhere; but it is such a pod itself, so it may start."""
        if not self._is_one_of_them:
            return False
        for each in self._near:
            there = int(each.domains.numbers.sum())
            if there and (slot < 0 or there - each.domains.number(slot) + each.left(slot, removed)):
                return False
        return True

    def _near_enough(self) -> Mask:
        mask = np.ones(self._snapshot.nodes.slots, np.bool_)
        first = bool(self._near) and self._first()
        for each in self._near:
            mask &= each.domains.has if first else each.domains.over(each.domains.numbers > 0)
        return mask

    def _far_enough(self) -> Mask:
        mask = np.ones(self._snapshot.nodes.slots, np.bool_)
        for each in self._away:
            mask &= ~each.domains.over(each.domains.numbers > 0)
        return mask

    def _welcome(self) -> Mask:
        mask = np.ones(self._snapshot.nodes.slots, np.bool_)
        for domains in self._unwelcome.values():
            mask &= ~domains.over(domains.numbers > 0)
        return mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        told: dict[str, int] = {}
        left = np.asarray(slots)
        for reason, mask in (
            (_AWAY, self._near_enough()),
            (_NEAR, self._far_enough()),
            (_UNWELCOME, self._welcome()),
        ):
            refused = ~mask[left]
            if refused.any():
                told[reason] = int(refused.sum())
            left = left[~refused]
        return told

    # Score

    def scores(self, open_slots: Mask) -> Ints | None:
        if not self.relative:
            return None
        raw = np.zeros(self._snapshot.nodes.slots, np.int64)
        for weight, counted in self._liked:
            raw += weight * counted.domains.at()
        for term, domains in self._asked_for.items():
            weight = term.weight or _REQUIRED_WEIGHT
            raw += (-weight if term.anti else weight) * domains.at()
        found = raw[open_slots]
        least, most = (int(found.min()), int(found.max())) if len(found) else (0, 0)
        if most == least:
            return None
        scores: Ints = (SCORE_MAX * ((raw - least) / (most - least))).astype(np.int64)
        return scores

    # Changes

    def touched(self, change: OccupancyChange) -> bool:
        facts = change.facts
        asked = facts.affinity or facts.anti_affinity or facts.preferred_pods
        if not asked and not self._asks:
            return False
        slot, sign = change.slot, change.sign
        here = elsewhere = False
        for each in self._near:
            if each.means(facts) and each.domains.add(slot, sign):
                here = True
                self._stale |= _flipped(each.domains, slot, sign)
        for each in self._away:
            if each.means(facts) and each.domains.add(slot, sign):
                here = True
                self._stale |= _flipped(each.domains, slot, sign) and not each.domains.alone(slot)
        for _, each in self._liked:
            if each.means(facts):
                elsewhere |= each.domains.add(slot, sign)
        if asked:
            for term in self._terms_that_mean_it(facts):
                here = True
                elsewhere |= self._held(term, slot, sign)
        if here and not self._stale and self._mask is not None:
            self._mask[slot] = self.without(slot, ())
        return elsewhere or self._stale

    def _held(self, term: PodTerm, slot: int, sign: int) -> bool:
        """One pod more, or less, asks this of its neighbours. Whether scores may have changed."""
        holding = self._holding(term)
        filters = holding is self._unwelcome
        domains = holding.get(term)
        if domains is None:
            nothing = np.zeros(self._snapshot.nodes.slots, np.int32)
            domains = Domains(self._snapshot.nodes, term.topology_key, nothing)
            if not domains.add(slot, sign):
                return False
            holding[term] = domains
            self._stale |= filters
        elif not domains.add(slot, sign):
            return False
        elif sign < 0 and not domains.numbers.any():
            del holding[term]
            self._stale |= filters
        elif filters and _flipped(domains, slot, sign) and not domains.alone(slot):
            self._stale = True
        return not filters

    # Evicting

    @property
    def local(self) -> bool:
        return not (self._near or self._away or self._unwelcome)

    def resolvable(self) -> Mask | None:
        """Evicting brings nobody near. But it may make the pod the first of its kind, where it is one of them."""
        return None if self._is_one_of_them or not self._near else self._near_enough()

    def hopeful(self, lower: Lower) -> None:
        return None

    def reasons_without(self, slots: Ints, lower: Lower) -> dict[str, int]:
        return self.reasons(slots)

    def without(self, slot: int, removed: Sequence[Placed]) -> bool:
        near = all(each.left(slot, removed) > 0 for each in self._near)
        if not near and not (self._in_all(slot) and self._first(removed, slot)):
            return False
        if any(each.left(slot, removed) for each in self._away):
            return False
        for term, domains in self._unwelcome.items():
            number = domains.number(slot)
            if number and number - sum(each.facts.anti_affinity.count(term) for each in removed):
                return False
        return True

    def _in_all(self, slot: int) -> bool:
        return all(each.domains.has.item(slot) for each in self._near)


def _flipped(domains: Domains, slot: int, sign: int) -> bool:
    """After one came or went: whether there were none before, or are none now."""
    return domains.number(slot) == (1 if sign > 0 else 0)


def _meant(term: PodTerm) -> Meant:
    return Meant((clause_of(term),))
