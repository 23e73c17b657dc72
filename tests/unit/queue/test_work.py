"""The work queue's first promises: one place per key, never two workers, no add lost, delays."""

from __future__ import annotations

import pytest

from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue

LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH
A, B, C = (Key("pods", "x", name) for name in "abc")


def popped(queue: WorkQueue[Key], now: float, limit: int = 100) -> str:
    """The names of everything that can be popped now, left in progress."""
    names = ""
    while len(names) < limit:
        turn = queue.pop(now)
        if turn is None:
            break
        names += turn.key.name
    return names


def test_an_empty_queue_has_nothing_and_waits_for_nothing() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    assert queue.pop(1.0) is None
    assert queue.next_ready_at(1.0) is None
    assert len(queue) == 0


def test_many_adds_of_a_key_are_one_turn() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    for _ in range(3):
        queue.add(A, 0.1)
    assert (queue.added, queue.collapsed) == (4, 3)
    assert popped(queue, 1.0) == "a"


def test_keys_of_one_namespace_run_in_the_order_they_came() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for key in (B, A, C, B):
        queue.add(key, 0.0)
    assert popped(queue, 0.0) == "bac"


def test_a_key_in_progress_is_not_popped_and_runs_once_more_when_it_was_added_meanwhile() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    assert popped(queue, 0.0) == "a"
    queue.add(A, 1.0)
    queue.add(A, 1.5)
    assert queue.collapsed == 1
    assert queue.pop(2.0) is None
    assert queue.next_ready_at(2.0) is None
    assert len(queue) == 1
    queue.done(A, 3.0)
    assert queue.next_ready_at(3.0) == 3.0
    assert popped(queue, 3.0) == "a"
    queue.done(A, 4.0)
    assert queue.pop(5.0) is None


def test_a_key_that_was_not_added_meanwhile_is_gone_after_its_turn() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    queue.pop(0.0)
    queue.done(A, 0.0)
    assert (len(queue), queue.pop(100.0)) == (0, None)


@pytest.mark.parametrize("waiting", [False, True])
def test_done_with_a_key_that_nobody_works_on_is_a_mistake_of_the_caller(waiting: bool) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    if waiting:
        queue.add(A, 0.0)
    with pytest.raises(KeyError):
        queue.done(A, 0.0)
    assert len(queue) == waiting


def test_a_delayed_key_runs_when_it_is_due_and_the_timer_knows() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(A, 0.0, 10.0)
    queue.add_at(B, 0.0, 5.0)
    assert queue.pop(4.9) is None
    assert queue.next_ready_at(1.0) == 5.0
    assert popped(queue, 5.0) == "b"
    assert queue.next_ready_at(6.0) == 10.0
    assert popped(queue, 10.0) == "a"
    assert queue.next_ready_at(10.0) is None


def test_what_was_due_first_goes_first_whoever_asks_late() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(A, 0.0, 2.0)
    queue.add_at(B, 0.0, 1.0)
    queue.add(C, 1.5)
    assert popped(queue, 9.0) == "bca"


def test_of_those_due_at_the_same_moment_the_one_added_first_goes_first() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for key in (C, A, B):
        queue.add_at(key, 0.0, 5.0)
    assert popped(queue, 5.0) == "cab"


def test_when_most_delayed_keys_were_brought_forward_the_rest_still_run_by_time() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    keys = [Key("pods", "x", f"{number:03}") for number in range(1000)]
    due = {key: 10.0 + number * 377 % 1000 for number, key in enumerate(keys)}
    for key in keys:
        queue.add_at(key, 0.0, due[key])
    hurried = [key for number, key in enumerate(keys) if number % 10]
    for key in hurried:
        queue.add(key, 1.0)
    assert len(queue._delayed._heap) < 300, "what was brought forward is still in the heap"
    assert [turn.key for turn in iter(lambda: queue.pop(1.0), None)] == hurried
    order = [turn.key for turn in iter(lambda: queue.pop(2000.0), None)]
    assert order == sorted(keys[::10], key=lambda key: due[key])


def test_a_time_in_the_past_means_now() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(A, 10.0, 3.0)
    turn = queue.pop(12.0)
    assert turn is not None
    assert turn.waited_seconds == 2.0


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((10.0, 5.0), 5.0),
        ((5.0, 10.0), 5.0),
        ((10.0, 7.0, 8.0, 6.0, 9.0), 6.0),
        ((10.0, 1.0), 1.0),
    ],
)
def test_of_several_times_the_earliest_wins_and_the_others_are_no_turns(
    times: tuple[float, ...], expected: float
) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for at in times:
        queue.add_at(A, 1.0, at)
    assert queue.next_ready_at(1.0) == expected
    assert popped(queue, expected) == "a"
    queue.done(A, expected)
    assert popped(queue, 100.0) == ""


def test_the_earliest_time_wins_for_the_turn_after_the_present_one() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    queue.pop(0.0)
    queue.add_at(A, 0.0, 30.0)
    queue.add_at(A, 0.0, 20.0)
    queue.add_at(A, 0.0, 40.0)
    queue.done(A, 1.0)
    assert queue.next_ready_at(1.0) == 20.0


def test_the_highest_priority_wins_for_the_turn_after_the_present_one() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    queue.pop(0.0)
    queue.add(A, 0.0, LOW)
    queue.add(A, 0.0, HIGH)
    queue.add(A, 0.0, NORMAL)
    queue.add(B, 0.0, NORMAL)
    queue.done(A, 1.0)
    assert popped(queue, 1.0) == "ab"


def test_beyond_its_bound_the_queue_reports_overload_and_keeps_the_key() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(keys_max=1))
    for key in (A, B, B):
        queue.add(key, 0.0)
    snapshot = queue.snapshot(0.0)
    assert (snapshot.overloaded, snapshot.counts.overloads) == (True, 1)
    assert popped(queue, 0.0) == "ab"
    assert not queue.snapshot(0.0).overloaded


def test_a_key_to_be_run_again_counts_towards_the_bound() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(keys_max=1))
    queue.add(A, 0.0)
    queue.pop(0.0)
    queue.add(A, 0.0)
    queue.add(B, 0.0)
    assert queue.overloads == 1


def test_resync_gives_every_key_a_turn_evenly_over_the_period() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(C, 0.0, 500.0)
    assert queue.resync([A, B, C], 100.0, 30.0) == (2, 1)
    seen = []
    now: float | None = 100.0
    while (now := queue.next_ready_at(now or 0.0)) is not None:
        turn = queue.pop(now)
        assert turn is not None
        seen.append((turn.key.name, now, turn.priority))
    assert seen == [("a", 100.0, LOW), ("b", 110.0, LOW), ("c", 120.0, NORMAL)]


def test_resync_of_nothing_is_nothing() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    assert queue.resync([], 0.0, 60.0) == (0, 0)


def test_thousands_that_became_due_while_nobody_asked_all_run_in_order() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    keys = [Key("pods", "x", f"{number:04}") for number in range(2000)]
    queue.resync(keys, 0.0, 100.0)
    assert queue.snapshot(500.0).oldest_waiting == keys[0]
    first = queue.pop(500.0)
    assert first is not None
    assert first.key == keys[0]
    assert queue.snapshot(500.0).ready < 500, "one call moved them all"
    assert queue.next_ready_at(500.0) == 500.0
    rest = [turn.key for turn in iter(lambda: queue.pop(500.0), None)]
    assert rest == keys[1:]
