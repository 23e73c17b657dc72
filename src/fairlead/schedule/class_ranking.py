"""What is known of one class of pods: where it may go, what each place is worth, and how that changes with pods.

Asked of plugins once, then kept up to date by `touched`, so that the hundredth pod of a class costs little more than
finding the largest of its scores. Kept as long as nothing but pods changes. Made and kept by `cycle.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import BEST_SHOWN, Plugin, Prepared, Scored, Stage
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot

_CLOSED = -1


class _Leader(msgspec.Struct, frozen=True, gc=False):
    slot: int
    key: int
    scored: Scored


class ClassState:
    """`keys` orders nodes: the total of scores first, then names; -1 where such a pod may not go.

    What is read or written one slot at a time goes through the column's `data`, which is the same memory: numpy would
    make a number of its own kind of each value.
    """

    def __init__(self, snapshot: Snapshot, policy: Policy, facts: Facts) -> None:
        self.epoch = snapshot.epoch
        self.facts = facts
        self._policy = policy
        self._nodes = snapshot.nodes
        self._slots = snapshot.nodes.slots
        self._step = self._slots + 1
        self.behind_max = 16 + self._slots // 128  # changes that are quicker to catch up on than to ask anew
        # Never 0, and less than slots + 1.
        self._by_name: Ints = self._nodes.derived("by name", lambda: self._slots - self._nodes.rank)
        self._name_at = self._by_name.data
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
        self._masks = [mask.data for _, mask in self._filters]
        self._stages: tuple[Stage, ...] | None = None
        self.open: Mask = left
        self._open_at = left.data
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
        self._alone_at = [(plugin.name, weight, scores.data) for plugin, weight, scores in self._alone]
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
        self._key_at = self.keys.data
        self._named = [(name, scores) for name, _, scores in self._alone_at]
        self._named += [(plugin.name, scores.data) for plugin, _, scores in self._related]
        self._leading: list[_Leader] = []  # the best first; no other place has a key as high as any of them

    # Changes

    def catch_up(self, changes: Sequence[OccupancyChange], end: int) -> None:
        """Mostly a change concerns one place, and only that is looked at."""
        self.seen = end
        elsewhere = moved = False
        step, alone, all_pass = self._step, self._alone_at, len(self._masks)
        for change in changes:
            slot = change.slot
            before = all_pass if self._open_at[slot] else self._passes(slot)
            for touched in self._touches:
                if touched(change):
                    elsewhere = True
            total = 0
            for _, weight, scores in alone:
                total += weight * scores[slot]
            key = total * step + self._name_at[slot]
            self._still[slot] = key
            if not elsewhere:
                moved |= self._look_at(slot, before, key)
        if elsewhere:
            self._filter()
        elif moved and self._relative:
            self._score()

    def _look_at(self, slot: int, before: int, key: int) -> bool:
        """Bring one place up to date whose key, but for related scores, is this now; whether it was closed or opened by
        that."""
        after, all_pass = self._passes(slot), len(self._masks)
        if after != all_pass:
            key = _CLOSED
        else:
            for _, weight, scores in self._related:
                key += self._step * weight * scores.item(slot)
        self._key_at[slot] = key
        self._place_among_leading(slot, key)
        if after == before:
            return False
        one = 1 if after > before else -1
        for stage in range(min(before, after), max(before, after)):
            self._left[stage] += one
        self._stages = None
        self._open_at[slot] = after == all_pass
        return all_pass in (before, after)

    def _place_among_leading(self, slot: int, key: int) -> None:
        """One key is another than before."""
        leading = self._leading
        for place, each in enumerate(leading):
            if each.slot == slot:
                del leading[place]
                break
        if leading and key > leading[-1].key:
            place = 0
            while leading[place].key > key:
                place += 1
            leading.insert(place, self._leader(slot, key))

    def _passes(self, slot: int) -> int:
        """How many filters, from the first on, let a slot through."""
        masks = self._masks
        for number, mask in enumerate(masks):
            if not mask[slot]:
                return number
        return len(masks)

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
        leading = self._leaders()
        return leading[0].slot if leading else -1

    def ranking(self, chosen: int) -> tuple[Scored, ...]:
        """The best few, the chosen first."""
        leading = self._leaders()
        if leading[0].slot == chosen:
            return tuple([each.scored for each in leading])
        others = [each.scored for each in leading if each.slot != chosen]
        return (self._leader(chosen, self._key_at[chosen]).scored, *others[: BEST_SHOWN - 1])

    def _leaders(self) -> list[_Leader]:
        """The best few. Mostly they are those of the pod before but for the one that it took, and only who follows them
        is looked for."""
        leading = self._leading
        del leading[BEST_SHOWN:]
        if len(leading) == BEST_SHOWN:
            return leading
        keys, key_at = self.keys, self._key_at
        for each in leading:
            key_at[each.slot] = _CLOSED
        while len(leading) < BEST_SHOWN:
            slot = int(keys.argmax())
            key = key_at[slot]
            if key < 0:
                break
            leading.append(self._leader(slot, key))
            key_at[slot] = _CLOSED
        for each in leading:
            key_at[each.slot] = each.key
        return leading

    def _leader(self, slot: int, key: int) -> _Leader:
        parts = {plugin: scores[slot] for plugin, scores in self._named}
        return _Leader(slot, key, Scored(self._nodes.name_at(slot), key // self._step, parts))
