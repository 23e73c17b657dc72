"""Cohorts: PlacementQuotas of several namespaces that lend each other what they leave unused.

Quotas that name one cohort and are about the same nodes are its members. `hard` is what a member has of its own; beyond
it, up to its `borrowingLimit`, it borrows what others leave unused; of its own it lends up to its `lendingLimit`, all
of it without one. What pods of a lender wait for is lent to nobody else. Nothing that is borrowed is taken back: it
returns when pods go.

Arithmetic in whatever unit the caller counts: the API judges here in the transaction that binds (`api/borrowing.py`),
the scheduler forecasts by the same numbers (`schedule/holds.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

#: bound: objects | loans that a refusal for quota names | the others are counted
LOANS_TOLD_MAX = 3


Amounts = Mapping[str, int]


class CohortMember(NamedTuple):
    name: str  # NAMESPACE/NAME
    hard: Amounts
    used: Amounts
    may_borrow: Amounts  # nothing of what it does not name
    may_lend: Amounts  # all of what it does not name
    claimed: Amounts  # what its own pods wait for, and would fit into hard


class Cohort(NamedTuple):
    """A cohort as one of its members sees it."""

    name: str
    mine: str  # the member that is judged
    members: tuple[CohortMember, ...]

    def room(self, resource: str) -> int:
        return find_room(self.shares(resource), self.mine)

    def describe(self, resource: str, spell: Callable[[int], str]) -> str:
        return describe(self.name, self.shares(resource), self.mine, spell)

    def shares(self, resource: str) -> list[CohortShare]:
        return [
            CohortShare(
                each.name,
                each.hard[resource],
                each.used.get(resource, 0),
                each.may_borrow.get(resource, 0),
                min(each.hard[resource], each.may_lend.get(resource, each.hard[resource])),
                each.claimed.get(resource, 0),
            )
            for each in self.members
            if resource in each.hard
        ]


class CohortShare(NamedTuple):
    """One member, by one resource."""

    name: str  # NAMESPACE/NAME
    hard: int
    used: int
    may_borrow: int  # beyond hard
    may_lend: int  # of hard
    claimed: int = 0  # what its own pods wait for, and would fit into hard


class Loan(NamedTuple):
    borrower: str
    lender: str
    amount: int


def borrowed(share: CohortShare) -> int:
    return max(0, share.used - share.hard)


def unused(share: CohortShare) -> int:
    """What it has to lend now."""
    return max(0, min(share.may_lend, share.hard - share.used))


def held_back(share: CohortShare) -> int:
    """What of `unused` is for those of its own pods that wait: the rest of what it lends to nobody is theirs first."""
    kept = max(0, share.hard - share.may_lend - share.used)
    return min(unused(share), max(0, share.claimed - kept))


def left_to_lend(shares: Sequence[CohortShare]) -> int:
    """Below 0 where more is borrowed than there is, after a limit was lowered."""
    return sum(map(unused, shares)) - sum(map(borrowed, shares))


def find_room(shares: Sequence[CohortShare], name: str) -> int:
    """How much more the member of this name may take."""
    mine = next(each for each in shares if each.name == name)
    kept = mine.hard - mine.may_lend  # lent to nobody
    own = max(0, kept - mine.used)
    open_pool = max(0, left_to_lend(shares))
    claimed = sum(held_back(each) for each in shares if each.name != name)
    within = min(own + open_pool, max(0, mine.hard - mine.used))
    beyond = min(own + open_pool - claimed, mine.hard + mine.may_borrow - mine.used)
    return max(within, beyond)


def list_loans(shares: Sequence[CohortShare]) -> list[Loan]:
    """Who borrows from whom, in the order of names: the sums are exact, who gave it to whom is a matter of telling."""
    lending = [(each.name, unused(each)) for each in sorted(shares) if unused(each)]
    found = []
    for share in sorted(shares):
        wanted = borrowed(share)
        while wanted and lending:
            lender, left = lending[0]
            amount = min(wanted, left)
            found.append(Loan(share.name, lender, amount))
            wanted -= amount
            lending[:1] = [(lender, left - amount)] if left > amount else []
    return found


def describe(cohort: str, shares: Sequence[CohortShare], name: str, spell: Callable[[int], str]) -> str:
    """Why the member of this name has no more room, with the numbers of all. Whoever reads it may see one namespace:
    members of others are told without their names, which the columns of the quotas have."""
    mine = next(each for each in shares if each.name == name)
    space = name.partition("/")[0]

    def called(member: str) -> str:
        return member if member.partition("/")[0] == space else "another namespace"

    loans = list_loans(shares)
    told = [
        f"{called(each.borrower)} borrows {spell(each.amount)} from {called(each.lender)}"
        for each in loans[:LOANS_TOLD_MAX]
    ]
    if len(loans) > LOANS_TOLD_MAX:
        told.append(f"{len(loans) - LOANS_TOLD_MAX} more borrow")
    told += [
        f"pods of {called(each.name)} wait for {spell(held_back(each))} of its own"
        for each in sorted(shares)
        if each.name != name and held_back(each)
    ]
    left = max(0, left_to_lend(shares))
    told.append(f"{spell(left)} left to lend")
    told.append(f"{name} borrows {spell(borrowed(mine))} of {spell(mine.may_borrow)} it may")
    return f"cohort {cohort}: {', '.join(told)}"
