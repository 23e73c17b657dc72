"""SchedulerOverrides as the scheduler sees them: those that keep pods off nodes, and have not ended.

Part of the snapshot, which is its only writer. Time arrives with `expire`, which the scheduler calls before it places
anything; `version` moves whenever an answer may have changed. Without any, nothing here costs anything.
"""

from __future__ import annotations

import numpy as np

from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, SchedulerOverride
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Mask, Nodes


class Overrides:
    def __init__(self) -> None:
        self.version = 0
        self._found: dict[Key, SchedulerOverride] = {}
        self.next_end = 0.0  # when the first of them ends; 0: there is none

    def __bool__(self) -> bool:
        return bool(self._found)

    def observe(self, before: SchedulerOverride | None, after: SchedulerOverride | None) -> None:
        found = after or before
        assert found is not None
        key = Key(OVERRIDES.name, found.metadata.namespace, found.metadata.name)
        known = self._found.get(key)
        kept = after if after is not None and _holds(after) else None
        if known is not None and kept is not None and known.metadata.uid == kept.metadata.uid:
            return  # what an override says never changes
        if known is None and kept is None:
            return
        self.version += 1
        self._found.pop(key, None)
        if kept is not None:
            self._found[key] = kept
        self._find_next_end()

    def expire(self, now: float) -> bool:
        """Whether any has ended by now. What has ended is forgotten."""
        if not self.next_end or now < self.next_end:
            return False
        self._found = {key: each for key, each in self._found.items() if ledger.is_active(each, now)}
        self.version += 1
        self._find_next_end()
        return True

    def _find_next_end(self) -> None:
        self.next_end = min(map(ledger.end_of, self._found.values()), default=0.0)

    def kept(self) -> tuple[SchedulerOverride, ...]:
        return tuple(self._found[key] for key in sorted(self._found))

    def closing(self, facts: Facts, *, cordons: bool) -> list[SchedulerOverride]:
        """Those that may keep such a pod off some node, in the order of names. `cordons`: also those of places."""
        found = []
        for each in self.kept():
            changes = each.spec.changes
            if (cordons and (changes.cordon or changes.drain)) or (
                ledger.avoids(changes) and ledger.covers(each, facts.namespace, facts.workload)
            ):
                found.append(each)
        return found

    def closed(self, nodes: Nodes, override: SchedulerOverride) -> Mask:
        """Where it does; kept until nodes change."""
        return nodes.derived(("override", override.metadata.uid), lambda: _closed(nodes, override))


def _holds(override: SchedulerOverride) -> bool:
    """Apart from its end."""
    waits = bool(override.spec.approval) and not ledger.is_approved(override)
    return ledger.bears_on_placement(override) and not waits


def _closed(nodes: Nodes, override: SchedulerOverride) -> Mask:
    mask = np.zeros(nodes.slots, np.bool_)
    for slot, facts in enumerate(nodes.facts):
        if facts is not None:
            mask[slot] = ledger.closes(override, facts.name, facts.labels)
    return mask
