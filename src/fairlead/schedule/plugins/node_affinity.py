"""nodeSelector and node affinity: what a pod requires of a node's labels, and what it would like."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.labels import where_label, where_term
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.plugins.static import Static, one_reason
from fairlead.schedule.snapshot import Snapshot


class NodeAffinity:
    name: ClassVar[str] = "NodeAffinity"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "node-admin", "autoscaler")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        if not facts.node_selector and facts.required_terms is None and not facts.preferred_terms:
            return None
        nodes = snapshot.nodes
        return nodes.derived((self.name, facts), lambda: _prepared(nodes, facts))


def _prepared(nodes: Nodes, facts: Facts) -> Static:
    asked = facts.node_selector or facts.required_terms is not None
    mask = where_wanted(nodes, facts) if asked else None
    reasons = one_reason("node(s) didn't match Pod's node affinity/selector")
    return Static(mask, reasons, _liked(nodes, facts) if facts.preferred_terms else None)


def where_wanted(nodes: Nodes, facts: Facts) -> Mask:
    """Where a pod's nodeSelector and required node affinity hold. Also how spreading decides which nodes count."""
    mask = nodes.present.copy()
    for requirement in facts.node_selector:
        mask &= where_label(nodes, requirement)
    if facts.required_terms is not None:
        any_term = np.zeros(nodes.slots, np.bool_)
        for term in facts.required_terms:
            any_term |= where_term(nodes, term)
        mask &= any_term
    return mask


def _liked(nodes: Nodes, facts: Facts) -> Ints:
    """A preference without conditions is none: as a term it matches no node."""
    raw = np.zeros(nodes.slots, np.int64)
    for weight, term in facts.preferred_terms:
        raw += weight * where_term(nodes, term)
    return raw
