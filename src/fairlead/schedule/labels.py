"""Conditions on nodes' labels and names, answered for all nodes at once: one test per distinct value of the label."""

from __future__ import annotations

import numpy as np

from fairlead.model.selectors import Requirement, label_selector
from fairlead.schedule.facts import NodeTerm
from fairlead.schedule.nodes import Mask, Nodes


def where_label(nodes: Nodes, requirement: Requirement) -> Mask:
    """Where one condition on a label holds. A missing label is a value of its own, as selectors see it."""
    topology = nodes.topology(requirement.key)
    holds = label_selector((requirement,)).matches
    answers = [holds({requirement.key: value}) for value in topology.values]
    table = np.array([*answers, holds({})], np.bool_)  # the last is what -1 finds
    return table[topology.ids]


def where_name(nodes: Nodes, requirement: Requirement) -> Mask:
    """matchFields knows metadata.name with In and NotIn."""
    named = np.zeros(nodes.slots, np.bool_)
    for name in requirement.values:
        slot = nodes.slot.get(name)
        if slot is not None:
            named[slot] = True
    return named if requirement.operator == "in" else ~named


def where_term(nodes: Nodes, term: NodeTerm) -> Mask:
    """All conditions of a term; a term without any matches nothing."""
    mask = np.full(nodes.slots, bool(term.labels or term.fields), np.bool_)
    for requirement in term.labels:
        mask &= where_label(nodes, requirement)
    for requirement in term.fields:
        mask &= where_name(nodes, requirement)
    return mask
