"""What becomes of a released pod: its node came back, stays away, was deleted, or a human confirmed that it is dead.

A key is a node. While a node is silent its released pods stay as objects, since they may still run there.

    stays away for Forget, Node deleted, out of service    the object is deleted with grace 0
    heard again: keep-replacement (the default)            if the replacement runs, the original is deleted, gracefully
                 keep-original                             it counts again; its ReplicaSet first takes the other away
                 keep-newest                               the replacement if it is ready, else the original

The rule is the pod's annotation `fairlead.dev/on-return`. A replacement that is not there, never ran, or does not stay
up is not kept for the original: that counts again, and the replacement goes. While it is starting, or is itself where
nobody hears of it, both stay. Where at most one may run the replacement is kept as soon as it has a node: the original
was stopped by its own, and the other may start at any moment. A pod without a replacement (no owner, a DaemonSet)
simply counts again; a StatefulSet's pod was given up for one of the same name, a Job's was counted as failed, and both
go.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.times import parse_time
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, EventNote, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, delete_object, identity, premise_of
from fairlead.decision.ensure import ensure_gone
from fairlead.decision.notes import NORMAL, regarding_of
from fairlead.decision.predicates import RELEASING
from fairlead.decision.wakes import changed, itself
from fairlead.ledger.evidence import (
    NEVER,
    NO_EXECUTE,
    Allowed,
    Evidence,
    confirmed_by_human,
    taint_of,
)
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.key import Key
from fairlead.model.marks import (
    KEEP_NEWEST,
    KEEP_ORIGINAL,
    KEEP_REPLACEMENT,
    NODE_LEASES,
    ON_RETURN,
    RELEASED,
    REPLACES,
    RETURN_RULES,
    RETURNED,
    SILENT_SINCE,
    UNREACHABLE,
)
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.premise import Premise
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    LEASES,
    NODES,
    PODS,
    Condition,
    Node,
    Pod,
)
from fairlead.reconcile.nodes.pod_marks import containers_ready, mark_pod, released_condition
from fairlead.reconcile.nodes.reach import is_out_of_reach
from fairlead.reconcile.nodes.release import node_key, standing_of

NAME = "returned"
_LOOK_AGAIN_SECONDS = 2.0  # while it is not clear yet which of two is the newest that is ready
_SWAPPED = "ReplicaSet"
_COUNTS_AGAIN = frozenset({"", "DaemonSet"})  # owners that make no replacement beside a released pod


def returned_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(NODES, PODS, LEASES, EVIDENCE_POLICIES),
        dated=(LEASES,),
        wakes=(
            Wake(NODES, changed(_standing, itself)),
            Wake(PODS, _of_released_pod, when=RELEASING),
            Wake(EVIDENCE_POLICIES, lambda event: _unsettled(event.view)),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def _of_released_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    """The node of a pod that was released, or has ended since."""
    before, after = event.before, event.after
    if after is None or not after.released:
        return ()
    was = before is not None and before.released and not before.finished
    return (node_key(after.spec.node_name),) if not was or after.finished else ()


def _unsettled(view: Reading) -> Iterable[Key]:
    return map(node_key, sorted({pod.spec.node_name for pod in view.list(PODS) if pod.released}))


def _decide(view: Reading, key: Key, now: float) -> Decision:
    pods = [pod for pod in view.on_node(key.name) if isinstance(pod, Pod) and pod.released]
    if not pods:
        return NOTHING
    node = view.get(NODES, "", key.name)
    case = _Case(view, key.name, node, now)
    effects: list[Effect] = []
    notes: list[EventNote] = []
    due = []
    for pod in pods:
        effect, at = case.effect(pod)
        due.append(at)
        if effect is None:
            continue
        if len(effects) >= EFFECTS_MAX:
            due.append(now)
            break
        if case.why:
            notes.append(
                EventNote(regarding_of(PODS, pod.metadata), NORMAL, RETURNED, case.why, len(effects))
            )
        effects.append(effect)
    at = min(due)
    return Decision(
        Waiting("PodsReleased", f"{len(pods)} on {key.name}"),
        tuple(effects),
        at if at < NEVER else 0.0,
        tuple(notes),
    )


def _standing(node: Node | None) -> object:
    return (standing_of(node), SILENT_SINCE in node.metadata.annotations) if node is not None else None


class _Case:
    def __init__(self, view: Reading, name: str, node: Node | None, now: float) -> None:
        self._view, self._name, self._node, self._now = view, name, node, now
        self._evidence = Evidence(view.get(EVIDENCE_POLICIES, "", rows.NAME))
        self.why = ""

    def effect(self, pod: Pod) -> tuple[Effect | None, float]:
        """What is to be done about it now, and when to look again."""
        self.why = ""
        node = self._node
        if node is None:
            allowed = self._evidence.allows(rows.NODE_GONE, rows.FORGET)
            return self._forget(pod, allowed, Premise(node_key(self._name), 0))
        if not node.ready and confirmed_by_human(node, pod):
            allowed = self._evidence.allows(rows.OUT_OF_SERVICE_SET, rows.FORGET)
            return self._forget(pod, allowed, premise_of(NODES, node.metadata))
        if SILENT_SINCE in node.metadata.annotations or taint_of(node, UNREACHABLE, NO_EXECUTE) is not None:
            lease = self._view.get(LEASES, NODE_LEASES, self._name)
            if lease is None:
                return None, NEVER
            allowed = self._evidence.allows(rows.MISSED_HEARTBEATS, rows.FORGET)
            return self._forget(pod, allowed, premise_of(LEASES, lease.metadata))
        return self._back(pod)

    def _forget(self, pod: Pod, allowed: Allowed | None, premise: Premise) -> tuple[Effect | None, float]:
        condition, meta = released_condition(pod), pod.metadata
        if allowed is None or condition is None:
            return None, NEVER
        since = parse_time(condition.last_transition_time) if condition.last_transition_time else 0.0
        due = since + allowed.after_seconds
        if self._now < due:
            return None, due
        if meta.deletion_timestamp and not meta.deletion_grace_period_seconds:
            return None, NEVER  # only finalizers keep it
        self.why = f"released, and {self._name} has not come back: the object is removed ({allowed.cited})"
        label = identity(NAME, meta.uid, "forget")
        return delete_object(label, PODS, meta, grace_seconds=0, premises=(premise,)), NEVER

    def _back(self, pod: Pod) -> tuple[Effect | None, float]:
        if pod.metadata.deletion_timestamp:
            return None, NEVER  # its node is there to end it
        owner = pod.metadata.controller
        kind = owner.kind if owner is not None else ""
        if pod.finished or (kind != _SWAPPED and kind not in _COUNTS_AGAIN):
            return self._leave(pod, "it was released and is not needed any more"), NEVER
        if kind in _COUNTS_AGAIN:
            self.why = f"{self._name} is back, and nothing took its place: it counts again"
            return mark_pod(NAME, pod, None, self._now, lost=False), NEVER
        condition = released_condition(pod)
        if condition is not None and condition.reason == RETURNED:
            return None, NEVER  # its set acts
        twin = self._replacement(pod)
        rule = pod.metadata.annotations.get(ON_RETURN, RETURN_RULES[0])
        if rule not in RETURN_RULES or is_at_most_one(pod.metadata):
            rule = KEEP_REPLACEMENT
        if rule == KEEP_NEWEST:
            if twin is not None and not twin.ready and not containers_ready(pod):
                return None, self._now + _LOOK_AGAIN_SECONDS
            rule = KEEP_REPLACEMENT if twin is not None and twin.ready else KEEP_ORIGINAL
        if rule == KEEP_ORIGINAL:
            return self._counts_again(
                pod, f"by the rule {rule} it is to count again in place of its replacement"
            )
        if twin is not None and twin.ready and not is_out_of_reach(self._view, twin):
            return self._leave(pod, f"{self._name} is back; by the rule {rule} the original goes"), NEVER
        if twin is not None and (is_starting(twin) or (is_at_most_one(pod.metadata) and twin.spec.node_name)):
            return None, self._now + _LOOK_AGAIN_SECONDS
        return self._counts_again(pod, "nothing that runs has taken its place: it is to count again")

    def _counts_again(self, pod: Pod, why: str) -> tuple[Effect | None, float]:
        """Its set takes the replacement away, if there is one, and then the condition."""
        self.why = f"{self._name} is back; {why}"
        wanted = Condition(RELEASED, "True", RETURNED, self.why)
        return mark_pod(NAME, pod, wanted, self._now, lost=False), NEVER

    def _leave(self, pod: Pod, why: str) -> Effect | None:
        self.why = why
        return ensure_gone(NAME, pod.metadata, PODS, pod)

    def _replacement(self, pod: Pod) -> Pod | None:
        owner = pod.metadata.controller
        assert owner is not None
        for each in self._view.owned(PODS, owner.uid, pod.metadata.namespace):
            if each.metadata.annotations.get(REPLACES) == pod.metadata.uid and each.live:
                return each
        return None


def is_starting(pod: Pod) -> bool:
    """Every container of it runs, and nobody says yet whether it is of use; or it is ready, as was last heard."""
    states = pod.status.container_statuses
    up = bool(states) and all((each.get("state") or {}).get("running") is not None for each in states)
    return pod.ready or (pod.status.phase == "Running" and up)
