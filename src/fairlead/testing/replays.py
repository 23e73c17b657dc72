"""Regression tests from artifacts, of the simulator or of a live plane: what `fairlead sim test` writes calls this."""

from __future__ import annotations

from pathlib import Path

from fairlead.replay.artifact import read_artifact
from fairlead.replay.replaying import replay
from fairlead.sim.player import play_again


def assert_holds(file: Path, invariant: str, plant: str = "") -> None:
    """The run of this artifact, on the code as it is (with `plant` in it, if given), breaks nothing. `invariant`: what
    it broke when it was written; named here so that a reader of the test sees it."""
    replayed = play_again(read_artifact(file.read_bytes()), plant)
    broken = replayed.run.violation
    if broken is not None:
        again = "again" if broken.invariant == invariant else f"where it was {invariant}"
        raise AssertionError(f"{file.name} breaks {broken.invariant} ({again}): {broken.message}")


def assert_replays(file: Path) -> None:
    """Every decision of this incident comes out as it was on the plane that it was captured from."""
    found = replay(read_artifact(file.read_bytes()))
    first = found.first_divergence
    if first is not None:
        raise AssertionError(
            f"{file.name}: {found.different} of {found.decisions} decisions come out otherwise, the first is"
            f" {first.id} of {first.controller} on {first.object}: {first.recorded}, now {first.again or first.why}"
        )
    if not found.decisions:
        raise AssertionError(f"{file.name}: nothing of it could be run again: {found.skipped}")
