"""resource-quota-kept: the number of pods of a ResourceQuota, as they are created; at rest it says what is used."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.views import PODS, RESOURCE_QUOTAS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.quotas import BOUND, keeps_quota
from fairlead.sim.violation import Violation


class ResourceQuotaKept:
    name = "resource-quota-kept"
    sees = frozenset({RESOURCE_QUOTAS.name, PODS.name})

    def __init__(self) -> None:
        self._limits: dict[Key, int] = {}
        self._counted: dict[str, set[Key]] = {}  # namespace -> pods that count
        self._yielded_at: dict[str, float] = {}  # namespace -> when one last handed its quota over
        self._leaving: set[Key] = set()

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == RESOURCE_QUOTAS.name:
            limit = sight.after.spec.hard.get("pods") if sight.after is not None else None
            if limit is None:
                self._limits.pop(key, None)
            else:
                self._limits[key] = int(limit)
        elif key.resource == PODS.name:
            self._pod(sight)

    def _pod(self, sight: SeenChange) -> None:
        space, pod = sight.key.namespace, sight.after
        counted = self._counted.setdefault(space, set())
        counts = pod is not None and not pod.finished and keeps_quota(pod, "Created", BOUND)
        if counts and sight.before is None:
            handed = self._yielded_at.get(space, -1.0) == sight.seconds
            for at, limit in self._limits.items():
                if at.namespace == space and len(counted) >= limit and not handed:
                    told = f"{sight.key.name} was created when {len(counted)} pods counted, and {limit} may"
                    raise Violation(self.name, f"{at.name}: {told}")
        (self._leaving.add if sight.last.metadata.deletion_timestamp else self._leaving.discard)(sight.key)
        if counts:
            counted.add(sight.key)
            if sight.before is not None and sight.before.released and not pod.released:
                self._back(sight)
            return
        if sight.key in counted and pod is not None and pod.released:
            self._yielded_at[space] = sight.seconds
        counted.discard(sight.key)

    def _back(self, sight: SeenChange) -> None:
        staying = len(self._counted[sight.key.namespace] - self._leaving)
        for at, limit in self._limits.items():
            if at.namespace == sight.key.namespace and staying > limit:
                told = f"{sight.key.name} counts again, and {staying} pods are to stay, where {limit} may"
                raise Violation(self.name, f"{at.name}: {told}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key in self._limits:
            told = objects.of(RESOURCE_QUOTAS.name)[key].status.used.get("pods")
            counted = len(self._counted.get(key.namespace, ()))
            if told != str(counted):
                raise Violation(
                    self.name, f"{key.name} says that {told} pods are used, and there are {counted}"
                )
