"""Whose turn it is, case by case: `api/flow/machine.py`."""

from __future__ import annotations

import pytest

from fairlead.api.flow.events import CONCURRENCY_LIMIT, QUEUE_FULL, TIME_OUT
from fairlead.api.flow.levels import ALONE_SEATS, PriorityLevel, Seats, deal_seats
from fairlead.api.flow.machine import SEAT_SECONDS, WAIT_SECONDS
from tests.unit.api.flow.levels_of_tests import EXEMPT, Driven, queueing, rejecting


def busy(*levels: PriorityLevel, seats: int = 10) -> Driven:
    """Two flows have come, so that none is alone; neither is under way any more."""
    driven = Driven(*levels, seats=seats)
    for user in ("one", "other"):
        driven.arrive(user, levels[0].name, user, room=True)
        driven.end(user)
    driven.begun.clear()
    return driven


def test_who_comes_while_nobody_waits_begins_at_once() -> None:
    driven = Driven(queueing("low", 1))
    driven.arrive("a", "low", room=True)
    assert driven.begun == ["a"]
    assert not driven.turn_due


def test_without_room_in_this_turn_of_the_loop_a_request_waits_for_the_next() -> None:
    driven = Driven(queueing("low", 1))
    driven.arrive("a", "low", room=False)
    assert (driven.begun, driven.turn_due) == ([], True)
    assert driven.turn() == ["a"]


def test_a_level_has_no_more_under_way_than_it_has_seats_and_goes_on_when_one_is_free() -> None:
    driven = busy(queueing("low", 1), seats=2)
    for number in range(3):
        driven.arrive(f"a{number}", "low", "a", room=True)
    assert driven.begun == ["a0", "a1"]
    assert not driven.turn_due, "there is no seat: a turn would be in vain"
    driven.end("a0")
    assert driven.turn_due
    assert driven.turn() == ["a2"]


def test_a_request_that_is_answered_in_its_turn_passes_those_that_wait_for_a_seat() -> None:
    driven = busy(queueing("low", 1), seats=1)
    driven.arrive("write", "low", "a", room=True)
    driven.arrive("second", "low", "a", room=True)
    driven.arrive("get", "low", "b", in_turn=True, room=True)
    assert driven.begun == ["write", "get"]


def test_two_hundred_of_one_flow_are_passed_by_the_first_of_another() -> None:
    driven = busy(queueing("low", 1, queue_length=100))
    for number in range(200):
        driven.arrive(f"loud{number}", "low", "loud")
    driven.arrive("quiet", "low", "quiet")
    served: list[str] = []
    while "quiet" not in served and len(served) < 200:
        begun = driven.one_turn()
        assert begun is not None
        served.append(begun)
        driven.end(begun)
    assert len(served) <= 7, "each queue of the loud one's hand goes once at most before"


def test_a_level_from_which_nothing_came_is_next() -> None:
    driven = busy(queueing("low", 90, queue_length=100), queueing("leases", 10), seats=20)
    for number in range(100):
        driven.arrive(f"loud{number}", "low", "loud")
    for _ in range(10):
        begun = driven.one_turn()
        assert begun is not None
        driven.end(begun)
    driven.arrive("lease", "leases", "node")
    assert "lease" in [driven.one_turn(), driven.one_turn()]


def test_levels_share_turns_as_they_share_seats() -> None:
    driven = busy(queueing("low", 3, queue_length=500), queueing("high", 1, queue_length=500), seats=4)
    for number in range(400):
        for level in ("low", "high"):
            driven.arrive(f"{level}{number}", level, "somebody")
    for _ in range(200):
        begun = driven.one_turn()
        assert begun is not None
        driven.end(begun)
    low = sum(ticket.startswith("low") for ticket in driven.begun)
    assert 147 <= low <= 153


def test_a_wide_request_pays_for_its_width() -> None:
    driven = busy(queueing("low", 1, queue_length=100), seats=10)
    for number in range(60):
        driven.arrive(f"wide{number}", "low", "lister", width=5)
        driven.arrive(f"slim{number}", "low", "getter")
    for _ in range(60):
        begun = driven.one_turn()
        assert begun is not None
        driven.end(begun)
    slim = sum(ticket.startswith("slim") for ticket in driven.begun)
    assert 45 <= slim <= 55, "five of width one for each of width five"


def test_a_wide_request_is_not_passed_for_ever_by_slim_ones_that_need_a_seat_too() -> None:
    driven = busy(queueing("low", 1, queue_length=100), seats=4)
    driven.arrive("first", "low", "a", room=True)
    driven.arrive("wide", "low", "b", width=4)
    for number in range(10):
        driven.arrive(f"slim{number}", "low", f"c{number}")
    while "wide" not in driven.begun:
        driven.turn()
        before = list(driven.begun)
        assert len(before) < 12, "all the slim ones went before"
        for ticket in before:
            driven.end(ticket)
    assert len(driven.begun) <= 11


def test_who_finds_the_queue_full_is_refused() -> None:
    driven = busy(queueing("low", 1, queues=1, hand_size=1, queue_length=2), seats=1)
    for number in range(4):
        driven.arrive(f"a{number}", "low", "a", room=True)
    assert driven.refused == {"a3": QUEUE_FULL}


def test_a_full_flow_leaves_another_a_queue_that_is_not() -> None:
    driven = busy(queueing("low", 1, queues=64, hand_size=6, queue_length=5), seats=1)
    for number in range(100):
        driven.arrive(f"loud{number}", "low", "loud")
    assert len(driven.refused) == 100 - 6 * 5
    driven.arrive("quiet", "low", "quiet")
    assert "quiet" not in driven.refused


def test_a_level_without_queues_refuses_who_finds_no_seat() -> None:
    driven = busy(queueing("low", 8), rejecting("last", 2))
    for number in range(3):
        driven.arrive(f"a{number}", "last", "a", room=True)
    assert driven.begun == ["a0", "a1"]
    assert driven.refused == {"a2": CONCURRENCY_LIMIT}


def test_exempt_requests_need_no_seat_and_are_never_refused_but_take_turns() -> None:
    driven = busy(queueing("low", 1), EXEMPT, seats=1)
    for number in range(500):
        driven.arrive(f"admin{number}", "exempt", "admin")
    driven.arrive("lease", "low", "node")
    assert driven.refused == {}
    assert "lease" in [driven.one_turn() for _ in range(3)]
    driven.turn()
    assert len(driven.begun) == 501, "none waits for another to end"


def test_a_level_borrows_what_another_lends_and_does_not_use_and_has_its_own_at_any_time() -> None:
    low, high = queueing("low", 1, queue_length=50), queueing("high", 1, lendable_percent=50)
    driven = busy(low, high, seats=8)
    assert driven.machine.seats_of("low") == Seats(4, 0, 2)
    for number in range(10):
        driven.arrive(f"low{number}", "low", "a")
    driven.turn()
    assert driven.machine.seats_held("low") == 6
    for number in range(10):
        driven.arrive(f"high{number}", "high", "b")
    driven.turn()
    assert driven.machine.seats_held("high") == 4, "its own, though two of them are lent"
    driven.end("low0")
    driven.turn()
    assert driven.machine.seats_held("low") == 5, "nothing is lent any more"


def test_the_limit_of_what_is_borrowed_is_kept() -> None:
    levels = queueing("low", 1, borrowing_percent=25), queueing("high", 1, lendable_percent=100)
    assert deal_seats(levels, 8) == {"low": Seats(4, 0, 1), "high": Seats(4, 4, 0)}


@pytest.mark.parametrize(("shares", "seats"), [((1, 1, 1), (4, 4, 4)), ((100, 1, 0), (10, 1, 0))])
def test_who_has_a_share_has_a_seat(shares: tuple[int, ...], seats: tuple[int, ...]) -> None:
    levels = [queueing(f"l{number}", each) for number, each in enumerate(shares)]
    assert tuple(each.nominal for each in deal_seats(levels, 10).values()) == seats


def test_who_waits_for_too_long_is_refused_and_gone_from_the_queue() -> None:
    driven = busy(queueing("low", 1), seats=1)
    driven.arrive("long", "low", "a", room=True)
    driven.arrive("b", "low", "b")
    assert driven.look_at == driven.now + 1
    driven.now += WAIT_SECONDS / 2
    driven.arrive("c", "low", "c")
    driven.now += WAIT_SECONDS / 2
    driven.look()
    assert driven.refused == {"b": TIME_OUT}
    assert driven.turn() == ["c"], "what `long` held was given back meanwhile"


def test_a_seat_that_is_held_for_long_is_free_again_and_its_end_frees_no_second_one() -> None:
    driven = busy(queueing("low", 1), seats=1)
    driven.arrive("slow", "low", "a", room=True)
    driven.arrive("b", "low", "b")
    driven.now += SEAT_SECONDS
    driven.arrive("c", "low", "c")  # so that nobody is alone
    assert driven.turn() == []
    driven.look()
    assert driven.turn() == ["b"]
    driven.end("slow")
    assert driven.turn() == []
    assert driven.machine.seats_held("low") == 1


def test_a_client_that_leaves_makes_room_in_its_queue() -> None:
    driven = busy(queueing("low", 1, queues=1, hand_size=1, queue_length=1), seats=1)
    driven.arrive("a", "low", "a", room=True)
    driven.arrive("b", "low", "a")
    driven.end("b")
    driven.arrive("c", "low", "a")
    assert driven.refused == {}
    driven.end("a")
    assert driven.turn() == ["c"]


def test_a_flow_that_is_alone_has_more_seats_until_another_comes() -> None:
    driven = Driven(queueing("low", 1, queue_length=100, queues=64), seats=2)
    driven.arrive("first", "low", "loud", room=True)
    driven.now += 1.0
    for number in range(200):
        driven.arrive(f"a{number}", "low", "loud")
    driven.turn()
    assert driven.machine.seats_held("low") == ALONE_SEATS
    for ticket in driven.begun[1:]:
        driven.end(ticket)
    driven.turn()
    assert driven.machine.seats_held("low") == ALONE_SEATS, "what was given back is free again"
    driven.arrive("b", "low", "other")
    for ticket in driven.begun[:-1]:
        driven.end(ticket)
    driven.turn()
    assert driven.machine.seats_held("low") == 2


def test_levels_that_change_keep_who_waits_and_one_that_goes_serves_them_to_the_end() -> None:
    driven = busy(queueing("low", 1), queueing("high", 1), seats=2)
    for number in range(4):
        driven.arrive(f"a{number}", "low", "a", width=9)
    driven.configure(queueing("high", 1))
    served: list[str] = []
    while begun := driven.turn():
        served += begun
        for ticket in begun:
            driven.end(ticket)
    assert sorted(served) == ["a0", "a1", "a2", "a3"]
    driven.configure(queueing("high", 1))
    assert driven.machine.seats_of("low") == Seats(0, 0, 0)


def test_counts_add_up() -> None:
    driven = busy(queueing("low", 1, queues=1, hand_size=1, queue_length=1), seats=1)
    driven.machine.counts.clear()
    for number in range(3):
        driven.arrive(f"a{number}", "low", "a", room=True)
    counts = driven.machine.counts["low", "of-low"]
    assert (counts.dispatched, counts.at_once, counts.executing, counts.waiting) == (1, 1, 1, 1)
    assert counts.refused == {QUEUE_FULL: 1}
    driven.now += 0.02
    driven.end("a0")
    driven.turn()
    driven.end("a1")
    assert (counts.dispatched, counts.executing, counts.waiting) == (2, 0, 0)
    assert counts.waited.counts[3] == 1, "twenty milliseconds"


def test_when_one_that_waits_for_many_seats_leaves_those_behind_it_go_on() -> None:
    driven = busy(queueing("low", 1), seats=4)
    driven.arrive("first", "low", "a", room=True)
    driven.arrive("wide", "low", "b", width=4)
    driven.arrive("slim", "low", "c")
    assert not driven.turn_due
    driven.end("wide")
    assert driven.turn_due
    assert driven.turn() == ["slim"]
