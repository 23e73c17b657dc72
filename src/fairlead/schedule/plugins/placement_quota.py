"""Placement quotas: where a quota of the pod's namespace has no room for it, it does not go.

A forecast that saves attempts: what counts is the charge in the transaction that binds (`api/charging.py`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.holds import Quota
from fairlead.schedule.labels import where_label
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.snapshot import Snapshot


class PlacementQuotas:
    name: ClassVar[str] = "PlacementQuota"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"placementquotas.fairlead.dev", "pods.deleted", "nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("quota-admin",)

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        quotas = snapshot.quotas(facts.namespace)
        return _Limits(snapshot, facts, quotas) if quotas else None


class _Limits:
    relative: ClassVar[bool] = False

    def __init__(self, snapshot: Snapshot, facts: Facts, quotas: tuple[Quota, ...]) -> None:
        self._snapshot, self._facts = snapshot, facts
        nodes = snapshot.nodes
        self._quotas = [(quota, _where(nodes, quota)) for quota in quotas]
        self._full = ""
        self._mask = np.ones(nodes.slots, np.bool_)
        self._judge()

    def _judge(self) -> bool:
        """Whether a quota has filled up, or has room again."""
        reached = [(self._exceeded(quota), where) for quota, where in self._quotas]
        full = "".join("x" if text else "-" for text, _ in reached)
        if full == self._full:
            return False
        self._full = full
        self._mask[:] = True
        for text, where in reached:
            if text:
                self._mask &= ~where
        return True

    def _exceeded(self, quota: Quota) -> str:
        """What its owner's released pod holds is not asked for a second time."""
        asked, given = self._facts.requests, self._snapshot.offered(self._facts, quota)
        return quota.exceeded(
            {name: max(0, value - given.get(name, 0)) for name, value in asked.items()} if given else asked
        )

    def mask(self) -> Mask:
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        """Each node once, by the first quota that refuses it."""
        told: dict[str, int] = {}
        left = np.ones(len(slots), np.bool_)
        for quota, where in self._quotas:
            text = self._exceeded(quota)
            if text:
                refused = left & where[slots]
                left &= ~refused
                if refused.any():
                    told[f"quota/{quota.name}: exceeded {text}"] = int(np.count_nonzero(refused))
        return told

    def scores(self, open_slots: Mask) -> Ints | None:
        return None

    def touched(self, change: OccupancyChange) -> bool:
        return self._snapshot.holds.share(self._facts.namespace, change.facts.namespace) and self._judge()


def _where(nodes: Nodes, quota: Quota) -> Mask:
    mask = nodes.present.copy()
    for requirement in quota.selector.requirements if quota.selector is not None else ():
        mask &= where_label(nodes, requirement)
    return mask
