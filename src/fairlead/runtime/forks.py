"""Tasks side by side, each in a fork of its own. Used by `searching.py`, `fairlead sim zoo` and previews of overrides.

    in_forks([task, ...], jobs) -> (number of the task, what it tells), as it comes
    in_one_fork(task, seconds)  -> what it comes to, None if it takes longer

A task is a function that yields what is to be told. What it raises is raised here; a fork that dies otherwise is told
as `ForkDied`. Forks end with whoever started them: normally at once, and by the end of their pipe if it is killed.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from fairlead.core.errors import FairleadError, OperatorError

T = TypeVar("T")
Task = Callable[[], Iterator[T]]


@dataclass(frozen=True, slots=True)
class ForkDied:
    how: str  # signal 9, exit code 3


@dataclass(frozen=True, slots=True)
class _Raised:
    error: FairleadError


def in_forks(tasks: Sequence[Task[T]], jobs: int) -> Iterator[tuple[int, T | ForkDied]]:
    forks = _Forks[T](tasks)
    try:
        while forks.start(jobs):
            yield from forks.hear()
    finally:
        forks.end()


def in_one_fork(task: Callable[[], T], seconds: float | None) -> T | ForkDied | None:
    """None: it took longer, and was ended."""
    forks = _Forks[T]([lambda: iter((task(),))])
    try:
        forks.start(1)
        return next((told for _, told in forks.hear(seconds)), None)
    finally:
        forks.end()


class _Forks(Generic[T]):
    def __init__(self, tasks: Sequence[Task[T]]) -> None:
        self._left = deque(enumerate(tasks))
        self._running: dict[Connection, tuple[int, BaseProcess]] = {}

    def start(self, jobs: int) -> bool:
        """So many at once; False if all have ended."""
        while self._left and len(self._running) < jobs:
            number, task = self._left.popleft()
            ours, theirs = multiprocessing.Pipe(duplex=False)
            # A fork has our ends of all pipes as well; while it keeps one open, nobody would see us die.
            given = (task, theirs, (*self._running, ours))
            process = multiprocessing.get_context("fork").Process(target=_serve, args=given, daemon=True)
            process.start()
            theirs.close()
            self._running[ours] = number, process
        return bool(self._running)

    def hear(self, seconds: float | None = None) -> Iterator[tuple[int, T | ForkDied]]:
        """What they tell next; nothing, if they tell nothing for so long."""
        for pipe in wait(list(self._running), seconds):
            assert isinstance(pipe, Connection)
            number, process = self._running[pipe]
            try:
                told: T | _Raised = pipe.recv()
            except (EOFError, ConnectionResetError):
                del self._running[pipe]
                pipe.close()
                process.join()
                if process.exitcode:
                    yield number, ForkDied(_how(process.exitcode))
                continue
            if isinstance(told, _Raised):
                raise told.error
            yield number, told

    def end(self) -> None:
        for _, process in self._running.values():
            process.terminate()
        for pipe, (_, process) in self._running.items():
            process.join()
            pipe.close()


def _serve(task: Task[Any], pipe: Connection, not_ours: Sequence[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the starter's to handle
    for end in not_ours:
        end.close()
    with suppress(BrokenPipeError):
        try:
            for told in task():
                pipe.send(told)
        except FairleadError as error:
            pipe.send(_Raised(error))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 told where a person reads it, not by a process that ends
            pipe.send(_Raised(OperatorError(f"{type(error).__name__}: {error}")))


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
