"""What rules of custom kinds may cost: Kubernetes' own figures for its own cases, and what is said of one too dear.

Rows: the schema, the rule, the bound that is set on it, the estimate without and with it. They are those of
`TestCostEstimation` in apiextensions-apiserver (compilation_test.go); 0 stands for "more than one rule may".
"""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.custom.rule_costs import RULE_COST_MAX, SCHEMA_COST_MAX, _gather, check_costs
from fairlead.model.custom.schema import compile_schema

Json = dict[str, Any]
_BOUNDS = {"array": "maxItems", "object": "maxProperties", "string": "maxLength"}


def plain(name: str) -> Json:
    if name == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    return {"type": "string", "format": name} if name in ("duration", "date", "date-time") else {"type": name}


def listed(item: Json | str) -> Json:
    return {"type": "array", "items": plain(item) if isinstance(item, str) else item}


def mapped(value: Json | str) -> Json:
    return {"type": "object", "additionalProperties": plain(value) if isinstance(value, str) else value}


TEXT: Json = {"type": "string"}
OBJECT: Json = {
    "type": "object",
    "properties": {"required": TEXT, "optional": TEXT},
    "required": ["required"],
}
ALL = "self.all(x, true)"

CASES: list[tuple[Json, str, int, int, int]] = [
    (listed("number"), ALL, 10, 4718591, 32),
    (listed("string"), ALL, 20, 3145727, 62),
    (listed("boolean"), ALL, 5, 1887437, 17),
    (listed(listed("number")), ALL, 100, 3145727, 302),
    (mapped("number"), ALL, 10, 1348169, 32),
    (mapped("string"), ALL, 3, 1179647, 11),
    (mapped("boolean"), ALL, 100, 943718, 302),
    (TEXT, "self.contains('test')", 10, 314574, 5),
    (TEXT, "self.startsWith('test')", 15, 2, 2),
    (TEXT, "self.endsWith('test')", 30, 2, 2),
    (TEXT, 'size(self + "hello") > size("hello")', 4, 314578, 7),
    (listed("number"), "self[1] == 0.0", 5000, 2, 2),
    (listed("string"), "self[1] == self[1]", 8, 314577, 314577),
    (listed("number"), "self.all(x, self.all(y, true))", 10, 0, 352),
    (listed("number"), "self.all(x, self.all(y, self.all(z, true)))", 10, 0, 3552),
    (TEXT, 'self.matches("x")', 50, 314574, 22),
    (TEXT, '"".matches("(((((((((())))))))))[0-9]")', 10, 7, 7),
    (TEXT, 'self.matches("")', 100, 1, 1),
    (mapped("number"), 'self["x"] == 0.0', 0, 2, 2),
    (TEXT, 'self == "x"', 0, 2, 1),
    (listed("number"), "self.all(x, x == 0.0)", 3 * 1024 * 2048, 6291454, 25165826),
    (listed("int-or-string"), ALL, 10, 4718591, 32),
    (listed("int-or-string"), "self[0] == 5", 10, 3, 3),
    (listed("boolean"), "self[0] == false", 25, 2, 2),
    (listed(OBJECT), "self[0] == null", 422, 2, 2),
    (listed(listed("number")), "self[0][0] == -1.0", 51, 3, 3),
    (listed(mapped("number")), "self.all(x, x.y == 25.2)", 12, 6291452, 74),
    (listed(mapped("number")), "self[0].x > 2.0", 3000, 4, 4),
    (listed("duration"), ALL, 5, 2359295, 17),
    (listed("duration"), "self[0].getHours() == 2", 525, 4, 4),
    (listed("date"), ALL, 15, 725936, 47),
    (listed("date"), "self[2].getDayOfMonth() == 13", 42, 4, 4),
    (listed("date-time"), ALL, 25, 428963, 77),
    (mapped("int-or-string"), ALL, 15, 1348169, 47),
    (mapped(OBJECT), ALL, 20, 428963, 62),
    (mapped(mapped("number")), ALL, 10, 1179647, 32),
    (mapped(listed("number")), ALL, 25, 1179647, 77),
    (mapped("duration"), ALL, 5, 1048577, 17),
    (mapped("date"), ALL, 10, 524288, 32),
    (mapped("date-time"), ALL, 25, 349526, 77),
    (TEXT, "self.find('[0-9]+') == ''", 10, 629147, 11),
    (TEXT, "self.lowerAscii() == 'lower!'", 10, 314575, 6),
    (mapped("integer"), "oldSelf.size() == self.size()", 10, 5, 5),
    (mapped("date-time"), 'self["a"] == self["b"]', 7, 8, 8),
    (mapped("duration"), 'self["c"] == self["d"]', 42, 8, 8),
    ({"type": "string", "enum": ["A", "B", "C", "LongValue"]}, "self.contains('A')", 1000, 2, 401),
]


def cost(schema: Json, rule: str) -> int:
    found: list[Any] = []
    node = compile_schema({**schema, "x-kubernetes-validations": [{"rule": rule}]})
    assert not node.rules[0].wrong, node.rules[0].wrong
    _gather(node, "", 1, found)
    (only,) = found
    return int(only.cost)


@pytest.mark.parametrize(("schema", "rule", "most", "unbounded", "bounded"), CASES)
def test_the_estimate_is_kubernetes_own(
    schema: Json, rule: str, most: int, unbounded: int, bounded: int
) -> None:
    found = cost(schema, rule)
    assert found == unbounded if unbounded else found > RULE_COST_MAX
    assert cost({**schema, _BOUNDS[schema["type"]]: most}, rule) == bounded


def both(schema: Json, bound: int | None) -> Json:
    """A list of texts, both with this bound."""
    if bound is None:
        return schema
    return {**schema, "maxItems": bound, "items": {**TEXT, "maxLength": bound}}


@pytest.mark.parametrize(
    ("rule", "unbounded", "bounded"),
    [
        ("self.join(' ') == 'aa bb'", 329853068905, 43),
        ("self.isSorted() == true", 329854432052, 52),
    ],
)
def test_what_walks_through_a_list_of_texts(rule: str, unbounded: int, bounded: int) -> None:
    assert cost(both(listed("string"), None), rule) == unbounded
    assert cost(both(listed("string"), 10), rule) == bounded


@pytest.mark.parametrize(
    ("rule", "most", "unbounded", "bounded"),
    [
        ("self.str.replace(self.before, self.after) == 'does not matter'", 4, 629154, 12),
        ("self.str.split(self.str) == []", 10, 629160, 22),
    ],
)
def test_what_makes_texts_of_others(rule: str, most: int, unbounded: int, bounded: int) -> None:
    def schema(text: Json) -> Json:
        short, longer = {**TEXT, "maxLength": 2}, {**TEXT, "maxLength": 4}
        return {"type": "object", "properties": {"str": text, "before": short, "after": longer}}

    assert cost(schema(TEXT), rule) == unbounded
    assert cost(schema({**TEXT, "maxLength": most}), rule) == bounded


def told(schema: Json) -> list[str]:
    problems = Problems()
    check_costs(schema, "spec", problems)
    return problems.summary().strip("[]").split(", spec") if problems else []


FIX = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"


def of_foo(schema: Json, rule: str) -> Json:
    ruled = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    return {"type": "object", "properties": {"foo": ruled}}


def test_a_rule_that_may_become_too_dear_is_refused_with_what_would_help() -> None:
    rule = "self.all(x, x.contains('a string'))"
    first, *_, last = told(of_foo(listed("string"), rule))
    far = f"exceeds budget by factor of more than 100x {FIX}"
    assert (
        first
        == f"spec.properties[foo].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost {far}"
    )
    assert last.startswith(
        ": Forbidden: x-kubernetes-validations estimated rule & messageExpression cost total"
    )
    assert not told(of_foo(both(listed("string"), 25), rule))


def test_a_rule_of_what_may_be_there_often_costs_as_often() -> None:
    rule = [{"rule": "self.contains('x')"}]
    item = {"type": "string", "maxLength": 100, "x-kubernetes-validations": rule}  # costs 41
    few = {"type": "array", "maxItems": 1000, "items": item}
    assert not told({"type": "object", "properties": {"foo": few}})
    (told_once,) = told({"type": "object", "properties": {"foo": {"type": "array", "items": item}}})
    assert "rule: Forbidden: estimated rule cost exceeds budget by factor of 4.3x" in told_once


def test_rules_that_are_too_dear_together_are_named() -> None:
    dear = {
        "maxLength": 2_000_000,
        **TEXT,
        "x-kubernetes-validations": [{"rule": "self.matches('abcdefghij')"}],
    }
    fields = {f"f{number}": dear for number in range(50)}
    found = told({"type": "object", "properties": fields})
    assert 50 * cost(dear, "self.matches('abcdefghij')") > SCHEMA_COST_MAX > RULE_COST_MAX
    assert sum("contributed to estimated rule & messageExpression cost total" in each for each in found) == 4
    assert f"cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.2x {FIX}" in found[-1]
