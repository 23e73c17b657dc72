"""ControllerRevision: data that never changes, a number that is not negative, whose it is."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.controllerrevision import KIND

OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}


def revision(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "db-1"}, "data": {"spec": {}}, "revision": 1, **fields}


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [({}, []), ({"data": None}, ["data"]), ({"revision": -1}, ["revision"]), ({"revision": 0}, [])],
)
def test_what_a_revision_must_have(fields: dict[str, Any], wrong: list[str]) -> None:
    problems = Problems()
    KIND.validate(revision(**fields), problems)
    assert [cause.field for cause in problems.causes] == wrong


@pytest.mark.parametrize(
    ("fields", "wrong"), [({"revision": 7}, []), ({"data": {"spec": {"x": 1}}}, ["data"])]
)
def test_its_number_may_change_and_its_data_not(fields: dict[str, Any], wrong: list[str]) -> None:
    problems = Problems()
    KIND.validate_update(revision(**fields), revision(), problems)
    assert [cause.field for cause in problems.causes] == wrong


@pytest.mark.parametrize(
    ("owners", "shown"),
    [
        ([OWNER], "statefulset.apps/db"),
        ([{**OWNER, "controller": False}], "<none>"),
        ([{**OWNER, "apiVersion": "v1", "kind": "Thing"}], "thing/db"),
        (None, "<none>"),
    ],
)
def test_it_shows_whose_it_is(owners: Any, shown: str) -> None:
    obj = revision(metadata={"name": "db-1", "ownerReferences": owners})
    cells = {column.name: column.cell(obj, 0.0) for column in KIND.columns}
    assert (cells["Controller"], cells["Revision"]) == (shown, 1)
