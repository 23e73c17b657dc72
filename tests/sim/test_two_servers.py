"""Two API servers, one of which is behind: what is read through it is older, never goes back, and is all there at rest."""

from __future__ import annotations

from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.older_server import OlderServer
from fairlead.sim.run import Runner
from fairlead.sim.time import Timeline
from fairlead.sim.trail import Trail
from fairlead.sim.worlds import two_servers


def test_a_server_that_is_behind_goes_on_knowing_what_it_knew() -> None:
    chance = Chance(3)
    timeline = Timeline(chance, 0)
    older, known = OlderServer(timeline, chance), [0]
    for at in range(20_000, 200_000, 700):
        timeline.run_until(at)
        known.append(older.knows_until())
        assert known[-2] <= known[-1] <= at - 1_000
    assert len({at - until for at, until in zip(range(20_000, 200_000, 700), known[1:], strict=True)}) > 10


def late_by(trail: Trail) -> list[int]:
    """By how many milliseconds each plane was told of each change later than it was committed."""
    committed = {each.text.split(" ")[0]: each.ms for each in trail if each.kind == "committed"}
    return [
        each.ms - committed[revision]
        for each in trail
        if each.kind == "told" and " Framed [" in each.text
        for revision in each.text.partition("[")[2].rstrip("]").split(", ")
        if revision in committed
    ]


def test_a_watch_through_it_brings_what_it_has_learnt_and_nothing_sooner() -> None:
    runner = Runner(two_servers.scenario(), Faults(older_server=0.5))
    run = runner.play(Chance(0), trail=True)
    assert run.violation is None
    assert run.trail is not None
    assert any(late > 2_000 for late in late_by(run.trail))
    calm = next(each.number for each in run.trail if each.kind == "calm")
    assert max(late_by(Trail(run.trail[calm + 40 :]))) < 1_000  # it has caught up


def test_without_it_no_watch_is_so_late() -> None:
    run = Runner(two_servers.scenario(), Faults()).play(Chance(0), trail=True)
    assert run.trail is not None
    assert max(late_by(run.trail)) < 1_000
