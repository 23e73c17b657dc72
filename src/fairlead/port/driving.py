"""How machines are driven: the events and instructions that every machine and every driver has in common.

A machine is a class whose only mutator is `handle(event) -> tuple[Instruction, ...]`: frozen events in (past tense),
frozen instructions out (imperative), no clock and no chance but what the events bring, and its step is finished before
the first of its instructions is carried out. The plane, the agent, leadership and each mirror are such machines;
`runtime/driving.py` drives them in production and `sim/processes/driving.py` in virtual time. What is of one machine
only is declared beside it: `cache/events.py`, `control/instructions.py`, `agent/contract.py`.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

OWN = ""  # the name of a machine's own timer

E_contra = TypeVar("E_contra", contravariant=True)
I_co = TypeVar("I_co", covariant=True)


class Started(msgspec.Struct, frozen=True, gc=False):
    """The first event of every machine."""

    now: float
    chance: float = 0.5  # spreads the first back-off; 0 <= chance < 1, drawn by the driver


class WakeAt(msgspec.Struct, frozen=True, gc=False):
    """Send Woke at this instant. Replaces an earlier WakeAt of the same timer: the machine's own (""), or that of its
    mirror of this resource."""

    at: float
    timer: str = OWN


class Woke(msgspec.Struct, frozen=True, gc=False):
    """The time asked for with WakeAt has come, or something else calls for a look."""

    now: float
    chance: float = 0.5  # spreads the next back-off; 0 <= chance < 1, drawn by the driver
    timer: str = OWN


class Stepped(msgspec.Struct, frozen=True, gc=False):
    """The wall clock was set, and is now so far ahead of the machine's time, which goes on. `message` tells people."""

    ahead_seconds: float
    message: str
    now: float


class ListAll(msgspec.Struct, frozen=True, gc=False):
    """List the resource, all namespaces, at the newest revision the server has."""

    resource_name: str
    attempt: int


class Follow(msgspec.Struct, frozen=True, gc=False):
    """Watch the resource: every change after `since_revision`, with bookmarks."""

    resource_name: str
    since_revision: int
    attempt: int


class Machine(Protocol[E_contra, I_co]):
    """One that wakes by timers."""

    def handle(self, event: E_contra | Started | Woke, /) -> tuple[I_co, ...]: ...
