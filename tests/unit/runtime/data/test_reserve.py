"""Room that is kept on the store's disk: how much, who may have which part of it, and when it is kept again."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.runtime.data import reserve as module
from fairlead.runtime.data.reserve import (
    LEASES_BYTES,
    PAGES_BYTES,
    RESERVE_BYTES,
    RESERVE_MARGIN_BYTES,
    WAL_BYTES,
    Reserve,
)


class Pages:
    def __init__(self, free: int = 0) -> None:
        self.free = free
        self.taken: list[int] = []

    def free_bytes(self) -> int:
        return self.free

    def take_room(self, size: int) -> None:
        self.taken.append(size)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store.db-wal").touch()
    return tmp_path / "store.db"


def full(monkeypatch: pytest.MonkeyPatch, free: int = 0) -> None:
    """The disk has so much free, as it says."""
    monkeypatch.setattr(module, "_free", lambda directory: free)


def test_it_is_made_with_blocks_for_all_of_it_and_so_is_the_log(store: Path) -> None:
    assert Reserve(store, Pages()).hold()
    for name, size in (("reserve", RESERVE_BYTES), ("store.db-wal", WAL_BYTES)):
        found = store.with_name(name).stat()
        assert (found.st_size, found.st_blocks * 512 >= size) == (size, True)


def test_a_write_that_met_a_full_disk_gets_its_place(store: Path) -> None:
    pages = Pages()
    kept = Reserve(store, pages)
    assert kept.hold()
    kept.use()
    assert not store.with_name("reserve").exists()
    assert pages.taken == [PAGES_BYTES]


@pytest.mark.parametrize(
    ("free", "left"),
    [(0, 0), (LEASES_BYTES, 0), (LEASES_BYTES + 5, 5), (PAGES_BYTES, PAGES_BYTES - LEASES_BYTES)],
)
def test_deletions_leave_what_leases_need(store: Path, free: int, left: int) -> None:
    assert Reserve(store, Pages(free)).left() == left


def test_it_is_kept_again_when_there_is_room_for_it_and_some_more(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Reserve(store, Pages())
    full(monkeypatch, RESERVE_BYTES + RESERVE_MARGIN_BYTES - 1)
    assert not kept.regained()
    assert not store.with_name("reserve").exists()
    full(monkeypatch, RESERVE_BYTES + RESERVE_MARGIN_BYTES)
    assert kept.regained()
    assert store.with_name("reserve").exists()
    assert not kept.runs_out()


def test_where_deletions_made_the_room_inside_it_is_watched(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch)
    pages = Pages(RESERVE_BYTES + RESERVE_MARGIN_BYTES - 1)
    kept = Reserve(store, pages)
    assert not kept.regained()
    pages.free += 1
    assert kept.regained()
    assert not kept.runs_out()
    pages.free = RESERVE_BYTES - 1
    assert kept.runs_out()
