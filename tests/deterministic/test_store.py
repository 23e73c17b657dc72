"""The SQLite store on a disk that tears, forgets, fills, lies and rots: nothing acknowledged after an honest sync is lost, no
revision is given twice, and damage is told, not served."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import pytest

from tests.deterministic.disk import DiskFaults
from tests.deterministic.store_world import Ledger, Weather, store_world
from tests.elsewhere import elsewhere

FAIR = Weather()
FAILING = Weather(DiskFaults(write_fails=0.03, sync_fails=0.05))
FULL = Weather(fills=True)
LYING = Weather(DiskFaults(sync_lies=0.3), honest=False)
ROTTEN = Weather(rots=True)
WEATHERS = (FAIR, FAILING, FULL, LYING, ROTTEN)
SEEDS, SOAK_SEEDS = 12, 600


@cache
def lived(seed: int, weather: Weather) -> Ledger:
    return store_world(seed, weather)


def digests() -> list[str]:
    """All that became of each store."""
    every = [repr(lived(seed, weather)) for weather in WEATHERS for seed in range(SEEDS)]
    return [blake2b(each.encode(), digest_size=16).hexdigest() for each in every]


def test_a_seed_is_one_run_in_every_process() -> None:
    assert digests() == elsewhere(digests)


@pytest.mark.parametrize("weather", WEATHERS, ids=["fair", "failing", "full", "lying", "rotten"])
def test_what_was_acknowledged_is_kept_and_what_is_wrong_is_told(weather: Weather) -> None:
    for seed in range(SEEDS):
        ledger = lived(seed, weather)
        assert not ledger.problems, f"seed {seed}: {ledger.problems[:3]}"


@pytest.mark.soak
@pytest.mark.parametrize("weather", WEATHERS, ids=["fair", "failing", "full", "lying", "rotten"])
def test_what_was_acknowledged_is_kept_in_many_seeds(weather: Weather) -> None:
    for seed in range(SEEDS, SOAK_SEEDS):
        ledger = store_world(seed, weather)
        assert not ledger.problems, f"seed {seed}: {ledger.problems[:3]}"


def test_the_power_may_be_cut_at_any_operation_of_a_life() -> None:
    for cut_at in range(1, 120, 2):
        ledger = store_world(7, FAIR, cut_at)
        assert not ledger.problems, f"seed 7, operation {cut_at}: {ledger.problems[:3]}"


def test_the_weather_is_met() -> None:
    failing = [lived(seed, FAILING) for seed in range(6)]
    full = [lived(seed, FULL) for seed in range(6)]
    rotten = [lived(seed, ROTTEN) for seed in range(SEEDS)]
    lying = [lived(seed, LYING) for seed in range(SEEDS)]
    assert sum(each.failed for each in failing) > 3
    assert sum(each.failed for each in full) > 3
    assert any(each.damaged or each.refused or each.told for each in rotten)
    assert any(each.told or each.refused for each in lying)


def test_a_store_that_does_not_wait_for_its_syncs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlead.store import database_files, sqlite

    real = database_files.pragma
    monkeypatch.setattr(
        sqlite,
        "pragma",
        lambda connection, text: real(connection, text.replace("synchronous = FULL", "synchronous = OFF")),
    )
    found = (problem for seed in range(60) for problem in store_world(seed, FAIR).problems)
    assert any("after an honest sync" in problem for problem in found)
