"""Turns of backends: each gets exactly its share of connections, spread between those of the others."""

from __future__ import annotations

from collections import Counter

import pytest

from fairlead.agent.backend_turns import BackendTurns
from fairlead.agent.contract import Backend


def backends(*weights: int) -> tuple[Backend, ...]:
    return tuple(Backend(f"127.128.0.{number}", 80, weight) for number, weight in enumerate(weights, 1))


def picked(turns: BackendTurns, count: int) -> list[str]:
    return [turns.next()[0].address.rpartition(".")[2] for _ in range(count)]


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ((1, 1), (500, 500)),
        ((1, 3), (250, 750)),
        ((3, 7, 10), (150, 350, 500)),
        ((100, 1, 99), (500, 5, 495)),
        ((1, 1, 1, 1, 4), (125, 125, 125, 125, 500)),
        ((7,), (1000,)),
    ],
)
def test_each_gets_exactly_its_share(weights: tuple[int, ...], shares: tuple[int, ...]) -> None:
    count = Counter(picked(BackendTurns(backends(*weights)), 1000))
    assert count == {str(number): share for number, share in enumerate(shares, 1)}


def test_equal_weights_are_plain_turns_and_none_has_none() -> None:
    assert picked(BackendTurns(backends(2, 2, 2)), 7) == ["1", "2", "3", "1", "2", "3", "1"]
    assert BackendTurns(()).next() == ()


def test_a_light_one_is_spread_between_the_others() -> None:
    gaps = "".join(picked(BackendTurns(backends(9, 1)), 40)).split("2")
    assert {len(each) for each in gaps[1:-1]} == {9}


def test_all_are_there_to_try_each_once() -> None:
    turns = BackendTurns(backends(5, 1, 3))
    for _ in range(20):
        assert sorted(turns.next(), key=lambda each: each.address) == list(backends(5, 1, 3))


def test_one_that_comes_or_goes_leaves_the_others_what_they_are_owed() -> None:
    """However often routes change between two connections, nobody begins anew."""
    turns, (heavy, light) = BackendTurns(backends(3, 1)), backends(3, 1)
    found: Counter[Backend] = Counter()
    for _ in range(400):
        turns.use((heavy, light))
        found[turns.next()[0]] += 1
    assert found == {heavy: 300, light: 100}
    turns.use(backends(3, 1, 2))
    assert Counter(picked(turns, 600)) == {"1": 300, "2": 100, "3": 200}


def test_back_to_equal_weights_all_take_part() -> None:
    turns = BackendTurns(backends(1, 3))
    turns.next()
    turns.use(backends(1, 1))
    assert sorted(picked(turns, 4)) == ["1", "1", "2", "2"]
