"""Release: pods of a node that is out of reach stop counting for their owners, who replace them. Nothing is deleted.

A key is a node. What a pod's grace, the brake of its zone and the promise of at most one have to say is told in its
condition `fairlead.dev/Released`, False until the release is committed:

    NodeUnknown            grace: until when, by the pod's tolerationSeconds
    AwaitingTurn, Braked   the zone's limit (`reconcile/nodes/evidence_policy.py` grants one node after the other)
    AwaitingFence          at most one: until its supervisor, which accepted a deadline, has surely ended it
    AwaitingConfirmation   at most one, and no supervisor accepted a deadline: a human must confirm; also where there
                           is no EvidencePolicy that could count releases, and where no row is about Nodes that are gone
    RepairPaused           a SchedulerOverride pauses repair of the pod's workload or its place
    NodeGone               the Node object is gone: a little time for a mistake to be noticed

A release commits only while the lease is at the last renewal that was seen and the policy, its status with the grant
included, is as it was. If the node is heard again before, all this is taken back. What happens to a released pod after
that: `returned.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, EventNote, Reading, Regarding, Waiting
from fairlead.decision.decider import Decider, KeysOf, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.notes import WARNING, regarding_of
from fairlead.decision.predicates import LEAVING, PLACED, RELEASING, UNHEARD
from fairlead.decision.wakes import changed, each_of, itself
from fairlead.ledger import brake, override
from fairlead.ledger.evidence import (
    NEVER,
    NO_EXECUTE,
    Evidence,
    confirmed_by_human,
    ended_at,
    is_unheard,
    release_due_at,
    renewal_of,
    taint_of,
    zone_of,
)
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, OUT_OF_SERVICE, RELEASED, SILENT_SINCE, UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.premise import Premise, Premises
from fairlead.model.reasons import BRAKED, CONFIRMATION, FENCE, GONE, LOST, REPAIR_PAUSED, TURN
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    LEASES,
    NODES,
    OVERRIDES,
    PODS,
    Condition,
    EvidencePolicy,
    Lease,
    Node,
    Pod,
)
from fairlead.reconcile.nodes.pod_marks import mark_pod, released_condition

NAME = "release"


class _Step(NamedTuple):
    """What a pod's condition should say. `reason` "": nothing. `at`: when something else may be due."""

    reason: str
    message: str = ""
    released: bool = False
    premises: Premises = ()
    at: float = NEVER


def release_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(NODES, PODS, LEASES, EVIDENCE_POLICIES, OVERRIDES),
        dated=(LEASES,),
        wakes=(
            Wake(NODES, changed(standing_of, itself)),
            Wake(OVERRIDES, changed(override.bearing, lambda event: _unsettled(event.view))),
            Wake(PODS, its_node(_is_troubled_or_gone), when=PLACED | LEAVING),
            Wake(PODS, _marked, when=RELEASING | UNHEARD),
            Wake(EVIDENCE_POLICIES, each_of(NODES, is_in_trouble)),
            # Grants, of which the status tells, are of nodes that are there; rows decide about those that are gone too.
            Wake(EVIDENCE_POLICIES, changed(_rows_of, lambda event: _unsettled(event.view))),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def its_node(test: Callable[[Node | None], bool]) -> KeysOf[Pod]:
    """The node that a pod is bound to, if the test holds of it."""

    def keys(event: WatchEvent[Pod]) -> Iterable[Key]:
        name = event.after.spec.node_name if event.after is not None else ""
        return (node_key(name),) if name and test(event.view.get(NODES, "", name)) else ()

    return keys


def _marked(event: WatchEvent[Pod]) -> Iterable[Key]:
    """The node of a pod that has just been marked: the mark may have come so late that the node is heard again."""
    pod = event.after
    if pod is None or not pod.spec.node_name or not _is_marked(pod):
        return ()
    return () if event.before is not None and _is_marked(event.before) else (node_key(pod.spec.node_name),)


def _rows_of(policy: EvidencePolicy | None) -> object:
    """What stands for the rows of a policy."""
    if policy is None:
        return None
    meta = policy.metadata
    return meta.uid, meta.generation, meta.deletion_timestamp


def _unsettled(view: Reading) -> Iterable[Key]:
    names = {each.metadata.name: is_in_trouble(each) for each in view.list(NODES)}
    found = {name for name, troubled in names.items() if troubled}
    for pod in view.list(PODS):
        name = pod.spec.node_name
        if name and not pod.finished and (name not in names or _is_marked(pod)):
            found.add(name)
    return map(node_key, sorted(found))


def _decide(view: Reading, key: Key, now: float) -> Decision:
    node = view.get(NODES, "", key.name)
    pods = [
        pod
        for pod in view.on_node(key.name)
        if isinstance(pod, Pod) and not pod.finished and not pod.released
    ]
    if not pods:
        return NOTHING
    policy = view.get(EVIDENCE_POLICIES, "", rows.NAME)
    lease = view.get(LEASES, NODE_LEASES, key.name)
    case = _Case(view, key.name, node, lease, policy, now)
    effects: list[Effect] = []
    notes: list[EventNote] = []
    due: list[float] = []
    waiting = ""
    for pod in pods:
        step = case.step(pod)
        due.append(step.at)
        waiting = waiting or step.reason
        effect = case.effect(pod, step)
        if effect is None:
            continue
        if len(effects) >= EFFECTS_MAX:
            due.append(now)
            break
        if step.released:
            notes += _told(pod, step, len(effects))
        effects.append(effect)
    at = min(due)
    verdict = Waiting(waiting, f"{len(pods)} pods on {key.name}") if waiting else NOTHING.verdict
    return Decision(verdict, tuple(effects), at if at < NEVER else 0.0, tuple(notes))


class _Case:
    """All that is known of one node."""

    def __init__(
        self,
        view: Reading,
        name: str,
        node: Node | None,
        lease: Lease | None,
        policy: EvidencePolicy | None,
        now: float,
    ) -> None:
        self._view, self._name, self._node, self._lease = view, name, node, lease
        self._policy, self._evidence, self._now = policy, Evidence(policy), now
        self._unreachable = node is not None and taint_of(node, UNREACHABLE, NO_EXECUTE) is not None

    def effect(self, pod: Pod, step: _Step) -> Effect | None:
        wanted = None
        if step.reason:
            wanted = Condition(RELEASED, "True" if step.released else "False", step.reason, step.message)
        lost = self._unreachable or step.released
        return mark_pod(NAME, pod, wanted, self._now, lost=lost, premises=step.premises)

    def step(self, pod: Pod) -> _Step:
        step = self._allowed_step(pod)
        overrides = self._view.list(OVERRIDES) if step.released else ()
        if not overrides:
            return step
        labels = self._node.metadata.labels if self._node is not None else {}
        hold = override.holding_at(overrides, override.repair, self._name, labels, pod.metadata, self._now)
        if hold is None:
            return step
        return _Step(REPAIR_PAUSED, f"{hold.told} pauses repair: {step.message}", at=hold.until)

    def _allowed_step(self, pod: Pod) -> _Step:
        if self._node is None:
            return self._gone(pod)
        if not self._node.ready and confirmed_by_human(self._node, pod):
            allowed = self._evidence.allows(rows.OUT_OF_SERVICE_SET, _act(pod))
            if allowed is not None:
                told = f"somebody confirmed that nothing runs on {self._name} any more"
                premises = (premise_of(NODES, self._node.metadata),)
                return self._release("OutOfServiceConfirmed", f"{told} ({allowed.cited})", pod, premises)
        if self._lease is None or not is_unheard(self._node, renewal_of(self._lease)):
            return _Step("")
        return self._unheard(pod, self._node, self._lease)

    def _gone(self, pod: Pod) -> _Step:
        allowed = self._evidence.allows(rows.NODE_GONE, _act(pod))
        if allowed is None:
            told = (
                f"node {self._name} is gone, and no row of EvidencePolicy/{rows.NAME} lets that release a pod: make"
                f" sure, then kubectl delete pod {pod.metadata.name} -n {pod.metadata.namespace} --force"
            )
            return _Step(CONFIRMATION, told)
        known = released_condition(pod)
        begun = known is not None and known.reason == GONE and known.last_transition_time
        since = parse_time(known.last_transition_time) if known is not None and begun else self._now
        due = since + allowed.after_seconds
        if self._now >= due and (begun or not allowed.after_seconds):
            told = f"node {self._name} was deleted ({allowed.cited})"
            return self._release("NodeDeleted", told, pod, (Premise(node_key(self._name), 0),))
        told = f"node {self._name} is gone; unless it returns, the pod is released after {timestamp(due)}"
        return _Step(GONE, f"{told} ({allowed.cited})", at=due)

    def _unheard(self, pod: Pod, node: Node, lease: Lease) -> _Step:
        allowed = self._evidence.allows(rows.MISSED_HEARTBEATS, rows.RELEASE)
        due = release_due_at(self._evidence, node, pod)
        if allowed is None or due == NEVER:
            return _Step("")  # it bears this for as long as it lasts
        silent = f"node {self._name} is silent since {renewal_of(lease)}"
        if self._now < due:
            told = (
                f"{silent}; unless it returns, the pod is released after {timestamp(due)} ({allowed.cited})"
            )
            return _Step(LOST, told, at=due)
        cited, reason = allowed.cited, "NodeSilent"
        if is_at_most_one(pod.metadata):
            held = self._held(pod, lease, silent)
            if held is not None:
                return held
            fenced = self._evidence.allows(rows.LEASE_EXPIRED, rows.RELEASE_AT_MOST_ONE)
            cited, reason = fenced.cited if fenced is not None else cited, "NodeFenced"
        braked = self._braked(node, lease, silent)
        if braked is not None:
            return braked
        assert self._policy is not None
        premises = premise_of(EVIDENCE_POLICIES, self._policy.metadata), premise_of(LEASES, lease.metadata)
        return self._release(reason, f"{silent} ({cited})", pod, premises)

    def _held(self, pod: Pod, lease: Lease, silent: str) -> _Step | None:
        """At most one: whether it is not sure yet that the original has ended."""
        allowed = self._evidence.allows(rows.LEASE_EXPIRED, rows.RELEASE_AT_MOST_ONE)
        seen = self._view.sighting(LEASES, NODE_LEASES, self._name)
        sure_at = ended_at(self._evidence, pod, lease, seen.at) if seen is not None else NEVER
        if allowed is None or sure_at == NEVER:
            told = (
                f"{silent}; at most one may run, and no supervisor said that it ends it in time: make sure, then "
                f"kubectl taint node {self._name} {OUT_OF_SERVICE}=confirmed:{NO_EXECUTE}"
            )
            return _Step(CONFIRMATION, told)
        if self._now >= sure_at:
            return None
        told = (
            f"{silent}; at most one may run: its supervisor has surely ended it by {timestamp(sure_at + 1)}"
        )
        return _Step(FENCE, f"{told} ({allowed.cited})", at=sure_at)

    def _braked(self, node: Node, lease: Lease, silent: str) -> _Step | None:
        if self._policy is None:
            told = (
                f"{silent}; there is no EvidencePolicy {rows.NAME} whose status could count releases: create it, or"
                f" make sure, then kubectl taint node {self._name} {OUT_OF_SERVICE}=confirmed:{NO_EXECUTE}"
            )
            return _Step(CONFIRMATION, told)
        zone = next((each for each in self._policy.status.zones if each.name == zone_of(node)), None)
        if zone is not None and zone.state != brake.STOPPED:
            for each in zone.released:
                if (each.uid, each.lease) == (node.metadata.uid, renewal_of(lease)):
                    return None
        where = f"kubectl describe evidencepolicy {rows.NAME}"
        if zone is None or zone.state == brake.NORMAL:
            return _Step(TURN, f"{silent}; other nodes of zone {zone_of(node)} are first ({where})")
        return _Step(BRAKED, f"{silent}; zone {zone.name} is {zone.state}, {where} says why")

    def _release(self, reason: str, why: str, pod: Pod, premises: Premises) -> _Step:
        owner = pod.metadata.controller
        then = f"{owner.kind} {owner.name} may replace it" if owner is not None else "nobody replaces it"
        return _Step(reason, f"{why}; {then}", released=True, premises=premises)


def standing_of(node: Node | None) -> object:
    """What of a node decides about its pods."""
    if node is None:
        return None
    since = node.metadata.annotations.get(SILENT_SINCE)
    return node.metadata.uid, node.spec.taints, node.ready, since


def is_in_trouble(node: Node) -> bool:
    taints = node.spec.taints  # most have none
    return bool(taints) and any(taint.get("key") in (UNREACHABLE, OUT_OF_SERVICE) for taint in taints)


def _is_troubled_or_gone(node: Node | None) -> bool:
    return node is None or is_in_trouble(node)


def node_key(name: str) -> Key:
    return Key(NODES.name, "", name)


def _is_marked(pod: Pod) -> bool:
    for each in pod.status.conditions:  # noqa: SIM110 asked of every pod
        if each.type == RELEASED or each.reason == LOST:
            return True
    return False


def _act(pod: Pod) -> str:
    return rows.RELEASE_AT_MOST_ONE if is_at_most_one(pod.metadata) else rows.RELEASE


def _told(pod: Pod, step: _Step, place: int) -> tuple[EventNote, ...]:
    """On the pod, and on whoever may replace it."""
    meta = pod.metadata
    notes = [EventNote(regarding_of(PODS, meta), WARNING, "Released", step.message, place)]
    owner = meta.controller
    if owner is not None:
        regarding = Regarding(owner.api_version, owner.kind, meta.namespace, owner.name, owner.uid)
        notes.append(EventNote(regarding, WARNING, "PodReleased", f"pod {meta.name}: {step.message}", place))
    return tuple(notes)
