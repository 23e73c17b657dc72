"""Which pods a pod that fits nowhere may push out: as few and as unimportant as possible, and budgets broken last.

On a node that only refuses for what eviction can change, all pods of lower priority are thought away; if the pod then
passes, they are put back one by one, those that would break a budget first, the most important first among them;
whoever can stay stays, the rest are the victims. The node whose victims matter least is taken. Plugins answer
`without(slot, removed)` from what they keep: nothing is copied. Nodes are tried in the order of names until enough are
found, as in Kubernetes. What was found on a node is kept for the next pod of the class until something changes there.
Called by `cycle.py` alone; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from fairlead.core.bounded_dict import BoundedDict
from fairlead.schedule.budgets import EvictionBudget, find_breaking
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.contract import Plugin, Victim, Yielding
from fairlead.schedule.facts import Facts
from fairlead.schedule.lower import LowerOf
from fairlead.schedule.messages import LEAVING, NEVER, NO_VICTIMS, NOT_HELPFUL, explain_preemption
from fairlead.schedule.nodes import Mask
from fairlead.schedule.snapshot import Placed, Snapshot

CANDIDATES_MIN, CANDIDATES_SHARE = 100, 10  # at least so many nodes, or one in so many
#: bound: plane | classes whose victims are kept | tried anew
REMEMBERED_MAX = 16  # classes of pods of which it is remembered what came of trying

Cost = tuple[int, int, int, int, "_Later", str]


class _Later(str):
    """Points in time, as text: the later the less."""

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


class Trial(NamedTuple):
    """What came of trying one node: who would have to go, and how dear that is; or why it is in vain."""

    node: str
    moves: int  # comings and goings on the node until then
    victims: tuple[Victim, ...]
    cost: Cost | None
    reasons: dict[str, int]


class _Remembered(NamedTuple):
    budgets: Sequence[EvictionBudget]
    epoch: tuple[int, int]
    trials: dict[int, Trial]


class Chosen(NamedTuple):
    node: str = ""
    victims: tuple[Victim, ...] = ()
    considered: int = 0
    message: str = ""  # if there is no node: why


class Preemption:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lower = LowerOf(snapshot)
        self._remembered: BoundedDict[Facts, _Remembered] = BoundedDict(
            REMEMBERED_MAX
        )  # those used last are last

    def choose(self, state: ClassState, claimed: str, budgets: Sequence[EvictionBudget]) -> Chosen:
        """Where a pod should go that may go nowhere now; `claimed` is where it was nominated before."""
        nodes, priority = self._snapshot.nodes, state.facts.priority
        if not state.facts.preempts:
            return Chosen(message=NEVER)
        beside = self._snapshot.on.get(claimed, {}).values()
        if any(each.leaving and each.facts.priority < priority for each in beside):
            return Chosen(
                claimed, message=LEAVING
            )  # those whom it pushed out are on their way: it waits for them
        if not len(nodes):
            return Chosen()
        slots, reasons = self._worth_trying(state)
        enough = max(CANDIDATES_MIN, len(nodes) // CANDIDATES_SHARE)
        found = tried = 0
        best: Trial | None = None
        remembered, moves = self._recall(state, budgets), self._snapshot.moves
        for slot in slots:
            tried += 1
            trial = remembered.get(slot)
            if trial is None or trial.moves != moves.get(trial.node, 0):
                trial = remembered[slot] = self._try_out(state, slot, budgets)
            if trial.cost is not None:
                found += 1
                if best is None or best.cost is None or trial.cost < best.cost:
                    best = trial
                if found >= enough:
                    break
            for reason, number in trial.reasons.items():
                _note(reasons, reason, number)
        if best is None:
            return Chosen(considered=tried, message=explain_preemption(len(nodes), reasons))
        return Chosen(best.node, best.victims, tried)

    def _worth_trying(self, state: ClassState) -> tuple[list[int], dict[str, int]]:
        """Slots in the order of names, of all nodes at once what can be said so, and why not the others."""
        nodes = self._snapshot.nodes
        lower = self._lower.than(state.facts.priority)
        maybe: Mask = nodes.present.copy()
        for plugin, prepared in state.prepared:
            mask = cast(Yielding, prepared).resolvable() if plugin.evicting_helps else prepared.mask()
            if mask is not None:
                maybe &= mask
        reasons: dict[str, int] = {}
        _note(reasons, NOT_HELPFUL, len(nodes) - int(np.count_nonzero(maybe)))
        before = int(np.count_nonzero(maybe))
        maybe &= lower.pods > 0
        _note(reasons, NO_VICTIMS, before - int(np.count_nonzero(maybe)))
        for _, yielding in _yielding(state):
            mask = yielding.hopeful(lower)
            if mask is not None:
                hopeless = np.flatnonzero(maybe & ~mask)
                maybe &= mask
                if len(hopeless):
                    for reason, number in yielding.reasons_without(hopeless, lower).items():
                        _note(reasons, reason, number)
        slots = np.flatnonzero(maybe)
        ordered: list[int] = slots[nodes.rank[slots].argsort()].tolist()
        return ordered, reasons

    # One node

    def _recall(self, state: ClassState, budgets: Sequence[EvictionBudget]) -> dict[int, Trial]:
        """What is known of earlier trials. Where plugins look beyond the node that is nothing."""
        if not all(each.local for _, each in _yielding(state)):
            return {}
        known = self._remembered.pop(state.facts, None)
        if known is None or known.budgets is not budgets or known.epoch != state.epoch:
            known = _Remembered(budgets, state.epoch, {})
        return self._remembered.keep(state.facts, known).trials

    def _try_out(self, state: ClassState, slot: int, budgets: Sequence[EvictionBudget]) -> Trial:
        (node,) = self._snapshot.nodes.names((slot,))
        moves = self._snapshot.moves.get(node, 0)
        lower = self._lower.on(node, state.facts.priority)
        yielding = list(_yielding(state))
        for _, each in yielding:
            if not each.without(slot, lower):
                return Trial(node, moves, (), None, each.reasons(np.array([slot])))

        def passes(gone: Sequence[Placed]) -> bool:
            return all(each.without(slot, gone) for _, each in yielding)

        broken = find_breaking(lower, budgets) if budgets else set()
        gone = list(lower)
        victims = []
        for placed in sorted(lower, key=lambda each: each.uid not in broken):
            back = [each for each in gone if each is not placed]
            if passes(back):
                gone = back
            else:
                victims.append(placed)
        return Trial(node, moves, *_told(lower, victims, broken, node), {})


def _told(
    lower: Sequence[Placed], victims: Sequence[Placed], broken: set[str], node: str
) -> tuple[tuple[Victim, ...], Cost]:
    """Fewest broken budgets; lowest priority of the most important victim; lowest sum of priorities; fewest victims;
    the latest start of the longest running of the most important; the first by name."""
    chosen = {each.key for each in victims}
    ordered = [each for each in lower if each.key in chosen]
    told = tuple(
        Victim(
            key=each.key,
            uid=each.uid,
            priority=each.facts.priority,
            breaks_budget=each.uid in broken,
            leaving=each.leaving,
            nominated=each.nominated,
        )
        for each in ordered
    )
    priorities = [each.priority for each in told]
    highest = max(priorities)
    earliest = min(each.started for each in ordered if each.facts.priority == highest)
    # Moved up so that none is negative: many of those would be better than few otherwise.
    total = sum(priorities) + len(priorities) * 2**31
    cost = sum(each.breaks_budget for each in told), highest, total, len(told), _Later(earliest), node
    return told, cost


def _yielding(state: ClassState) -> Iterator[tuple[Plugin, Yielding]]:
    for plugin, prepared in state.prepared:
        if plugin.evicting_helps:
            yield plugin, cast(Yielding, prepared)


def _note(reasons: dict[str, int], reason: str, number: int) -> None:
    if number:
        reasons[reason] = reasons.get(reason, 0) + number
