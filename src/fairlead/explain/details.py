"""The numbers behind a filter's yes or no on one node: `needs 500m cpu, free 200m of 4`.

One function per plugin, by its name; a plugin without one is told by its reason alone. Called by `why_not.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.explain import words
from fairlead.model.marks import ISOLATES_MOUNTS, ISOLATES_USERS
from fairlead.model.selectors import Requirement, label_selector
from fairlead.schedule.domains import Domains
from fairlead.schedule.facts import Facts, PodTerm, Spread
from fairlead.schedule.labels import where_term
from fairlead.schedule.matching import Clause, Meant, clause_of
from fairlead.schedule.nodes import NodeFacts
from fairlead.schedule.plugins.node_ports import clash
from fairlead.schedule.plugins.taint_toleration import is_tolerated
from fairlead.schedule.snapshot import Snapshot

Detail = Callable[[Snapshot, Facts, int], str]


def detail_of(plugin: str, snapshot: Snapshot, facts: Facts, slot: int) -> str:
    tell = DETAILS.get(plugin)
    return tell(snapshot, facts, slot) if tell is not None else ""


def find_lacking(snapshot: Snapshot, facts: Facts, slot: int) -> dict[str, int]:
    """How much of which resource a node has too little of."""
    nodes = snapshot.nodes
    missing = {}
    for resource, needed in facts.requests.items():
        allocatable, used = nodes.column(resource)
        free = allocatable.item(slot) - used.item(slot)
        if needed and free < needed:
            missing[resource] = needed - free
    return missing


def spread_domains(snapshot: Snapshot, facts: Facts, spread: Spread) -> Domains:
    """Pods that a constraint selects, per domain."""
    meant = Meant((Clause(spread.selector, frozenset((facts.namespace,))),), leaving_too=False)
    return Domains(snapshot.nodes, spread.topology_key, snapshot.matching.counts(meant))


def term_domains(snapshot: Snapshot, term: PodTerm) -> Domains:
    return Domains(snapshot.nodes, term.topology_key, snapshot.matching.counts(Meant((clause_of(term),))))


def _node(snapshot: Snapshot, slot: int) -> NodeFacts:
    found = snapshot.nodes.facts[slot]
    assert found is not None  # only slots of nodes that exist are asked about
    return found


def _room(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    """What is missing; if nothing is, everything that was asked for."""
    nodes = snapshot.nodes
    missing = find_lacking(snapshot, facts, slot)
    told = []
    for resource in missing or {name: value for name, value in facts.requests.items() if name != "pods"}:
        allocatable, used = nodes.column(resource)
        needed, has = facts.requests[resource], allocatable.item(slot)
        free = has - used.item(slot)
        unit = words.unit_for(resource)
        told.append(
            f"needs {unit.at_least(needed)} {resource}, free {unit.at_most(free)} of {unit.at_most(has)}"
        )
    return "; ".join(told)


def _labels(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    labels = _node(snapshot, slot).labels
    told = [
        f"asks for {each}, {_has(labels, each)}"
        for each in facts.node_selector
        if not label_selector((each,)).matches(labels)
    ]
    terms = facts.required_terms
    if terms is not None and not any(where_term(snapshot.nodes, term).item(slot) for term in terms):
        told.append("asks for " + " or ".join(map(words.term, terms)) + ", which does not hold here")
    return "; ".join(told)


def _has(labels: dict[str, str], each: Requirement) -> str:
    value = labels.get(each.key)
    return f"the node has no label {each.key}" if value is None else f"the node has {each.key}={value}"


def _taints(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    repelling = [
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in _node(snapshot, slot).taints
        if taint.effect != "PreferNoSchedule" and not is_tolerated(taint, facts.tolerations)
    ]
    return f"does not tolerate {', '.join(repelling)}" if repelling else ""


def _ports(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    taken = tuple(snapshot.ports.get(_node(snapshot, slot).name, ()))
    busy = [f"{port.number}/{port.protocol}" for port in facts.ports if clash((port,), taken)]
    return f"host port {', '.join(busy)} is taken" if busy else ""


def _spread(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    told = []
    for spread in facts.spreads:
        if spread.required:
            domains = spread_domains(snapshot, facts, spread)
            told.append(
                f"{_in_domain(snapshot, spread.topology_key, domains, slot)}, maxSkew {spread.max_skew}"
            )
    return "; ".join(told)


def _in_domain(snapshot: Snapshot, key: str, domains: Domains, slot: int) -> str:
    if not domains.has.item(slot):
        return f"the node has no label {key}"
    value = snapshot.nodes.topology(key).values[domains.ids.item(slot)]
    return f"{domains.number(slot)} such pods in {key}={value}, fewest {domains.least()}"


def _neighbours(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    told: Iterator[str] = (
        f"{'keeps away from' if term.anti else 'wants to be near'} {words.selector(term.selector)}: "
        + _there(snapshot, term, slot)
        for term in (*facts.affinity, *facts.anti_affinity)
    )
    return "; ".join(told)


def _there(snapshot: Snapshot, term: PodTerm, slot: int) -> str:
    domains = term_domains(snapshot, term)
    if not domains.has.item(slot):
        return f"the node has no label {term.topology_key}"
    value = snapshot.nodes.topology(term.topology_key).values[domains.ids.item(slot)]
    return f"{domains.number(slot)} in {term.topology_key}={value}"


def _walls(snapshot: Snapshot, facts: Facts, slot: int) -> str:
    """What the pod asks for, and what the node says it does not isolate."""
    walls = facts.walls
    asked = {
        ISOLATES_USERS: [
            *(f"user {each}" for each in walls.users),
            *(f"group {each}" for each in walls.groups),
            *(("capabilities",) if walls.privileges else ()),
        ],
        ISOLATES_MOUNTS: ["read-only files"] if walls.files else [],
    }
    told = (
        f"the pod asks for {', '.join(each)}, and the node says {label}=false"
        for label, each in asked.items()
        if each and _node(snapshot, slot).labels.get(label) == "false"
    )
    return "; ".join(told)


DETAILS: dict[str, Detail] = {
    "NodeIsolation": _walls,
    "NodeResourcesFit": _room,
    "NodeAffinity": _labels,
    "TaintToleration": _taints,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _neighbours,
}
