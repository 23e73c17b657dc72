"""Runs seeds: each in a world of its own, judged by the checkers and against the run without faults.

Called by `fairlead sim run`, tests and benches. `Runner` holds what seeds share: the scenario, the parts (with the
plant, if any) and the end state that a run without faults, and without plant, comes to. Knows no processes and no
clock: whoever calls it measures.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from traceback import format_exception

from fairlead.sim.backup import EMPTY, Backup
from fairlead.sim.chance import Chance
from fairlead.sim.endstate import EndState, difference, end_state
from fairlead.sim.faults import CALM, DEFAULT, Faults
from fairlead.sim.fence import raise_fence
from fairlead.sim.memory import Memory
from fairlead.sim.parts import default_parts, load_plant
from fairlead.sim.scenario import Scenario
from fairlead.sim.search.contract import Attempt
from fairlead.sim.time import EPOCH
from fairlead.sim.violation import Violation
from fairlead.sim.world import Run, World
from fairlead.sim.worlds import std20

# A run makes many objects that live as long as it does: looking for garbage before its end finds none. So many more
# objects than usual are a run that goes on and on.
_COLLECT_AFTER = (1_000_000, 20, 20)


@dataclass(frozen=True, slots=True)
class Failure:
    seed: int
    invariant: str
    message: str
    trace: str = ""  # of the exception, if it was one


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What is kept of one seed; small, it travels between processes."""

    seed: int
    digest: str
    failure: Failure | None
    seconds: float
    commits: int
    faults: dict[str, int]
    probes: dict[str, int]


@dataclass(slots=True)
class RunTally:
    """All seeds together."""

    seeds: int = 0
    failures: list[Failure] = field(default_factory=list)
    commits: int = 0
    seconds: float = 0.0  # virtual
    faults: dict[str, int] = field(default_factory=dict)  # fired, over all seeds
    seeds_with_fault: dict[str, int] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    fingerprint: int = 0

    def add(self, result: SeedResult) -> None:
        self.seeds += 1
        if result.failure is not None:
            self.failures.append(result.failure)
        self.commits += result.commits
        self.seconds += result.seconds
        for label, fired in result.faults.items():
            self.faults[label] = self.faults.get(label, 0) + fired
            self.seeds_with_fault[label] = self.seeds_with_fault.get(label, 0) + 1
        for label, hit in result.probes.items():
            self.probes[label] = self.probes.get(label, 0) + hit
        one = blake2b(f"{result.seed} {result.digest}".encode(), digest_size=16).digest()
        self.fingerprint = (self.fingerprint + int.from_bytes(one, "big")) % (1 << 128)

    @property
    def digest(self) -> str:
        """Over all runs. A sum, so that seeds may be added in any order, and go on where a former run ended."""
        return f"{self.fingerprint:032x}"


class Runner:
    def __init__(
        self,
        scenario: Scenario | None = None,
        faults: Faults = DEFAULT,
        plant: str = "",
        backup: Backup | None = None,
    ) -> None:
        """`backup`: what runs start from, if it is not what comes of the scenario's standing steps."""
        self.scenario = scenario or std20.scenario()
        self.faults = faults
        self._plant = load_plant(plant) if plant else None
        self._backup = backup
        self._memory: Memory | None = None  # of the seeds that were run
        self._wanted: EndState | None = None

    def run(self, seed: int) -> SeedResult:
        with _collected_seldom():
            result = self._judged(seed)
            gc.collect(0)  # what is left of its world are cycles, all of them young
        return result

    def _judged(self, seed: int) -> SeedResult:
        return result_of(seed, self.play(Chance(seed)))

    def attempt(self, attempt: Attempt) -> Run:
        """What a search proposes."""
        with _collected_seldom():
            run = self.play(attempt.chance(), attempt.watched, attempt.faults)
            gc.collect(0)
        return run

    def play(
        self,
        chance: Chance,
        trail: bool = False,
        faults: Faults | None = None,
        stop_seconds: float | None = None,
    ) -> Run:
        """One run, drawn or replayed, with everything that came of it; with other faults than the world's, if given,
        and no further than `stop_seconds`."""
        parts = default_parts(*self.scenario.controllers, deciders=self.scenario.deciders)
        if self._plant is not None:
            parts = self._plant(parts)
        backup = self.backup()
        if self._memory is None:
            self._memory = Memory(backup.changes)
        world = World(
            self.scenario,
            chance,
            faults or self.faults,
            parts,
            trail,
            backup,
            memory=self._memory,
            stop_seconds=stop_seconds,
        )
        run = _fenced_run(world)
        if run.violation is None and stop_seconds is None:
            told = difference(self.wanted(), self._ended(run))
            if told:
                run.violation = Violation("ends-as-without-faults", told)
        return run

    def backup(self) -> Backup:
        """What every run starts from: what came of the scenario's standing steps, without faults and without plant."""
        if self._backup is None:
            self._backup = stand_up(self.scenario) if self.scenario.standing else EMPTY
            gc.collect()
            gc.freeze()  # what is there by now stays: no need to look through it while seeds run
        return self._backup

    def wanted(self) -> EndState:
        """What it must come to: the end of a run without faults and without plant."""
        if self._wanted is None:
            calm = _fenced_run(World(self.scenario, Chance(0), CALM, backup=self.backup()))
            if calm.violation is not None:
                raise calm.violation
            self._wanted = self._ended(calm)
        return self._wanted

    def _ended(self, run: Run) -> EndState:
        scenario = self.scenario
        return end_state(run.objects, loses_pods=bool(scenario.nodes), allowed=scenario.allowed)


def result_of(seed: int, run: Run) -> SeedResult:
    broken = run.violation
    failure = None
    if broken is not None:
        trace = "".join(format_exception(broken.__cause__)) if broken.__cause__ else ""
        failure = Failure(seed, broken.invariant, broken.message, trace)
    return SeedResult(
        seed=seed,
        digest=run.digest,
        failure=failure,
        seconds=run.seconds,
        commits=run.commits,
        faults=run.faults,
        probes=run.probes,
    )


def run_seeds(runner: Runner, seeds: Iterable[int]) -> RunTally:
    tally = RunTally()
    for seed in seeds:
        tally.add(runner.run(seed))
    return tally


def stand_up(scenario: Scenario) -> Backup:
    """Everything that is stored when the standing fleet of a scenario has come to rest."""
    before = replace(scenario, steps=scenario.standing, faults_until_seconds=0, seconds_min=0, rest_seconds=0)
    world = World(before, Chance(0), CALM, epoch=EPOCH - int(scenario.seconds_max))
    run = _fenced_run(world)
    if run.violation is not None:
        raise run.violation
    return world.server.backup()


def _fenced_run(world: World) -> Run:
    with _collected_seldom(), raise_fence():
        return world.run()


@contextmanager
def _collected_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
