"""Runs seeds: each in a world of its own, judged by the checkers and against the run without faults.

Called by `fairlead sim run`, tests and benches. `Runner` holds what seeds share: the scenario, the parts (with the
plant, if any) and the end state that a run without faults, and without plant, comes to. Knows no processes and no
clock: whoever calls it measures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from fairlead.sim.endstate import EndState, difference, end_state
from fairlead.sim.faults import CALM, DEFAULT, Faults
from fairlead.sim.fence import fenced
from fairlead.sim.parts import default_parts, load_plant
from fairlead.sim.scenario import Scenario
from fairlead.sim.tape import Tape
from fairlead.sim.violation import Violation
from fairlead.sim.world import Run, World
from fairlead.sim.worlds import std20


@dataclass(frozen=True, slots=True)
class Failure:
    seed: int
    invariant: str
    message: str


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
class Tally:
    """All seeds together."""

    seeds: int = 0
    failures: list[Failure] = field(default_factory=list)
    commits: int = 0
    seconds: float = 0.0  # virtual
    faults: dict[str, int] = field(default_factory=dict)  # fired, over all seeds
    seeds_with_fault: dict[str, int] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)

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
        self.digests[result.seed] = result.digest

    @property
    def digest(self) -> str:
        """Over all runs, in the order of their seeds."""
        joined = "\n".join(f"{seed} {self.digests[seed]}" for seed in sorted(self.digests))
        return blake2b(joined.encode(), digest_size=16).hexdigest()


class Runner:
    def __init__(self, scenario: Scenario | None = None, faults: Faults = DEFAULT, plant: str = "") -> None:
        self.scenario = scenario or std20.scenario()
        self.faults = faults
        self._plant = load_plant(plant) if plant else None
        self._wanted: EndState | None = None

    def run(self, seed: int) -> SeedResult:
        run = self.play(Tape(seed))
        broken = run.violation
        failure = Failure(seed, broken.invariant, broken.message) if broken is not None else None
        return SeedResult(seed, run.digest, failure, run.seconds, run.commits, run.faults, run.probes)

    def play(self, tape: Tape, trail: bool = False) -> Run:
        """One tape, drawn or replayed, with everything that came of it."""
        wanted = self.wanted()
        parts = default_parts()
        if self._plant is not None:
            parts = self._plant(parts)
        run = _fenced_run(World(self.scenario, tape, self.faults, parts, trail))
        if run.violation is None:
            told = difference(wanted, end_state(run.objects))
            if told:
                run.violation = Violation("ends-as-without-faults", told)
        return run

    def wanted(self) -> EndState:
        """What it must come to: the end of a run without faults and without plant."""
        if self._wanted is None:
            calm = _fenced_run(World(self.scenario, Tape(0), CALM))
            if calm.violation is not None:
                raise calm.violation
            self._wanted = end_state(calm.objects)
        return self._wanted


def run_seeds(runner: Runner, seeds: Iterable[int]) -> Tally:
    tally = Tally()
    for seed in seeds:
        tally.add(runner.run(seed))
    return tally


def _fenced_run(world: World) -> Run:
    with fenced():
        return world.run()
