"""The token table with groups: who signs in with an entry, and which versions can read the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.errors import DataDirectoryError, UsageError
from fairlead.runtime.credentials.token_file import GROUPS_MAX, TokenFile

NOW = 1_800_000_000.0


@pytest.fixture
def table(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


def document(table: TokenFile) -> Any:
    return json.loads(table.path.read_bytes())


@pytest.mark.parametrize(
    ("role", "name", "groups"),
    [
        ("user", "jane", ("system:authenticated",)),
        ("admin", "jane", ("system:masters", "system:authenticated")),
        ("viewer", "jane", ("fairlead:viewers", "system:authenticated")),
        ("node", "system:node:jane", ("system:nodes", "system:authenticated")),
    ],
)
def test_who_signs_in(table: TokenFile, role: str, name: str, groups: tuple[str, ...]) -> None:
    plain = table.tokens().user_of(table.create(role, "jane", NOW))
    assert plain is None, "a table that was read does not change"
    table.revoke("jane")
    token = table.create(role, "jane", NOW, ("team-a", "on call"))
    user = table.tokens().user_of(token)
    assert user is not None
    assert (user.name, user.groups) == (name, (*groups[:-1], "team-a", "on call", groups[-1]))


def test_a_table_without_people_is_one_that_older_versions_read(table: TokenFile) -> None:
    for role in ("admin", "viewer", "node"):
        table.create(role, role, NOW)
    assert document(table)["format"] == 1
    assert {tuple(each) for each in document(table)["tokens"]} == {("name", "role", "digest", "created")}


@pytest.mark.parametrize(("role", "groups"), [("user", ()), ("user", ("team-a",)), ("viewer", ("team-a",))])
def test_what_older_versions_would_misread_has_a_format_that_they_refuse(
    table: TokenFile, role: str, groups: tuple[str, ...]
) -> None:
    table.create("admin", "root", NOW)
    table.create(role, "jane", NOW, groups)
    assert document(table)["format"] == 2
    assert [(each.name, each.role, each.groups) for each in table.entries()] == [
        ("jane", role, groups),
        ("root", "admin", ()),
    ]
    table.revoke("jane")
    assert document(table)["format"] == 1, "nothing is left that they would misread"


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (("system:masters",), "belongs to the plane: choose a role"),
        (("system:authenticated",), "belongs to the plane"),
        (("",), "is not a name for a group"),
        (("a\nb",), "is not a name for a group"),
        (("x" * 254,), "1 to 253 printable characters"),
        (tuple(f"g{n}" for n in range(GROUPS_MAX + 1)), "32 groups at most, not 33"),
    ],
)
def test_groups_that_are_refused(table: TokenFile, groups: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        table.create("user", "jane", NOW, groups)
    assert table.entries() == ()


def test_groups_up_to_the_bound_are_taken(table: TokenFile) -> None:
    groups = (*(f"g{n}" for n in range(GROUPS_MAX - 1)), "x" * 253)
    table.create("user", "jane", NOW, groups)
    assert table.entries()[0].groups == groups


@pytest.mark.parametrize("groups", ["team-a", 5, None, {"team-a": True}])
def test_groups_that_are_no_list_are_damage(table: TokenFile, groups: Any) -> None:
    entry = {"name": "jane", "role": "user", "digest": "0" * 64, "created": "t", "groups": groups}
    table.path.write_text(json.dumps({"format": 2, "tokens": [entry]}))
    with pytest.raises(DataDirectoryError, match="is damaged"):
        table.entries()
