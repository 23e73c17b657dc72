"""What people see of a queue, and that what it leaves behind is tidied."""

from __future__ import annotations

import msgspec

from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.queue.histogram import BOUNDS_SECONDS
from fairlead.queue.settings import QueueSettings
from fairlead.queue.snapshot import QueueCounts, Retried, Running
from fairlead.queue.work import WorkQueue

KEYS = [Key("pods", "x", f"{number:03}") for number in range(100)]
A, B, C, D, E = KEYS[:5]


def busy() -> WorkQueue[Key]:
    """At 10: A works (to be run again), B works, C is ready since 2, D waits for 60, E failed twice."""
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(backoff_seconds=50.0, backoff_max_seconds=100.0))
    queue.add(A, 0.0)
    queue.add(B, 0.0)
    queue.pop(1.0)
    queue.pop(1.5)
    queue.add(A, 2.0)
    queue.add(C, 2.0, Priority.LOW)
    queue.add_at(D, 2.0, 60.0)
    for now in (3.0, 4.0):
        queue.add(E, now)
        queue.pop(now)
        queue.retry(E, now, 0.5)
        queue.done(E, now)
    return queue


def test_the_snapshot_says_what_waits_works_and_fails() -> None:
    snapshot = busy().snapshot(10.0)
    assert (snapshot.depth, snapshot.ready, snapshot.delayed, snapshot.in_progress, snapshot.again) == (
        4,
        1,
        2,
        2,
        1,
    )
    assert snapshot.ready_by_priority == (("URGENT", 0), ("HIGH", 0), ("NORMAL", 0), ("LOW", 1))
    assert (snapshot.oldest_waiting, snapshot.oldest_waiting_seconds) == (C, 8.0)
    assert snapshot.longest_running == (Running(A, 9.0, True), Running(B, 8.5, False))
    assert (snapshot.failing, snapshot.most_retried) == (1, (Retried(E, 2),))
    assert snapshot.next_ready_at == 10.0
    assert snapshot.counts == QueueCounts(
        added=9, collapsed=1, popped=4, done=2, retried=2, overloads=0, quarantined=0
    )


def test_the_snapshot_of_an_empty_queue_is_all_noughts() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    snapshot = queue.snapshot(5.0)
    assert (snapshot.depth, snapshot.oldest_waiting, snapshot.oldest_waiting_seconds) == (0, None, 0.0)
    assert snapshot.next_ready_at is None


def test_the_snapshot_can_be_written_as_json() -> None:
    written = msgspec.json.decode(msgspec.json.encode(busy().snapshot(10.0)))
    assert written["oldest_waiting"] == ["pods", "x", "002"]
    assert written["settings"]["backoff_seconds"] == 50.0


def test_the_oldest_waiting_key_is_the_one_ready_longest_not_the_one_added_first() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(A, 0.0, 5.0)
    queue.add(B, 1.0, Priority.LOW)
    queue.add(C, 6.0, Priority.HIGH)
    assert queue.snapshot(7.0).oldest_waiting == B
    queue.add(B, 7.0, Priority.HIGH)  # raised: it still waits since 1
    assert queue.snapshot(8.0).oldest_waiting_seconds == 7.0
    queue.pop(8.0)
    queue.pop(8.0)
    assert queue.snapshot(9.0).oldest_waiting == A
    assert queue.snapshot(9.0).oldest_waiting_seconds == 4.0


def test_a_key_that_is_not_due_is_not_waiting_and_one_that_is_due_waits_though_nobody_asked() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(A, 0.0, 5.0)
    assert queue.snapshot(4.0).oldest_waiting is None
    assert queue.snapshot(7.0).oldest_waiting == A
    assert queue.snapshot(7.0).oldest_waiting_seconds == 2.0


def test_the_most_retried_are_named_most_first_then_in_the_order_they_got_there() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for key in (A, B, C, D):
        queue.retry(key, 0.0, 0.5)
    for key in (C, B, B, D):
        queue.retry(key, 0.0, 0.5)
    queue.forget(D)
    snapshot = queue.snapshot(0.0, top=3)
    assert snapshot.most_retried == (Retried(B, 3), Retried(C, 2), Retried(A, 1))
    assert queue.snapshot(0.0, top=1).most_retried == (Retried(B, 3),)


def test_at_most_top_keys_are_named() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for key in KEYS:
        queue.add(key, 0.0)
        queue.pop(0.0)
        queue.retry(key, 0.0, 0.5)
    snapshot = queue.snapshot(1.0, top=4)
    assert [len(snapshot.longest_running), len(snapshot.most_retried)] == [4, 4]
    assert snapshot.longest_running[0].key == A


def test_waiting_and_working_times_are_counted_in_buckets() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    queue.pop(0.5)
    queue.done(A, 1000.0)
    assert queue.waits.counts[BOUNDS_SECONDS.index(0.5)] == 1
    assert queue.works.counts[-1] == 1
    assert (queue.waits.seconds, queue.works.seconds) == (0.5, 999.5)
    assert sum(queue.waits.counts) == sum(queue.works.counts) == 1


def left_behind(queue: WorkQueue[Key]) -> int:
    """Records in the ordered structures, in use or not."""
    lanes = sum(len(lane.entries) for line in queue._lines for lane in line._lanes.values())
    rings = sum(len(line._ring) for line in queue._lines)
    return len(queue._delayed._heap) + len(queue._arrivals) + lanes + rings


def test_a_key_put_off_far_and_brought_forward_over_and_over_leaves_nothing_behind() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for number in range(2000):
        queue.add_at(A, float(number), number + 1e6)
        queue.add_at(A, float(number), number + 5e5)
        queue.add(A, float(number))
        queue.pop(float(number))
        queue.done(A, float(number))
    assert left_behind(queue) < 300


def test_a_delayed_key_hastened_over_and_over_leaves_nothing_behind() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for number in range(2000):
        queue.add_at(A, 0.0, 1e6 - number)
    assert left_behind(queue) < 300
    assert queue.next_ready_at(0.0) == 1e6 - 1999


def test_keys_raised_over_and_over_leave_nothing_behind() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(passes_max=10_000))
    queue.add(B, 0.0, Priority.LOW)  # keeps the low line from being emptied
    for number in range(2000):
        key = KEYS[5 + number % 90]
        queue.add(key, 0.0, Priority.LOW)
        queue.add(key, 0.0, Priority.HIGH)
        turn = queue.pop(0.0)
        assert turn is not None
        assert turn.key == key
        queue.done(key, 0.0)
    assert left_behind(queue) < 300
    turn = queue.pop(0.0)
    assert turn is not None
    assert turn.key == B


def test_a_namespace_whose_last_low_key_was_raised_leaves_nothing_behind() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(passes_max=10_000, hot_turns_max=0))
    queue.add(Key("pods", "other", "b"), 0.0, Priority.LOW)  # keeps the low line from being emptied
    for _ in range(2000):
        queue.add(A, 0.0, Priority.LOW)
        queue.add(A, 0.0, Priority.HIGH)
        queue.pop(0.0)
        queue.done(A, 0.0)
    assert left_behind(queue) < 300


def test_a_raised_key_is_popped_once_also_when_its_raise_made_the_line_tidy_up() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for key in KEYS:
        queue.add(key, 0.0, Priority.LOW)
    for key in KEYS[1:]:
        queue.add(key, 0.0, Priority.NORMAL)
    order = [turn.key for turn in iter(lambda: queue.pop(0.0), None)]
    assert sorted(order) == KEYS


def test_namespaces_that_have_nothing_waiting_are_forgotten() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for number in range(1000):
        key = Key("pods", f"namespace-{number}", "a")
        queue.add(key, 0.0, Priority.LOW)
        if number % 2:
            queue.add(key, 0.0, Priority.HIGH)
        queue.pop(0.0)
        queue.done(key, 0.0)
    assert left_behind(queue) < 300
    assert sum(len(line._lanes) for line in queue._lines) == 0
