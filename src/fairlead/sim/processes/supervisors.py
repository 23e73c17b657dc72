"""What a simulated machine (`machines.py`) has of each pod: a supervisor, and the containers that it started."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.sim.processes.runs import ProcessRun


@dataclass(slots=True)
class MachineContainer:
    """One attempt at a container, and the one before it."""

    name: str
    attempt: int
    started_ms: int
    argv: tuple[str, ...]
    run: ProcessRun
    ended: tuple[int, int, str, int] | None = None  # exit code, signal, reason, when
    previous: MachineContainer | None = None
    stopping: bool = False
    kill_at: int | None = None

    @property
    def running(self) -> bool:
        return self.ended is None


@dataclass(slots=True)
class MachineSupervisor:
    """All that is on this machine of one pod."""

    uid: str
    namespace: str
    name: str
    address: str
    deadline_ms: int | None = None  # None: it has none
    alive: bool = True
    fenced: bool = False
    containers: dict[str, MachineContainer] = field(default_factory=dict)
