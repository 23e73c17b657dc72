"""In which phase the store machine (`machine.py`) is, and what it says to an event that cannot happen in it."""

from __future__ import annotations

from enum import Enum


class StorePhase(Enum):
    OPEN = "open"
    GATHERING = "gathering"
    APPENDING = "appending"
    REREADING = "rereading"
    HALTED = "halted"


class OutOfTurn(Exception):
    """The driver reported something that cannot happen now. Carries the phase and the event."""

    def __init__(self, phase: StorePhase, event: object) -> None:
        super().__init__(f"{type(event).__name__} in phase {phase.value}")
        self.phase, self.event = phase, event
