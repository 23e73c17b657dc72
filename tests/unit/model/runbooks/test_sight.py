"""What expressions see, what is known of it beforehand, and how values and `${}` are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.control.roster import default_deciders
from fairlead.core.problems import Problems
from fairlead.model.cel.static import StaticType
from fairlead.model.runbooks.filling import check_names, fill_in
from fairlead.model.runbooks.sight import VIEWS, ViewStatic, seen_of
from fairlead.model.runbooks.values import read_value
from fairlead.model.views import Deployment, Stored, View


def test_expressions_see_what_the_mirrors_of_a_plane_hold() -> None:
    """A kind that a controller reads in a view of its own has a row in VIEWS: what a runbook is checked against is
    then what it will see."""
    read = {each.name: each.type for decider in default_deciders() for each in decider.reads}
    for decider in default_deciders():
        for each in decider.reads:
            if each.type not in (View, Stored):
                assert VIEWS.get(each.name) is each.type, f"{each.name} is read as {each.type.__name__}"
    assert set(VIEWS) <= set(read)


def test_a_field_that_is_absent_has_its_default() -> None:
    data = json.dumps({"metadata": {"name": "web", "uid": "1"}, "spec": {"replicas": 3}}).encode()
    found = seen_of("deployments.apps", data)
    assert (found["spec"]["replicas"], found["status"]["readyReplicas"], found["status"]["conditions"]) == (
        3,
        0,
        [],
    )


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("spec.replicas", "int"),
        ("spec.nonsense", None),
        ("spec.template.anything", "dyn"),
        ("metadata.labels.app", "dyn"),
        ("status.conditions[].type", "string"),
        ("status.conditions[].kind", None),
    ],
)
def test_what_is_not_seen_is_not_known(path: str, known: str | None) -> None:
    static: StaticType | None = ViewStatic(Deployment)
    for part in path.split("."):
        assert static is not None
        static = static.field(part.removesuffix("[]"))
        if part.endswith("[]") and static is not None:
            static = static.element()
    assert (static and static.name) == known


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ({"type": "integer"}, "-3", -3),
        ({"type": "boolean"}, "true", True),
        ({"type": "duration"}, "90s", "90s"),
        ({}, "x", "x"),
        ({"values": ["a", ""]}, "", ""),
    ],
)
def test_a_text_is_read_by_its_type(field: dict[str, Any], text: str, value: Any) -> None:
    assert read_value(field, text) == value


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        ({"type": "integer"}, "3.5", "whole number"),
        ({"type": "boolean"}, "True", "true or false"),
        ({"type": "duration"}, "soon", "duration"),
        ({"type": "duration"}, "0s", "longer than nothing"),
        ({}, "", "may not be empty"),
        ({}, "x" * 1025, "1024 characters"),
        ({"values": ["a", "b"]}, "c", "one of a, b"),
    ],
)
def test_a_text_that_is_no_value_says_why(field: dict[str, Any], text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_value(field, text)


def test_a_place_alone_keeps_the_type_and_within_a_text_it_is_text() -> None:
    values = {"count": 3, "on": True, "step.zone": "a"}
    tree = {"n": "${count}", "t": "n=${count}, ${on}", "${step.zone}": [1, "${on}"]}
    assert fill_in(tree, values) == {"n": 3, "t": "n=3, true", "a": [1, True]}


def test_a_value_is_not_filled_in_a_second_time() -> None:
    assert fill_in("${a}-${b}", {"a": "${b}", "b": "x"}) == "${b}-x"


def test_trees_that_are_too_deep_are_refused() -> None:
    tree: Any = "x"
    for _ in range(40):
        tree = [tree]
    problems = Problems()
    check_names(tree, (), "spec", problems)
    assert "nested" in problems.summary()
