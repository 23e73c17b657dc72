"""Releases keep to the limits of their zone, none happens while its brake is on, and nobody is replaced without one.

Judged at the very revision of the release: the brake by the EvidencePolicy's status as committed, because a release
commits only while that stands. Releases that a human asked for (out of service, Node deleted) pass the brake and are
not counted.

The limit is one of nodes per minute. A release follows its grant, so of those that fall into one window one may have
been granted before it; and clocks of two planes may differ: two more than the limit are let pass, a third is not.
"""

from __future__ import annotations

from typing import Any

from fairlead.ledger import brake
from fairlead.ledger.evidence import zone_of
from fairlead.model.key import Key
from fairlead.model.marks import REPLACES, UNREACHABLE
from fairlead.model.views import EVIDENCE_POLICIES, NODES, PODS, REPLICASETS
from fairlead.reconcile.nodes.pod_marks import released_condition
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.live_children import GRACE_SECONDS
from fairlead.sim.violation import Violation

_BRAKED = frozenset({"NodeSilent", "NodeFenced"})
_SPARE = 2
# Longer than planes are without a leader, and than requests and watches lag, taken together.
_REPLACED_SECONDS = 90.0


class ReleasesKeepLimits:
    name = "releases-keep-limits"
    sees = frozenset({EVIDENCE_POLICIES.name, NODES.name, PODS.name})

    def __init__(self) -> None:
        self._policy: Any = None
        self._zones: dict[str, str] = {}  # node -> zone
        self._marked: dict[str, str] = {}  # node -> when it was tainted: tells one silence from the next
        self._released: dict[str, dict[tuple[str, str], float]] = {}  # zone -> (node, silence) -> when

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == EVIDENCE_POLICIES.name:
            self._policy = sight.after
        elif resource == NODES.name and sight.after is not None:
            self._zones[sight.key.name] = zone_of(sight.after)
            times = [
                each.get("timeAdded", "")
                for each in sight.after.spec.taints
                if each.get("key") == UNREACHABLE
            ]
            self._marked[sight.key.name] = max(times, default="")
        elif resource == PODS.name and is_release(sight):
            self._judge(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, sight: SeenChange) -> None:
        node = sight.after.spec.node_name
        zone = self._zones.get(node, "")
        states = (
            {each.name: each.state for each in self._policy.status.zones} if self._policy is not None else {}
        )
        if states.get(zone, brake.STOPPED) == brake.STOPPED:
            raise Violation(self.name, f"{sight.key.name} was released while zone {zone} is stopped")
        seen = self._released.setdefault(zone, {})
        seen.setdefault((node, self._marked.get(node, "")), sight.seconds)
        recent = [at for at in seen.values() if at > sight.seconds - brake.WINDOW_SECONDS]
        limit = brake.limits_of(self._policy.spec).releases_per_minute
        if len(recent) > limit + _SPARE:
            raise Violation(
                self.name,
                f"pods of {len(recent)} nodes of zone {zone} were released in a minute, {limit:g} may be",
            )


class ReplacementsFollowReleases:
    """A replacement is made only for a pod whose release is committed, and once."""

    name = "replacements-follow-releases"
    sees = frozenset({PODS.name})

    def __init__(self) -> None:
        self._released: dict[str, bool] = {}  # uid -> whether it is
        self._replaced: dict[str, str] = {}  # uid -> name of the live one that took its place

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != PODS.name:
            return
        pod = sight.after
        meta = sight.last.metadata
        self._released[meta.uid] = pod is not None and pod.released
        replaces = meta.annotations.get(REPLACES)
        if not replaces:
            return
        is_live = pod is not None and pod.live
        if sight.before is None and is_live and not self._released.get(replaces, False):
            raise Violation(self.name, f"{sight.key.name} replaces {replaces}, which is not released")
        other = self._replaced.get(replaces)
        if is_live and other not in (None, sight.key.name):
            raise Violation(self.name, f"{sight.key.name} and {other} both replace {replaces}")
        if is_live:
            self._replaced[replaces] = sight.key.name
        elif other == sight.key.name:
            del self._replaced[replaces]

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


class RepairGoesOn:
    """Nothing keeps a ReplicaSet from replacing a pod that was released, for as long as it misses one."""

    name = "repair-goes-on"

    def __init__(self) -> None:
        self._released: dict[str, tuple[float, str, str]] = {}  # uid -> since when, owner, name
        self._wanted: dict[str, int] = {}  # uid of a ReplicaSet -> replicas
        self._live: dict[str, set[Key]] = {}

    def saw(self, sight: SeenChange) -> None:
        meta, after = sight.last.metadata, sight.after
        if sight.key.resource == REPLICASETS.name:
            self._begin_anew(meta.uid, sight.seconds)  # it had enough until it came to want more
            gone = after is None or meta.deletion_timestamp
            self._wanted[meta.uid] = 0 if gone else sight.last.spec.replicas
        elif sight.key.resource == PODS.name and meta.controller is not None:
            owner = meta.controller.uid
            live = self._live.setdefault(owner, set())
            (live.add if after is not None and after.live else live.discard)(sight.key)
            if after is None or not after.released or after.finished or meta.deletion_timestamp:
                self._released.pop(meta.uid, None)
            elif meta.uid not in self._released:
                self._released[meta.uid] = sight.seconds, owner, meta.name
            self._begin_anew(owner, sight.seconds)
        for since, owner, name in self._released.values():
            missing = self._wanted.get(owner, 0) - len(self._live.get(owner, ()))
            if missing > 0 and sight.seconds > since + _REPLACED_SECONDS:
                raise Violation(
                    self.name,
                    f"{name} was released {sight.seconds - since:.0f} s ago, and nothing has taken its place",
                    overdue=True,
                )

    def _begin_anew(self, owner: str, seconds: float) -> None:
        """A workload that has as many as it wants waits for nothing."""
        if len(self._live.get(owner, ())) >= self._wanted.get(owner, 0):
            for uid, (_, of, name) in self._released.items():
                if of == owner:
                    self._released[uid] = seconds, of, name

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


class OriginalsAreKept:
    """A pod whose node is back is deleted only for a replacement that runs, as far as its owner misses one."""

    name = "originals-kept"
    sees = frozenset({REPLICASETS.name, PODS.name})

    def __init__(self) -> None:
        self._pods: dict[str, dict[Key, Any]] = {}  # uid of an owner -> its pods
        self._wanted: dict[str, int] = {}
        self._ready_at: dict[Key, float] = {}  # when it was last seen to be ready

    def saw(self, sight: SeenChange) -> None:
        meta, pod = sight.last.metadata, sight.after
        if sight.key.resource == REPLICASETS.name:
            gone = pod is None or meta.deletion_timestamp
            self._wanted[meta.uid] = 0 if gone else sight.last.spec.replicas
            return
        if sight.key.resource != PODS.name or meta.controller is None:
            return
        mine = self._pods.setdefault(meta.controller.uid, {})
        leaves = pod is not None and pod.metadata.deletion_timestamp and sight.before is not None
        if leaves and not sight.before.metadata.deletion_timestamp and "returned of plane-" in sight.origin:
            self._judge(sight, mine)
        if pod is None:
            mine.pop(sight.key, None)
            return
        if sight.before is not None and sight.before.ready:
            self._ready_at[sight.key] = sight.seconds
        mine[sight.key] = pod

    def _judge(self, sight: SeenChange, mine: dict[Key, Any]) -> None:
        meta = sight.last.metadata
        live = [pod for pod in mine.values() if pod.live]
        if sight.last.finished or len(live) > self._wanted.get(meta.controller.uid, 0):
            return
        for key, pod in mine.items():
            recently = sight.seconds - self._ready_at.get(key, -1e9) < GRACE_SECONDS
            if pod.metadata.annotations.get(REPLACES) == meta.uid and (pod.ready or recently):
                return
        if meta.controller.kind == REPLICASETS.kind and self._wanted.get(meta.controller.uid, 0):
            raise Violation(
                self.name, f"{sight.origin} deleted {meta.name}, and no replacement of it was running"
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


def is_release(sight: SeenChange) -> bool:
    """A pod that counted and does not any more, because its node was silent."""
    if (
        sight.after is None
        or not sight.after.released
        or (sight.before is not None and sight.before.released)
    ):
        return False
    condition = released_condition(sight.after)
    return condition is not None and condition.reason in _BRAKED
