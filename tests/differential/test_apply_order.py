"""The order of a list after applying to it: applied items keep their order, those of others their place before what
they stood before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply
from tests.differential.objects import IN_POD, cm, deployment, env, of_web
from tests.differential.rows import Row, check


def finalizers(letters: str) -> list[str]:
    return [f"example.com/{letter}" for letter in letters]


def order(rule: str, live: str, applied: str, after: str) -> Row:
    """Somebody's finalizers, and those that another applies."""
    asks = (
        apply(cm(finalizers=finalizers(live)), "base"),
        apply(cm({"x": "1"}, finalizers=finalizers(applied))),
    )
    return Row(rule, asks, {"metadata.finalizers": finalizers(after)})


ORDERS = [
    order("what is new comes last", "ab", "xy", "abxy"),
    order("what is new comes after the applied item that it follows", "ab", "bx", "abx"),
    order("what is new comes before the applied item that it precedes", "ab", "xa", "xab"),
    order("what is new comes between", "ab", "axb", "axb"),
    order("the applied order is taken", "ab", "ba", "ba"),
    order("the applied order is taken from a longer list", "abc", "ca", "bca"),
    order("and what is not applied stays where it stood", "abc", "cb", "acb"),
    order("what is not applied goes before what is new", "abcmf", "cxyf", "abcmxyf"),
    order("several new ones, several old ones", "cdef", "ace", "acdef"),
    order("the first applied item may stand last", "abcd", "dxya", "bcdxya"),
    Row(
        "keyed lists alike",
        (
            apply(deployment(), "base"),
            apply(of_web(env=env("A", "B", "C")), "two"),
            apply(of_web(env=env("C", "X", "A"))),
        ),
        {f"{IN_POD}.containers[0].env[*].name": ["B", "C", "X", "A"]},
    ),
    Row(
        "an applier's own items follow its new order",
        (
            apply(deployment(), "base"),
            apply(of_web(env=env("A", "B", "C"))),
            apply(of_web(env=env("C", "B", "A"))),
        ),
        {f"{IN_POD}.containers[0].env[*].name": ["C", "B", "A"]},
    ),
]


@pytest.mark.parametrize("row", ORDERS, ids=str)
def test_order(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
