"""Who goes first: priorities without starvation, namespaces in turns."""

from __future__ import annotations

import pytest

from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue

LOW, NORMAL, HIGH = Priority.LOW, Priority.NORMAL, Priority.HIGH


def key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return Key("pods", namespace, name)


def drained(queue: WorkQueue[Key], now: float = 0.0) -> list[str]:
    order = []
    while (turn := queue.pop(now)) is not None:
        order.append(f"{turn.key.namespace}/{turn.key.name}")
    return order


@pytest.mark.parametrize(
    ("adds", "order"),
    [
        (["x/1", "x/2", "x/3", "y/1"], ["x/1", "y/1", "x/2", "x/3"]),
        (["x/1", "x/2", "y/1", "y/2", "z/1"], ["x/1", "y/1", "z/1", "x/2", "y/2"]),
        (["/1", "/2", "x/1"], ["/1", "x/1", "/2"]),
    ],
    ids=["one is noisy", "three take turns", "cluster-scoped keys are a namespace of their own"],
)
def test_namespaces_take_turns(adds: list[str], order: list[str]) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for each in adds:
        queue.add(key(each), 0.0)
    assert drained(queue) == order


def test_a_namespace_that_was_empty_joins_at_the_end() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for each in ("x/1", "y/1", "y/2", "z/1"):
        queue.add(key(each), 0.0)
    queue.pop(0.0)
    queue.add(key("x/2"), 0.0)
    assert drained(queue) == ["y/1", "z/1", "x/2", "y/2"]


@pytest.mark.parametrize(
    ("adds", "order"),
    [
        ([("x/1", LOW), ("x/2", NORMAL), ("x/3", HIGH)], ["x/3", "x/2", "x/1"]),
        ([("x/1", LOW), ("x/2", NORMAL), ("x/1", HIGH)], ["x/1", "x/2"]),
        ([("x/1", HIGH), ("x/2", HIGH), ("x/1", LOW)], ["x/1", "x/2"]),
        ([("x/1", LOW), ("x/2", LOW), ("x/3", LOW), ("x/2", NORMAL)], ["x/2", "x/1", "x/3"]),
        ([("x/1", LOW), ("y/1", LOW), ("z/1", LOW), ("y/1", HIGH)], ["y/1", "x/1", "z/1"]),
    ],
    ids=[
        "higher first",
        "raised",
        "not lowered",
        "raised from the middle",
        "raised, its namespace now empty",
    ],
)
def test_the_highest_priority_goes_first(adds: list[tuple[str, Priority]], order: list[str]) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    for each, priority in adds:
        queue.add(key(each), 0.0, priority)
    assert drained(queue) == order


def test_a_delayed_key_that_was_raised_is_high_when_it_is_due() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add_at(key("x/1"), 0.0, 5.0, LOW)
    queue.add_at(key("x/1"), 0.0, 9.0, HIGH)
    queue.add(key("x/2"), 1.0)
    assert drained(queue, 5.0) == ["x/1", "x/2"]


def test_a_raised_key_that_comes_back_low_waits_behind_those_before_it() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(key("x/1"), 0.0, LOW)
    queue.add(key("x/2"), 0.0, LOW)
    queue.add(key("x/1"), 0.0, HIGH)
    queue.pop(0.0)
    queue.done(key("x/1"), 0.0)
    queue.add(key("x/1"), 0.0, LOW)
    assert drained(queue) == ["x/2", "x/1"]


@pytest.mark.parametrize("passes_max", [1, 4, 15])
def test_a_low_key_is_served_after_so_many_others_however_many_high_ones_wait(passes_max: int) -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(passes_max=passes_max))
    queue.add(key("x/low"), 0.0, LOW)
    for number in range(50):
        queue.add(key(f"x/{number}"), 0.0, HIGH)
    assert drained(queue).index("x/low") == passes_max


def test_all_priorities_under_pressure_are_served() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(passes_max=1))
    for number in range(9):
        for priority in Priority:
            queue.add(key(f"x/{priority.name}-{number}"), 0.0, priority)
    first = [each[2:].partition("-")[0] for each in drained(queue)[:12]]
    assert [first.count(priority.name) for priority in Priority] == [3, 3, 3, 3]


def test_patience_is_not_inherited_by_keys_that_come_later() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(passes_max=3))
    for number in range(9):
        queue.add(key(f"x/{number}"), 0.0, HIGH)
    queue.add(key("x/low"), 0.0, LOW)
    queue.pop(0.0)
    queue.pop(0.0)
    queue.add(key("x/low"), 0.0, HIGH)  # nothing low is left
    queue.add(key("x/late"), 0.0, LOW)
    assert drained(queue).index("x/late") == 3
