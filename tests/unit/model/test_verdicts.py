"""Remembered verdicts are those of `model/names.py`, asked once or twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model import names, verdicts

PAIRS: list[tuple[Callable[[str], Sequence[str]], Callable[[str], Sequence[str]]]] = [
    (verdicts.label_key_problems, names.label_key_problems),
    (verdicts.label_value_problems, names.label_value_problems),
    (verdicts.port_name_problems, names.port_name_problems),
    (verdicts.env_name_problems, names.env_name_problems),
]


@given(st.text(alphabet="aZ9-._/= ", max_size=300))
def test_a_remembered_verdict_is_the_fresh_one(text: str) -> None:
    for remembered, fresh in PAIRS:
        assert list(remembered(text)) == list(remembered(text)) == fresh(text)
    for rule in ("label", "subdomain"):
        assert list(verdicts.name_problems(rule, text)) == names.name_problems(rule, text)


@pytest.mark.parametrize("rule", ["label", "subdomain"])
def test_a_name_is_judged_by_the_rule_it_is_asked_under(rule: str) -> None:
    assert bool(verdicts.name_problems(rule, "a.b")) is (rule == "label")


def test_long_texts_are_not_kept() -> None:
    before = verdicts._label_key.cache_info().currsize
    verdicts.label_key_problems("long/" + "x" * 1000)
    assert verdicts._label_key.cache_info().currsize == before
