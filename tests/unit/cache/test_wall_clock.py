"""What the wall clock showed at instants of the plane's time."""

from __future__ import annotations

from fairlead.cache.view import MirrorView
from fairlead.cache.wall_clock import CLOCK_STEPS_REMEMBERED_MAX, WallClock


def test_an_instant_has_the_wall_time_that_it_had() -> None:
    wall = WallClock()
    assert wall.shown(100.0) == 100.0
    wall.stepped(1000.0, 3600.0)
    wall.stepped(2000.0, 0.0)
    assert [wall.shown(at) for at in (999.0, 1000.0, 1999.0, 2000.0)] == [999.0, 4600.0, 5599.0, 2000.0]


def test_only_so_many_steps_are_remembered() -> None:
    wall = WallClock()
    for number in range(1, CLOCK_STEPS_REMEMBERED_MAX + 10):
        wall.stepped(100.0 * number, float(number))
    last = CLOCK_STEPS_REMEMBERED_MAX + 9
    assert wall.shown(100.0 * last) == 101.0 * last
    assert wall.shown(50.0) == 60.0  # of the oldest that is known
    assert len(wall._since) == len(wall._ahead) == CLOCK_STEPS_REMEMBERED_MAX


def test_a_view_remembers_what_was_asked_of_it() -> None:
    wall = WallClock()
    wall.stepped(1000.0, 60.0)
    view = MirrorView({}, wall)
    assert not view.walls
    assert (view.wall(1.0), view.wall(1001.0)) == (1.0, 1061.0)
    assert view.walls == {1.0: 1.0, 1001.0: 1061.0}
    assert MirrorView({}).wall(5.0) == 5.0
