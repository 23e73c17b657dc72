"""The rules over a sample of seeds, and the report of one: what fired, what was hit, and where that falls short.

A run without a failure says nothing about faults that never came. So: every kind of fault that the `Faults` record
declares fired in at least `SHARE_MIN` of the seeds, and every probe was hit at least once. Pure; called by
`fairlead sim run`, the tests and `bench/soak.py` on a RunTally that is complete.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairlead.sim.faults import Faults
from fairlead.sim.probes import probe_names
from fairlead.sim.run import Failure, RunTally
from fairlead.sim.worlds.roster import STANDARD

SHARE_MIN = 0.01
_SUFFIXES = (".yaml", ".yml")
_OF_ONE_WORLD = frozenset({"older_server"})  # `worlds/two_servers.py`


@dataclass(frozen=True, slots=True)
class FaultLine:
    kind: str
    fired: int  # over all seeds
    seeds: int  # in which it fired
    share: float

    @property
    def short(self) -> str:
        if self.seeds and self.share >= SHARE_MIN:
            return ""
        return f"{self.kind} fired in {self.share:.2%} of the seeds; {SHARE_MIN:.0%} is asked for"


@dataclass(frozen=True, slots=True)
class ProbeLine:
    probe: str
    hits: int

    @property
    def short(self) -> str:
        return "" if self.hits else f'"{self.probe}" was never hit'


def fault_kinds(faults: Faults) -> tuple[str, ...]:
    """Every kind that is declared, also one that is never drawn: the list is the record's, not what happened. One that
    a world of its own has is left out where it cannot come."""
    given = asdict(faults)
    calls = [
        name
        for name, share in given.items()
        if name not in ("incident", "incidents") and (share or name not in _OF_ONE_WORLD)
    ]
    return (*calls, *(name for name, _ in faults.incidents))


def fault_lines(tally: RunTally, faults: Faults) -> tuple[FaultLine, ...]:
    seeds = max(tally.seeds, 1)
    return tuple(
        FaultLine(kind, tally.faults.get(kind, 0), hit := tally.seeds_with_fault.get(kind, 0), hit / seeds)
        for kind in fault_kinds(faults)
    )


def probe_lines(tally: RunTally, probes: tuple[str, ...] | None = None) -> tuple[ProbeLine, ...]:
    return tuple(ProbeLine(probe, tally.probes.get(probe, 0)) for probe in probes or probe_names())


def shortfalls(tally: RunTally, faults: Faults) -> tuple[str, ...]:
    """What this sample did not meet, a sentence each; () if it proves what it should."""
    faulty = [line.short for line in fault_lines(tally, faults)]
    return tuple(filter(None, (*faulty, *(line.short for line in probe_lines(tally)))))


def report(
    tally: RunTally, faults: Faults, elapsed: float, plant: str = "", world: str = STANDARD
) -> dict[str, Any]:
    """The sample as JSON, with rates per second of `elapsed`; `tally_of` reads it back."""
    elapsed = max(elapsed, 1e-9)
    lines = fault_lines(tally, faults)
    return {
        "seeds": tally.seeds,
        "failures": [
            {
                "seed": each.seed,
                "invariant": each.invariant,
                "message": each.message,
                "again": replay_command(each.seed, plant, world),
                **({"drew": each.drew} if each.drew else {}),
            }
            for each in sorted(tally.failures, key=lambda failure: failure.seed)
        ],
        "digest": tally.digest,
        "seeds_per_second": round(tally.seeds / elapsed, 2),
        "commits_per_second": round(tally.commits / elapsed, 1),
        "simulated_seconds_per_second": round(tally.seconds / elapsed, 1),
        "commits": tally.commits,
        "simulated_seconds": round(tally.seconds, 3),
        "elapsed_seconds": round(elapsed, 3),
        "faults": {line.kind: line.fired for line in lines},
        "seeds_with_fault": {line.kind: line.seeds for line in lines},
        "probes": {line.probe: line.hits for line in probe_lines(tally)},
        "shortfalls": list(shortfalls(tally, faults)),
    }


def tally_of(told: dict[str, Any]) -> RunTally:
    """The tally that was reported, to go on with."""
    return RunTally(
        seeds=told["seeds"],
        failures=[
            Failure(each["seed"], each["invariant"], each["message"], drew=each.get("drew", ""))
            for each in told["failures"]
        ],
        commits=told["commits"],
        seconds=told["simulated_seconds"],
        faults=dict(told["faults"]),
        seeds_with_fault=dict(told["seeds_with_fault"]),
        probes=dict(told["probes"]),
        fingerprint=int(told["digest"], 16),
    )


def replay_command(seed: int, plant: str = "", world: str = STANDARD) -> str:
    """The command that shows one seed again."""
    words = ["fairlead sim run", *([world] if is_file(world) else []), f"--seeds 1 --seed {seed}"]
    if not is_file(world) and world != STANDARD:
        words.append(f"--world {world}")
    return " ".join([*words, *([f"--plant {plant}"] if plant else [])])


def is_file(world: str) -> bool:
    """Whether a world is a scenario file, rather than a name of the roster."""
    return world.endswith(_SUFFIXES)


def world_name(world: str) -> str:
    return world.rpartition("/")[2].rpartition(".")[0] if is_file(world) else world
