"""Taints keep pods away that do not tolerate them; those that only prefer to count against a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from fairlead.model.tolerations import covers_taint
from fairlead.model.views import Toleration
from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask, Nodes, Taint
from fairlead.schedule.plugins.static import Static
from fairlead.schedule.snapshot import Snapshot

_REPELLING = ("NoSchedule", "NoExecute")


class TaintToleration:
    name: ClassVar[str] = "TaintToleration"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "node-admin")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        nodes = snapshot.nodes
        if len(nodes.taint_sets()[1]) == 1:
            return None
        return nodes.derived((self.name, facts), lambda: _prepared(nodes, facts))


def _prepared(nodes: Nodes, facts: Facts) -> Static:
    ids, sets = nodes.taint_sets()
    repelling = [_first_repelling(taints, facts.tolerations) for taints in sets]
    mask = np.array([taint is None for taint in repelling], np.bool_)[ids]
    preferring = [each for each in facts.tolerations if each.effect in ("", "PreferNoSchedule")]
    disliked = np.array([_disliked(taints, preferring) for taints in sets], np.int64)[ids]

    def reasons(slots: Ints) -> dict[str, int]:
        found = (repelling[ids[slot]] for slot in slots)
        return Counter(
            f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
            for taint in found
            if taint is not None
        )

    return Static(mask, reasons, disliked, reverse=True)


def _first_repelling(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    for taint in taints:
        if taint.effect in _REPELLING and not is_tolerated(taint, tolerations):
            return taint
    return None


def _disliked(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> int:
    tolerations = tuple(tolerations)
    return sum(each.effect == "PreferNoSchedule" and not is_tolerated(each, tolerations) for each in taints)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(covers_taint(each, taint.key, taint.value, taint.effect) for each in tolerations)


def where_tolerated(nodes: Nodes, facts: Facts) -> Mask:
    """Where no taint keeps such pods away. Also how spreading decides which nodes count."""
    ids, sets = nodes.taint_sets()
    free = [_first_repelling(taints, facts.tolerations) is None for taints in sets]
    mask: Mask = np.array(free, np.bool_)[ids]
    return mask
