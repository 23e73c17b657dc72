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
_Incidents = tuple[tuple[str, int], ...]
# Whether a seed has one is drawn in this order: what is added comes last in `_ADDED`, and moves no draw of another.
_FIRST: _Incidents = (*Faults().incidents, ("plane_clock_set", 1))
_ADDED: _Incidents = (
    ("partition_of_requests", 2),
    ("agent_mute", 2),
    ("plane_slow", 2),
    ("server_clock_set", 1),
    ("disk_full", 1),
    ("agent_slow", 2),
)
_OF_MACHINES = dict((*nodes.FAULTS.incidents, *clocks.FAULTS.incidents))
_OF_NODES = _OF_MACHINES.keys() - dict((*DEFAULT.incidents, *_FIRST)).keys()
INCIDENTS: _Incidents = (
    *_FIRST,
    *((name, _OF_MACHINES[name]) for name in sorted(_OF_NODES - dict(_ADDED).keys())),
    *_ADDED,
)


def swarm(draw: Draw, *, machines: bool) -> Faults:
    """`machines`: nodes have agents, whose faults there are as well."""
    record = NodeFaults if machines else Faults
    chosen = {kind: _level(draw, kind) for kind in call_faults(record) if draw.happens("fault", 0.4)}
    incidents = tuple(
        (name, weight)
        for name, weight in INCIDENTS
        if (machines or name not in _OF_NODES) and draw.happens("incident", 0.6 if machines else 0.4)
    )
    likely = draw.one_of("incidents", _INCIDENT_LEVELS) if incidents else 0.0
    if machines and incidents:
        likely = 0.9  # there are many kinds, and few such worlds
    return record(**chosen, incident=likely, incidents=incidents)


def call_faults(record: type[Faults]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if each.name not in ("incident", "incidents"))


def all_faults() -> NodeFaults:
    """Every kind that a seed may draw, for those who count them."""
    return NodeFaults(**dict.fromkeys(call_faults(NodeFaults), _USUAL), incident=0.1, incidents=INCIDENTS)


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
