"""What the quotas of a cohort take together, counted from the pods alone: no more is borrowed than others lend.

Used by `quotas.py`, and shares no arithmetic with `ledger/cohort.py`. Nobody is to blame for a cohort that lends too
much since a limit was lowered: then only what makes it worse is one too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.model.key import Key
from fairlead.sim.checkers.room import Amounts, parse_amounts

Use = Mapping[Key, Amounts]  # of each member


def most_allowed(quota: Any) -> Amounts:
    """What pods of one quota may take, whoever lends it."""
    may_borrow = parse_amounts(quota.spec.borrowing_limit)
    return {name: value + may_borrow.get(name, 0) for name, value in parse_amounts(quota.spec.hard).items()}


def members_of(quotas: Mapping[Key, Any], at: Key) -> dict[Key, Any]:
    mine = quotas[at].spec
    if not mine.cohort:
        return {}
    return {
        key: each
        for key, each in quotas.items()
        if each.spec.cohort == mine.cohort and each.spec.node_selector == mine.node_selector
    }


def describe_overlent(members: Mapping[Key, Any], before: Use, after: Use) -> str:
    """`3 pods borrowed where 2 are lent`, of the first resource of which more is lacking than before; "" if none is."""
    names = sorted({name for each in members.values() for name in each.spec.hard})
    for name in names:
        borrowed, lent = _sums(members, after, name)
        borrowed_before, lent_before = _sums(members, before, name)
        if borrowed - lent > max(0, borrowed_before - lent_before):
            return f"{borrowed / 1000:g} {name} borrowed where {lent / 1000:g} are lent"
    return ""


def _sums(members: Mapping[Key, Any], use: Use, name: str) -> tuple[int, int]:
    borrowed = lent = 0
    for key, each in members.items():
        hard = parse_amounts(each.spec.hard).get(name)
        if hard is None:
            continue
        used = use[key].get(name, 0)
        borrowed += max(0, used - hard)
        lent += max(0, min(parse_amounts(each.spec.lending_limit).get(name, hard), hard - used))
    return borrowed, lent
