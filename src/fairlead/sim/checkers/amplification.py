"""amplification-bounded: replicas that wait are no demand.

While replicas have no node an autoscaler asks for no more than a multiple of those that have one, and than a multiple
of those of a window ago, and for none at all while some have long waited for what others must change (T05). Mirrors
lag: for what it could not have seen yet it is not blamed.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Any

from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.autoscaling import LATE_SECONDS, REACT_TO_BLOCKED, Scaling
from fairlead.sim.checkers.contract import SeenChange
from fairlead.sim.violation import Violation

# So long something may stand before a leader must have seen it: a request and a watch that are late, and two looks.
_LAG_SECONDS = 40.0


class AmplificationBounded(Scaling):
    name = "amplification-bounded"
    sees = frozenset({*Scaling.sees, PODS.name, REPLICASETS.name})

    def __init__(self) -> None:
        super().__init__()
        self._placed: dict[str, set[str]] = {}  # by app: uids of pods that have a node
        self._recent: dict[str, deque[tuple[float, int]]] = {}  # how many there were until when
        self._blocked_since: dict[str, dict[str, float]] = {}  # by app: what waits for others, and since when
        self._rescaled: dict[str, list[tuple[float, int]]] = {}  # by app: when an autoscaler added how many

    def saw(self, sight: SeenChange) -> None:
        super().saw(sight)
        resource = sight.key.resource
        if resource == PODS.name:
            self._saw_pod(sight)
        elif resource == REPLICASETS.name:
            self._saw_set(sight)

    def _saw_pod(self, sight: SeenChange) -> None:
        app, uid, pod = _app(sight.last), sight.last.metadata.uid, sight.after
        placed = self._placed.setdefault(app, set())
        recent = self._recent.setdefault(app, deque())
        recent.append((sight.seconds, len(placed)))
        while recent and recent[0][0] < sight.seconds - _LAG_SECONDS:
            recent.popleft()
        is_live = pod is not None and pod.live
        (placed.add if is_live and pod.spec.node_name else placed.discard)(uid)
        unfit = is_live and any(
            each.type == "PodScheduled" and each.status == "False" and each.reason == "Unschedulable"
            for each in pod.status.conditions
        )
        self._note(app, uid, bool(unfit), sight.seconds)

    def _saw_set(self, sight: SeenChange) -> None:
        found = sight.after
        waits = found is not None and any(
            each.type == WAITING_FOR and each.status == "True" for each in found.status.conditions
        )
        self._note(_app_of_set(sight.last), sight.last.metadata.uid, waits, sight.seconds)

    def _note(self, app: str, uid: str, blocked: bool, seconds: float) -> None:
        waiting = self._blocked_since.setdefault(app, {})
        if blocked:
            waiting.setdefault(uid, seconds)
        else:
            waiting.pop(uid, None)

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        app = sight.key.name
        if by_autoscaler:
            rescaled = self._rescaled.setdefault(app, [])
            # What is this old may have been out of the window when it was decided.
            since = sight.seconds - max(0.0, self._knobs["amplificationWindowSeconds"] - LATE_SECONDS)
            ago = before - sum(added for at, added in rescaled if at > since)
            rescaled.append((sight.seconds, after - before))
        if not by_autoscaler or after <= max(before, scaler.spec.min_replicas):
            return
        since = min(self._blocked_since.get(app, {}).values(), default=sight.seconds)
        reacts = scaler.metadata.annotations.get(REACT_TO_BLOCKED) == "true"
        if sight.seconds - since > _LAG_SECONDS and not reacts:
            waited = sight.seconds - since
            told = f"Deployment {app} was scaled from {before} to {after} while replicas waited for {waited:.0f} s"
            raise Violation(self.name, told)
        recent = [
            number for until, number in self._recent.get(app, ()) if until >= sight.seconds - _LAG_SECONDS
        ]
        placed = max([len(self._placed.get(app, ())), *recent])
        limit = ceil(placed * self._knobs["amplificationMax"])
        if placed < before and after > ceil(ago * self._knobs["amplificationPerWindowMax"]):
            told = (
                f"Deployment {app} was scaled from {before} to {after} within a window that began with {ago}"
            )
            raise Violation(self.name, f"{told}, while no more than {placed} had a node")
        if placed < before and after > limit:
            told = (
                f"Deployment {app} was scaled from {before} to {after} while no more than {placed} had a node"
            )
            raise Violation(self.name, told)


def _app(pod: Any) -> str:
    app: str = pod.metadata.labels.get("app", "")
    return app


def _app_of_set(found: Any) -> str:
    owner = found.metadata.controller
    return owner.name if owner is not None else ""
