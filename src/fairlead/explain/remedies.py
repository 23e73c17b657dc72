"""What would have to change for a pod that fits nowhere, from the filters that refuse it and the nodes they refuse.

Each plugin's sentence is one way out: it names the node that is closest to taking the pod, or says plainly that no node
can: a label that none has, a selector that matches nothing. One function per plugin, by its name; of those without one
the reason says enough, beside a word of advice. Called by `explaining.py` and `planning.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.explain import details, words
from fairlead.model.selectors import Requirement
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.facts import Facts, PodTerm
from fairlead.schedule.labels import where_label, where_term
from fairlead.schedule.nodes import Mask
from fairlead.schedule.plugins.taint_toleration import is_tolerated
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RefusedNodes:
    """The nodes that one filter refuses; if there are any that no other filter refuses, only those."""

    snapshot: Snapshot
    facts: Facts
    slots: tuple[int, ...]  # in the order of names

    @property
    def names(self) -> list[str]:
        return self.snapshot.nodes.names(self.slots)


Remedy = Callable[[RefusedNodes], Iterator[str]]


def remedies(snapshot: Snapshot, policy: Policy, facts: Facts) -> tuple[str, ...]:
    """Ways out, each for itself; empty if the pod fits somewhere."""
    nodes = snapshot.nodes
    if not len(nodes):
        return ("there are no nodes: add one",)
    state = ClassState(snapshot, policy, facts)
    if state.open.any():
        return ()
    masks = [(plugin.name, prepared.mask(), prepared) for plugin, prepared in state.prepared]
    found: list[str] = []
    for name, mask, prepared in masks:
        if mask is None:
            continue
        refused = nodes.present & ~mask
        alone = refused.copy()
        for other, also, _ in masks:
            if also is not None and other != name:
                alone &= also
        slots = np.flatnonzero(alone if alone.any() else refused)
        if not len(slots):
            continue
        ordered = tuple(int(slot) for slot in slots[nodes.rank[slots].argsort()])
        remedy = REMEDIES.get(name)
        if remedy is None:
            advice = ADVICE.get(name, name)
            found += [f"{advice} ({reason})" for reason in prepared.reasons(slots)]
        else:
            found += remedy(RefusedNodes(snapshot, facts, ordered))
    return tuple(dict.fromkeys(found))


def remarks(snapshot: Snapshot, facts: Facts) -> tuple[str, ...]:
    """What a pod asks for and cannot get, though it does not keep it from being placed; and whose priority it has."""
    keys = [each.topology_key for each in facts.spreads if not each.required and not each.by_default]
    keys += [each.topology_key for each in facts.preferred_pods]
    told = [
        f"no node has the label {key}: what prefers to spread or gather by it has no effect"
        for key in keys
        if not snapshot.nodes.topology(key).values
    ]
    for weight, term in facts.preferred_terms:
        if not (where_term(snapshot.nodes, term) & snapshot.nodes.present).any():
            told.append(f"no node matches {words.term(term)}, preferred with weight {weight}")
    if facts.own is not None:
        told.append(
            f"it is placed with priority {facts.priority} by SchedulerOverride {facts.prioritized_by},"
            f" not with its own, {facts.own.priority}{'' if facts.preempts else ', and pushes nobody out'}"
        )
    return tuple(dict.fromkeys(told))


# One way out per plugin


def _room(refused: RefusedNodes) -> Iterator[str]:
    snapshot, facts, nodes = refused.snapshot, refused.facts, refused.snapshot.nodes
    for resource, needed in facts.requests.items():
        largest = int(nodes.column(resource)[0][nodes.present].max(initial=0))
        if needed > largest:
            unit = words.unit_for(resource)
            has = f"the largest has {unit.at_most(largest)}" if largest else "none has any"
            yield (
                f"no node is large enough for {unit.at_least(needed)} {resource}: {has}; "
                "ask for less, or add a larger node"
            )
            return
    missing = {slot: details.find_lacking(snapshot, facts, slot) for slot in refused.slots}
    missing = {slot: found for slot, found in missing.items() if found}
    if not missing:
        return
    closest = min(missing, key=lambda slot: (len(missing[slot]), _shares(missing[slot], facts)))
    (name,) = nodes.names((closest,))
    units = {resource: words.unit_for(resource) for resource in missing[closest]}
    parts = [
        "room for a pod" if resource == "pods" else f"{units[resource].at_least(value)} {resource}"
        for resource, value in missing[closest].items()
    ]
    asked = [
        f"{unit.at_least(facts.requests[resource])} {resource}"
        for resource, unit in units.items()
        if resource != "pods"
    ]
    yield (
        f"free {' and '.join(parts)} on {name}"
        f" ({details.detail_of('NodeResourcesFit', snapshot, facts, closest)}),"
        f" or add a node{' with ' + ' and '.join(asked) + ' free' if asked else ''}"
    )


def _shares(missing: dict[str, int], facts: Facts) -> float:
    return sum(value / facts.requests[resource] for resource, value in missing.items())


def _labels(refused: RefusedNodes) -> Iterator[str]:
    snapshot, facts, nodes = refused.snapshot, refused.facts, refused.snapshot.nodes
    hopeless = [each for each in facts.node_selector if not _any(snapshot, where_label(nodes, each))]
    for each in hopeless:
        yield f"no node matches nodeSelector {each}: {_values(snapshot, each)}; label a node, or change the selector"
    terms = facts.required_terms
    if terms is not None and not any(_any(snapshot, where_term(nodes, term)) for term in terms):
        asked = " or ".join(map(words.term, terms)) or "an empty list of terms"
        known = [_values(snapshot, each) for term in terms for each in term.labels]
        yield (
            f"no node matches the required node affinity {asked}"
            + (f": {known[0]}" if known else "")
            + "; label a node, or change the affinity"
        )
        return
    if not hopeless:
        asked = words.requirements(facts.node_selector)
        if terms is not None:
            asked = " and ".join(filter(None, (asked, " or ".join(map(words.term, terms)))))
        yield f"add a node that matches {asked}, or label one of {words.some(refused.names)}"


def _any(snapshot: Snapshot, mask: Mask) -> bool:
    return bool((mask & snapshot.nodes.present).any())


def _values(snapshot: Snapshot, each: Requirement) -> str:
    values = sorted(snapshot.nodes.topology(each.key).values)
    if not values:
        return f"none has the label {each.key} at all"
    return f"nodes have {each.key}={words.some(values)}"


def _taints(refused: RefusedNodes) -> Iterator[str]:
    by_taint: dict[str, list[str]] = {}
    for slot in refused.slots:
        node = refused.snapshot.nodes.facts[slot]
        assert node is not None
        for taint in node.taints:
            if taint.effect != "PreferNoSchedule" and not is_tolerated(taint, refused.facts.tolerations):
                told = f"{taint.key}={taint.value}" if taint.value else taint.key
                by_taint.setdefault(f"{told}:{taint.effect}", []).append(node.name)
                break
    for told, names in sorted(by_taint.items()):
        yield f"tolerate the taint {told}, or remove it from {words.some(names)}"


def _cordoned(refused: RefusedNodes) -> Iterator[str]:
    yield f"uncordon {words.some(refused.names)}"


def _ports(refused: RefusedNodes) -> Iterator[str]:
    ports = ", ".join(f"{port.number}/{port.protocol}" for port in refused.facts.ports)
    yield f"free host port {ports} on {words.some(refused.names)}, or add a node"


def _spread(refused: RefusedNodes) -> Iterator[str]:
    snapshot, facts = refused.snapshot, refused.facts
    for spread in facts.spreads:
        if not spread.required:
            continue
        topology = snapshot.nodes.topology(spread.topology_key)
        if not topology.values:
            yield _nowhere(spread.topology_key, "a topology spread constraint")
            continue
        numbers = details.spread_domains(snapshot, facts, spread).numbers
        by_value = sorted(
            (int(number), value) for number, value in zip(numbers, topology.values, strict=True)
        )
        told = words.some([f"{value} {number}" for number, value in by_value])
        few = ""
        if len(by_value) < spread.min_domains:
            few = f"; minDomains asks for {spread.min_domains} and there are {len(by_value)}"
        yield (
            f"make room in {spread.topology_key}={by_value[0][1]}, which has the fewest such pods, or raise maxSkew"
            f" (now {spread.max_skew}; pods per {spread.topology_key}: {told}{few})"
        )


def _nowhere(key: str, who: str) -> str:
    return f"no node has the label {key}, which {who} asks for: label the nodes, or change the topologyKey"


def _neighbours(refused: RefusedNodes) -> Iterator[str]:
    snapshot, facts = refused.snapshot, refused.facts
    for term in facts.affinity:
        yield _near(snapshot, facts, term)
    for term in facts.anti_affinity:
        taken = sorted(_where(snapshot, term))
        if taken:
            yield (
                f"pods that match {words.selector(term.selector)} are in {term.topology_key}={words.some(taken)}:"
                f" add a node with another {term.topology_key}, or remove one of them"
            )
    if not facts.affinity and not facts.anti_affinity:
        yield (
            f"pods on {words.some(refused.names)} keep it away by their own anti-affinity:"
            " remove them, change its labels, or add a node"
        )


def _near(snapshot: Snapshot, facts: Facts, term: PodTerm) -> str:
    asked = words.selector(term.selector)
    if not snapshot.nodes.topology(term.topology_key).values:
        return _nowhere(term.topology_key, "its pod affinity")
    there = sorted(_where(snapshot, term))
    if there:
        return f"make room in {term.topology_key}={words.some(there)}, where pods that match {asked} are"
    spaces = (
        "every namespace"
        if term.namespaces is None
        else words.some(sorted(term.namespaces)) or "none by name"
    )
    return (
        f"its pod affinity matches nothing: no placed pod matches {asked} (namespaces: {spaces});"
        " start such a pod first, or change the selector"
    )


def _where(snapshot: Snapshot, term: PodTerm) -> Sequence[str]:
    """The domains that have a pod that a term means."""
    numbers = details.term_domains(snapshot, term).numbers
    values = snapshot.nodes.topology(term.topology_key).values
    return [value for value, number in zip(values, numbers, strict=True) if number]


REMEDIES: dict[str, Remedy] = {
    "NodeResourcesFit": _room,
    "NodeAffinity": _labels,
    "TaintToleration": _taints,
    "NodeUnschedulable": _cordoned,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _neighbours,
}

# Where the reason has the numbers already.
ADVICE = {
    "PlacementQuota": "raise the quota, or free some of it",
    "Reservations": "wait until the reservation ends, name it if it is the pod's, or add a node",
    "NodeIsolation": "ask for less in securityContext, or run the agents of these nodes as root "
    "(fairlead.dev/isolates-users and -mounts say what a node has)",
    "CapacityClass": "be one of those that the class is kept for, or add a node outside it",
}
