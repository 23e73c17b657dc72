"""The one function of how long to wait after failures."""

from __future__ import annotations

import pytest

from fairlead.core.backoff import backoff


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (6, 10.0), (10_000, 10.0)]
)
def test_waits_double_up_to_the_most(failures: int, seconds: float) -> None:
    assert backoff(failures, 0.5, 10.0) == seconds


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 7.5), (0.5, 10.0), (0.75, 11.25)])
def test_chance_spreads_them_also_beyond_the_most(chance: float, seconds: float) -> None:
    assert backoff(9, 0.5, 10.0, 0.25, chance) == seconds
