"""Spreading over zones, racks, nodes: required constraints bound the skew, the others make it dear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fairlead.core.bounded_dict import BoundedDict
from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX, Lower, Prepared
from fairlead.schedule.domains import Domains
from fairlead.schedule.facts import Facts, Spread
from fairlead.schedule.matching import ANSWERS_KEPT, Clause, Meant
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.plugins.node_affinity import where_wanted
from fairlead.schedule.plugins.taint_toleration import where_tolerated
from fairlead.schedule.snapshot import Placed, Snapshot

_HOSTNAME = "kubernetes.io/hostname"
_SKEWED = "node(s) didn't match pod topology spread constraints"
_UNLABELLED = f"{_SKEWED} (missing required label)"


class PodTopologySpread:
    name: ClassVar[str] = "PodTopologySpread"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", "pods.added", "pods.deleted"})
    evicting_helps: ClassVar[bool] = True
    concerns: ClassVar[tuple[str, ...]] = ("user", "autoscaler")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        return _Spreading(snapshot, facts) if facts.spreads else None


class _Constraint:
    """One constraint over all nodes: pods of the class's own namespace that it selects, per domain."""

    def __init__(self, snapshot: Snapshot, facts: Facts, spread: Spread, labelled: Mask) -> None:
        self.spread = spread
        self._meant = Meant((Clause(spread.selector, frozenset((facts.namespace,))),), leaving_too=False)
        nodes = snapshot.nodes
        counted = nodes.present & labelled
        if spread.honours_affinity:
            counted &= where_wanted(nodes, facts)
        if spread.honours_taints:
            counted &= where_tolerated(nodes, facts)
        self.on_node = snapshot.matching.counts(self._meant)
        self.domains = Domains(nodes, spread.topology_key, self.on_node, counted)
        self._itself = int(spread.selector.matches(facts.labels))
        self._few = int(np.count_nonzero(self.domains.known)) < spread.min_domains
        self._means: BoundedDict[Facts, bool] = BoundedDict(ANSWERS_KEPT)
        self._judge()

    def means(self, facts: Facts) -> bool:
        known = self._means.get(facts)
        if known is None:
            known = self._means.keep(facts, self._meant.matches(facts.namespace, facts.labels, {}))
        return known

    def _judge(self) -> None:
        """Which domains may have one more, and how few the least has, kept until a number changes."""
        self._least = 0 if self._few else self.domains.least()
        self._fine: Mask = self.domains.numbers <= self.spread.max_skew + self._least - self._itself

    def where(self) -> Mask:
        return self.domains.over(self._fine)

    def add(self, change: OccupancyChange) -> bool:
        """Whether other nodes are judged otherwise now than before."""
        if not self.domains.add(change.slot, change.sign):
            return False
        before = self._fine
        self._judge()
        changed = before != self._fine
        if self.domains.alone(change.slot):
            changed[self.domains.ids.item(change.slot)] = False
        return bool(changed.any())

    def passes(self, slot: int, removed: Sequence[Placed]) -> bool:
        domains = self.domains
        if not domains.has.item(slot):
            return False
        number = domains.number(slot)
        if domains.counts(slot):
            number -= sum(not each.leaving and self.means(each.facts) for each in removed)
        # If this domain becomes the one with the fewest, one more is not too many, whatever the others have.
        return number + self._itself - self._least <= self.spread.max_skew


class _Spreading:
    def __init__(self, snapshot: Snapshot, facts: Facts) -> None:
        nodes = snapshot.nodes
        self._nodes = nodes
        self._hard = self._constraints(snapshot, facts, True)
        self._soft = self._constraints(snapshot, facts, False)
        self._mask = self._masked() if self._hard else None
        self._stale = False
        self.relative = bool(self._soft)
        self.local = not self._hard

    def _constraints(self, snapshot: Snapshot, facts: Facts, required: bool) -> list[_Constraint]:
        """Only nodes that have the labels of all constraints of the kind, as far as somebody asked for them, count for
        any of them."""
        spreads = [each for each in facts.spreads if each.required == required]
        nodes = snapshot.nodes
        labelled = nodes.present.copy()
        for spread in (each for each in spreads if not each.by_default):
            labelled &= nodes.topology(spread.topology_key).ids >= 0
        return [_Constraint(snapshot, facts, spread, labelled) for spread in spreads]

    def _masked(self) -> Mask:
        mask = self._hard[0].where()
        for each in self._hard[1:]:
            mask &= each.where()
        return mask

    def mask(self) -> Mask | None:
        if self._stale:
            self._mask, self._stale = self._masked(), False
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        """The first constraint that a node fails is the one that is told."""
        told: dict[str, int] = {}
        left = np.asarray(slots)
        for each in self._hard:
            has = each.domains.has[left]
            skewed = has & ~each.where()[left]
            for reason, number in ((_UNLABELLED, (~has).sum()), (_SKEWED, skewed.sum())):
                if number:
                    told[reason] = told.get(reason, 0) + int(number)
            left = left[has & ~skewed]
        return told

    def touched(self, change: OccupancyChange) -> bool:
        if change.leaving:
            return False
        here = elsewhere = False
        for each in self._hard:
            if each.means(change.facts):
                here = True
                self._stale |= each.add(change)
        if self._stale:
            elsewhere = True
        elif here and self._mask is not None:
            self._mask[change.slot] = self.without(change.slot, ())
        for each in self._soft:
            if each.means(change.facts):
                elsewhere |= each.domains.add(change.slot, change.sign)
        return elsewhere

    # Evicting

    def resolvable(self) -> Mask | None:
        """A node without the label stays without it."""
        mask: Mask | None = None
        for each in self._hard:
            mask = each.domains.has if mask is None else mask & each.domains.has
        return mask

    def hopeful(self, lower: Lower) -> None:
        return None

    def reasons_without(self, slots: Ints, lower: Lower) -> dict[str, int]:
        return self.reasons(slots)

    def without(self, slot: int, removed: Sequence[Placed]) -> bool:
        return all(each.passes(slot, removed) for each in self._hard)

    # Score

    def scores(self, open_slots: Mask) -> Ints | None:
        """The fewer alike in a node's domains, weighed by how many domains there are, the better."""
        if not self._soft:
            return None
        rated = open_slots.copy()
        for each in self._soft:
            if not each.spread.by_default:
                rated &= each.domains.has
        dear = np.zeros(self._nodes.slots, np.float64)
        for each in self._soft:
            dear += self._dear(each, rated)
        raw: Ints = np.floor(dear + 0.5).astype(np.int64)
        found = raw[rated]
        if not len(found):
            return np.zeros(len(raw), np.int64)
        least, most = int(found.min()), int(found.max())
        scores = (
            np.full(len(raw), SCORE_MAX, np.int64) if most == 0 else SCORE_MAX * (most + least - raw) // most
        )
        scores[~rated] = 0
        return scores

    def _dear(self, each: _Constraint, rated: Mask) -> Any:
        domains = each.domains
        if each.spread.topology_key == _HOSTNAME:
            return _weighed(each.on_node, int(np.count_nonzero(rated)), each.spread) * domains.has
        size = int(np.count_nonzero(np.bincount(domains.ids[rated & domains.has])))
        return domains.over(_weighed(domains.numbers, size, each.spread))


def _weighed(numbers: Any, size: int, spread: Spread) -> Any:
    return numbers * np.log(size + 2) + (spread.max_skew - 1)
