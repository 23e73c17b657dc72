"""Preemption ends: each eviction is for somebody who waits for that very node, and nobody evicts anew meanwhile.

When the scheduler deletes a pod there must be one without a node that has claimed the victim's node
(nominatedNodeName), has a higher priority, has no victims that are still leaving another node, and has pushed out no
more than `_EVICTIONS_MAX`. Where several have claimed the node, one of them is enough. A priority above its own counts
for a pod that an override names as raised, until that override ends by the clock of the run. Where the API judges no
premises a claim, and an override, counts for as long after its end as a request may be under way (`lag_seconds`).
"""

from __future__ import annotations

from typing import Any

from fairlead.ledger.override import active
from fairlead.ledger.priority import raises, value_of
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, SchedulerOverride
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.time import EPOCH
from fairlead.sim.violation import Violation

_EVICTIONS_MAX = 8
_CLOCK_SECONDS = 2.0  # times are told in whole seconds, and a plan waits for its turn in the store


class PreemptionEnds:
    name = "preemption-ends"
    sees = frozenset({OVERRIDES.name, PODS.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._lag_seconds = lag_seconds
        self._former: list[tuple[float, Key, Any]] = []  # claims that ended, and when
        self._raising: dict[Key, SchedulerOverride] = {}
        self._raised_before: list[tuple[float, SchedulerOverride]] = []  # what overrides said, and until when
        self._claims: dict[Key, Any] = {}  # pods that wait for a node they claimed
        self._evictions: dict[str, int] = {}  # uid of a preemptor -> how many
        self._leaving: dict[Key, tuple[str, frozenset[str]]] = {}  # victims: node, uids of whom it may be for
        self._server_wrong = (
            0.0  # seconds that the server's clock, by which overrides get their ends, was off at most
        )

    def saw(self, sight: SeenChange) -> None:
        self._server_wrong = max(self._server_wrong, abs(sight.server_ahead))
        if sight.key.resource == OVERRIDES.name:
            self._saw_override(sight)
        if sight.key.resource != PODS.name:
            return
        key, pod = sight.key, sight.after
        if self._lag_seconds and key in self._claims:
            self._former.append((sight.seconds, key, self._claims[key]))
        if pod is None or pod.finished:
            self._leaving.pop(key, None)
            self._claims.pop(key, None)
        elif pod.status.nominated_node_name and not pod.spec.node_name and pod.live:
            self._claims[key] = pod
        else:
            self._claims.pop(key, None)
        is_going = pod is None or pod.metadata.deletion_timestamp
        was = sight.before
        if was is not None and is_going and was.live and sight.by_scheduler:
            self._evicted(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key in sorted(self._leaving):
            raise Violation(self.name, f"{key.name} was evicted and does not go")

    def _evicted(self, sight: SeenChange) -> None:
        victim = sight.before
        node = victim.spec.node_name
        complaints = []
        good = set[str]()
        for key, pod in self._claims_until(sight.seconds):
            complaint = self._complaint(pod, victim, node, sight.seconds)
            if complaint:
                complaints.append(f"{key.name} {complaint}")
            else:
                good.add(pod.metadata.uid)
        if not good:
            why = "; ".join(complaints) or "nobody waits for it"
            raise Violation(self.name, f"{sight.origin} evicted {sight.key.name} from {node}: {why}")
        for uid in good:
            self._evictions[uid] = self._evictions.get(uid, 0) + 1
        if sight.after is not None:
            self._leaving[sight.key] = (node, frozenset(good))

    def _claims_until(self, seconds: float) -> list[tuple[Key, Any]]:
        former = [(key, pod) for at, key, pod in self._former if seconds - at <= self._lag_seconds]
        return [*self._claims.items(), *former]

    def _saw_override(self, sight: SeenChange) -> None:
        known = self._raising.get(sight.key)
        if sight.after is not None:
            self._raising[sight.key] = sight.after
        elif known is not None:
            del self._raising[sight.key]
        if self._lag_seconds and known is not None:
            self._raised_before.append((sight.seconds, known))

    def _priority(self, pod: Any, seconds: float) -> int:
        """The highest that it may have."""
        lag = self._lag_seconds
        overrides = [
            *self._raising.values(),
            *(each for at, each in self._raised_before if seconds - at <= lag),
        ]
        held = active(overrides, EPOCH + seconds - _CLOCK_SECONDS - self._server_wrong - lag)
        own: int = pod.spec.priority
        return max([own, *(value_of(each) for each in held if raises(each, pod.metadata.uid, own))])

    def _complaint(self, pod: Any, victim: Any, node: str, seconds: float) -> str:
        uid, claimed = pod.metadata.uid, pod.status.nominated_node_name
        if claimed != node:
            return f"has claimed {claimed}"
        if self._priority(pod, seconds) <= victim.spec.priority:
            return "is no more important"
        if self._evictions.get(uid, 0) >= _EVICTIONS_MAX:
            return f"has pushed out {_EVICTIONS_MAX} already"
        for key, (other, whom) in self._leaving.items():
            if other != node and whom == {uid}:
                return f"has pushed {key.name} out of {other}, which still leaves"
        return ""
