"""Eviction by taint: pods leave a node with a taint NoExecute that they do not bear, or bear for no longer.

A key is a node. As Kubernetes' taint manager does it, but by the object: graces count from the taint's timeAdded, which
`health.py` fills in where nobody did. A pod first says why it goes (DisruptionTarget), then is deleted gracefully:
its node is there to end it. Silent nodes and nodes out of service are judged elsewhere (`release.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, EventNote, Reading, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Delete, Effect, delete_object, identity, premise_of
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import NORMAL, regarding_of
from fairlead.decision.predicates import PLACED
from fairlead.decision.wakes import changed, each_of, itself_if
from fairlead.ledger import override
from fairlead.ledger.evidence import (
    NEVER,
    NO_EXECUTE,
    Evidence,
    added_at,
    eviction_signal,
    taint_of,
    tolerated_seconds,
)
from fairlead.model.key import Key
from fairlead.model.marks import UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import EVIDENCE_POLICIES, NODES, OVERRIDES, PODS, Condition, Json, Node, Pod
from fairlead.reconcile.nodes.pod_marks import condition_of
from fairlead.reconcile.nodes.release import its_node, node_key

NAME = "taint-eviction"
_TARGET = "DisruptionTarget"
_REASON = "DeletionByTaintManager"


def taint_eviction_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(NODES, PODS, EVIDENCE_POLICIES, OVERRIDES),
        wakes=(
            Wake(NODES, changed(_taints, itself_if(_evicting))),
            Wake(PODS, its_node(_is_evicting), when=PLACED),
            Wake(EVIDENCE_POLICIES, each_of(NODES, _evicting)),
            Wake(OVERRIDES, changed(override.bearing, each_of(NODES, _evicting))),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def _taints(node: Node | None) -> object:
    return node.spec.taints if node is not None else None


def _unsettled(view: Reading) -> Iterable[Key]:
    return tuple(node_key(each.metadata.name) for each in view.list(NODES) if _evicting(each))


def _decide(view: Reading, key: Key, now: float) -> Decision:
    node = view.get(NODES, "", key.name)
    if node is None or not _evicting(node) or taint_of(node, UNREACHABLE, NO_EXECUTE) is not None:
        return NOTHING  # nobody there could end a pod
    evidence = Evidence(view.get(EVIDENCE_POLICIES, "", rows.NAME))
    effects: list[Effect] = []
    notes: list[EventNote] = []
    due = NEVER
    for pod in view.on_node(key.name):
        if not isinstance(pod, Pod) or not pod.live:
            continue
        at, taint, cited = _due_at(evidence, node, pod)
        hold = _paused(view, node, pod, now)
        if hold is not None:
            at = max(at, hold.until)
        if at > now:
            due = min(due, at)
            continue
        if len(effects) >= EFFECTS_MAX:
            due = now
            break
        why = f"node {key.name} has the taint {taint.get('key')} ({cited})"
        effect = _targeted(pod, why, now)
        if effect is None:
            effect = _deleted(node, pod)
            told = f"Marking for deletion Pod {pod.metadata.namespace}/{pod.metadata.name}: {why}"
            notes.append(
                EventNote(
                    regarding_of(PODS, pod.metadata), NORMAL, "TaintManagerEviction", told, len(effects)
                )
            )
        else:
            due = now
        effects.append(effect)
    if not effects and due == NEVER:
        return NOTHING
    return Decision(Waiting("Evicting", key.name), tuple(effects), due if due < NEVER else 0.0, tuple(notes))


def _paused(view: Reading, node: Node, pod: Pod, now: float) -> override.Hold | None:
    overrides, meta = view.list(OVERRIDES), node.metadata
    if not overrides:
        return None
    return override.holding_at(overrides, override.repair, meta.name, meta.labels, pod.metadata, now)


def _evicting(node: Node) -> bool:
    taints = node.spec.taints  # most have none
    return bool(taints) and any(eviction_signal(taint) for taint in taints)


def _is_evicting(node: Node | None) -> bool:
    return node is not None and _evicting(node)


def _due_at(evidence: Evidence, node: Node, pod: Pod) -> tuple[float, Json, str]:
    """When the first of the node's taints drives it out, and which."""
    found: tuple[float, Json, str] = (NEVER, {}, "")
    for taint in node.spec.taints:
        signal = eviction_signal(taint)
        allowed = evidence.allows(signal, rows.EVICT) if signal else None
        begun = added_at(taint)
        if allowed is None or begun is None:
            continue
        after = allowed.after_seconds if signal == rows.NO_EXECUTE_TAINT else 0.0
        at = begun + max(after, tolerated_seconds(pod.spec.tolerations, taint))
        if at < found[0]:
            found = (at, taint, allowed.cited)
    return found


def _targeted(pod: Pod, why: str, now: float) -> Effect | None:
    known = condition_of(pod, _TARGET)
    if known is not None and known.status == "True":
        return None
    others = tuple(each for each in pod.status.conditions if each.type != _TARGET)
    condition = Condition(_TARGET, "True", _REASON, f"Taint manager: {why}", timestamp(now))
    return ensure_status(NAME, PODS, pod, structs.replace(pod.status, conditions=(*others, condition)))


def _deleted(node: Node, pod: Pod) -> Delete:
    """Only while the node's taints are as they were."""
    meta = pod.metadata
    label = identity(NAME, meta.uid, "evict")
    return delete_object(label, PODS, meta, premises=(premise_of(NODES, node.metadata),))
