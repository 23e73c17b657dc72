"""SchedulerOverrides as the scheduler sees them: those that bear on where pods go or who goes first, and hold.

Part of the snapshot, which is its only writer. Time arrives with `expire`, which the scheduler calls before it places
anything; `version` moves whenever an answer may have changed. Without any, nothing here costs anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fairlead.ledger import override as ledger
from fairlead.ledger.priority import bears_on_priority
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import split
from fairlead.model.marks import POOL, ZONE
from fairlead.model.selectors import Requirement, from_object
from fairlead.model.views import OVERRIDES, SchedulerOverride
from fairlead.schedule.facts import Facts
from fairlead.schedule.labels import where_label
from fairlead.schedule.nodes import Mask, Nodes

if TYPE_CHECKING:
    from fairlead.schedule.contract import Prepared

#: bound: plane | classes of pods of which the scheduler keeps what overrides say | found anew
CLASSES_MAX = 4096


class Overrides:
    def __init__(self) -> None:
        self.version = 0
        self._found: dict[Key, SchedulerOverride] = {}
        self.next_end = 0.0  # when the first of them ends; 0: there is none
        self._concerning: dict[Facts, Closing] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def observe(self, before: SchedulerOverride | None, after: SchedulerOverride | None) -> None:
        found = after or before
        assert found is not None
        key = Key(OVERRIDES.name, found.metadata.namespace, found.metadata.name)
        known = self._found.get(key)
        kept = after if after is not None and _holds(after) else None
        if known is not None and kept is not None and _say_the_same(known, kept):
            return
        if known is None and kept is None:
            return
        self._found.pop(key, None)
        if kept is not None:
            self._found[key] = kept
        self._changed()

    def expire(self, now: float) -> bool:
        """Whether any has ended by now. What has ended is forgotten."""
        if not self.next_end or now < self.next_end:
            return False
        self._found = {key: each for key, each in self._found.items() if ledger.is_active(each, now)}
        self._changed()
        return True

    def _changed(self) -> None:
        self.version += 1
        self._concerning.clear()
        self.next_end = min(map(ledger.end_of, self._found.values()), default=0.0)

    def kept(self) -> tuple[SchedulerOverride, ...]:
        return tuple(self._found[key] for key in sorted(self._found))

    def closing(self, nodes: Nodes, facts: Facts, heeds_cordons: Callable[[Facts], bool]) -> Closing | None:
        """What keeps such a pod off some node; None: nothing does. `heeds_cordons`: whether what is said of places
        concerns it, too. Kept until an override or a node changes: it is asked for each class again and again."""
        known = self._concerning.get(facts)
        if known is not None and known.version == nodes.version:
            return known if known.overrides else None
        if len(self._concerning) >= CLASSES_MAX:
            self._concerning.clear()
        found = Closing(nodes, self._those(facts, heeds_cordons(facts)))
        self._concerning[facts] = found
        return found if found.overrides else None

    def _those(self, facts: Facts, cordons: bool) -> list[SchedulerOverride]:
        """In the order of names."""
        found = []
        for each in self.kept():
            changes = each.spec.changes
            if (cordons and (changes.cordon or changes.drain)) or (
                ledger.avoids(changes) and ledger.covers(each, facts.namespace, facts.workload)
            ):
                found.append(each)
        return found


class Closing:
    """The overrides that concern a class of pods, and where they leave it. `prepared`: what the plugin makes of it."""

    __slots__ = ("closed", "open", "overrides", "prepared", "version")

    def __init__(self, nodes: Nodes, overrides: list[SchedulerOverride]) -> None:
        self.version = nodes.version
        self.overrides = overrides
        self.prepared: Prepared | None = None
        self.closed = [_closed_of(nodes, each) for each in overrides]
        self.open: Mask = np.ones(nodes.slots, np.bool_)
        for where in self.closed:
            self.open &= ~where


def _closed_of(nodes: Nodes, override: SchedulerOverride) -> Mask:
    """Where it keeps pods off; kept until nodes change."""
    return nodes.derived(("override", override.metadata.uid), lambda: _closed(nodes, override))


def _say_the_same(one: SchedulerOverride, other: SchedulerOverride) -> bool:
    """What an override says never changes, but for whom it raises."""
    return one.metadata.uid == other.metadata.uid and one.status.raised == other.status.raised


def _holds(override: SchedulerOverride) -> bool:
    """Apart from its end."""
    waits = bool(override.spec.approval) and not ledger.is_approved(override)
    return (ledger.bears_on_placement(override) or bears_on_priority(override)) and not waits


def _closed(nodes: Nodes, override: SchedulerOverride) -> Mask:
    """What `ledger.closes` says of each node, for all of them at once."""
    spec, changes = override.spec, override.spec.changes
    if changes.cordon or changes.drain:
        mask = _at(nodes, spec.target)
    else:
        mask = np.zeros(nodes.slots, np.bool_)
        for key, values in ((ZONE, changes.avoid_zones), (POOL, changes.avoid_pools)):
            if values:
                mask |= where_label(nodes, Requirement(key, "in", values))
        if changes.avoid_nodes:
            chosen = nodes.present.copy()
            for requirement in from_object(changes.avoid_nodes).requirements:
                chosen &= where_label(nodes, requirement)
            mask |= chosen
    if spec.scope:
        mask &= _at(nodes, spec.scope)
    return mask & nodes.present


def _at(nodes: Nodes, place: str) -> Mask:
    sort, name = split(place)
    if sort != "node":
        return where_label(nodes, Requirement(ledger.PLACE_LABELS[sort], "in", (name,))).copy()
    mask = np.zeros(nodes.slots, np.bool_)
    if name in nodes.slot:
        mask[nodes.slot[name]] = True
    return mask
