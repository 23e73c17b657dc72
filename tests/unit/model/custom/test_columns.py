"""Paths of printer columns, and the cells they lead to."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.custom.columns import column_of
from fairlead.model.custom.jsonpath import JsonPath, PathError, simple_path

NOW = 1_800_000_000.0
OBJ: dict[str, Any] = {
    "metadata": {
        "creationTimestamp": "2027-01-15T07:55:00Z",
        "annotations": {"example.com/a.b": "dotted"},
        "labels": {"x": "y"},
    },
    "spec": {"n": 3, "f": 1.5, "b": True, "list": ["p", "q"], "map": {"k": 1}, "none": None},
    "status": {
        "conditions": [
            {"type": "Other", "status": "Unknown", "n": 1},
            {"type": "Ready", "status": "True", "n": 5},
        ]
    },
}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".metadata.labels.x", "y"),
        ("string", r".metadata.annotations.example\.com/a\.b", "dotted"),
        ("string", ".metadata.annotations['example.com/a.b']", "dotted"),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("string", ".status.conditions[?(@.type=='Ready')].status", "True"),
        ("string", ".status.conditions[?(@.type!='Ready')].type", "Other"),
        ("string", ".status.conditions[?(@.n>2)].type", "Ready"),
        ("string", ".status.conditions[?(@.type=='Gone')].status", None),
        ("string", ".spec.list[0]", "p"),
        ("string", ".spec.list[-1]", "q"),
        ("string", ".spec.list[5]", None),
        ("string", ".spec.list[*]", "p"),
        ("string", ".spec.list", '["p","q"]'),
        ("string", ".spec.map", '{"k":1}'),
        ("string", ".spec.n", "3"),
        ("string", ".spec.b", "true"),
        ("string", ".spec.none", None),
        ("string", ".spec.absent.deeper", None),
        ("integer", ".spec.n", 3),
        ("integer", ".spec.f", 1),
        ("integer", ".spec.list", None),
        ("number", ".spec.f", "1.5"),
        ("boolean", ".spec.b", True),
        ("boolean", ".spec.n", None),
        ("date", ".metadata.creationTimestamp", "5m"),
        ("date", ".metadata.labels.x", "<invalid>"),
        ("date", ".spec.absent", None),
    ],
)
def test_a_cell_is_what_its_path_leads_to(kind: str, path: str, cell: Any) -> None:
    column = column_of({"name": "C", "type": kind, "jsonPath": path})
    assert column.cell(OBJ, NOW) == cell


@pytest.mark.parametrize("path", ["spec", ".", ".a b", ".a[", ".a[?(@.b)", "..a", ".a[x]", ".a" * 40, "{.a}"])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath(path)


def test_plain_paths_are_names_only() -> None:
    assert simple_path(".spec.replicas") == ("spec", "replicas")
    for path in ("spec.replicas", ".spec[0]", "", ".a[?(@.b)]"):
        with pytest.raises(PathError):
            simple_path(path)
