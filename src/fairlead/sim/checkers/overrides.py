"""What SchedulerOverrides promise, judged at every commit by the clock of the run.

- Nothing acts on one that has ended: an eviction of a drain, a Reservation made for one and its use by a pod commit
  only while there is an override that says so, and has not ended.
- None allows more than it says: Reservations made for one are no more than its replicas, and so are the pods that it
  raises at a time.
- What is held stays held, once its status says that all have observed it, and the longest time has passed that a
  request may be under way, until the time that a plane whose clock is ahead may take for its end: no pod is bound where
  it is to avoid, no ReplicaSet of the target gets more than the Deployment asked for when the override was made, or
  than its sets had until then, and none of a template that came while rollouts are paused gets any.
- At rest it tells the truth: each that has ended says so, and as residue what is left of it, no less and no more; no
  workload is told as held, and no slice carries weights of zones.

Where the server's clock is wrong, by which an override gets its end and by which requests are judged that rest on it,
all of that is so much less exact.
"""

from __future__ import annotations

from fairlead.ledger import override as ledger
from fairlead.ledger.zone_weights import NOTE
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import OBSERVED, RESIDUE
from fairlead.model.reasons import HELD
from fairlead.model.service_views import ENDPOINT_SLICES
from fairlead.model.views import (
    DEPLOYMENTS,
    NODES,
    OVERRIDES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    Deployment,
    Node,
    Pod,
    ReplicaSet,
    Reservation,
    SchedulerOverride,
)
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.time import EPOCH
from fairlead.sim.violation import Violation

# So long a request may be under way.
_LAG_SECONDS = 20.0
_SKEW_SECONDS = 32.0  # so far a plane's clock may be ahead or behind
_CLOCK_SECONDS = 2.0  # times are told in whole seconds, and a plan waits for its turn in the store


class OverridesAreKept:
    name = "overrides-are-kept"
    sees = frozenset(
        {OVERRIDES.name, NODES.name, DEPLOYMENTS.name, PODS.name, REPLICASETS.name, RESERVATIONS.name}
    )

    def __init__(self) -> None:
        self._overrides: dict[Key, SchedulerOverride] = {}
        self._observed_at: dict[Key, float] = {}
        self._nodes: dict[str, Node] = {}
        self._deployments: dict[Key, Deployment] = {}
        self._begun: dict[Key, dict[Key, Deployment]] = {}  # by override: the Deployments as they were then
        self._made: dict[Key, dict[Key, None]] = {}
        self._sets: dict[Key, tuple[str, int]] = {}  # of which Deployment, by its uid, and how many replicas
        self._had: dict[tuple[Key, str], int] = {}  # by override and Deployment: at first
        self._server_wrong = 0.0  # seconds that the server's clock was off at most

    def saw(self, sight: SeenChange) -> None:
        self._server_wrong = max(self._server_wrong, abs(sight.server_ahead))
        resource = sight.key.resource
        if resource == OVERRIDES.name:
            self._saw_override(sight)
        elif resource == NODES.name:
            if sight.after is None:
                self._nodes.pop(sight.key.name, None)
            else:
                self._nodes[sight.key.name] = sight.after
        elif resource == DEPLOYMENTS.name:
            if sight.after is None:
                self._deployments.pop(sight.key, None)
            else:
                self._deployments[sight.key] = sight.after
        elif resource == REPLICASETS.name:
            if self._overrides:
                self._saw_set(sight)
            self._note_set(sight)
        elif resource == RESERVATIONS.name:
            self._saw_reservation(sight)
        elif not self._overrides:
            return
        elif resource == PODS.name:
            self._saw_pod(sight)

    def _saw_override(self, sight: SeenChange) -> None:
        if sight.after is None:
            self._overrides.pop(sight.key, None)
            self._observed_at.pop(sight.key, None)
            self._begun.pop(sight.key, None)
            return
        if sight.before is None:
            self._begun[sight.key] = dict(self._deployments)
        found: SchedulerOverride = sight.after
        raised, most = len(found.status.raised), found.spec.changes.priority_replicas
        if raised > most:
            raise Violation(self.name, f"{sight.key.name} raises {raised} pods, and may raise {most}")
        self._overrides[sight.key] = found
        observed = any(each.type == OBSERVED and each.status == "True" for each in found.status.conditions)
        if not observed:
            self._observed_at.pop(sight.key, None)
        else:
            self._observed_at.setdefault(sight.key, sight.seconds)

    def _active(self, seconds: float) -> list[SchedulerOverride]:
        now = clock(seconds) - self._clock_seconds
        return [each for each in self._overrides.values() if ledger.is_active(each, now)]

    @property
    def _clock_seconds(self) -> float:
        return _CLOCK_SECONDS + self._server_wrong

    @property
    def _skew_seconds(self) -> float:
        return _SKEW_SECONDS + self._server_wrong

    def _holding(self, seconds: float) -> list[SchedulerOverride]:
        """Those of which everybody has known for so long that nothing from before is under way."""
        now = clock(seconds)
        return [
            self._overrides[key]
            for key, since in self._observed_at.items()
            if seconds - since > _LAG_SECONDS
            and ledger.is_active(self._overrides[key], now + self._skew_seconds)
        ]

    def _saw_pod(self, sight: SeenChange) -> None:
        pod: Pod = sight.last
        node = self._nodes.get(pod.spec.node_name)
        begins = sight.before is not None and not sight.before.metadata.deletion_timestamp
        goes = sight.after is None or sight.after.metadata.deletion_timestamp
        if "override-drain of plane-" in sight.origin and begins and goes and node is not None:
            drains = [each for each in self._active(sight.seconds) if each.spec.changes.drain]
            meta = node.metadata
            if not any(ledger.closes(each, meta.name, meta.labels) for each in drains):
                told = f"pod {sight.key.name} was drained from {meta.name}, and no drain of it holds"
                raise Violation(self.name, told)
        bound = sight.before is not None and not sight.before.spec.node_name and pod.spec.node_name
        if bound and node is not None and sight.by_scheduler:
            self._judge_bound(pod, node, sight.seconds)

    def _judge_bound(self, pod: Pod, node: Node, seconds: float) -> None:
        meta, names = pod.metadata, ledger.names_of_owner(pod.metadata)
        for each in self._holding(seconds):
            place = node.metadata
            of_place = each.spec.changes.cordon or each.spec.changes.drain
            if not of_place and not ledger.covers(each, meta.namespace, names):
                continue
            if ledger.closes(each, place.name, place.labels):
                told = f"pod {meta.name} was bound to {place.name}, which {each.metadata.name} keeps closed"
                raise Violation(self.name, told)

    def _saw_set(self, sight: SeenChange) -> None:
        before = sight.before.spec.replicas if sight.before is not None else 0
        if sight.after is None or "deployment of plane-" not in sight.origin:
            return
        found: ReplicaSet = sight.after
        owner = found.metadata.controller
        if found.spec.replicas <= before or owner is None:
            return
        names = ledger.names_of(found.metadata, "replicaset")
        for each in self._holding(sight.seconds):
            changes = each.spec.changes
            if not ledger.covers(each, found.metadata.namespace, names):
                continue
            own = Key(OVERRIDES.name, each.metadata.namespace, each.metadata.name)
            begun = self._begun[own].get(Key(DEPLOYMENTS.name, found.metadata.namespace, owner.name))
            asked = self._had_at_first(own, owner.uid)
            if begun is not None:
                asked = max(begun.spec.replicas, asked - _SURGE_MAX)
            if changes.pause_expansion and found.spec.replicas > asked + _SURGE_MAX:
                told = f"{found.metadata.name} got {found.spec.replicas} replicas, and {each.metadata.name} keeps"
                raise Violation(self.name, f"{told} its workload at {asked}")
            if changes.pause_rollout and begun is not None and _image(begun) != _image(found):
                told = f"{found.metadata.name} got {found.spec.replicas} replicas of {_image(found)}"
                raise Violation(self.name, f"{told}, and {each.metadata.name} pauses rollouts")

    def _had_at_first(self, override: Key, uid: str) -> int:
        told = sum(replicas for owner, replicas in self._sets.values() if owner == uid)
        return self._had.setdefault((override, uid), told)

    def _note_set(self, sight: SeenChange) -> None:
        owner = sight.after.metadata.controller if sight.after is not None else None
        if owner is None:
            self._sets.pop(sight.key, None)
        else:
            self._sets[sight.key] = (owner.uid, sight.last.spec.replicas)

    def _saw_reservation(self, sight: SeenChange) -> None:
        found: Reservation = sight.last
        key = ledger.made_for(found.metadata)
        if key is None:
            return
        override = self._overrides.get(key)
        over = override is None or not ledger.is_active(override, clock(sight.seconds) - self._clock_seconds)
        user = found.status.allocated_to
        if over and user is not None and (sight.before is None or sight.before.status.allocated_to != user):
            told = f"pod {user.name} was bound with reservation {sight.key.name}"
            raise Violation(self.name, f"{told}, made for {key.name}, which has ended")
        if sight.before is not None:
            return
        if override is None or over:
            raise Violation(
                self.name, f"reservation {sight.key.name} was made for {key.name}, which has ended"
            )
        made = self._made.setdefault(key, {})
        made[sight.key] = None
        if len(made) > override.spec.changes.reserved_replicas:
            told = f"{len(made)} reservations were made for {key.name}, which allows"
            raise Violation(self.name, f"{told} {override.spec.changes.reserved_replicas}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        now = clock(seconds)
        for key, override in objects.of(OVERRIDES.name).items():
            if ledger.is_active(override, now + _CLOCK_SECONDS):
                return  # what is held is as it should be
            if now < ledger.end_of(override) + self._skew_seconds:
                continue
            residue = next((each for each in override.status.conditions if each.type == RESIDUE), None)
            if override.status.active or residue is None:
                raise Violation(self.name, f"override {key.name} has ended, and its status does not say so")
            left = _left(objects, key)
            if (residue.status == "True") != bool(left):
                told = f"override {key.name} has ended, and says that it left {override.status.residue}"
                raise Violation(self.name, f"{told}: it left {left}")
        for key, found in objects.of(DEPLOYMENTS.name).items():
            if any(each.type == HELD for each in found.status.conditions):
                raise Violation(self.name, f"{key.name} is told as held, and no override holds")
        for key, cut in objects.of(ENDPOINT_SLICES.name).items():
            if NOTE in cut.metadata.annotations:
                told = f"slice {key.name} carries weights of zones, and no override holds"
                raise Violation(self.name, f"{told}: {cut.metadata.annotations[NOTE]}")


def _left(objects: CommittedObjects, key: Key) -> list[str]:
    """Reservations made for it that still keep room, or whose pod still runs."""
    found = []
    for each in objects.of(RESERVATIONS.name).values():
        if ledger.made_for(each.metadata) != key:
            continue
        used = each.status.allocated_to
        pod = objects.of(PODS.name).get(Key(PODS.name, each.metadata.namespace, used.name)) if used else None
        runs = pod is not None and pod.metadata.uid == used.uid and not pod.finished
        if runs or each.status.phase not in ("Expired", "Released"):
            found.append(each.metadata.name)
    return found


def _image(found: Deployment | ReplicaSet) -> str:
    return str(found.spec.template["spec"]["containers"][0].get("image"))


_SURGE_MAX = 1  # of the Deployments of these worlds


def clock(seconds: float) -> float:
    """What the server's clock shows at a time of the run."""
    return EPOCH + seconds
