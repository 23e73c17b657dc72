"""Times as people type them, and the revision that was the newest then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from fairlead.cli.moments import parse_moment
from fairlead.core.errors import UsageError
from fairlead.store.instants import Written, revision_at
from fairlead.store.memory import MemoryJournal


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Vienna")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


NOW = "2026-11-16 12:30:00"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("30s", "2026-11-16 12:29:30"),
        ("10m", "2026-11-16 12:20:00"),
        ("10m ago", "2026-11-16 12:20:00"),
        ("2h30m", "2026-11-16 10:00:00"),
        ("1d", "2026-11-15 12:30:00"),
        ("now", NOW),
        ("09:15", "2026-11-16 09:15:00"),
        ("today 09:15:20", "2026-11-16 09:15:20"),
        ("14:00", "2026-11-15 14:00:00"),
        ("yesterday 14:00", "2026-11-15 14:00:00"),
        ("Yesterday 9:05", "2026-11-15 09:05:00"),
        ("2026-11-02", "2026-11-02 00:00:00"),
        ("2026-11-02 08:00", "2026-11-02 08:00:00"),
        ("2026-07-02T08:00", "2026-07-02 08:00:00"),
        ("2026-11-16T11:00:00Z", "2026-11-16 12:00:00"),
        ("2026-11-16t11:00:00.5z", "2026-11-16 12:00:00.500"),
        ("2026-11-16T11:00:00+02:00", "2026-11-16 10:00:00"),
    ],
)
def test_times(typed: str, meant: str) -> None:
    assert parse_moment("--at", typed, local(NOW)) == local(meant)


@pytest.mark.parametrize(
    "typed", ["", "soon", "yesterday", "25:00", "12:61", "2026-13-01", "10x", "m", "-10m", "١٠m"]
)
def test_what_is_no_time(typed: str) -> None:
    with pytest.raises(UsageError, match="is no time: write 10m"):
        parse_moment("--at", typed, local(NOW))


@pytest.mark.parametrize("typed", ["2027-01-01", "today 23:00", "2026-11-16T12:00:00Z"])
def test_what_is_yet_to_come(typed: str) -> None:
    with pytest.raises(UsageError, match="yet to come"):
        parse_moment("--since", typed, local(NOW))


class Log(MemoryJournal):
    """Of which only when something was written is asked."""

    def __init__(self, written: dict[int, float]) -> None:
        super().__init__()
        self._written = written
        self.asked = 0

    def written_after(self, revision: int) -> tuple[int, float] | None:
        self.asked += 1
        return next(((each, at) for each, at in sorted(self._written.items()) if each > revision), None)


def test_the_newest_revision_of_a_time() -> None:
    log = Log({3: 10.0, 4: 10.0, 9: 20.0, 700: 30.0})
    found = [revision_at(log, 700, each) for each in (9.9, 10.0, 19.9, 20.0, 29.0, 30.0, 99.0)]
    assert found == [
        None,
        Written(4, 10.0),
        Written(4, 10.0),
        Written(9, 20.0),
        Written(9, 20.0),
        Written(700, 30.0),
        Written(700, 30.0),
    ]
    assert revision_at(log, 9, 99.0) == Written(9, 20.0)  # what is not acknowledged yet is not told
    assert revision_at(Log({}), 0, 5.0) is None


def test_few_questions_are_enough() -> None:
    log = Log({number: float(number) for number in range(1, 2000)})
    assert revision_at(log, 1999, 77.5) == Written(77, 77.0)
    assert log.asked < 15
