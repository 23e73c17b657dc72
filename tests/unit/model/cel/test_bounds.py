"""An expression takes no longer than it may, whatever it says and whatever it is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.cel.errors import EvaluationError, ExpressionError
from fairlead.model.cel.lexer import EXPRESSION_LENGTH_MAX
from fairlead.model.cel.parser import EXPRESSION_DEPTH_MAX, TREE_DEPTH_MAX
from fairlead.model.cel.program import EXPRESSION_COST_MAX, Budget, compile_expression
from fairlead.model.cel.static import DYN

LONG: dict[str, Any] = {
    "l": list(range(1000)),
    "s": "a" * 100_000,
    "t": ["a" * 100_000] * 1000,
    "m": {str(each): each for each in range(1000)},
}


@pytest.mark.parametrize(
    "text",
    [
        "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))",
        "l.exists(a, l.exists(b, a + b < 0))",
        "l.map(a, l.map(b, l.map(c, c))).size() > 0",
        "m.all(k, m.all(j, m.all(i, i != '')))",
        "l.map(a, l.filter(b, b > a)).size() > 0",
        "l.all(a, s.replace('a', s) != '')",
        "cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c + c + c, d + d + d == ''))))",
        "t.join('').size() == 0",
        "l.all(a, l == l)",
        "l.all(a, s.matches('(a*)*b') || true)",
        "l.all(a, sets.contains(l, l))",
        "l.all(a, '%s%s%s'.format([l, l, l]) != '')",
        "l.map(a, l + l).size() == 0",
        "l.all(a, s.findAll('a').size() > 0)",
        "l.all(a, s.split('').size() > 0)",
        "l.transformMap(i, v, l.transformList(j, w, s + s)).size() == 0",
        "l.exists(a, l.exists(b, l.exists(c, missing(a)) || false))".replace(
            "missing(a)", "l[a + 10000] == 1"
        ),
    ],
)
def test_a_hostile_expression_ends_in_an_error_at_its_bound(text: str) -> None:
    program = compile_expression(text, dict.fromkeys(LONG, DYN), frozenset({"bool"}))
    budget = Budget(EXPRESSION_COST_MAX)
    with pytest.raises(EvaluationError, match="cost"):
        program.run(LONG, budget)
    assert budget.left == 0


def test_what_one_expression_spends_the_next_one_has_not() -> None:
    program = compile_expression("l.all(a, a >= 0)", {"l": DYN}, frozenset({"bool"}))
    budget = Budget(3500)
    assert program.run(LONG, budget) is True
    left = budget.left
    assert 0 < left < 3500
    with pytest.raises(EvaluationError, match="running out of cost budget"):
        program.run(LONG, budget)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(" * (EXPRESSION_DEPTH_MAX + 1) + "1" + ")" * (EXPRESSION_DEPTH_MAX + 1), "nested deeper"),
        ("!" * (EXPRESSION_DEPTH_MAX + 1) + "true", "nested deeper"),
        ("1" + " + 1" * TREE_DEPTH_MAX, "one in another"),
        ("o" + ".a" * TREE_DEPTH_MAX, "one in another"),
        ("o" + "[0]" * TREE_DEPTH_MAX, "one in another"),
        ("true" + " ? true : true" * (EXPRESSION_DEPTH_MAX + 1), "nested deeper"),
        ("'" + "a" * EXPRESSION_LENGTH_MAX + "'", "longer than"),
    ],
)
def test_what_is_nested_too_deep_or_too_long_is_refused_when_it_is_written(text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why):
        compile_expression(text, {"o": DYN}, frozenset())


def test_as_deep_as_may_be_runs() -> None:
    deep = EXPRESSION_DEPTH_MAX - 1
    text = "l.map(a, " * deep + "a" + ")" * deep
    assert compile_expression(text, {"l": DYN}, frozenset()).run({"l": []}, Budget()) == []
    nested = compile_expression("true" + " && true" * 500, {}, frozenset({"bool"}))
    assert nested.run({}, Budget()) is True
    one: list[Any] = [1]
    value = compile_expression(text, {"l": DYN}, frozenset()).run({"l": one}, Budget())
    for _ in range(deep):
        assert isinstance(value, list)
        (value,) = value
    assert value == 1
