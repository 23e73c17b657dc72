"""Disruption budgets as checkers see them, counted for themselves: nothing here is the ledger's or the controller's.

`Guarded` follows budgets, the pods they cover and what the owners of these are scaled to: of a ReplicaSet that belongs
to a Deployment, what that one wants, as in a rollout several sets share it. Pods of Jobs and DaemonSets, and those of
nobody, have nothing that says how many there should be. Shared by `disruptions.py` and `allowances.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fairlead.model.key import Key
from fairlead.model.selectors import matches_label_selector
from fairlead.model.views import BUDGETS, DEPLOYMENTS, PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import SeenChange

_JUDGED_SECONDS = 1.0
_SCALED = (DEPLOYMENTS.name, REPLICASETS.name, STATEFULSETS.name)


class Guarded:
    sees = frozenset({PODS.name, BUDGETS.name, *_SCALED})

    def __init__(self) -> None:
        self.budgets: dict[Key, Any] = {}
        self.pods: dict[Key, Any] = {}
        self._made: dict[Key, float] = {}  # budget -> when it came
        self._scales: dict[str, int] = {}  # uid of an owner -> replicas
        self._former_scales: dict[str, list[tuple[float, int]]] = {}  # what it wanted before, and until when
        self._deployments: dict[str, str] = {}  # uid of a ReplicaSet -> that of its Deployment

    def saw(self, sight: SeenChange) -> bool:
        """Whether it was a pod."""
        resource = sight.key.resource
        if resource == PODS.name:
            _put(self.pods, sight)
        elif resource == BUDGETS.name:
            _put(self.budgets, sight)
            if sight.before is None:
                self._made[sight.key] = sight.seconds
        elif resource in _SCALED:
            meta = sight.last.metadata
            replicas = sight.last.spec.replicas
            if (before := self._scales.get(meta.uid, replicas)) != replicas:
                self._former_scales.setdefault(meta.uid, []).append((sight.seconds, before))
            self._scales[meta.uid] = replicas
            if resource == DEPLOYMENTS.name and sight.after is None:
                del self._scales[meta.uid]
            elif resource == REPLICASETS.name:
                self._deployments[meta.uid] = meta.controller.uid if meta.controller else ""
        return resource == PODS.name

    def over(self, pod: Key, labels: dict[str, str]) -> Iterator[tuple[Key, Any]]:
        """The budgets that cover such a pod."""
        for key, budget in self.budgets.items():
            if key.namespace == pod.namespace and _covers(budget, labels):
                yield key, budget

    def over_evicted(self, sight: SeenChange) -> Iterator[tuple[Key, Any]]:
        """The budgets that an eviction was judged by: one that came a moment before it was not there then."""
        for key, budget in self.over(sight.key, sight.before.metadata.labels):
            if sight.seconds >= self._made.get(key, 0.0) + _JUDGED_SECONDS:
                yield key, budget

    def under(self, at: Key) -> Iterator[tuple[Key, Any]]:
        """The pods that a budget covers."""
        budget = self.budgets[at]
        for key, pod in self.pods.items():
            if key.namespace == at.namespace and _covers(budget, pod.metadata.labels):
                yield key, pod

    def expected(self, at: Key, since: float = math.inf) -> int:
        """How many pods the owners want; with `since`, the fewest that each wanted at any time from then on."""
        owners = {pod.metadata.controller.uid for _, pod in self.under(at) if pod.metadata.controller}
        return sum(self._least(uid, since) for uid in {self._scaled(uid) for uid in owners})

    def _least(self, owner: str, since: float) -> int:
        former = (replicas for until, replicas in self._former_scales.get(owner, ()) if until >= since)
        return min((self._scales.get(owner, 0), *former))

    def _scaled(self, owner: str) -> str:
        """Whose number of replicas counts."""
        deployment = self._deployments.get(owner, "")
        return deployment if deployment in self._scales else owner

    def is_scaled(self, at: Key) -> bool:
        """Whether something says of every pod that a budget covers how many of its like there should be."""
        owners = (pod.metadata.controller for _, pod in self.under(at))
        return all(owner is not None and owner.uid in self._scales for owner in owners)

    def needed(self, at: Key, since: float = math.inf) -> int:
        """How many healthy pods the budget, as it is written now, wants kept. One that says nothing: all."""
        spec, expected = self.budgets[at].spec, self.expected(at, since)
        if spec.min_available is not None:
            return _amount(spec.min_available, expected)
        if spec.max_unavailable is not None:
            return max(0, expected - _amount(spec.max_unavailable, expected))
        return expected


def is_healthy(pod: Any) -> bool:
    return pod is not None and pod.live and bool(pod.ready)


def was_evicted(sight: SeenChange) -> bool:
    """Whether this commit takes a healthy pod away through the eviction subresource."""
    if not is_healthy(sight.before) or is_healthy(sight.after):
        return False
    is_going = sight.after is None or bool(sight.after.metadata.deletion_timestamp)
    return is_going and any(
        each.type == "DisruptionTarget" and each.reason == "EvictionByEvictionAPI"
        for each in sight.last.status.conditions
    )


def _put(held: dict[Key, Any], sight: SeenChange) -> None:
    if sight.after is None:
        held.pop(sight.key, None)
    else:
        held[sight.key] = sight.after


def _covers(budget: Any, labels: dict[str, str]) -> bool:
    selector = budget.spec.selector
    return selector is not None and matches_label_selector(selector, labels)


def _amount(value: int | str, of: int) -> int:
    """A share is rounded up, as Kubernetes does for both fields."""
    return value if isinstance(value, int) else -(-of * int(value.rstrip("%")) // 100)
