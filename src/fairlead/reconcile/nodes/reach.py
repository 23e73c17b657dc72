"""Whether a pod can be counted on: not where nobody hears of it, at any stage of its node's silence.

What a pod last said of itself stands in its status until somebody takes it back, which happens only after its node was
silent for MarkUnknown. Nothing is given up on account of such a pod before that either: a step of a rollout, a pod that
a set takes down, an eviction or an original that came back must leave enough pods that are within reach.

    a renewal of the lease is missed     the plane heard none for 3/8 of the time the lease says: nodes renew every
                                         quarter. Nothing is marked yet; the node may be heard the next moment
    Suspect, Unknown                     taints and the annotation of the node say so
    release ahead or done                the pod's condition says so
    out of service                       somebody confirmed that nothing runs there

A node that died since its last renewal cannot be told from one that lives: that is the time this cannot see, 15 s at
most with the default lease of 40 s. A node without a lease gives no evidence and is within reach. Pure; called by the
controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets and budgets, and of pods that return. The API, which
answers evictions, asks the same of its own ears (`api/heard_nodes.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.decision.contract import Reading
from fairlead.ledger.evidence import is_closed, is_overdue, overdue_seconds
from fairlead.model.marks import NODE_LEASES, RELEASED
from fairlead.model.views import LEASES, NODES, Pod

# How soon those who wait for pods out of reach look at their nodes again.
#: bound: plane | who waits for pods out of reach looks every | -
LOOK_AGAIN_SECONDS = 5.0


class Overdue(NamedTuple):
    """Nodes that have missed a renewal, and how soon another may; 0 if there is no other."""

    names: tuple[str, ...]
    next_seconds: float


def is_out_of_reach(view: Reading, pod: Pod) -> bool:
    """For Deciders that read Nodes and Leases, the latter dated."""
    for each in pod.status.conditions:
        if each.type == RELEASED:
            return True
    name = pod.spec.node_name
    node = view.get(NODES, "", name) if name else None
    return node is not None and (is_closed(node) or has_missed(view, name))


def has_missed(view: Reading, node: str) -> bool:
    """No renewal of the node's lease was heard in the time in which it should have come."""
    lease = view.get(LEASES, NODE_LEASES, node)
    seen = view.sighting(LEASES, NODE_LEASES, node) if lease is not None else None
    return lease is not None and seen is not None and is_overdue(lease, seen.silent_seconds)


def find_overdue(view: Reading) -> Overdue:
    """All nodes that have missed a renewal, marked or not."""
    due = {each.metadata.name: overdue_seconds(each) for each in view.list(LEASES, NODE_LEASES)}
    if not due:
        return Overdue((), 0.0)
    silent = view.silent(LEASES, NODE_LEASES, min(due.values()))
    waits = [silent.next_seconds] if silent.next_seconds else []
    names = []
    for name, seen in silent.names.items():
        left = due.get(name, 0.0) - seen.silent_seconds
        if left > 0:
            waits.append(left)
        else:
            names.append(name)
    return Overdue(tuple(names), min(waits, default=0.0))
