"""Patterns mean what they mean to RE2, and cost no more than their text is long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.custom.patterns import Pattern, PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^a+$", ("a", "aa"), ("", "ab", "a\n")),
        ("b", ("abc",), ("ac",)),
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", ("a", "a-b"), ("-a", "a-")),
        (r"^\d{2,3}$", ("12", "123"), ("1", "1234", "١٢")),
        (r"^(?i)abc$", ("aBc",), ("abd",)),
        (r"^(?:a|bc)*$", ("", "abc"), ("b",)),
        (r"^(?P<n>x)+$", ("xx",), ("y",)),
        (r"^[[:alpha:]_]+$", ("aZ_",), ("1",)),
        (r"^\pL+$", ("äß",), ("1",)),
        (r"\bend\b", ("the end",), ("ending",)),
        (r"^\x41\.\Q*\E$", ("A.*",), ("A.x",)),
        (r"(?m)^b$", ("a\nb\nc",), ("ab",)),
        (r"^[^\s,]+$", ("a",), ("a b",)),
        (r"^a{,2}$", ("a{,2}",), ("aa",)),
    ],
)
def test_patterns_mean_what_they_mean_to_re2(pattern: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    found = Pattern(pattern)
    assert [text for text in yes if not found.matches(text)] == []
    assert [text for text in no if found.matches(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "[a",
        "(?=x)",
        "(?<!x)",
        "a**",
        "*a",
        r"\8",
        "x{2000}",
        "[z-a]",
        "(a{1000}){1000}",
        "\\",
        "(?P<x",
    ],
)
def test_what_re2_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a?){30}a{30}$", r"^(a([-a]*a)?)*$"])
def test_a_pattern_that_would_keep_others_busy_for_hours_takes_a_moment(pattern: str) -> None:
    assert not Pattern(pattern).matches("a" * 5_000 + "!")


def test_the_same_pattern_is_read_once() -> None:
    one = compile_pattern("^a{2,5}$")
    assert compile_pattern("^a{2,5}$") is one


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\b", "^", "$"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
            lambda p: f"({p[0]}){p[1]}"
        ),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text("ab c", max_size=8))
def test_they_agree_with_pythons_own(pattern: str, text: str) -> None:
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert Pattern(pattern).matches(text) is expected
