"""Cohorts as arithmetic: what a member may take, and who borrows from whom."""

from __future__ import annotations

import pytest

from fairlead.ledger.cohort import CohortShare, Loan, describe, find_room, left_to_lend, list_loans


def share(
    name: str, hard: int, used: int, borrow: int = 0, lend: int | None = None, claimed: int = 0
) -> CohortShare:
    return CohortShare(name, hard, used, borrow, hard if lend is None else lend, claimed)


ROOMS = [
    ("its own, without anybody else", [share("a", 4, 1)], 3),
    ("its own and all that the other leaves", [share("a", 4, 1, 9), share("b", 4, 1)], 6),
    ("no more than its borrowing limit", [share("a", 4, 1, 2), share("b", 4, 0)], 5),
    ("nothing beyond its own without a borrowing limit", [share("a", 4, 4), share("b", 4, 0)], 0),
    ("no more than the other lends", [share("a", 4, 4, 9), share("b", 4, 0, lend=1)], 1),
    ("what the other keeps is left when it lends", [share("a", 4, 4, 9), share("b", 4, 2, lend=3)], 2),
    ("nothing while the lender uses its own", [share("a", 4, 4, 9), share("b", 4, 4)], 0),
    ("a lender gets only what is not borrowed", [share("a", 4, 0), share("b", 0, 3, 9)], 1),
    ("but always what it lends to nobody", [share("a", 4, 0, lend=1), share("b", 0, 1, 9)], 3),
    ("what pods of the lender wait for is not lent", [share("a", 4, 4, 9), share("b", 4, 0, claimed=3)], 1),
    ("but of what it keeps first", [share("a", 4, 4, 9), share("b", 4, 0, lend=2, claimed=3)], 1),
    ("another's wait does not keep one's own", [share("a", 4, 3, 9), share("b", 4, 0, claimed=4)], 1),
    ("nothing when limits were lowered below use", [share("a", 1, 4, 2), share("b", 1, 1)], 0),
]


@pytest.mark.parametrize(("what", "shares", "room"), ROOMS, ids=[each[0] for each in ROOMS])
def test_a_member_may_take(what: str, shares: list[CohortShare], room: int) -> None:
    assert find_room(shares, "a") == room


def test_whoever_takes_all_its_room_leaves_the_cohort_within_its_sum() -> None:
    numbers = range(4)
    for used_a in numbers:
        for used_b in numbers:
            for borrow in numbers:
                for lend in numbers:
                    shares = [share("a", 2, used_a, borrow), share("b", 3, used_b, 1, lend)]
                    if left_to_lend(shares) < 0:
                        continue
                    room = find_room(shares, "a")
                    if room <= 0:
                        continue
                    after = [shares[0]._replace(used=used_a + room), shares[1]]
                    assert left_to_lend(after) >= 0
                    assert after[0].used <= 2 + borrow
                    assert left_to_lend([after[0]._replace(used=used_a + room + 1), after[1]]) < 0 or (
                        after[0].used == 2 + borrow
                    )


def test_loans_are_told_from_borrower_to_lender_and_add_up() -> None:
    shares = [share("a", 1, 4, 9), share("b", 3, 1), share("c", 2, 0), share("d", 0, 1, 1)]
    assert list_loans(shares) == [Loan("a", "b", 2), Loan("a", "c", 1), Loan("d", "c", 1)]


def test_a_refusal_says_what_is_borrowed_with_numbers_and_without_the_names_of_other_namespaces() -> None:
    shares = [share("team-a/limit", 4, 2, claimed=1), share("team-b/limit", 2, 3, 2)]
    assert describe("research", shares, "team-b/limit", str) == (
        "cohort research: team-b/limit borrows 1 from another namespace, pods of another namespace wait for 1 of its own, "
        "1 left to lend, team-b/limit borrows 1 of 2 it may"
    )
