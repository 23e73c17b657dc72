"""The store's conformance suite on each journal, with wide and with narrow bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.store.contract import Journal
from fairlead.store.machine import StoreLimits
from fairlead.store.memory import MemoryJournal
from fairlead.store.sqlite import SqliteJournal
from tests.conformance.store_harness import Harness
from tests.conformance.store_suite import CHECKS, LIMITS, Check


def in_memory(_: Path) -> Callable[[], Journal]:
    journal = MemoryJournal()
    return lambda: journal


def on_disk(directory: Path) -> Callable[[], Journal]:
    return lambda: SqliteJournal(str(directory / "store.db"))


@pytest.fixture(params=[in_memory, on_disk], ids=lambda make: make.__name__)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Journal]:
    made: Callable[[], Journal] = request.param(tmp_path)
    return made


@pytest.fixture(params=LIMITS, ids=["wide", "narrow"])
def harness(opener: Callable[[], Journal], request: pytest.FixtureRequest) -> Iterator[Harness]:
    limits: StoreLimits = request.param
    made = Harness(opener, limits)
    yield made
    made.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_store(check: Check, harness: Harness) -> None:
    check(harness)
