"""Seeds of the simulator over several processes. Called by `fairlead sim run` and `bench/soak.py`.

Each worker is a fork that gets one seed at a time through its own pipe, so that it is known which seed a worker had
when it died. Such a seed is tried once more by a new worker; if that dies too, the seed has failed. Workers end with
whoever started them: normally at once, and by the end of their pipe if it is killed.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fairlead.sim.run import Failure, Runner, SeedResult

_ATTEMPTS_MAX = 2


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    seed: int | None = None


def run_in_processes(runner: Runner, seeds: Sequence[int], jobs: int) -> Iterator[SeedResult]:
    """Every seed's result, as they come. With one job in this process."""
    if jobs == 1:
        yield from map(runner.run, seeds)
        return
    runner.wanted()  # once, before it is copied
    crew = _Crew(runner)
    try:
        yield from crew.work(deque(seeds), min(jobs, len(seeds)))
    finally:
        crew.dismiss()


class _Crew:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._workers: list[_Worker] = []
        self._deaths: dict[int, int] = {}  # seed -> workers that died of it

    def work(self, seeds: deque[int], jobs: int) -> Iterator[SeedResult]:
        while True:
            while seeds and len(self._workers) < jobs:
                self._workers.append(self._hire())
            for worker in self._workers:
                if worker.seed is None and seeds:
                    worker.seed = seeds.popleft()
                    with suppress(BrokenPipeError):  # it died idle: heard of below, as the end of its pipe
                        worker.pipe.send(worker.seed)
            busy = {worker.pipe: worker for worker in self._workers if worker.seed is not None}
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                result = self._hear(worker, seeds)
                if result is not None:
                    yield result

    def _hear(self, worker: _Worker, seeds: deque[int]) -> SeedResult | None:
        seed, worker.seed = worker.seed, None
        assert seed is not None
        try:
            result: SeedResult = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._workers.remove(worker)
            worker.pipe.close()
            worker.process.join()
            deaths = self._deaths[seed] = self._deaths.get(seed, 0) + 1
            if deaths < _ATTEMPTS_MAX:
                seeds.appendleft(seed)
                return None
            code = worker.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            told = Failure(seed, "process-lives", f"{deaths} processes ended while they ran it, by {how}")
            return SeedResult(
                seed=seed, digest="", failure=told, seconds=0.0, commits=0, faults={}, probes={}
            )
        return result

    def _hire(self) -> _Worker:
        ours, theirs = multiprocessing.Pipe()
        # A fork has our ends of all pipes as well; while it keeps one open, nobody would see us die.
        ends = [*(worker.pipe for worker in self._workers), ours]
        fork = multiprocessing.get_context("fork")
        process = fork.Process(target=_serve, args=(self._runner, theirs, ends), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def dismiss(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers = []


def _serve(runner: Runner, pipe: Connection, not_ours: Sequence[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the starter's to handle
    for end in not_ours:
        end.close()
    while True:
        try:
            pipe.send(runner.run(pipe.recv()))
        except (EOFError, BrokenPipeError):
            return
