"""Hands of queues: different ones, all of them, and the same for the same flow."""

from __future__ import annotations

from itertools import permutations

from fairlead.api.flow.dealing import deal, number_of


def test_every_hand_is_dealt_and_each_equally_often() -> None:
    hands = [deal(number, 5, 3) for number in range(5 * 4 * 3)]
    assert sorted(hands) == sorted(permutations(range(5), 3))


def test_a_hand_is_as_large_as_there_are_queues_at_most() -> None:
    assert deal(12345, 0, 6) == ()
    assert sorted(deal(12345, 3, 6)) == [0, 1, 2]


def test_a_flow_has_the_same_number_always_and_names_do_not_run_into_each_other() -> None:
    assert number_of("a", "b") == number_of("a", "b")
    assert (
        len({number_of("a", "bc"), number_of("ab", "c"), number_of("a:b", "c"), number_of("a", "b:c")}) == 4
    )


def test_of_many_flows_few_share_all_their_queues_with_one() -> None:
    loud = set(deal(number_of("s", "loud"), 128, 6))
    hands = [set(deal(number_of("s", f"user-{number}"), 128, 6)) for number in range(2000)]
    assert not any(hand <= loud for hand in hands)
