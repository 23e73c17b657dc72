"""The controls that a SchedulerOverride offers: what each changes and what it risks. One table, for people.

Read by the API, which tells the risk when one is made (`api/admission/override/steps.py`), by `fairlead override`, and
by the reference (docs/reference/overrides.md is made of it).
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.model.kind import Json


class Control(NamedTuple):
    """`command` is how it is made with one line; `left`: what its end does not undo; `moves`: pods or room for them
    may change place because of it, which is worth looking ahead for."""

    fields: tuple[str, ...]
    name: str
    changes: str
    risk: str
    left: str
    command: str
    moves: bool


_FOR = '--for 30m --reason "..."'
CONTROLS = (
    Control(
        ("pauseAutoscaler",),
        "pause autoscaler",
        "autoscalers of the target change no size",
        "load that grows meets the size of now",
        "",
        f"fairlead override pause autoscaler deployment/NAME {_FOR}",
        False,
    ),
    Control(
        ("pauseExpansion",),
        "pause expansion",
        "the target gets no more replicas than it asked for when this began; lost ones are replaced",
        "load that grows meets the size of now; workloads made meanwhile stay empty",
        "",
        f"fairlead override pause expansion deployment/NAME {_FOR}",
        False,
    ),
    Control(
        ("pauseRollout",),
        "pause rollout",
        "a new template goes no further",
        "two versions run beside each other for longer; a fix waits as well",
        "",
        f"fairlead override pause rollout deployment/NAME {_FOR}",
        False,
    ),
    Control(
        ("pauseRepair",),
        "pause repair",
        "nothing of the target is released from silent nodes, evicted for taints or removed as left over",
        "replicas on nodes that are really gone are not replaced",
        "",
        f"fairlead override pause repair deployment/NAME {_FOR}",
        False,
    ),
    Control(
        ("avoidZones", "avoidPools", "avoidNodes"),
        "avoid",
        "nothing new of the target is placed there; what runs there stays",
        "capacity is stranded there, and the rest may be overloaded",
        "pods that were placed elsewhere stay there",
        f"fairlead override avoid deployment/NAME zone/ZONE {_FOR}",
        True,
    ),
    Control(
        ("allowReservedCapacityClass",),
        "capacity",
        "a number of replicas of the target may use nodes that are kept for a capacity class",
        "what the class is kept for may not find room",
        "pods that run there go on, and are listed as residue",
        f"fairlead override capacity deployment/NAME CLASS --replicas 2 {_FOR}",
        True,
    ),
    Control(
        ("priorityClassName",),
        "priority",
        "a number of replicas of the target is placed with the priority of a PriorityClass; all, if that is lower",
        "pods of others are pushed out, or wait for longer",
        "pods that were placed so stay until somebody of higher priority needs the room",
        f"fairlead override priority deployment/NAME CLASS --replicas 2 {_FOR}",
        True,
    ),
    Control(
        ("cordon",),
        "cordon",
        "nothing new is placed on the nodes of a place",
        "the rest may be overloaded",
        "",
        f"fairlead override cordon zone/NAME {_FOR}",
        True,
    ),
    Control(
        ("drain",),
        "drain",
        "nothing new is placed on the nodes of a place, and pods leave them within their disruption budgets",
        "disruption, and pressure on what is left",
        "pods do not move back",
        f"fairlead override drain pool/NAME {_FOR}",
        True,
    ),
    Control(
        ("approveRepair",),
        "approve repair",
        "repair removes one pod of which the rules leave it to people to decide",
        "useful progress of that pod is deleted",
        "the pod is gone",
        f"fairlead override approve-repair pod/NAME {_FOR}",
        True,
    ),
    Control(
        ("trafficWeights",),
        "traffic",
        "Services of the target send new connections to zones by weight",
        "overload of the zones that get more; data may be far from who reads it",
        "connections that are open stay where they are",
        f"fairlead override traffic deployment/NAME zone-a=0 {_FOR}",
        True,
    ),
)


def controls_of(changes: Json) -> list[Control]:
    """Those that an override uses, in the order of the table."""
    return [each for each in CONTROLS if any(changes.get(field) for field in each.fields)]


def moves(changes: Json) -> bool:
    """Whether pods, or room for them, may change place because of these; what holds still moves nothing."""
    return any(each.moves for each in controls_of(changes))
