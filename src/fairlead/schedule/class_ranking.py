"""What is known of one class of pods: where it may go, what each place is worth, and how that changes with pods.

Asked of plugins once, then kept up to date by `touched`, so that the hundredth pod of a class costs little more than
finding the largest of its scores. Kept as long as nothing but pods changes. Made and kept by `cycle.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import BEST_SHOWN, Plugin, Prepared, Scored, Stage
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot

_CLOSED = -1


class ClassState:
    """`keys` orders nodes: the total of scores first, then names; -1 where such a pod may not go."""

    def __init__(self, snapshot: Snapshot, policy: Policy, facts: Facts) -> None:
        self.epoch = snapshot.epoch
        self.facts = facts
        self._policy = policy
        self._nodes = snapshot.nodes
        self._slots = snapshot.nodes.slots
        self._step = self._slots + 1
        self._by_name: Ints = self._slots - snapshot.nodes.rank  # never 0, and less than slots + 1
        self.prepared: list[tuple[Plugin, Prepared]] = []
        for plugin in policy.plugins:
            prepared = plugin.prepare(snapshot, facts)
            if prepared is not None:
                self.prepared.append((plugin, prepared))
        self._touches = [prepared.touched for _, prepared in self.prepared]
        self.seen = snapshot.changes.end
        self._still = self._scored_alone()
        self._filter()

    # Everything

    def _filter(self) -> None:
        """All filters over all nodes; the waterfall is what each leaves."""
        left = self._nodes.present.copy()
        self._filters: list[tuple[Plugin, Mask]] = []
        self._left: list[int] = []
        for plugin, prepared in self.prepared:
            mask = prepared.mask()
            if mask is not None:
                left &= mask
                self._filters.append((plugin, mask))
                self._left.append(int(np.count_nonzero(left)))
        self._stages: tuple[Stage, ...] | None = None
        self.open: Mask = left
        self._score()

    def _scored_alone(self) -> Ints:
        """Keys by those scores that do not depend on which nodes are open."""
        self._alone: list[tuple[Plugin, int, Ints]] = []
        total = np.zeros(self._slots, np.int64)
        for plugin, prepared in self.prepared:
            weight = self._policy.weight(plugin)
            scores = prepared.scores(self._nodes.present) if weight and not prepared.relative else None
            if scores is not None:
                self._alone.append((plugin, weight, scores))
                total += weight * scores
        return total * self._step + self._by_name

    def _score(self) -> None:
        self._related: list[tuple[Plugin, int, Ints]] = []
        keys = self._still
        self._relative = False
        for plugin, prepared in self.prepared:
            weight = self._policy.weight(plugin)
            if weight and prepared.relative:
                self._relative = True
                scores = prepared.scores(self.open)
                if scores is not None:
                    self._related.append((plugin, weight, scores))
                    keys = keys + self._step * weight * scores
        self.keys: Ints = np.where(self.open, keys, _CLOSED)
        self._named = [(plugin.name, scores) for plugin, _, scores in self.parts]

    # Changes

    def catch_up(self, changes: Sequence[OccupancyChange], end: int) -> None:
        """Mostly a change concerns one place, and only that is looked at."""
        self.seen = end
        elsewhere = moved = False
        step, alone, all_pass = self._step, self._alone, len(self._filters)
        for change in changes:
            slot = change.slot
            before = all_pass if self.open.item(slot) else self._passes(slot)
            for touched in self._touches:
                if touched(change):
                    elsewhere = True
            total = 0
            for _, weight, scores in alone:
                total += weight * scores.item(slot)
            self._still[slot] = total * step + self._by_name.item(slot)
            if not elsewhere:
                moved |= self._look_at(slot, before)
        if elsewhere:
            self._filter()
        elif moved and self._relative:
            self._score()

    def _look_at(self, slot: int, before: int) -> bool:
        """Bring one place up to date; whether it was closed or opened by that."""
        after, all_pass = self._passes(slot), len(self._filters)
        if after == all_pass:
            key: int = self._still.item(slot)
            for _, weight, scores in self._related:
                key += self._step * weight * scores.item(slot)
            self.keys[slot] = key
        if after == before:
            return False
        one = 1 if after > before else -1
        for stage in range(min(before, after), max(before, after)):
            self._left[stage] += one
        self._stages = None
        self.open[slot] = after == all_pass
        if after != all_pass:
            self.keys[slot] = _CLOSED
        return all_pass in (before, after)

    def _passes(self, slot: int) -> int:
        """How many filters, from the first on, let a slot through."""
        for number, (_, mask) in enumerate(self._filters):
            if not mask.item(slot):
                return number
        return len(self._filters)

    # Answers

    @property
    def waterfall(self) -> tuple[Stage, ...]:
        if self._stages is None:  # the same for pod after pod, until a node closes or opens
            counted = zip(self._filters, self._left, strict=True)
            self._stages = tuple([Stage(plugin.name, left) for (plugin, _), left in counted])
        return self._stages

    @property
    def parts(self) -> list[tuple[Plugin, int, Ints]]:
        return [*self._alone, *self._related]

    @property
    def total(self) -> Ints:
        """The weighted sum of scores; negative where such a pod may not go."""
        totals: Ints = self.keys // self._step
        return totals

    def best(self) -> int:
        """The slot with the highest total; among equals the first by name; -1 if there is none."""
        slot = int(self.keys.argmax())
        return slot if self.keys.item(slot) >= 0 else -1

    def ranking(self, chosen: int) -> tuple[Scored, ...]:
        """The best few, the chosen first."""
        keys, order, found = self.keys, [chosen], [self.keys.item(chosen)]
        while len(order) < BEST_SHOWN:
            keys[order[-1]] = _CLOSED
            slot = int(keys.argmax())
            if keys.item(slot) < 0:
                break
            order.append(slot)
            found.append(keys.item(slot))
        for slot, key in zip(order, found, strict=True):
            keys[slot] = key
        step, named = self._step, self._named
        return tuple(
            [
                Scored(name, key // step, {plugin: scores.item(slot) for plugin, scores in named})
                for name, slot, key in zip(self._nodes.names(order), order, found, strict=True)
            ]
        )
