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
from fairlead.sim.counts import Counts
from fairlead.sim.endstate import EndState, allowed_in, difference, end_state, made_too_much
from fairlead.sim.expected import unmet
from fairlead.sim.faults import CALM, DEFAULT, Faults
from fairlead.sim.memory import Memory
from fairlead.sim.parts import Plant, default_parts, load_plant
from fairlead.sim.purity_guard import raise_fence
from fairlead.sim.scenario import Scenario
from fairlead.sim.search.contract import SearchAttempt
from fairlead.sim.standing import LastAnswers
from fairlead.sim.time import EPOCH
from fairlead.sim.violation import Violation
from fairlead.sim.world import WORLD, Run, World
from fairlead.sim.worlds import std20

# A run makes many objects that live as long as it does: looking for garbage before its end finds none. So many more
# objects than usual are a run that goes on and on.
_COLLECT_AFTER = (1_000_000, 20, 20)
_COLLECT_EVERY = 4  # runs


@dataclass(frozen=True, slots=True)
class Failure:
    seed: int
    invariant: str
    message: str
    trace: str = ""  # of the exception, if it was one
    drew: str = ""  # what the seed's own world is, where each has one


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
        plant: str | Plant = "",
        calm: Scenario | None = None,
        memory: Memory | None = None,
        calm_memory: Memory | None = None,
        drew: str = "",
        backup: Backup | None = None,
    ) -> None:
        """`calm`: the scenario of the run without faults, where it may be a simpler one that comes to the same. `drew`:
        what a seed drew, where its world is its own. `backup`: what runs start from, if it is not what comes of the
        scenario's standing steps."""
        self.scenario = scenario or std20.scenario()
        self.faults = faults
        self.drew = drew
        self._calm = calm or self.scenario
        self._plant = load_plant(plant) if isinstance(plant, str) and plant else plant
        self._backup = backup
        self._memory = memory  # of the seeds that were run
        self._calm_memory = calm_memory  # of the runs without faults, which know no plant
        self._wanted: EndState | None = None
        self._made: Counts = {}
        self._ran = 0

    def run(self, seed: int) -> SeedResult:
        with _collected_seldom():
            result = self.at(seed)._judged(seed)
            self._ran += 1
            if self._ran % _COLLECT_EVERY == 0:
                gc.collect(0)  # what is left of their worlds are cycles, all of them young
        return result

    def at(self, seed: int) -> Runner:
        """Whoever runs this seed: another where each seed has a world of its own (`generate/runner.py`)."""
        return self

    def _judged(self, seed: int) -> SeedResult:
        return result_of(seed, self.play(Chance(seed)), self.drew)

    def attempt(self, attempt: SearchAttempt) -> Run:
        """What a search proposes."""
        with _collected_seldom():
            run = self.at(attempt.seed).play(attempt.chance(), attempt.watched, attempt.faults)
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
        and no further than `stop_seconds`. Where each seed has a world of its own, it is that of the chance's seed."""
        runner = self.at(chance.seed)
        if runner is not self:
            return runner.play(chance, trail, faults, stop_seconds)
        parts = default_parts(*self.scenario.controllers, deciders=self.scenario.deciders)
        if callable(self._plant):
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
            run.violation = self._parted(run)
            if run.violation is not None:
                world.digest.tell("violation", WORLD, str(run.violation))
        _dissolve(world)
        return run

    def backup(self) -> Backup:
        """What every run starts from: what came of the scenario's standing steps, without faults and without plant."""
        if self._backup is None:
            self._backup = stand_up(self.scenario) if self.scenario.standing else EMPTY
        return self._backup

    def wanted(self) -> EndState:
        """What it must come to: the end of a run without faults and without plant."""
        if self._wanted is None:
            unpinned = replace(self._calm, pinned=(), older=None)
            if self._calm_memory is None:
                calm = _calm_run((unpinned, self.backup()))
            else:  # each seed has its own
                calm = _run_calmly(unpinned, self.backup(), self._calm_memory)
            if calm.violation is not None:
                raise calm.violation
            self._wanted, self._made = self._end_state(calm), calm.counts
        return self._wanted

    def _parted(self, run: Run) -> Violation | None:
        if self.scenario.contends:
            return None
        try:
            wanted = self.wanted()
        except Violation as broken:
            return Violation(broken.invariant, f"{broken.message} (without faults)")
        if told := difference(wanted, self._end_state(run)):
            return Violation("ends-as-without-faults", told)
        if told := unmet(self.scenario.expected, run.objects):
            return Violation("ends-as-written", told)
        if told := made_too_much(self._made, run.counts, allowed_in(self.scenario)):
            return Violation("makes-no-more", told)
        return None

    def _end_state(self, run: Run) -> EndState:
        found = end_state(run.objects, allowed_in(self.scenario))
        return self.scenario.compared(found) if self.scenario.compared is not None else found


def result_of(seed: int, run: Run, drew: str = "") -> SeedResult:
    broken = run.violation
    failure = None
    if broken is not None:
        trace = "".join(format_exception(broken.__cause__)) if broken.__cause__ else ""
        failure = Failure(seed, broken.invariant, broken.message, trace, drew)
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
    with _collected_seldom():
        for seed in seeds:
            tally.add(runner.run(seed))
    return tally


def stand_up(scenario: Scenario) -> Backup:
    """Everything that is stored when the standing fleet of a scenario has come to rest."""
    return _stood(before(scenario))


def _stand_up(fleet: Scenario) -> Backup:
    world = World(fleet, Chance(0), CALM, epoch=EPOCH - int(fleet.seconds_max))
    run = _fenced_run(world)
    if run.violation is not None:
        raise run.violation
    made = world.server.backup()
    del world, run
    gc.collect()
    gc.freeze()  # what is there by now stays: no need to look through it while seeds run
    return made


def _run_calmly(scenario: Scenario, backup: Backup, memory: Memory | None = None) -> Run:
    world = World(scenario, Chance(0), CALM, backup=backup, memory=memory, compared=False)
    run = _fenced_run(world)
    _dissolve(world)
    return run


_stood: LastAnswers[Scenario, Backup] = LastAnswers(_stand_up)
_calm_run: LastAnswers[tuple[Scenario, Backup], Run] = LastAnswers(lambda asked: _run_calmly(*asked))


def before(scenario: Scenario) -> Scenario:
    """How its standing fleet comes up. Two scenarios for which this is the same start from the same."""
    return replace(
        scenario,
        steps=scenario.standing,
        mishaps=(),
        pinned=(),
        disk_mishaps=(),
        older=None,
        expected=(),
        faults_until_seconds=0,
        seconds_min=0,
        rest_seconds=0,
    )


def _fenced_run(world: World) -> Run:
    with _collected_seldom(), raise_fence():
        return world.run()


def _dissolve(world: World) -> None:
    """Nobody looks at it any more: its parts, which all know each other, let go of one another and are freed at once.
    To find such circles took a tenth of the time of a small world."""
    world.timeline.clear()
    world.chance.forget_streams()
    planes = [plane for each in world.planes for plane in each.lives]
    workers = [each for plane in planes for each in (*plane.controllers, plane.placer) if each is not None]
    links = [*(each.link for each in world.planes), *(each.link for each in world.agents)]
    parts = (
        *workers,
        *planes,
        *links,
        *world.planes,
        *world.agents,
        world.server,
        world.observed,
        world.people,
    )
    for part in (*parts, world):
        vars(part).clear()


@contextmanager
def _collected_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
