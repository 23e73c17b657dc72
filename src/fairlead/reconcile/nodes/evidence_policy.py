"""The EvidencePolicy controller: the state of the brake of each zone and region, and whose pods may be released next.

One key, the policy itself. Its status says per zone how many nodes are silent, whether the zone is Normal, Slowed or
Stopped, since when and why, and which nodes were granted the release of their pods. A grant is written before anything
is released (`release.py` acts on it, and only while the status that holds it stands), so the limit per zone holds over
restarts and leaders. It is good for one silence: after a renewal of the node's lease it allows nothing. In a zone nodes
come one after the other, those first that have been unreachable for longest; and none comes before its zone has been as
it is for as long as it takes to mark a node, because a zone that returns does so node by node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.core.times import microtime, parse_time, timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Decision, EventNote, Reading, Silent, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import GONE, NEW
from fairlead.decision.wakes import always, changed, within
from fairlead.ledger import brake
from fairlead.ledger.evidence import (
    NEVER,
    NO_EXECUTE,
    Evidence,
    added_at,
    ended_at,
    is_unheard,
    region_of,
    release_due_at,
    renewal_of,
    taint_of,
    zone_of,
)
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, SILENT_SINCE, UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    LEASES,
    NODES,
    PODS,
    EvidencePolicy,
    EvidencePolicyStatus,
    EvidenceRegion,
    EvidenceRelease,
    EvidenceZone,
    Node,
    Pod,
)

NAME = "evidence-policy"
_LOOK_AGAIN_SECONDS = 1.0
_KEY = Key(EVIDENCE_POLICIES.name, "", rows.NAME)


class _Watched(NamedTuple):
    """A node whose heartbeats are known."""

    node: Node
    renewal: str
    silent: bool


def evidence_policy_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(EVIDENCE_POLICIES, NODES, LEASES, PODS),
        dated=(LEASES,),
        gathers=NODES,
        wakes=(
            Wake(EVIDENCE_POLICIES, always(_KEY)),
            Wake(NODES, changed(_standing, always(_KEY))),
            Wake(LEASES, within(NODE_LEASES, always(_KEY)), when=NEW | GONE),
        ),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    policy = view.get(EVIDENCE_POLICIES, "", rows.NAME)
    if policy is None:
        return NOTHING
    evidence, limits = Evidence(policy), brake.limits_of(policy.spec)
    watched = _watched(view, evidence)
    by_zone: dict[str, list[_Watched]] = {}
    for each in watched:
        by_zone.setdefault(zone_of(each.node), []).append(each)
    regions = tuple(_regions(policy, watched, now))
    known = {zone.name: zone for zone in policy.status.zones}
    all_silent = bool(watched) and all(each.silent for each in watched)
    zones, due = [], []
    for name in sorted(by_zone.keys() | known.keys()):
        there = by_zone.get(name, [])
        turn = _Turn(view, evidence, limits, known.get(name), there, _regions_of(there, regions), now)
        zone = turn.zone(name, all_silent=all_silent)
        if zone is not None:
            zones.append(zone)
            due.append(turn.due_at)
    worst = max((zone.state for zone in zones), key=brake.STATES.index, default=brake.NORMAL)
    silent = sum(each.silent for each in watched)
    wanted = EvidencePolicyStatus(policy.metadata.generation, worst, silent, tuple(zones), regions)
    effect = ensure_status(NAME, EVIDENCE_POLICIES, policy, wanted, ("state",))
    at = min(due, default=NEVER)
    verdict = SETTLED if worst == brake.NORMAL else Waiting("Braked", f"{silent} nodes are silent")
    notes = tuple(_news(policy, known, zones)) if effect is not None else ()
    return Decision(verdict, (effect,) if effect else (), at if at < NEVER else 0.0, notes)


def _standing(node: Node | None) -> object:
    if node is None:
        return None
    since = node.metadata.annotations.get(SILENT_SINCE)
    return node.metadata.uid, zone_of(node), region_of(node), node.spec.taints, since


def _watched(view: Reading, evidence: Evidence) -> list[_Watched]:
    least = evidence.silence_seconds
    silent = view.silent(LEASES, NODE_LEASES, least) if least < NEVER else Silent({}, 0.0)
    found = []
    for lease in view.list(LEASES, NODE_LEASES):
        node = view.get(NODES, "", lease.metadata.name)
        if node is not None:
            renewal = renewal_of(lease)
            # Marked and not renewed since: it was silent before this observer began to listen.
            marked = node.metadata.annotations.get(SILENT_SINCE) == renewal
            found.append(_Watched(node, renewal, marked or lease.metadata.name in silent.names))
    return found


def _regions(policy: EvidencePolicy, watched: Iterable[_Watched], now: float) -> Iterator[EvidenceRegion]:
    """In the order of names."""
    limits = brake.region_limits_of(policy.spec)
    known = {each.name: each for each in policy.status.regions}
    there: dict[str, list[bool]] = {}
    for each in watched:
        name = region_of(each.node)
        if name:
            there.setdefault(name, []).append(each.silent)
    for name, silent in sorted(there.items()):
        found, before = brake.region_brake_of(limits, sum(silent), len(silent)), known.get(name)
        since = before.since if before is not None and before.state == found.state else timestamp(now)
        yield EvidenceRegion(name, found.state, since, found.reason, found.message, sum(silent), len(silent))


def _regions_of(watched: Iterable[_Watched], regions: Iterable[EvidenceRegion]) -> list[EvidenceRegion]:
    """Those of a zone's nodes; by rights one."""
    names = {region_of(each.node) for each in watched}
    return [each for each in regions if each.name in names]


class _Turn:
    """One zone at one instant."""

    def __init__(
        self,
        view: Reading,
        evidence: Evidence,
        limits: brake.BrakeLimits,
        known: EvidenceZone | None,
        watched: list[_Watched],
        regions: list[EvidenceRegion],
        now: float,
    ) -> None:
        self._view, self._evidence, self._limits, self._regions = view, evidence, limits, regions
        self._known, self._watched, self._now = known, watched, now
        self.due_at = NEVER

    def zone(self, name: str, *, all_silent: bool) -> EvidenceZone | None:
        """As its status should be; None if there is nothing to say of it any more."""
        silent = sum(each.silent for each in self._watched)
        found = brake.brake_of(self._limits, silent, len(self._watched), all_silent=all_silent)
        for each in self._regions:
            found = found.within(each.name, brake.Brake(each.state, each.reason, each.message))
        released = self._remembered()
        candidates = self._candidates(released)
        if self._under_way(released):
            self._look_at(self._now + _LOOK_AGAIN_SECONDS)
        elif candidates and found.state != brake.STOPPED:
            at = max(
                brake.next_release_at(self._limits, found.state, released), self._heard_out_at(found.state)
            )
            if self._now >= at:
                chosen = candidates[0]
                stamp = microtime(self._now)
                meta = chosen.node.metadata
                released = (*released, EvidenceRelease(meta.name, meta.uid, chosen.renewal, stamp))
                if len(candidates) > 1:
                    self._look_at(self._now + self._limits.spacing(found.state))
            else:
                self._look_at(at)
        if not self._watched and not released:
            return None
        recent = [at for each in released if (at := parse_time(each.at)) > self._now - brake.WINDOW_SECONDS]
        if recent:
            self._look_at(min(recent) + brake.WINDOW_SECONDS)
        same = self._known is not None and self._known.state == found.state
        since = self._known.since if same and self._known is not None else timestamp(self._now)
        return EvidenceZone(
            name=name,
            state=found.state,
            since=since,
            reason=found.reason,
            message=found.message,
            silent=silent,
            nodes=len(self._watched),
            releases_in_window=len(recent),
            released=released,
        )

    def _heard_out_at(self, state: str) -> float:
        """A zone that was stopped is heard again node by node: those still silent get as long as it takes to be taken
        for silent, as if they had been heard when the brake was let go."""
        known = self._known
        marked = self._evidence.allows(rows.MISSED_HEARTBEATS, rows.MARK_UNKNOWN)
        if known is None or marked is None:
            return 0.0
        since = parse_time(known.since) if known.state == state and known.since else self._now
        return since + marked.after_seconds

    def _remembered(self) -> tuple[EvidenceRelease, ...]:
        """Grants that still allow something, or that the next has to keep its distance from."""
        standing = {(each.node.metadata.uid, each.renewal) for each in self._watched if each.silent}
        kept = brake.kept_seconds(self._limits)
        released = []
        for each in self._known.released if self._known is not None else ():
            until = parse_time(each.at) + kept
            if (each.uid, each.lease) in standing:
                released.append(each)
            elif self._now < until:
                released.append(each)
                self._look_at(until)
        return tuple(released)

    def _candidates(self, released: Iterable[EvidenceRelease]) -> list[_Watched]:
        """Unreachable nodes with pods whose grace is over, and no grant yet; longest first."""
        granted = {(each.uid, each.lease) for each in released}
        found = []
        for each in self._watched:
            taint = taint_of(each.node, UNREACHABLE, NO_EXECUTE)
            if taint is None or not is_unheard(each.node, each.renewal):
                continue
            if (each.node.metadata.uid, each.renewal) in granted:
                continue
            due = min((self._pod_due_at(each.node, pod) for pod in self._pods(each.node)), default=NEVER)
            if due <= self._now:
                found.append((added_at(taint) or 0.0, each.node.metadata.name, each))
            else:
                self._look_at(due)
        return [each for _, _, each in sorted(found, key=lambda item: item[:2])]

    def _under_way(self, released: Iterable[EvidenceRelease]) -> bool:
        """Whether a node that was granted its turn still has pods to be released: one is done before the next."""
        granted = {(each.uid, each.lease) for each in released}
        return any(
            self._pod_due_at(each.node, pod) <= self._now
            for each in self._watched
            if each.silent and (each.node.metadata.uid, each.renewal) in granted
            for pod in self._pods(each.node)
        )

    def _pods(self, node: Node) -> Iterable[Pod]:
        for pod in self._view.on_node(node.metadata.name):
            if isinstance(pod, Pod) and not pod.finished and not pod.released:
                yield pod

    def _pod_due_at(self, node: Node, pod: Pod) -> float:
        due = release_due_at(self._evidence, node, pod)
        if not is_at_most_one(pod.metadata) or due == NEVER:
            return due
        # Without a deadline of its supervisor it waits for a human, not for a turn.
        lease = self._view.get(LEASES, NODE_LEASES, node.metadata.name)
        seen = self._view.sighting(LEASES, NODE_LEASES, node.metadata.name)
        if lease is None or seen is None:
            return NEVER
        return max(due, ended_at(self._evidence, pod, lease, seen.at))

    def _look_at(self, at: float) -> None:
        self.due_at = min(self.due_at, at)


def _news(
    policy: EvidencePolicy, known: dict[str, EvidenceZone], zones: Iterable[EvidenceZone]
) -> Iterable[EventNote]:
    for zone in zones:
        before = known[zone.name].state if zone.name in known else brake.NORMAL
        if zone.state != before:
            kind = NORMAL if zone.state == brake.NORMAL else WARNING
            text = f"zone {zone.name}: {zone.message}"
            yield EventNote(
                regarding_of(EVIDENCE_POLICIES, policy.metadata), kind, f"Zone{zone.state}", text, 0
            )
