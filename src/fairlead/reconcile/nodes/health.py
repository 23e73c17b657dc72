"""Node health: what is made of a node's silence, and of what it says of itself. First no new pods, then Ready=Unknown.

One key for all nodes: a look costs little more than to find the silent ones, and heartbeats of the others wake nobody.

    lease silent for StopPlacement     taint fairlead.dev/suspect NoSchedule
    lease silent for MarkUnknown       Ready=Unknown; taint unreachable NoSchedule and NoExecute: its pods' grace begins
    renewed since                      all of that is taken back
    the node says Ready=False          taint not-ready NoSchedule, then NoExecute, but not while the zone's brake is on,
                                       nor in the first seconds of a node that has never been ready
    it says DiskPressure and the like  taint disk-pressure and the like, NoSchedule

A node without a lease gives no evidence and is left alone. Every mark commits only while the lease is at the renewal
it was decided on (its premise): whoever is cut off from the nodes' heartbeats can mark nobody who sent one. Time in
which the observer itself heard nothing is no silence of a node (`decision/failure_detector.py`). Which
renewal was the last is noted on the node, so that a plane that starts anew takes nothing back before it hears another.

Taints that drive pods out and that nobody dated get their date here: graces are counted from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import EFFECTS_MAX, SETTLED, Decision, EventNote, Reading, Silent, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect
from fairlead.decision.predicates import GONE, NEW, PRESENT
from fairlead.decision.wakes import always, changed, within
from fairlead.ledger.evidence import (
    HEARD,
    NEVER,
    SUSPECTED,
    UNKNOWN,
    Evidence,
    renewal_of,
)
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, SILENT_SINCE, SUSPECT
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    LEASES,
    NODES,
    Lease,
    Node,
)
from fairlead.reconcile.nodes.marks import NAME, NodeJudgement, NodeMarks, pressures_of, ready_of

ALL = Key(NODES.name, "", "")
#: bound: plane | silence that is due is looked at every | -
LOOK_AGAIN_SECONDS = 1.0  # what is due and not yet proven is looked at this often


def node_health_decider() -> Decider:
    """A renewal as such says nothing new; that none came is found out by looking."""
    return Decider(
        name=NAME,
        reads=(NODES, LEASES, EVIDENCE_POLICIES),
        dated=(LEASES,),
        gathers=NODES,
        wakes=(
            Wake(NODES, changed(_marks, always(ALL))),
            Wake(LEASES, within(NODE_LEASES, always(ALL)), when=NEW | GONE),
            Wake(LEASES, within(NODE_LEASES, _of_marked_node), when=PRESENT),
            Wake(EVIDENCE_POLICIES, always(ALL)),
        ),
        decide=_decide,
    )


def _of_marked_node(event: WatchEvent[Lease]) -> Iterable[Key]:
    """A renewal of a node that bears our marks."""
    node = event.view.get(NODES, "", event.key.name)
    return (ALL,) if node is not None and SILENT_SINCE in node.metadata.annotations else ()


def _decide(view: Reading, key: Key, now: float) -> Decision:
    policy = view.get(EVIDENCE_POLICIES, "", rows.NAME)
    evidence = Evidence(policy)
    least = evidence.silence_seconds
    silent = view.silent(LEASES, NODE_LEASES, least) if least < NEVER else Silent({}, 0.0)
    effects: list[Effect] = []
    notes: list[EventNote] = []
    waits = [silent.next_seconds] if silent.next_seconds else []
    for node in view.list(NODES):
        name = node.metadata.name
        sighting = silent.names.get(name)
        if sighting is None and not node.spec.taints and node.ready and not pressures_of(node):
            continue
        lease = view.get(LEASES, NODE_LEASES, name)
        judged = _judged(evidence, node, lease, sighting.silent_seconds if sighting is not None else -1.0)
        if judged.state is not None and sighting is not None:
            waits.append(evidence.next_state_in(judged.silent_seconds))
        wish = NodeMarks(policy, evidence, node, lease, judged, now)
        effect = wish.effect()
        waits += wish.waits
        if effect is not None and len(effects) < EFFECTS_MAX:
            notes += wish.notes(len(effects))
            effects.append(effect)
        elif effect is not None:
            waits.append(0.0)
    ahead = min(waits, default=NEVER)
    verdict = Waiting("NodesSilent", f"{len(silent.names)} nodes are silent") if silent.names else SETTLED
    again_at = now + max(LOOK_AGAIN_SECONDS, ahead) if ahead < NEVER else 0.0
    return Decision(verdict, tuple(effects), again_at, tuple(notes))


def _marks(node: Node | None) -> object:
    """What of a node concerns its health; heartbeats do not."""
    if node is None:
        return None
    ready = ready_of(node)
    said = (ready.status, ready.reason) if ready is not None else None
    short = tuple(each.type for each in pressures_of(node))
    return node.metadata.uid, node.spec.taints, said, short, SILENT_SINCE in node.metadata.annotations


def _judged(evidence: Evidence, node: Node, lease: Lease | None, silent_seconds: float) -> NodeJudgement:
    if lease is None or node.metadata.deletion_timestamp:
        return NodeJudgement(None)
    state = evidence.state(silent_seconds)
    if node.metadata.annotations.get(SILENT_SINCE) != renewal_of(lease):
        return NodeJudgement(state, silent_seconds)
    # Not renewed since it was marked: whoever did that may have listened for longer, so nothing is taken back.
    if state == SUSPECTED and not any(taint.get("key") == SUSPECT for taint in node.spec.taints):
        state = UNKNOWN
    return NodeJudgement(None if state == HEARD else state, silent_seconds)
