"""A machine's processes, as the process driver and its supervisors see them: fork, wait, kill, /proc, timers, clocks.

    agent (pid 1000) ──posix_spawn──> Supervisor, production's own loop, a turn at a time ──launch──> Process

Supervisors run in this process: each of their turns is a callback of the deterministic loop, in their pod's directory,
woken as poll would wake them: by their sockets and pipes, which are real, their timer, and the end of a child. Files are
real too. What a `Process` does is drawn: when its command takes over, how it ends, whether it heeds SIGTERM, whether it
leaves a child behind. `launches` keeps every run of a container.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from fairlead.agent.drivers import (
    belonging,
    containers,
    limits,
    procfs,
    side_processes,
    state,
    supervising,
    supervisor_link,
)
from tests.deterministic.loop import PROCESS, DeterministicLoop
from tests.deterministic.supervisors import INIT, SupervisorProcess

AGENT = 1000


class Like:
    """A module with some of its names replaced."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@dataclass(slots=True)
class Process:
    pid: int
    parent: int
    environment: dict[str, str]
    session: int = 0
    status: int | None = None  # of wait, once it is a zombie
    unkillable: bool = False
    files: list[int] = field(default_factory=list)  # held open while it lives
    told: int = -1  # the pipe of its launch, until its command takes over
    heeds: bool = True  # SIGTERM
    agent: str = ""  # that started it

    @property
    def tag(self) -> tuple[str, str, str]:
        read = self.environment.get
        return read(procfs.POD_TAG, ""), read(procfs.CONTAINER_TAG, ""), read(procfs.ATTEMPT_TAG, "")


@dataclass(frozen=True, slots=True)
class KernelFaults:
    no_process: float = 0.0  # a fork that fails
    no_command: float = 0.0  # a command that is not there
    deaf: float = 0.0  # does not heed SIGTERM
    forks: float = 0.0  # leaves a child of its own, in a session of its own
    stuck: float = 0.0  # cannot be killed for some seconds


class Kernel:
    def __init__(self, loop: DeterministicLoop, faults: KernelFaults) -> None:
        self.loop, self.faults = loop, faults
        self.processes: dict[int, Process] = {}
        self.supervisors: dict[int, SupervisorProcess] = {}
        self.launches: list[tuple[str, str, str]] = []  # pod, container, attempt
        self.current = AGENT
        self._pids = AGENT
        self._blocked = 0.0  # how long the code that runs now has slept

    # What tests do and ask

    def alive(self, uid: str) -> set[int]:
        """Processes of a pod, but for its supervisor."""
        return {p.pid for p in self._living() if p.tag[0] == uid and p.tag[1]}

    def running(self, uid: str, container: str) -> bool:
        return any(p.tag[:2] == (uid, container) and p.parent in self.supervisors for p in self._living())

    def exit(self, pid: int, code: int) -> None:
        self._die(self.processes[pid], code << 8)

    def agent_died(self, agent: str = "") -> None:
        """The next one is not their parent. Other agents live on, and so do their threads."""
        for each in self.processes.values():
            if each.parent == AGENT and each.agent == agent:
                each.parent = INIT
        self.loop.kill_threads(agent)

    def power_off(self) -> None:
        """For the end of a test: no descriptor is left."""
        for each in list(self.supervisors.values()):
            each.die()
        for process in self.processes.values():
            self._close(process)

    def _living(self) -> list[Process]:
        return [each for each in self.processes.values() if each.status is None]

    def _new(self, parent: int, environment: dict[str, str]) -> Process:
        self._pids += 1
        made = self.processes[self._pids] = Process(self._pids, parent, environment)
        return made

    # System calls

    def spawn(
        self, path: str, argv: list[str], environment: dict[str, str], file_actions: Any, **_: Any
    ) -> int:
        opened = {target: os.dup(source) for _, source, target in file_actions}
        process = self._new(AGENT, environment)
        process.session, process.agent = process.pid, PROCESS.get()
        started = SupervisorProcess(self, process, opened, float(argv[-1]))
        self.supervisors[process.pid] = started
        self.loop.call_later(self._drawn("exec", 30), started.begin)
        return process.pid

    def launch(
        self, run: Any, argv: Any, groups: Any, output: int, errors: int, beside: int = 0
    ) -> tuple[int, int]:
        faults, tag = self.loop.chance.faults, str(run["name"])
        if faults("no_process", tag).happens(self.faults.no_process):
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        process = self._new(self.current, dict(run["environment"]))
        process.session = process.pid
        process.told, process.files = writing, [os.dup(output), os.dup(errors)]
        process.heeds = not faults("deaf", tag).happens(self.faults.deaf)
        process.unkillable = faults("stuck", tag).happens(self.faults.stuck)
        if not beside:
            self.launches.append(process.tag)
            self.loop.note("launch", process.tag)
        missing = faults("no_command", tag).happens(self.faults.no_command)
        self.loop.call_later(self._drawn("exec", 20), self._take_over, process, missing, beside)
        return process.pid, reading

    def _take_over(self, process: Process, missing: bool, beside: int) -> None:
        if process.status is not None:
            return
        if missing:
            os.write(process.told, b'{"message": "exec: no such file", "exit_code": 128}')
            self._die(process, 128 << 8)
            return
        os.close(process.told)
        process.told = -1
        os.write(process.files[0], b"hello\n")
        self._wake_parent(process)
        if beside:
            self.loop.call_later(self._drawn("side", 500), lambda: self._die(process, 0))
        elif self.loop.chance.faults("forks", process.tag[1]).happens(self.faults.forks):
            child = self._new(process.pid, dict(process.environment))
            child.session, child.heeds = child.pid, False
        if process.unkillable:
            self.loop.call_later(8.0, self._unstick, process)

    def _unstick(self, process: Process) -> None:
        process.unkillable = False

    def kill(self, pid: int, number: int) -> None:
        process = self.processes.get(pid)
        if process is None:
            raise ProcessLookupError(errno.ESRCH, "No such process")
        if process.status is not None or (process.unkillable and number == signal.SIGKILL):
            return
        if pid in self.supervisors and number == signal.SIGKILL:
            self.supervisors[pid].die()
        elif number == signal.SIGKILL:
            self._die(process, number)
        elif process.heeds:
            self.loop.call_later(self._drawn("heeds", 300), self._die, process, number)

    def wait(self, pid: int, options: int) -> tuple[int, int]:
        children = [
            each for each in self.processes.values() if each.parent == self.current and pid in (-1, each.pid)
        ]
        if not children:
            raise ChildProcessError(errno.ECHILD, "No child processes")
        for each in children:
            if each.status is not None:
                del self.processes[each.pid]
                return each.pid, each.status
        return 0, 0

    def _die(self, process: Process, status: int) -> None:
        if process.status is not None:
            return
        process.status = status
        self._close(process)
        for child in [each for each in self.processes.values() if each.parent == process.pid]:
            child.parent = process.parent if process.parent in self.supervisors else INIT  # a subreaper
        self._wake_parent(process)
        if process.parent == INIT:
            self.processes.pop(process.pid, None)

    def _close(self, process: Process) -> None:
        for fd in (*process.files, process.told):
            if fd >= 0:
                os.close(fd)
        process.files, process.told = [], -1

    def _wake_parent(self, process: Process) -> None:
        parent = self.supervisors.get(process.parent)
        if parent is not None:
            parent.wake()

    def _drawn(self, label: str, most_ms: int) -> float:
        return self.loop.chance.stream(label).choose(most_ms) / 1000

    def pipe(self, flags: int) -> tuple[int, int]:
        """Of a supervisor's own: nothing is ever written to it."""
        ends = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.supervisors[self.current].pipes += ends
        return ends

    # /proc

    def read(self, path: str) -> bytes:
        _, _, pid, *rest = path.split("/")
        process = self.processes.get(int(pid)) if pid.isdigit() else None
        if process is None:
            return b""
        match rest:
            case ["environ"] if process.status is None:
                return b"\0".join(f"{name}={value}".encode() for name, value in process.environment.items())
            case ["stat"]:
                letter = "S" if process.status is None else "Z"
                return f"{pid} (x) {letter} {process.parent} {process.session} {process.session} 0".encode()
            case ["task", _, "children"]:
                return b" ".join(
                    b"%d" % each.pid for each in self.processes.values() if each.parent == int(pid)
                )
        return b""

    # Clocks

    def boottime(self, clock: int = 0) -> float:
        return self.loop.time() + self._blocked

    def sleep(self, seconds: float) -> None:
        """Of code that blocks: for it time passes."""
        if not self._blocked:
            self.loop.call_soon(self._wake_up)
        self._blocked += seconds

    def _wake_up(self) -> None:
        self._blocked = 0.0

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        clock = {
            "clock_gettime": self.boottime,
            "monotonic": self.boottime,
            "time": self.loop.wall,
            "sleep": self.sleep,
        }
        proc_path = Like(os.path, exists=lambda path: True)
        quiet = Like(signal, signal=lambda *_: None, set_wakeup_fd=lambda *_, **__: -1)
        pid = {"getpid": lambda: self.current}
        with pytest.MonkeyPatch.context() as patch:
            for module in (state, procfs, supervisor_link):
                patch.setattr(module, "time", Like(module.time, **clock))
            patch.setattr(procfs, "read", self.read)
            patch.setattr(procfs, "processes", lambda: iter(sorted(self.processes)))
            listdir = lambda path: [path.split("/")[2]]  # noqa: E731 - one thread each
            patch.setattr(procfs, "os", Like(os, kill=self.kill, path=proc_path, listdir=listdir, **pid))
            patch.setattr(belonging, "os", Like(os, **pid))
            patch.setattr(supervising, "os", Like(os, waitpid=self.wait, pipe2=self.pipe, **pid))
            patch.setattr(supervising, "signal", quiet)
            patch.setattr(supervising, "adopt_orphans", lambda: None)
            patch.setattr(supervising, "boottime_timer", lambda: self.pipe(0)[0])
            patch.setattr(
                supervising, "set_timer", lambda timer, at: self.supervisors[self.current].alarm(at)
            )
            patch.setattr(
                supervising, "select", Like(select, poll=lambda: self.supervisors[self.current].poll)
            )
            patch.setattr(supervisor_link, "os", Like(os, posix_spawn=self.spawn, waitpid=self.wait))
            patch.setattr(containers, "launch", self.launch)
            patch.setattr(side_processes, "launch", self.launch)
            patch.setattr(limits, "find", lambda: None)
            try:
                yield
            finally:
                self.power_off()
