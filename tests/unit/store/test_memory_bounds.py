"""What the store keeps in memory is bounded: the window of recent changes, the lists' unsorted news."""

from __future__ import annotations

import pytest

from fairlead.model.key import Key
from fairlead.store.contract import ADDED, CommittedChange, Entry
from fairlead.store.objects import Objects
from fairlead.store.window import Window


def entry(name: str, revision: int, size: int = 10) -> Entry:
    return Entry(Key("pods", "default", name), "u", revision, b"x" * size)


def change(revision: int, size: int = 10) -> CommittedChange:
    return CommittedChange(ADDED, entry(f"n{revision}", revision, size), None)


@pytest.mark.parametrize(
    ("changes_max", "bytes_max", "size", "kept"),
    [(3, 10**6, 10, [8, 9, 10]), (100, 5_000, 1_000, [9, 10]), (0, 10**6, 10, []), (100, 10, 10, [])],
)
def test_a_window_keeps_the_newest_within_count_and_bytes(
    changes_max: int, bytes_max: int, size: int, kept: list[int]
) -> None:
    window = Window(0, changes_max, bytes_max)
    for revision in range(1, 11):
        window.add(change(revision, size))
    assert window.start == 10 - len(kept)
    assert [one.entry.revision for one in window.after(window.start, 100)] == kept


def test_a_window_tells_changes_after_a_revision_up_to_a_limit() -> None:
    window = Window(0, 100, 10**6)
    for revision in (2, 4, 6):
        window.add(change(revision))
    assert [one.entry.revision for one in window.after(2, 1)] == [4]
    assert [one.entry.revision for one in window.after(3, 9)] == [4, 6]
    assert window.after(6, 9) == ()


@pytest.mark.parametrize("count", [1, 5, 33, 300, 2000])
def test_lists_stay_right_and_ordered_however_many_changes_come_between_looks(count: int) -> None:
    objects = Objects()
    expected: dict[str, Entry] = {}
    for turn in range(3):
        for number in range(count):
            name = f"n{(number * 7919 + turn) % 3001:05d}"
            if name in expected and number % 3 == 0:
                objects.remove(expected.pop(name).key)
            else:
                made = entry(name, turn * count + number + 1)
                objects.put(made)
                expected[name] = made
        assert objects.list("pods", "default") == tuple(expected[name] for name in sorted(expected))
        assert objects.list("pods", "") == objects.list("pods", "default")
        assert len(objects) == len(expected)


def test_objects_that_come_and_go_leave_nothing_behind_even_if_nobody_lists() -> None:
    objects = Objects()
    stays = entry("stays", 1)
    objects.put(stays)
    for number in range(5_000):
        made = entry(f"n{number}", number + 2)
        objects.put(made)
        objects.remove(made.key)
    assert len(objects._tables["pods"].spaces["default"]._news) < 1_000
    assert objects.list("pods", "") == (stays,)
    objects.remove(stays.key)
    assert objects.list("pods", "") == ()


def test_nothing_is_kept_of_namespaces_and_resources_that_are_gone_even_if_nobody_lists() -> None:
    objects = Objects()
    objects.put(entry("stays", 1))
    for number in range(10):
        keys = [
            Key("pods", f"brief-{number}", "a"),
            Key("pods", f"brief-{number}", "b"),
            Key(f"widgets{number}.example.com", "default", "a"),
        ]
        for turn in range(2):  # a change of an object is no further one
            for key in keys:
                objects.put(Entry(key, "u", 10 * number + turn + 2, b"x"))
        assert len(objects.list("pods", f"brief-{number}")) == 2
        for key in keys:
            objects.remove(key)
        assert objects.list("pods", f"brief-{number}") == ()
    assert {name: list(table.spaces) for name, table in objects._tables.items()} == {"pods": ["default"]}
    assert len(objects.list("pods", "")) == 1
