"""What really ran: every run of a process on a simulated machine, from when to when. The truth that checkers judge by.

Machines (`machines.py`) write here, whatever anybody's status says; `sim/checkers/` reads. A run is begun
once and ended once; both are told to every checker that asked for it, at the instant at which it happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

EXITED, POWER, LOST = "exited", "power", "lost"  # by itself; with its machine
STOPPED, CLOSED, DEADLINE = "stopped", "closed", "deadline"  # by its supervisor: told to, or by itself


@dataclass(slots=True, eq=False)
class ProcessRun:
    uid: str  # of the pod
    namespace: str
    name: str
    container: str
    attempt: int
    node: str
    since_ms: int
    until_ms: int | None = None  # None: it runs
    cause: str = ""  # what ended it: itself, power, or what its supervisor was told

    def __str__(self) -> str:
        return f"{self.name} ({self.uid}) {self.container} run {self.attempt} on {self.node}"


class RunChecker(Protocol):
    def began(self, run: ProcessRun) -> None: ...

    def ended(self, run: ProcessRun) -> None: ...


class RunLog:
    def __init__(self, checkers: Sequence[RunChecker]) -> None:
        self.runs: list[ProcessRun] = []
        self._checkers = checkers

    def began(self, run: ProcessRun) -> None:
        self.runs.append(run)
        for checker in self._checkers:
            checker.began(run)

    def ended(self, run: ProcessRun, ms: int, cause: str = "") -> None:
        run.until_ms, run.cause = ms, cause
        for checker in self._checkers:
            checker.ended(run)
