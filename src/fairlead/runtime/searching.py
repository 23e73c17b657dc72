"""A search of the simulator over several processes. Called by `fairlead sim run --search`.

Each worker has a search of its own that begins at seeds of its own, because what a search learns from a run stays
where the run was. What comes back of an attempt is small: its result, and what was tried if it failed. A worker that
dies ends the search with an error that names the attempt it was at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fairlead.core.errors import OperatorError
from fairlead.runtime.forks import ForkDied, in_forks
from fairlead.sim.run import Runner, SeedResult, result_of
from fairlead.sim.search.contract import Search, SearchAttempt
from fairlead.sim.search.roster import SEARCHES

_APART = 100_000  # seeds between the beginnings of two workers

Tried = tuple[SearchAttempt, SeedResult]


@dataclass(frozen=True, slots=True)
class _Begins:
    """What a worker is about to try; a whole attempt may be large."""

    seed: int
    told: str

    def __str__(self) -> str:
        return f"seed {self.seed}" + (f" ({self.told})" if self.told else "")


def search_in_processes(runner: Runner, mode: str, seed: int, attempts: int, jobs: int) -> Iterator[Tried]:
    """Up to so many attempts, as they come; fewer if the search has nothing more to try. With one job in this
    process."""
    if jobs == 1:
        search = SEARCHES[mode](runner, seed)
        while attempts and (attempt := search.propose()) is not None:
            attempts -= 1
            yield attempt, _result(runner, search, attempt)
        return
    runner.wanted()  # once, before it is copied
    shares = [attempts // jobs + (number < attempts % jobs) for number in range(jobs)]
    tasks = [
        partial(_searched, runner, mode, seed + number * _APART, share) for number, share in enumerate(shares)
    ]
    busy: dict[int, _Begins] = {}
    for number, told in in_forks(tasks, jobs):
        if isinstance(told, ForkDied):
            raise OperatorError(
                f"a process of the search ended by {told.how} at {busy.get(number, 'its start')}"
            )
        if isinstance(told, _Begins):
            busy[number] = told
        else:
            yield told


def _searched(runner: Runner, mode: str, seed: int, attempts: int) -> Iterator[_Begins | Tried]:
    search = SEARCHES[mode](runner, seed)
    while attempts and (attempt := search.propose()) is not None:
        attempts -= 1
        yield _Begins(attempt.seed, attempt.told)
        result = _result(runner, search, attempt)
        yield attempt if result.failure is not None else SearchAttempt(attempt.seed), result


def _result(runner: Runner, search: Search, attempt: SearchAttempt) -> SeedResult:
    run = runner.attempt(attempt)
    search.learn(attempt, run)
    return result_of(attempt.seed, run)
