"""Keys that run too often are found, slowed, reported, and let go when they are calm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.model.key import Key
from fairlead.queue.heat import REPORTS_MAX, Quarantined, Released
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue

A, B = Key("pods", "x", "a"), Key("pods", "x", "b")
SETTINGS = QueueSettings(
    hot_turns_max=3, hot_window_seconds=10.0, quarantine_interval_seconds=5.0, quarantine_seconds=20.0
)


def spin(queue: WorkQueue[Key], key: Key, now: float, turns: int) -> None:
    """The key runs and is added again at once, so many times."""
    for _ in range(turns):
        queue.add(key, now)
        turn = queue.pop(now)
        assert turn is not None
        assert turn.key == key
        queue.done(key, now)


def hot_at(now: float) -> WorkQueue[Key]:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, A, now, 4)
    return queue


def test_as_many_turns_as_allowed_are_not_hot() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, A, 0.0, 3)
    queue.add(A, 0.0)
    assert queue.next_ready_at(0.0) == 0.0
    assert queue.take_reports() == ()


def test_a_key_that_stands_for_many_objects_is_never_hot() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, Key("pods", "", ""), 0.0, 1000)
    assert queue.take_reports() == ()
    assert queue.snapshot(0.0).held == 0


def test_one_more_is_hot_reported_once_and_slowed_to_the_interval() -> None:
    queue = hot_at(0.0)
    assert queue.take_reports() == (Quarantined(A, 0.0, 4),)
    assert queue.take_reports() == ()
    now = 0.0
    for expected in (5.0, 10.0, 15.0):
        queue.add(A, now)
        assert queue.next_ready_at(now) == expected
        assert queue.pop(expected - 0.1) is None
        assert queue.pop(expected) is not None
        queue.done(A, expected)
        now = expected


def test_a_key_added_again_while_it_works_is_slowed_too() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    queue.add(A, 0.0)
    for _ in range(4):
        queue.pop(0.0)
        queue.add(A, 0.0)
        queue.done(A, 0.0)
    assert queue.next_ready_at(0.0) == 5.0


def test_adds_that_collapse_do_not_make_a_key_hot() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    for _ in range(100):
        queue.add(A, 0.0)
    assert queue.pop(0.0) is not None
    assert queue.take_reports() == ()


def test_the_neighbours_of_a_hot_key_are_not_slowed() -> None:
    queue = hot_at(0.0)
    queue.add(A, 0.0)
    queue.add(B, 0.0)
    turn = queue.pop(0.0)
    assert turn is not None
    assert turn.key == B


def test_an_add_for_later_than_the_hold_is_left_alone() -> None:
    queue = hot_at(0.0)
    queue.add_at(A, 0.0, 7.0)
    assert queue.next_ready_at(0.0) == 7.0
    queue.add(A, 1.0)
    assert queue.next_ready_at(1.0) == 5.0


@pytest.mark.parametrize(
    ("first", "second", "hot"),
    [(9.0, 10.5, True), (0.0, 19.0, False), (0.0, 25.0, False), (0.0, 500.0, False)],
    ids=["across the border", "a window apart", "two windows apart", "long ago"],
)
def test_turns_count_within_a_windows_length(first: float, second: float, hot: bool) -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, B, 0.0, 1)  # the window begins at 0
    spin(queue, A, first, 2)
    spin(queue, A, second, 3)
    assert bool(queue.take_reports()) is hot


def test_a_key_that_is_calm_for_long_enough_is_released_and_starts_afresh() -> None:
    queue = hot_at(0.0)
    queue.add(A, 20.0)
    assert queue.next_ready_at(20.0) == 20.0
    assert queue.take_reports()[-1] == Released(A, 20.0)
    queue.pop(20.0)
    queue.done(A, 20.0)
    spin(queue, A, 20.0, 2)
    assert queue.snapshot(20.0).held == 0


def test_a_key_that_is_gone_is_not_shown_as_held_for_ever_where_nothing_runs_any_more() -> None:
    queue = hot_at(0.0)
    assert [queue.snapshot(now).held for now in (0.0, 19.9, 20.0)] == [1, 1, 0]
    assert queue.take_reports()[-1] == Released(A, 20.0)


def test_a_key_that_still_wants_more_stays_held() -> None:
    queue = hot_at(0.0)
    queue.add(A, 4.0)  # put off: prolongs the hold to 24
    queue.pop(5.0)
    queue.done(A, 5.0)
    spin(queue, B, 23.0, 1)
    assert queue.snapshot(23.0).held == 1
    spin(queue, B, 24.0, 1)
    assert queue.snapshot(24.0).held == 0


def test_a_hot_key_that_never_comes_back_is_released_while_others_run() -> None:
    queue = hot_at(0.0)
    spin(queue, B, 21.0, 1)
    assert queue.take_reports()[-1] == Released(A, 21.0)


def test_a_hold_that_was_prolonged_does_not_prolong_others() -> None:
    queue = hot_at(0.0)
    spin(queue, B, 1.0, 4)
    queue.add(A, 4.0)  # A is held until 24, B until 21
    queue.pop(5.0)
    queue.done(A, 5.0)
    spin(queue, Key("pods", "x", "c"), 22.0, 1)
    assert [each.key for each in queue.snapshot(22.0).longest_held] == [A]


@pytest.mark.parametrize("calm_seconds", [5.0, 20.0], ids=["in the window of its turns", "in a later one"])
def test_a_released_key_starts_with_a_clean_slate(calm_seconds: float) -> None:
    queue: WorkQueue[Key] = WorkQueue(replace(SETTINGS, quarantine_seconds=calm_seconds))
    spin(queue, A, 0.0, 4)
    spin(queue, B, calm_seconds, 1)
    assert queue.take_reports()[1:] == (Released(A, calm_seconds),)
    spin(queue, A, calm_seconds, 3)
    assert queue.snapshot(calm_seconds).held == 0


def test_with_the_knob_at_nought_no_key_is_hot_and_held_ones_go_free() -> None:
    queue = hot_at(0.0)
    queue.apply(replace(SETTINGS, hot_turns_max=0), 1.0)
    spin(queue, A, 1.0, 50)
    assert queue.snapshot(1.0).held == 0


def test_an_unrelated_setting_does_not_forget_the_turns_counted() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, A, 0.0, 3)
    queue.apply(replace(SETTINGS, keys_max=7), 0.0)
    spin(queue, A, 0.0, 1)
    assert queue.snapshot(0.0).held == 1


def test_the_snapshot_names_held_keys_longest_first_and_what_they_were_denied() -> None:
    queue = hot_at(0.0)
    spin(queue, B, 1.0, 4)
    queue.add(A, 2.0)
    queue.add(A, 3.0)
    snapshot = queue.snapshot(4.0)
    assert [(each.key, each.seconds, each.turns, each.put_off) for each in snapshot.longest_held] == [
        (A, 4.0, 4, 2),
        (B, 3.0, 4, 0),
    ]
    assert snapshot.counts.quarantined == 2


def test_reports_nobody_fetches_are_bounded() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    for number in range(REPORTS_MAX + 5):
        spin(queue, Key("pods", "x", str(number)), 0.0, 4)
    reports = queue.take_reports()
    assert len(reports) == REPORTS_MAX
    assert reports[-1].key.name == str(REPORTS_MAX + 4)


def test_a_key_that_somebody_else_found_to_run_in_circles_is_slowed_as_well() -> None:
    queue: WorkQueue[Key] = WorkQueue(SETTINGS)
    spin(queue, A, 0.0, 1)
    queue.quarantine(A, 0.0, 21)
    queue.quarantine(A, 0.0, 22)
    queue.add(A, 1.0)
    assert queue.next_ready_at(1.0) == 5.0
    assert queue.take_reports() == (), "who found it reports it"
    (held,) = queue.snapshot(1.0).longest_held
    assert (held.key, held.turns, queue.snapshot(1.0).counts.quarantined) == (A, 21, 1)


def test_where_no_key_is_ever_hot_none_is_quarantined() -> None:
    queue: WorkQueue[Key] = WorkQueue(replace(SETTINGS, hot_turns_max=0))
    queue.quarantine(A, 0.0, 21)
    queue.add(A, 0.0)
    assert queue.next_ready_at(0.0) == 0.0
