"""Pods that were refused come soon after nothing refuses them any more, and what there is meanwhile is reported.

Judged of ReplicaSets in namespaces with a ResourceQuota of pods. One that lacks pods although all such quotas have room
for one more and what it requests, and the PriorityClass its template names is there, has them within _MADE_SECONDS:
long before a resync would look. The counts in its status are those of its pods within _TOLD_SECONDS, whether or not it
has all of them. A set whose status says nothing yet was looked at by nobody, and so nothing of it was refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.core.quantity import parse
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, RESOURCE_QUOTAS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_MADE_SECONDS = 90.0
_TOLD_SECONDS = 100.0
_REQUESTS = "requests."
_CLASSES = "priorityclasses.scheduling.k8s.io"


class RefusalsEnd:
    name = "refusals-end"

    def __init__(self) -> None:
        self._quotas: dict[str, dict[str, Any]] = {}  # those of pods, by namespace and name
        self._sets: dict[Key, Any] = {}
        self._pods: dict[str, dict[str, Any]] = {}  # by the owner's uid, then name
        self._classes: set[str] = set()
        self._lacking: dict[Key, float] = {}  # since when
        self._silent: dict[Key, float] = {}

    def saw(self, sight: SeenChange) -> None:
        self._note(sight)
        for key, found in self._sets.items():
            quotas = self._quotas.get(key.namespace)
            if not quotas:
                continue
            pods = [pod for pod in self._pods.get(found.metadata.uid, {}).values() if pod.live]
            is_known = found.status.observed_generation > 0
            lacks = is_known and len(pods) < found.spec.replicas
            may_be_made = lacks and not self._is_refused(quotas.values(), found)
            _judge(self._lacking, key, may_be_made, sight.seconds)
            told = (found.status.replicas, found.status.ready_replicas)
            there = (len(pods), sum(pod.ready for pod in pods))
            _judge(self._silent, key, told != there, sight.seconds)
            if sight.seconds - self._lacking.get(key, sight.seconds) > _MADE_SECONDS:
                raise Violation(
                    self.name,
                    f"{key.name} has {len(pods)} of {found.spec.replicas} pods, though nothing refuses them",
                    overdue=True,
                )
            if sight.seconds - self._silent.get(key, sight.seconds) > _TOLD_SECONDS:
                raise Violation(
                    self.name, f"{key.name} says {told} (pods, ready), there are {there}", overdue=True
                )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest: what is refused for good is tried, and told of, for ever."""

    def _note(self, sight: SeenChange) -> None:
        key, after = sight.key, sight.after
        if key.resource == RESOURCE_QUOTAS.name:
            quotas = self._quotas.setdefault(key.namespace, {})
            if after is None or "pods" not in after.spec.hard:
                quotas.pop(key.name, None)
            else:
                quotas[key.name] = after
        elif key.resource == _CLASSES:
            (self._classes.discard if after is None else self._classes.add)(key.name)
        elif key.resource == REPLICASETS.name:
            if after is None or after.metadata.deletion_timestamp:
                self._sets.pop(key, None)
            else:
                self._sets[key] = after
        elif key.resource == PODS.name:
            owner = sight.last.metadata.controller
            if owner is not None:
                mine = self._pods.setdefault(owner.uid, {})
                if after is None:
                    mine.pop(key.name, None)
                else:
                    mine[key.name] = after

    def _is_refused(self, quotas: Iterable[Any], found: Any) -> bool:
        spec = found.spec.template.get("spec") or {}
        named = spec.get("priorityClassName")
        return (bool(named) and named not in self._classes) or any(_is_full(each, spec) for each in quotas)


def _is_full(quota: Any, spec: dict[str, Any]) -> bool:
    """Whether one more pod with this spec would be too much."""
    for name, hard in quota.spec.hard.items():
        needs = 0
        if name == "pods":
            needs = parse("1").nano
        elif name.startswith(_REQUESTS):
            asked = [
                (each.get("resources") or {}).get("requests") or {} for each in spec.get("containers") or ()
            ]
            needs = sum(parse(each.get(name.removeprefix(_REQUESTS), "0")).nano for each in asked)
        if needs and parse(quota.status.used.get(name, "0")).nano + needs > parse(hard).nano:
            return True
    return False


def _judge(since: dict[Key, float], key: Key, holds: bool, seconds: float) -> None:
    if holds:
        since.setdefault(key, seconds)
    else:
        since.pop(key, None)
