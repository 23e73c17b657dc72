"""The table of who may do what in an incident is what the API answers: every role, every verb, every part of the kinds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from fairlead.api.access.users import User
from fairlead.api.server import _VERBS
from fairlead.api.subresources import VERBS
from fairlead.model.catalog import CATALOG
from tests.unit.api.access.breakglass.world import RBAC, World, bound, person

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "break-glass.md"
KINDS = ("scheduleroverrides", "accessgrants", "runbooks", "runbookruns")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
ROLES = {name: f"fairlead:{name}" for name in ("viewer", "operator", "approver", "break-glass")}


class Row(NamedTuple):
    path: str
    verb: str
    may: dict[str, bool]  # by the role's name in the heading


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows() -> list[Row]:
    lines = PAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| object | verbs |"))
    roles = _cells(lines[start])[2:]
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        path, verbs, *said = _cells(line)
        assert set(said) <= {"yes", "no"}, line
        may = dict(zip(roles, (each == "yes" for each in said), strict=True))
        found += [Row(path.strip("`"), verb, may) for verb in verbs.split(", ")]
    return found


ROWS = rows()


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    for role in ROWS[0].may:
        binding = bound(f"one-{role}", ROLES.get(role, role))
        assert world.post(f"{RBAC}/clusterrolebindings", binding)[0] == 201
    return world


def is_allowed(world: World, user: User, row: Row) -> bool:
    resource, _, subresource = row.path.partition("/")
    kind = CATALOG.of_resource(f"{resource}.fairlead.dev")
    asked = {
        "group": "fairlead.dev",
        "resource": resource,
        "subresource": subresource,
        "verb": row.verb,
        "namespace": "shop" if kind is not None and kind.namespaced else "",
        "name": "edit" if resource == "grantedroles" else "",
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    status, answer = world.post(REVIEWS, {**body, "spec": {"resourceAttributes": asked}}, user=user)
    assert status == 201, answer
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.verb} {row.path}" for row in ROWS])
def test_each_role_may_what_the_table_says(world: World, row: Row) -> None:
    assert {role: is_allowed(world, person(f"one-{role}"), row) for role in row.may} == row.may


def test_the_table_has_every_verb_of_every_part_once() -> None:
    told = [(row.path, row.verb) for row in ROWS if row.path.partition("/")[0] in KINDS]
    served = {("scheduleroverrides", "bypass")}
    for plural in KINDS:
        kind = CATALOG.of_resource(f"{plural}.fairlead.dev")
        assert kind is not None
        served |= {(plural, verb) for verb in _VERBS}
        served |= {(f"{plural}/{part}", verb) for part in kind.subresources for verb in VERBS[part]}
    assert len(told) == len(set(told))
    assert set(told) == served
