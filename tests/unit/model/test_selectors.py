"""Label selectors as text and as objects, and field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.errors import BadRequest
from fairlead.core.problems import Problems
from fairlead.model import selectors
from fairlead.model.selectors import (
    EVERYTHING,
    NOTHING,
    FieldRequirement,
    from_object,
    parse_fields,
    parse_labels,
)


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("", [{}, {"a": "b"}], []),
        ("  ", [{}, {"a": "b"}], []),
        ("a=b", [{"a": "b"}, {"a": "b", "c": "d"}], [{}, {"a": "c"}, {"b": "a"}]),
        ("a==b", [{"a": "b"}], [{"a": "c"}]),
        (" a = b ", [{"a": "b"}], [{"a": "c"}]),
        ("a=", [{"a": ""}], [{}, {"a": "b"}]),
        ("a=,b", [{"a": "", "b": "x"}], [{"a": ""}]),
        ("a!=b", [{}, {"a": "c"}], [{"a": "b"}]),
        ("a!=", [{}, {"a": "c"}], [{"a": ""}]),
        ("a in (b,c)", [{"a": "b"}, {"a": "c"}], [{}, {"a": "d"}]),
        ("a in(b , c)", [{"a": "b"}, {"a": "c"}], [{"a": "d"}]),
        ("a in (b,)", [{"a": "b"}, {"a": ""}], [{}]),
        ("a in ()", [{"a": ""}], [{}, {"a": "b"}]),
        ("a notin (b,c)", [{}, {"a": "d"}], [{"a": "b"}, {"a": "c"}]),
        ("a", [{"a": ""}, {"a": "b"}], [{}]),
        ("!a", [{}, {"b": "x"}], [{"a": "b"}]),
        ("! a", [{}], [{"a": "b"}]),
        ("a>1", [{"a": "2"}, {"a": "10"}], [{}, {"a": "1"}, {"a": "x"}, {"a": ""}, {"a": "9" * 25}]),
        ("a<10", [{"a": "9"}, {"a": "-1"}], [{}, {"a": "10"}, {"a": "x"}]),
        ("a=b,c!=d,e in (x,y),!f,g notin (z),h>1", [{"a": "b", "e": "y", "h": "2"}], [{"a": "b", "e": "y"}]),
        ("in in (in)", [{"in": "in"}], [{}]),
        ("notin=in", [{"notin": "in"}], [{}]),
        ("app.kubernetes.io/name=web", [{"app.kubernetes.io/name": "web"}], [{}]),
        ("a=b,a=c", [], [{"a": "b"}, {"a": "c"}]),
    ],
)
def test_selectors_match_as_kubernetes_matches(
    text: str, matching: list[dict[str, str]], other: list[dict[str, str]]
) -> None:
    selector = parse_labels(text)
    assert [labels for labels in matching if not selector.matches(labels)] == []
    assert [labels for labels in other if selector(labels)] == []


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b==1, a = 2", "a=2,b=1"),
        ("a in (y,x,y)", "a in (x,y)"),
        ("a in (x)", "a=x"),
        ("a notin (x)", "a!=x"),
        ("x,!y", "x,!y"),
        ("a>1", "a>1"),
    ],
)
def test_selectors_print_sorted_and_short(text: str, canonical: str) -> None:
    assert str(parse_labels(text)) == canonical
    assert parse_labels(canonical) == parse_labels(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (",", "found ',' at character 1, expected: a label key"),
        ("a=b,", "found the end, expected: a label key after ','"),
        ("a=b,,c=d", "found ',' at character 5, expected: a label key after ','"),
        ("a=b c", "found 'c' at character 5, expected: ',' or the end"),
        ("a b", "found 'b' at character 3, expected: in, notin, =, ==, !=, >, <"),
        ("a in b", "found 'b' at character 6, expected: '('"),
        ("a in (b", "found the end, expected: ',' or ')'"),
        ("a in (b c)", "found 'c' at character 9, expected: ',' or ')'"),
        ("a in (=)", "found '=' at character 7, expected: a label value"),
        ("a=(", "found '(' at character 3, expected: a label value"),
        ("=b", "found '=' at character 1, expected: a label key"),
        ("!", "found the end, expected: a label key"),
        ("!a=b", "found '=' at character 3, expected: ',' or the end"),
        ("!!a", "found '!' at character 2"),
        ("a>x", '"x" is not an integer'),
        ("a>", '"" is not an integer'),
        ("a<99999999999999999999", "is not an integer"),
        ("a b/c/d=x", "found 'b/c/d'"),
        ("a/b/c=x", "a qualified name must consist of"),
        ("-a=x", "name part must consist of"),
        ("a=-x", "a valid label must be an empty string or consist of"),
        ("a in (x,-y)", "a valid label must be an empty string or consist of"),
        ("a=" + "x" * 64, "must be no more than 63 bytes"),
    ],
)
def test_malformed_selectors_say_what_was_expected_where(text: str, part: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_labels(text)
    assert str(caught.value).startswith("unable to parse requirement: ")
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("selector", "matching", "other"),
    [
        ({}, [{}, {"a": "b"}], []),
        ({"matchLabels": {}, "matchExpressions": []}, [{}], []),
        (None, [], [{}, {"a": "b"}]),
        ({"matchLabels": {"a": "b", "c": "d"}}, [{"a": "b", "c": "d"}], [{"a": "b"}, {}]),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, [{"a": "y"}], [{}]),
        (
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]},
            [{}, {"a": "y"}],
            [{"a": "x"}],
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, [{"a": ""}], [{}]),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, [{}], [{"a": ""}]),
        (
            {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
            [{"a": "b", "c": ""}],
            [{"a": "b"}, {"c": ""}],
        ),
    ],
)
def test_selector_objects_match(
    selector: dict[str, Any] | None, matching: list[dict[str, str]], other: list[dict[str, str]]
) -> None:
    assert [labels for labels in matching if not selectors.matches_label_selector(selector, labels)] == []
    assert [labels for labels in other if selectors.matches_label_selector(selector, labels)] == []


def test_an_object_and_the_text_for_it_are_the_same_selector() -> None:
    obj = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["y", "x"]}],
    }
    assert from_object(obj) == parse_labels("a notin (x,y),b=1")
    assert from_object({}) is EVERYTHING
    assert from_object(None) is NOTHING
    assert not EVERYTHING
    assert NOTHING


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Gt", "values": ["1"]},
        {"key": "a"},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["x"]},
    ],
)
def test_senseless_expressions_do_not_compile(expression: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        from_object({"matchExpressions": [expression]})


def test_every_problem_of_a_selector_object_is_reported_with_its_path() -> None:
    problems = Problems()
    selectors.validate_label_selector(
        {
            "matchLabels": {"-bad": "ok", "ok": "not ok"},
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": []},
                {"key": "a", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "Like"},
                {"key": "", "operator": "NotIn", "values": ["ok", "-"]},
            ],
        },
        "spec.selector",
        problems,
    )
    at = "spec.selector.matchExpressions"
    assert [(cause.field, cause.reason) for cause in problems.causes] == [
        ("spec.selector.matchLabels", "FieldValueInvalid"),
        ("spec.selector.matchLabels[ok]", "FieldValueInvalid"),
        (f"{at}[0].values", "FieldValueRequired"),
        (f"{at}[1].values", "FieldValueForbidden"),
        (f"{at}[2].operator", "FieldValueInvalid"),
        (f"{at}[3].key", "FieldValueInvalid"),
        (f"{at}[3].key", "FieldValueInvalid"),
        (f"{at}[3].values[1]", "FieldValueInvalid"),
    ]


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {"a": "b"}}])
def test_good_selector_objects_have_no_problems(selector: dict[str, Any] | None) -> None:
    problems = Problems()
    selectors.validate_label_selector(selector, "spec.selector", problems)
    assert not problems


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        ("metadata.name=x", (("metadata.name", True, "x"),)),
        ("metadata.name==x", (("metadata.name", True, "x"),)),
        (
            "a=x,status.phase!=Running",
            (("a", True, "x"), ("status.phase", False, "Running")),
        ),
        ("a=", (("a", True, ""),)),
        ("a=b c", (("a", True, "b c"),)),
        (r"a=x\,y", (("a", True, "x,y"),)),
        (r"a=x\=y", (("a", True, "x=y"),)),
        (r"a=x\\", (("a", True, "x\\"),)),
        (r"a=x\\,b=y", (("a", True, "x\\"), ("b", True, "y"))),
        ("a=x,,b=y,", (("a", True, "x"), ("b", True, "y"))),
        ("a=!x", (("a", True, "!x"),)),
    ],
)
def test_field_selectors_are_read(text: str, requirements: tuple[tuple[str, bool, str], ...]) -> None:
    assert parse_fields(text) == requirements


@pytest.mark.parametrize("text", ["a", "a!b", "a=b,c", "a=b=c", "a=b\\", "a=\\x", "a===b"])
def test_malformed_field_selectors_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^invalid field selector: "):
        parse_fields(text)


def test_field_selectors_print_with_escapes() -> None:
    requirement = FieldRequirement("a", False, "x,y=z\\")
    assert str(requirement) == r"a!=x\,y\=z\\"
    assert parse_fields(str(requirement)) == (requirement,)


def test_field_matchers_read_objects_and_name_unknown_fields() -> None:
    readers = {"metadata.name": lambda obj: obj["name"], "phase": lambda obj: obj.get("phase", "")}
    matches = selectors.field_matcher(parse_fields("metadata.name=x,phase!=Done"), readers)
    assert matches({"name": "x"})
    assert not matches({"name": "x", "phase": "Done"})
    assert not matches({"name": "y"})
    with pytest.raises(
        BadRequest, match=r'not supported: "spec\.x": supported fields: metadata\.name, phase'
    ):
        selectors.field_matcher(parse_fields("spec.x=1"), readers)
