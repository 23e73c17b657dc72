"""Which placed pods a selector means, counted per node: what spreading and pod affinity are computed from.

Pods with the same namespace and labels are one group. A `Matcher` (namespaces and selector) sums the groups it means;
it is registered when a class of pods first needs it, by a look at the groups that one of its labels or its namespaces
leave, and kept up to date from then on. A `Holding` counts the pods that
carry a given affinity term, for the symmetric half of pod affinity. All counts are per slot of `nodes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairlead.model.selectors import LabelMatcher
from fairlead.schedule.facts import Facts, LabelPairs, PodTerm

Counts = NDArray[np.int32]
Spaces = Mapping[str, Mapping[str, str]]  # the labels of each namespace
#: bound: plane | selectors of pods counted per node | counted anew
MATCHERS_MAX = 4096  # beyond it those of classes not seen lately are dropped, and made again when needed
# So are those that are many more than the groups there are: most classes that came with them are gone.
_MATCHERS_MIN, _MATCHERS_PER_GROUP = 256, 4
ANSWERS_KEPT = 1024  # of those that keep which classes of pods they mean
Pair = tuple[str, str]
GroupKey = tuple[str, LabelPairs, bool]  # namespace, labels, leaving
Place = TypeVar("Place", Pair, str)


@dataclass(frozen=True, slots=True)
class Clause:
    selector: LabelMatcher
    namespaces: frozenset[str] | None  # None: all
    namespace_selector: LabelMatcher | None = None

    def matches(self, namespace: str, labels: Mapping[str, str], spaces: Spaces) -> bool:
        if self.namespaces is not None and namespace not in self.namespaces:
            chosen = self.namespace_selector
            if chosen is None or not chosen.matches(spaces.get(namespace, {})):
                return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Meant:
    """A matcher's identity: the pods that every clause means. Pods on their way out count where Kubernetes counts
    them: for affinity they do, for spreading they do not."""

    clauses: tuple[Clause, ...]
    leaving_too: bool = True

    def matches(self, namespace: str, labels: Mapping[str, str], spaces: Spaces) -> bool:
        return all(clause.matches(namespace, labels, spaces) for clause in self.clauses)

    def pairs(self) -> Iterator[Pair]:
        """Labels that every pod it means has."""
        for clause in self.clauses:
            for key, operator, values in clause.selector.requirements:
                if operator == "in" and len(values) == 1:
                    yield key, values[0]


def clause_of(term: PodTerm) -> Clause:
    return Clause(term.selector, term.namespaces, term.namespace_selector)


@dataclass(slots=True, eq=False)
class Group:
    namespace: str
    labels: dict[str, str]
    leaving: bool
    on: dict[int, int] = field(default_factory=dict)  # slot -> pods
    matchers: list[Meant] = field(default_factory=list)  # that mean this group

    def is_meant(self, meant: Meant, spaces: Spaces) -> bool:
        return (meant.leaving_too or not self.leaving) and meant.matches(self.namespace, self.labels, spaces)


class Groups:
    """All groups, found by each of their labels and by their namespace as well: one selector among thousands means
    few of them."""

    def __init__(self) -> None:
        self._all: dict[GroupKey, Group] = {}
        self._by_label: dict[Pair, dict[GroupKey, Group]] = {}
        self._by_namespace: dict[str, dict[GroupKey, Group]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._all.values())

    def get(self, key: GroupKey) -> Group | None:
        return self._all.get(key)

    def add(self, key: GroupKey, group: Group) -> None:
        self._all[key] = group
        self._by_namespace.setdefault(key[0], {})[key] = group
        for pair in key[1]:
            self._by_label.setdefault(pair, {})[key] = group

    def remove(self, key: GroupKey) -> None:
        del self._all[key]
        _remove(self._by_namespace, key[0], key)
        for pair in key[1]:
            _remove(self._by_label, pair, key)

    def candidates(self, meant: Meant) -> Collection[Group]:
        """The fewest groups that one of its labels, or its namespaces, leave: all that it means are among them."""
        fewest: Collection[Group] = self._all.values()
        for pair in meant.pairs():
            found = self._by_label.get(pair, {})
            if len(found) < len(fewest):
                fewest = found.values()
        for clause in meant.clauses:
            if clause.namespaces is not None and clause.namespace_selector is None:
                inside = [self._by_namespace.get(name, {}) for name in clause.namespaces]
                if sum(map(len, inside)) < len(fewest):
                    fewest = [group for each in inside for group in each.values()]
        return fewest


def _remove(places: dict[Place, dict[GroupKey, Group]], place: Place, key: GroupKey) -> None:
    del places[place][key]
    if not places[place]:
        del places[place]


class Matching:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.epoch = (
            0  # moves when counts that were handed out no longer hold, other than by pods coming and going
        )
        self.spaces: dict[str, dict[str, str]] = {}  # labels of namespaces
        self._groups = Groups()
        self._counts: dict[Meant, Counts] = {}
        self._by_pair: dict[Pair, dict[Meant, None]] = {}  # each at the label that fewest others are found by
        self._by_none: dict[Meant, None] = {}
        self._holdings: dict[PodTerm, tuple[Counts, list[int]]] = {}  # counts, [pods in all]

    def counts(self, meant: Meant) -> Counts:
        """How many placed pods of those meant are on each node. Not to be changed by the caller."""
        known = self._counts.get(meant)
        if known is None:
            enough = max(_MATCHERS_MIN, _MATCHERS_PER_GROUP * len(self._groups))
            if len(self._counts) >= min(MATCHERS_MAX, enough):
                self._drop_all()
            known = self._counts[meant] = np.zeros(self.slots, np.int32)
            self._find_by(meant)
            for group in self._groups.candidates(meant):
                if group.is_meant(meant, self.spaces):
                    group.matchers.append(meant)
                    for slot, number in group.on.items():
                        known[slot] += number
        return known

    def holdings(self) -> Iterator[tuple[PodTerm, Counts]]:
        """Every affinity term that a placed pod carries, with how many carry it on each node."""
        for term, (counts, total) in self._holdings.items():
            if total[0]:
                yield term, counts

    # Changes, by the snapshot only

    def charge(self, slot: int, facts: Facts, leaving: bool, sign: int) -> None:
        key = (facts.namespace, facts.label_key, leaving)
        group = self._groups.get(key) or self._new_group(key, facts)
        left = group.on.get(slot, 0) + sign
        if left:
            group.on[slot] = left
        else:
            del group.on[slot]
        for meant in group.matchers:
            self._counts[meant][slot] += sign
        for term in (*facts.affinity, *facts.anti_affinity, *facts.preferred_pods):
            self._hold(term, slot, sign)
        if not group.on:
            self._groups.remove(key)

    def grow(self, slots: int) -> None:
        extra = np.zeros(slots - self.slots, np.int32)
        self.slots = slots
        for meant, counts in self._counts.items():
            self._counts[meant] = np.concatenate([counts, extra])
        for term, (counts, total) in self._holdings.items():
            self._holdings[term] = (np.concatenate([counts, extra]), total)

    def put_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """A namespace's labels changed (None: it is gone): what selects by them is counted anew."""
        if self.spaces.get(name) == labels:
            return
        if labels is None:
            self.spaces.pop(name, None)
        else:
            self.spaces[name] = labels
        self.epoch += 1
        by_space = [m for m in self._counts if any(c.namespace_selector is not None for c in m.clauses)]
        for meant in by_space:
            del self._counts[meant]
            self._by_none.pop(meant, None)
            for pair in meant.pairs():
                if meant in self._by_pair.get(pair, ()):
                    del self._by_pair[pair][meant]
                    if not self._by_pair[pair]:
                        del self._by_pair[pair]
            for group in self._groups.candidates(meant):
                if meant in group.matchers:
                    group.matchers.remove(meant)

    def _new_group(self, key: GroupKey, facts: Facts) -> Group:
        group = Group(facts.namespace, facts.labels, key[2])
        self._groups.add(key, group)
        places = (self._by_none, *(self._by_pair.get(pair, {}) for pair in facts.label_key))
        found = (meant for place in places for meant in place)
        group.matchers = [meant for meant in found if group.is_meant(meant, self.spaces)]
        return group

    def _find_by(self, meant: Meant) -> None:
        """Groups look for it at one of the labels that all it means have; at each if there is none."""
        rarest = min(meant.pairs(), key=lambda pair: len(self._by_pair.get(pair, ())), default=None)
        place = self._by_none if rarest is None else self._by_pair.setdefault(rarest, {})
        place[meant] = None

    def _hold(self, term: PodTerm, slot: int, sign: int) -> None:
        known = self._holdings.get(term)
        if known is None:
            known = self._holdings[term] = (np.zeros(self.slots, np.int32), [0])
        known[0][slot] += sign
        known[1][0] += sign
        if not known[1][0]:
            del self._holdings[term]

    def _drop_all(self) -> None:
        self.epoch += 1
        for known in (self._counts, self._by_pair, self._by_none):
            known.clear()
        for group in self._groups:
            group.matchers.clear()
