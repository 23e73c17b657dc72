"""Supervisors of the simulated machine: production's `supervising.py`, a turn at a time, in its pod's directory.

Started by `kernel.py`. What stands in for `agent/drivers/supervisor.py` is here: taking the lock, and the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fairlead.agent.drivers import supervising
from fairlead.agent.drivers.supervisor import LOCK
from tests.deterministic.loop import DeterministicLoop

if TYPE_CHECKING:
    from tests.deterministic.kernel import Kernel, Process

INIT = 1


class _Poll:
    """Which files wake a supervisor. Between two of its turns it waits for them; none is forgotten."""

    def __init__(self, loop: DeterministicLoop, wake: Callable[[], None]) -> None:
        self._loop, self._wake = loop, wake
        self._real = select.poll()
        self.files: dict[int, int] = {}

    def register(self, fd: int, events: int) -> None:
        self._real.register(fd, events)
        self.files[fd] = events

    modify = register

    def unregister(self, fd: int) -> None:
        self._real.unregister(fd)
        del self.files[fd]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        order = list(self.files)
        return sorted(self._real.poll(0), key=lambda each: order.index(each[0]))

    def wait(self) -> None:
        for fd, events in self.files.items():
            if events & select.POLLIN:
                self._loop.add_reader(fd, self._wake)
            if events & select.POLLOUT:
                self._loop.add_writer(fd, self._wake)

    def wait_no_more(self) -> None:
        for fd in self.files:
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)


class SupervisorProcess:
    """What `agent/drivers/supervisor.py` is: the lock, the directory, and then the loop of `supervising.py`."""

    def __init__(self, kernel: Kernel, process: Process, opened: dict[int, int], deadline: float) -> None:
        self._kernel, self.process, self._deadline = kernel, process, deadline
        self._first, self._directory = opened[0], opened[3]
        for fd in (opened[1], opened[2]):
            os.close(fd)
        self.poll: Any = _Poll(kernel.loop, self.wake)
        self._supervisor: Any = None
        self._lock = -1
        self.pipes: list[int] = []  # by which signals and timers would come
        self._due: Any = None
        self._stepping: Any = None

    def begin(self) -> None:
        if self.process.status is not None:
            return
        with self._inside():
            self._lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.die(3 << 8)
                return
            first, self._first = self._first, -1
            self._supervisor = supervising.Supervisor(self._deadline, first)
            self._listening = self._supervisor._agent._listener.fileno()
        self._turn()

    def wake(self) -> None:
        self.poll.wait_no_more()
        if self._stepping is None and self.process.status is None and self._supervisor is not None:
            self._stepping = self._kernel.loop.call_later(self._kernel._drawn("supervisor", 5), self._turn)

    def alarm(self, at: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if at is None or at > 1e9 else self._kernel.loop.call_at(at, self.wake)

    def _turn(self) -> None:
        self._stepping = None
        if self.process.status is not None:
            return
        with self._inside():
            for fd, events in self.poll.poll():
                self._supervisor.handle(fd, events)
            goes_on = self._supervisor.turn()
        if goes_on:
            self.poll.wait()
        else:
            self.die(0)

    def die(self, status: int = signal.SIGKILL) -> None:
        """Its files are closed, and its children die with it, but for theirs."""
        kernel = self._kernel
        if kernel.supervisors.pop(self.process.pid, None) is None:
            return
        self.poll.wait_no_more()
        for timer in (self._due, self._stepping):
            if timer is not None:
                timer.cancel()
        if self._supervisor is not None and self._supervisor._agent._listener.detach() < 0:
            self.poll.files.pop(self._listening, None)  # it ended by itself, and closed this one
        for fd in {*self.poll.files, *self.pipes, self._lock, self._first, self._directory} - {-1}:
            os.close(fd)
        self.poll.files.clear()
        for child in [each for each in kernel.processes.values() if each.parent == self.process.pid]:
            child.parent = INIT
            if child.files:  # it was launched here, and asked to be told of our end
                kernel._die(child, signal.SIGKILL)
        kernel._die(self.process, status)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """In its directory, as itself."""
        kernel = self._kernel
        back = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        before, kernel.current = kernel.current, self.process.pid
        os.fchdir(self._directory)
        try:
            yield
        finally:
            kernel.current = before
            os.fchdir(back)
            os.close(back)
