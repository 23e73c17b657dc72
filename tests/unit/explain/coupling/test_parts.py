"""What policies write by their expressions, who wrote by managedFields, and pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from fairlead.explain.coupling.drawing import dot, svg
from fairlead.explain.coupling.observed import managed_fields, writer_of
from fairlead.explain.coupling.policies import expression_writes, policy_writes

COUPLING = {
    "form": "shared field",
    "writer": 'a "quoted" <writer>',
    "sort": "person",
    "resource": "deployments.apps",
    "fields": ["spec.replicas", "spec.template", "spec.paused", "status.replicas"],
    "reader": "deployment",
    "writes": 3,
}


@pytest.mark.parametrize(
    ("expression", "fields"),
    [
        ('Object{metadata: Object.metadata{labels: {"a": "b"}}}', {"metadata.labels"}),
        ("Object{spec: Object.spec{priority: 1, nodeName: 'a'}}", {"spec.priority", "spec.nodeName"}),
        ("has(object.spec) ? Object{spec: Object.spec{paused: true}} : Object{}", {"spec.paused"}),
        ('[JSONPatch{op: "add", path: "/metadata/labels/x", value: "y"}]', {"metadata.labels"}),
        (
            '[JSONPatch{op: "add", path: "/metadata/annotations/a.b~1c", value: "y"}]',
            {"metadata.annotations[a.b/c]"},
        ),
        ('[JSONPatch{op: "add", path: "/metadata/labels/" + "x", value: "y"}]', {"metadata.labels"}),
        ('[JSONPatch{op: "add", path: object.metadata.name, value: "y"}]', {"*"}),
        ("not an expression (", {"*"}),
    ],
)
def test_an_expression_names_the_fields_it_sets(expression: str, fields: set[str]) -> None:
    assert expression_writes(expression) == fields


def test_a_policy_is_about_the_resources_of_its_rules() -> None:
    rules = [
        {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"]},
        {"apiGroups": ["*"], "resources": ["pods"]},
    ]
    mutation = {"applyConfiguration": {"expression": "Object{spec: Object.spec{paused: true}}"}}
    spec = {"matchConstraints": {"resourceRules": rules}, "mutations": [mutation]}
    assert policy_writes(spec) == {"deployments.apps": {"spec.paused"}, "*": {"spec.paused"}}


def test_managed_fields_are_fields() -> None:
    tree = {
        "f:metadata": {"f:annotations": {".": {}, "f:a/b": {}}, "f:labels": {"f:x": {}}},
        "f:spec": {"f:replicas": {}},
        "f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}}}},
        "f:data": {},
    }
    assert managed_fields(tree) == {
        "metadata.annotations[a/b]",
        "metadata.labels",
        "spec.replicas",
        "status.conditions[Ready]",
        "data",
    }


@pytest.mark.parametrize(
    ("user", "writer"),
    [
        ("system:fairlead:replicaset", ("replicaset", "controller")),
        ("system:node:node-1", ("agent", "agent")),
        ("system:serviceaccount:team-a:bot", ("system:serviceaccount:team-a:bot", "program")),
        ("jane", ("jane", "person")),
    ],
)
def test_writers_are_told_apart(user: str, writer: tuple[str, str]) -> None:
    assert writer_of(user) == writer


def test_pictures_are_whole_and_quote_what_they_show() -> None:
    drawn = svg([COUPLING], "A <title>")
    root = ElementTree.fromstring(drawn)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A <title>" in texts
    assert 'a "quoted" <writer>' in texts
    assert "href" not in drawn
    assert "script" not in drawn
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any("deployments: spec.replicas, spec.template, spec.paused and 1 more" in each for each in titles)
    graph = dot([COUPLING])
    assert '"a \\"quoted\\" <writer>" -> "= deployments: spec.replicas' in graph
    assert "shared field (3)" in graph


def test_people_in_general_are_in_no_picture_and_many_fields_are_drawn_by_resource() -> None:
    people = {**COUPLING, "writer": "people", "fields": ["*"]}
    assert "people" not in svg([people])
    many = [{**COUPLING, "writer": f"w-{number}", "fields": [f"spec.f{number}"]} for number in range(200)]
    assert "spec.f7" not in svg(many)
    assert "deployments.apps" in svg(many)
