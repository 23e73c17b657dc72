"""Which faults a world has, and how often: each seed draws its own few of them.

A run in which everything goes wrong at once hides what only happens when one thing does, so a seed has some kinds of
faults and not the others, each at a level of its own. The kinds come from the `Faults` records: one that is added there
is drawn here.
"""

from __future__ import annotations

from dataclasses import fields

from fairlead.sim.faults import DEFAULT, Faults, NodeFaults
from fairlead.sim.generate.draw import Draw
from fairlead.sim.worlds import clocks, nodes

_LEVELS = (1.0, 4.0, 12.0)  # times the usual
_MOST = 0.5
_USUAL = 0.02  # of a kind that the standard world does not have
_INCIDENT_LEVELS = (0.3, 0.6)
# Weights among incidents are those of the worlds that were made for them.
OF_PLANES: tuple[tuple[str, int], ...] = (*Faults().incidents, ("plane_clock_set", 1))
_KNOWN = frozenset(name for name, _ in OF_PLANES)
OF_NODES: tuple[tuple[str, int], ...] = tuple(
    dict((*nodes.FAULTS.incidents, *clocks.FAULTS.incidents)).items() - dict(OF_PLANES).items()
)
OF_NODES = tuple(sorted(each for each in OF_NODES if each[0] not in _KNOWN))


def swarm(draw: Draw, *, machines: bool) -> Faults:
    """`machines`: nodes have agents, whose faults there are as well."""
    record = NodeFaults if machines else Faults
    chosen = {kind: _level(draw, kind) for kind in call_faults(record) if draw.happens("fault", 0.4)}
    incidents = tuple(
        (name, weight)
        for name, weight in (*OF_PLANES, *(OF_NODES if machines else ()))
        if draw.happens("incident", 0.6 if machines else 0.4)
    )
    likely = draw.one_of("incidents", _INCIDENT_LEVELS) if incidents else 0.0
    if machines and incidents:
        likely = 0.9  # there are many kinds, and few such worlds
    return record(**chosen, incident=likely, incidents=incidents)


def call_faults(record: type[Faults]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if each.name not in ("incident", "incidents"))


def all_faults() -> NodeFaults:
    """Every kind that a seed may draw, for those who count them."""
    return NodeFaults(
        **dict.fromkeys(call_faults(NodeFaults), _USUAL), incident=0.1, incidents=(*OF_PLANES, *OF_NODES)
    )


def told(faults: Faults) -> str:
    kinds = [
        f"{kind} {probability:g}"
        for kind in call_faults(type(faults))
        if (probability := getattr(faults, kind))
    ]
    if faults.incident:
        kinds.append(f"{'/'.join(name for name, _ in faults.incidents)} {faults.incident:g}")
    return ", ".join(kinds) or "none"


def _level(draw: Draw, kind: str) -> float:
    usual = getattr(DEFAULT, kind, 0.0) or _USUAL
    if kind == "driver_failed":
        usual = 0.2  # few instructions go to a machine in so short a run
    return min(_MOST, round(usual * draw.one_of("level", _LEVELS), 4))
