"""Nodes as columns: one numpy array per quantity, one slot per node, kept up to date change by change.

A slot stays with its node until the node goes; free slots are used again and hold nothing. Slots have no meaning and no
order: whoever must choose among equals asks `rank`, the place of each node in the order of names. Part of the snapshot,
which is its only writer; plugins read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.marks import NOT_READY
from fairlead.model.views import Json, Node
from fairlead.schedule.facts import Facts, amount

T = TypeVar("T")

#: bound: plane | answers kept that nodes alone decide | computed anew
DERIVED_MAX = 4096  # columns kept for classes of pods; past it they are made again when needed
_DERIVED_MIN, _DERIVED_SLOTS = 64, 2_000_000  # fewer where nodes are many: over all of them so many slots
_TOPOLOGIES_KEPT = 256  # keys of labels are the client's to invent

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

# A column for who reads or writes one slot: the same memory, without a number of numpy's own kind for each value.
Cells = memoryview

_FIRST_SLOTS = 64


@dataclass(frozen=True, slots=True)
class Topology:
    """The values of one label over all nodes. `ids` is -1 where the label is missing or the slot is free."""

    ids: NDArray[np.int32]
    values: tuple[str, ...]  # by id
    sizes: Ints  # nodes that have the value, by id


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


_REPELS = Taint(NOT_READY, "", "NoSchedule")


@dataclass(slots=True)
class NodeFacts:
    """What does not fit into a number."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


class Nodes:
    def __init__(self) -> None:
        self.version = 0  # moves when nodes change in anything but what pods use of them
        self.slot: dict[str, int] = {}
        self.facts: list[NodeFacts | None] = [None] * _FIRST_SLOTS
        self.present: Mask = np.zeros(_FIRST_SLOTS, np.bool_)
        self.unschedulable: Mask = np.zeros(_FIRST_SLOTS, np.bool_)
        self.allocatable: dict[str, Ints] = {}
        self.used: dict[str, Ints] = {}
        self.scored_cpu: Ints = np.zeros(_FIRST_SLOTS, np.int64)  # used, with the defaults of `facts.py`
        self.scored_memory: Ints = np.zeros(_FIRST_SLOTS, np.int64)
        self._free: list[int] = list(range(_FIRST_SLOTS - 1, -1, -1))
        self._topologies: BoundedDict[str, Topology] = BoundedDict(_TOPOLOGIES_KEPT)
        self._derived: dict[Hashable, Any] = {}
        self._rank: Ints | None = None
        self._cells: dict[str, tuple[Cells, Cells]] = {}
        self.scored_cells: tuple[Cells, Cells] = self.scored_cpu.data, self.scored_memory.data
        for resource in ("cpu", "memory", "pods"):
            self.column(resource)

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def slots(self) -> int:
        """How long every column is."""
        return len(self.facts)

    @property
    def rank(self) -> Ints:
        """The place of each slot's node in the order of names; past the end for free slots."""
        if self._rank is None:
            self._rank = np.full(self.slots, self.slots, np.int64)
            for place, name in enumerate(sorted(self.slot)):
                self._rank[self.slot[name]] = place
        return self._rank

    def names(self, slots: Iterable[int]) -> list[str]:
        return [facts.name for facts in (self.facts[each] for each in slots) if facts is not None]

    def name_at(self, slot: int) -> str:
        """Of the node that has this slot."""
        facts = self.facts[slot]
        assert facts is not None, "the slot is free"
        return facts.name

    def column(self, resource: str) -> tuple[Ints, Ints]:
        """(allocatable, used) of a resource, made when it is first heard of."""
        if resource not in self.allocatable:
            self.allocatable[resource] = np.zeros(self.slots, np.int64)
            self.used[resource] = np.zeros(self.slots, np.int64)
            self._cells[resource] = self.allocatable[resource].data, self.used[resource].data
        return self.allocatable[resource], self.used[resource]

    def cells(self, resource: str) -> tuple[Cells, Cells]:
        """`column`, slot by slot."""
        self.column(resource)
        return self._cells[resource]

    def topology(self, key: str) -> Topology:
        """The nodes' domains by a label, computed when first asked for after nodes changed."""
        known = self._topologies.get(key)
        if known is None:
            ids = np.full(self.slots, -1, np.int32)
            values: dict[str, int] = {}
            for slot in self.slot.values():
                facts = self.facts[slot]
                if facts is not None and key in facts.labels:
                    ids[slot] = values.setdefault(facts.labels[key], len(values))
            sizes = np.bincount(ids[ids >= 0], minlength=len(values))
            known = self._topologies.keep(key, Topology(ids, tuple(values), sizes))
        return known

    def derived(self, what: Hashable, make: Callable[[], T]) -> T:
        """Something computed from nodes alone, kept until nodes change."""
        if what not in self._derived:
            if len(self._derived) >= min(DERIVED_MAX, max(_DERIVED_MIN, _DERIVED_SLOTS // self.slots)):
                self._derived.clear()
            self._derived[what] = make()
        kept: T = self._derived[what]
        return kept

    def taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        """Nodes with the same taints have the same number; free slots have that of nodes without taints."""
        return self.derived("taint sets", self._taint_sets)

    def _taint_sets(self) -> tuple[NDArray[np.int32], tuple[tuple[Taint, ...], ...]]:
        ids = np.zeros(self.slots, np.int32)
        sets: dict[tuple[Taint, ...], int] = {(): 0}
        for slot in self.slot.values():
            facts = self.facts[slot]
            if facts is not None and facts.taints:
                ids[slot] = sets.setdefault(facts.taints, len(sets))
        return ids, tuple(sets)

    # Changes, by the snapshot only

    def put(self, node: Node) -> int:
        """Take a node in, or its change. Returns its slot."""
        name = node.metadata.name
        slot = self.slot.get(name)
        if slot is None:
            slot = self._take_slot(name)
        facts = NodeFacts(name, node.metadata.labels, _taints(node))
        blocked = node.spec.unschedulable
        room = {resource: amount(resource, value) for resource, value in node.status.allocatable.items()}
        if self.facts[slot] != facts or bool(self.unschedulable[slot]) != blocked or not self.present[slot]:
            self._moved()
        self.facts[slot] = facts
        self.unschedulable[slot] = blocked
        self.present[slot] = True
        for resource in (*self.allocatable, *(each for each in room if each not in self.allocatable)):
            column = self.column(resource)[0]
            if column[slot] != room.get(resource, 0):
                column[slot] = room.get(resource, 0)
                self._moved()
        return slot

    def remove(self, name: str) -> None:
        """The pods that were there must have been taken off before."""
        slot = self.slot.pop(name)
        self.facts[slot] = None
        self.present[slot] = self.unschedulable[slot] = False
        for column in self.allocatable.values():
            column[slot] = 0
        self._free.append(slot)
        self._moved()

    def charge(self, slot: int, facts: Facts, sign: int) -> None:
        """A pod came (1) or went (-1)."""
        cells = self._cells
        for resource, value in facts.requests.items():
            if resource not in cells:
                self.column(resource)
            cells[resource][1][slot] += sign * value
        cpu, memory = self.scored_cells
        cpu[slot] += sign * facts.scored_cpu
        memory[slot] += sign * facts.scored_memory

    def _moved(self) -> None:
        self.version += 1
        self._topologies.clear()
        self._derived.clear()
        self._rank = None

    def _take_slot(self, name: str) -> int:
        if not self._free:
            self._grow()
        slot = self.slot[name] = self._free.pop()
        return slot

    def _grow(self) -> None:
        before = self.slots
        more = max(_FIRST_SLOTS, before // 4)  # every column is read in full: long empty ends cost time
        self._free = list(range(before + more - 1, before - 1, -1))
        self.facts += [None] * more
        self.present, self.unschedulable = _longer(self.present, more), _longer(self.unschedulable, more)
        self.scored_cpu, self.scored_memory = (
            _longer(self.scored_cpu, more),
            _longer(self.scored_memory, more),
        )
        for columns in (self.allocatable, self.used):
            for resource, column in columns.items():
                columns[resource] = _longer(column, more)
        self.scored_cells = self.scored_cpu.data, self.scored_memory.data
        self._cells = {each: (self.allocatable[each].data, self.used[each].data) for each in self.used}
        self._moved()


def _taints(node: Node) -> tuple[Taint, ...]:
    """A node that does not say that it is ready, or is being deleted, repels pods like one that is tainted for it."""
    taints = tuple(map(_taint, node.spec.taints))
    return taints if node.ready and not node.metadata.deletion_timestamp else (*taints, _REPELS)


def _taint(taint: Json) -> Taint:
    return Taint(taint.get("key", ""), taint.get("value") or "", taint.get("effect", ""))


def _longer(column: Any, more: int) -> Any:
    return np.concatenate([column, np.zeros(more, column.dtype)])
