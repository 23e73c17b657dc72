"""Why not there: every filter's answer for one node, in order, and the score the node would get beside the chosen one.

Unlike an attempt, which stops at the first filter that refuses, all are asked. Called by `explaining.py`.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from fairlead.explain.details import detail_of
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.contract import Yielding
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot


class FilterAnswer(NamedTuple):
    """One filter's answer. `passes` with no detail: it has no opinion on such pods, or nothing to add."""

    filter: str
    passes: bool
    reason: str
    detail: str


class Rated(NamedTuple):
    node: str
    total: int
    parts: dict[str, int]


class WhyNot(NamedTuple):
    filters: tuple[FilterAnswer, ...]
    score: Rated  # what it would get if it were let through
    chosen: Rated | None  # the node that is best now; None: none is possible
    evicting_helps: bool  # it would pass if the pods of lower priority there were gone

    @property
    def passes(self) -> bool:
        return all(each.passes for each in self.filters)


def why_not(snapshot: Snapshot, policy: Policy, facts: Facts, node: str, chosen: str = "") -> WhyNot:
    """`node` must exist. `chosen`: compare with that one, otherwise with the best."""
    nodes = snapshot.nodes
    slot = nodes.slot[node]
    state = ClassState(snapshot, policy, facts)
    prepared_by = {plugin.name: prepared for plugin, prepared in state.prepared}
    filters = []
    for plugin in policy.plugins:
        prepared = prepared_by.get(plugin.name)
        mask = prepared.mask() if prepared is not None else None
        if mask is None or prepared is None:
            continue
        passes = bool(mask.item(slot))
        reason = "" if passes else ", ".join(sorted(prepared.reasons(np.array([slot]))))
        filters.append(
            FilterAnswer(plugin.name, passes, reason, detail_of(plugin.name, snapshot, facts, slot))
        )
    best = state.best()
    if chosen in nodes.slot:
        best = nodes.slot[chosen]
    asked = [slot] if best < 0 else [slot, best]
    rated = _rated(state, snapshot, policy, asked)
    helps = not state.open.item(slot) and _evicting_helps(state, snapshot, slot, node)
    return WhyNot(tuple(filters), rated[0], rated[1] if best >= 0 else None, helps)


def _evicting_helps(state: ClassState, snapshot: Snapshot, slot: int, node: str) -> bool:
    facts = state.facts
    lower = [each for each in snapshot.on.get(node, {}).values() if each.facts.priority < facts.priority]
    if not lower or not facts.preempts:
        return False
    for plugin, prepared in state.prepared:
        mask = prepared.mask()
        if plugin.evicting_helps:
            if not cast(Yielding, prepared).without(slot, lower):
                return False
        elif mask is not None and not mask.item(slot):
            return False
    return True


def _rated(state: ClassState, snapshot: Snapshot, policy: Policy, slots: list[int]) -> list[Rated]:
    """Some scores depend on which nodes are open: these are taken to be, besides those that are."""
    together = state.open.copy()
    together[slots] = True
    columns = []
    for plugin, prepared in state.prepared:
        weight = policy.weight(plugin)
        scores = prepared.scores(together) if weight else None
        if scores is not None:
            columns.append((plugin.name, weight, scores))
    return [
        Rated(
            name,
            sum(weight * scores.item(slot) for _, weight, scores in columns),
            {plugin: scores.item(slot) for plugin, _, scores in columns},
        )
        for slot, name in zip(slots, snapshot.nodes.names(slots), strict=True)
    ]
