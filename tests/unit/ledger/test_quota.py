"""What a refusal of a quota tells, and what is read of it again."""

from __future__ import annotations

import pytest

from fairlead.core.quantity import parse
from fairlead.ledger.quota import find_exceeded, fits_in_place


def nano(amounts: dict[str, str]) -> dict[str, int]:
    return {name: parse(text).nano for name, text in amounts.items()}


def refusal(hard: dict[str, str], used: dict[str, str], asked: dict[str, str]) -> str:
    found = find_exceeded(hard, nano(used), nano(asked))
    assert found is not None
    return f'Create web-: Forbidden: pods "web-" is forbidden: {found.describe("q")} (attempt 2)'


@pytest.mark.parametrize(
    ("hard", "used", "asked", "fits"),
    [
        ({"pods": "3"}, {"pods": "3"}, {"pods": "1"}, True),
        ({"pods": "0"}, {"pods": "1"}, {"pods": "1"}, False),
        ({"pods": "1"}, {"pods": "2"}, {"pods": "1"}, False),
        ({"requests.memory": "1Gi"}, {"requests.memory": "800Mi"}, {"requests.memory": "600Mi"}, True),
        ({"requests.memory": "1Gi"}, {"requests.memory": "800Mi"}, {"requests.memory": "1025Mi"}, False),
        ({"pods": "2", "cpu": "1"}, {"pods": "2", "cpu": "1"}, {"pods": "1", "cpu": "1500m"}, False),
    ],
)
def test_what_would_fit_in_the_place_of_another(
    hard: dict[str, str], used: dict[str, str], asked: dict[str, str], fits: bool
) -> None:
    assert fits_in_place(refusal(hard, used, asked)) is fits


def test_who_may_borrow_or_is_told_no_amounts_might_fit() -> None:
    assert fits_in_place("exceeded quota: q, requested: cpu=9, used: cpu=9, limited: cpu=3; cpu: 3 borrowed")
    assert fits_in_place("failed quota: q: must specify cpu")
    assert fits_in_place("")
