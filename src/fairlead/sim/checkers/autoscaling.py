"""What an autoscaler may do to the number of replicas: judged at each of its writes, from the objects alone.

    scales-within-bounds    what it asks for is within minReplicas and maxReplicas as they are then
    amplification-bounded   while replicas have no node it asks for no more than a multiple of those that have one, and
                            than a multiple of those of a window ago, and for none at all while some have long waited
                            for what others must change (T05)
    no-flapping             what it added stays for the window of stabilization, unless maxReplicas asks for less

Mirrors lag: for what an autoscaler could not have seen yet it is not blamed.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Any

from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import AUTOSCALERS, DEPLOYMENTS, PLANE_SETTINGS, PODS, REPLICASETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_BY = "autoscaler of plane-"
REACT_TO_BLOCKED = "fairlead.dev/react-to-blocked"
# So long something may stand before a leader must have seen it: a request and a watch that are late, and two looks.
_LAG_SECONDS = 40.0
_LATE_SECONDS = 16.0


class _Scaling:
    """What the checkers of autoscalers share: autoscalers by the Deployment that they scale."""

    name = ""
    sees = frozenset({AUTOSCALERS.name, PLANE_SETTINGS.name, DEPLOYMENTS.name})

    def __init__(self) -> None:
        self._scalers: dict[Key, Any] = {}
        self._knobs = plane_knobs.numbers({}, "autoscaling")

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == AUTOSCALERS.name:
            target = Key(DEPLOYMENTS.name, key.namespace, sight.last.spec.scale_target_ref.name)
            if sight.after is None:
                self._scalers.pop(target, None)
            else:
                self._scalers[target] = sight.after
        elif key.resource == PLANE_SETTINGS.name:
            spec = sight.after.spec if sight.after is not None else {}
            self._knobs = plane_knobs.numbers(spec, "autoscaling")
        elif key.resource == DEPLOYMENTS.name and sight.before is not None and sight.after is not None:
            before, after = sight.before.spec.replicas, sight.after.spec.replicas
            scaler = self._scalers.get(key)
            if before != after and scaler is not None:
                self._scaled(sight, scaler, before, after, by_autoscaler=_BY in sight.origin)

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        """The number changed."""
        raise NotImplementedError

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """All is said on the way."""


class ScalesWithinBounds(_Scaling):
    name = "scales-within-bounds"

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        least, most = scaler.spec.min_replicas, scaler.spec.max_replicas
        if by_autoscaler and not least <= after <= most:
            told = f"Deployment {sight.key.name} was scaled from {before} to {after}, and {least} to {most} are allowed"
            raise Violation(self.name, told)


class AmplificationBounded(_Scaling):
    name = "amplification-bounded"
    sees = frozenset({*_Scaling.sees, PODS.name, REPLICASETS.name})

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
            since = sight.seconds - max(0.0, self._knobs["amplificationWindowSeconds"] - _LATE_SECONDS)
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


class NoFlapping(_Scaling):
    name = "no-flapping"

    def __init__(self) -> None:
        super().__init__()
        self._raised: dict[
            Key, list[tuple[float, int]]
        ] = {}  # by whom and when the number was raised to what

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        if not by_autoscaler:
            self._raised.pop(sight.key, None)  # people know what they do
            return
        raised = self._raised.setdefault(sight.key, [])
        if after > before:
            raised.append((sight.seconds, after))
            return
        rules = (scaler.spec.behavior.get("scaleDown") or {}).get("stabilizationWindowSeconds")
        window = self._knobs["downscaleStabilizationSeconds"] if rules is None else rules
        # The first was decided before its commit: a request may be under way for so long.
        since = sight.seconds - max(0.0, window - _LATE_SECONDS)
        recent = [number for at, number in raised if at > since]
        if recent and after < min(max(recent), scaler.spec.max_replicas):
            told = f"Deployment {sight.key.name} was scaled to {max(recent)} and back to {after} within {window:g} s"
            raise Violation(self.name, told)


def _app(pod: Any) -> str:
    app: str = pod.metadata.labels.get("app", "")
    return app


def _app_of_set(found: Any) -> str:
    owner = found.metadata.controller
    return owner.name if owner is not None else ""
