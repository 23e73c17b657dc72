"""A sample of a world's seeds: none fails, and each comes to the same, to the last byte, in a process that hashes otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.sim.generate.runner import runner_of
from fairlead.sim.run import RunTally, SeedResult
from tests.elsewhere import elsewhere
from tests.sim.artifacts import failed

# `make soak` runs many more seeds, and one process after the other would take twice as long.
COMPARED_MAX = 400


def sampled(world: str, seeds: Iterable[int]) -> RunTally:
    """These seeds together; what is wrong with any of them is told."""
    runner = runner_of(world)
    results = list(map(runner.run, seeds))
    tally = tally_of(results)
    assert failed(runner, tally, world) == []
    assert parted(world, results) == []
    return tally


def parted(world: str, results: Sequence[SeedResult]) -> list[str]:
    """Of the seeds whose run is another one elsewhere, the commands that show where it parts."""
    compared = results[:COMPARED_MAX]
    theirs = elsewhere(digests, world, [each.seed for each in compared])
    return [
        f"fairlead sim check --world {world} --seeds 1 --seed {each.seed}"
        for each, their in zip(compared, theirs, strict=True)
        if each.digest != their
    ]


def digests(world: str, seeds: list[int]) -> list[str]:
    runner = runner_of(world)
    return [runner.run(seed).digest for seed in seeds]


def tally_of(results: Iterable[SeedResult]) -> RunTally:
    tally = RunTally()
    for result in results:
        tally.add(result)
    return tally
