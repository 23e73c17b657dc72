"""A search of the simulator over several processes. Called by `fairlead sim run --search`.

Each worker has a search of its own that begins at seeds of its own, because what a search learns from a run stays
where the run was. What comes back of an attempt is small: what was tried, and its result. A worker that dies ends the
search with an error that names the attempt it was at.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fairlead.core.errors import OperatorError
from fairlead.sim.run import Runner, SeedResult, result_of
from fairlead.sim.search.contract import Attempt
from fairlead.sim.search.roster import SEARCHES

_APART = 100_000  # seeds between the beginnings of two workers

Tried = tuple[Attempt, SeedResult]


def search_in_processes(runner: Runner, mode: str, seed: int, attempts: int, jobs: int) -> Iterator[Tried]:
    """Up to so many attempts, as they come. With one job in this process."""
    if jobs == 1:
        yield from _search(runner, mode, seed, attempts)
        return
    runner.wanted()  # once, before it is copied
    fork = multiprocessing.get_context("fork")
    shares = [attempts // jobs + (number < attempts % jobs) for number in range(jobs)]
    pipes: dict[Connection, BaseProcess] = {}
    try:
        for number, share in enumerate(shares):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            given = (theirs, runner, mode, seed + number * _APART, share)
            process: BaseProcess = fork.Process(target=_serve, args=given, daemon=True)
            process.start()
            theirs.close()
            pipes[ours] = process
        yield from _heard(pipes)
    finally:
        for each in pipes.values():
            each.terminate()
            each.join()


def _heard(pipes: dict[Connection, BaseProcess]) -> Iterator[Tried]:
    left = dict(pipes)
    while left:
        for pipe in wait(list(left)):
            assert isinstance(pipe, Connection)
            try:
                told: Tried | None = pipe.recv()
            except EOFError:
                raise OperatorError(
                    f"a process of the search ended with code {left[pipe].exitcode}"
                ) from None
            if told is None:
                del left[pipe]
            else:
                yield told


def _serve(pipe: Connection, runner: Runner, mode: str, seed: int, attempts: int) -> None:
    with suppress(BrokenPipeError, KeyboardInterrupt):
        for told in _search(runner, mode, seed, attempts):
            pipe.send(told)
        pipe.send(None)


def _search(runner: Runner, mode: str, seed: int, attempts: int) -> Iterator[Tried]:
    search = SEARCHES[mode](runner, seed)
    for _ in range(attempts):
        attempt = search.propose()
        if attempt is None:
            return
        run = runner.attempt(attempt)
        search.learn(attempt, run)
        yield attempt, result_of(attempt.seed, run)
