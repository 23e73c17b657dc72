"""What a plugin is, and what an attempt to place a pod leaves behind. Read this first.

    Plugin.prepare(snapshot, facts) -> Prepared | None

is asked once per class of pods and batch; None says that this plugin has no opinion on such pods and costs nothing.
A Prepared answers with whole columns, one value per slot of `nodes.py`:

    mask()          where such a pod may go, for all that this plugin knows; None: everywhere
    reasons(slots)  why not, for slots that mask() refused: reason -> number of nodes, in Kubernetes' words
    scores(open)    0..100 per slot, meaningful where `open` is true; None: all the same
    touched(change) a pod has come to a slot, or gone: bring mask and scores up to date, in place. Says whether they may
                    have changed elsewhere than at this slot; then they are asked for again.
    relative        whether its scores depend on which slots are open

Where evicting helps, it also says how far (`preemption.py` asks, once nothing is open):

    resolvable()    where evicting, whoever it is, could make a difference to this plugin; None: everywhere
    hopeful(lower)  where the pod could pass if all pods of lower priority were gone, as far as can be said of all nodes
                    at once; None: cannot be said
    reasons_without(slots, lower)  why not, for slots that hopeful(lower) refused: what they lack with those pods gone
    without(slot, removed)  would it pass there if those pods, all of that slot, were gone? To the letter.
    local           whether that depends on nothing but what is on that slot

Filters run in the order of the policy and are told apart by what they leave: the waterfall. The cycle names no plugin.
Answers are integers and depend on nothing but snapshot and facts: the same snapshot, the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import msgspec

from fairlead.model.key import Key
from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.snapshot import Placed, Snapshot

#: bound: plane | what a plugin gives a node at most | -
SCORE_MAX = 100
BEST_SHOWN = 3


class Prepared(Protocol):
    @property
    def relative(self) -> bool: ...

    def mask(self) -> Mask | None: ...

    def reasons(self, slots: Ints) -> dict[str, int]: ...

    def scores(self, open_slots: Mask) -> Ints | None: ...

    def touched(self, change: OccupancyChange) -> bool: ...


class Lower(Protocol):
    """What pods of lower priority than some take of each node."""

    pods: Ints

    def used(self, resource: str) -> Ints: ...


class Yielding(Prepared, Protocol):
    """What a plugin prepares that says `evicting_helps`."""

    @property
    def local(self) -> bool: ...

    def resolvable(self) -> Mask | None: ...

    def hopeful(self, lower: Lower) -> Mask | None: ...

    def reasons_without(self, slots: Ints, lower: Lower) -> dict[str, int]: ...

    def without(self, slot: int, removed: Sequence[Placed]) -> bool: ...


class Plugin(Protocol):
    name: ClassVar[str]  # as Kubernetes calls it where Kubernetes has it: NodeResourcesFit
    # Which changes could let a refused pod in: `nodes`, `nodes.labels`, `pods.deleted`, `pods.added`, `quotas`...
    # A waiting pod is woken only by what a plugin that refused it names here.
    wakes_on: ClassVar[frozenset[str]]
    # Whether evicting pods may help: a node that lacks a label stays without it. If so, it prepares a `Yielding`.
    evicting_helps: ClassVar[bool]
    # Who may react to its refusals (laws.md 10): of `autoscaler`, `user`, `quota-admin`, `node-admin`, `scheduler`.
    concerns: ClassVar[tuple[str, ...]]

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None: ...


class Stage(msgspec.Struct, frozen=True):
    """One step of the waterfall."""

    plugin: str
    left: int  # nodes still possible after it


class FilterRefusal(msgspec.Struct, frozen=True):
    plugin: str
    reason: str  # `Insufficient cpu`
    nodes: int
    concerns: tuple[str, ...] = ()


class Scored(msgspec.Struct, frozen=True):
    """One of the best nodes, with what each plugin gave (0..100, before its weight)."""

    node: str
    total: int
    parts: dict[str, int]


class Victim(msgspec.Struct, frozen=True):
    key: Key
    uid: str
    priority: int
    breaks_budget: bool = False
    leaving: bool = False  # it is on its way out already: no need to evict it
    nominated: bool = False  # it is not there yet, only its claim is in the way


class SchedulingAttempt(msgspec.Struct, frozen=True):
    """What came of one try to place one pod, with everything that explains it. Small: it is recorded."""

    key: Key
    uid: str
    node: str = ""  # where it goes; "": nowhere now
    nodes: int = 0  # how many there were
    waterfall: tuple[Stage, ...] = ()
    refusals: tuple[FilterRefusal, ...] = ()
    best: tuple[Scored, ...] = ()
    nominated: str = ""  # where it will go once its victims are gone
    victims: tuple[Victim, ...] = ()
    considered: int = 0  # nodes on which evicting was tried out
    message: str = ""  # as the PodScheduled condition and the Event say it
