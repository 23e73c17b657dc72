"""Names of pods of others are left out, their number and worth stay."""

from __future__ import annotations

from typing import Any

from fairlead.explain.masking import masked_names, masked_record, masked_victims

MINE: dict[str, Any] = {"key": ["pods", "team-a", "web"], "uid": "u-1", "priority": 5}
THEIRS: dict[str, Any] = {"key": ["pods", "team-b", "db"], "uid": "u-2", "priority": 7}
HIDDEN: dict[str, Any] = {"key": ["pods", "*", "*"], "uid": "*", "priority": 7}
SPACES = frozenset({"team-a"})


def test_victims_of_others_keep_their_worth_and_lose_their_names() -> None:
    record = {"victims": [MINE, THEIRS]}
    assert masked_victims(record, SPACES) == [MINE, HIDDEN]
    assert record == {"victims": [MINE, THEIRS]}, "the record itself stays as it was"


def test_whoever_sees_everything_sees_them() -> None:
    assert masked_victims({"victims": [MINE, THEIRS]}, None) == [MINE, THEIRS]
    assert masked_names(["team-a/web", "team-b/db"], None) == ("team-a/web", "team-b/db")


def test_nobodys_namespace_is_nobodys() -> None:
    assert masked_victims({"victims": [MINE]}, frozenset()) == [{**HIDDEN, "priority": 5}]


def test_a_record_without_victims_is_as_it_was() -> None:
    for record in ({"node": "n1"}, {"node": "n1", "victims": []}, {"node": "n1", "victims": None}):
        assert masked_record(record, SPACES) is record
    assert masked_record({"node": "n1", "victims": [THEIRS]}, SPACES) == {"node": "n1", "victims": [HIDDEN]}


def test_names_with_a_namespace() -> None:
    assert masked_names(["team-a/web", "team-b/db", "team-ab/x"], SPACES) == ("team-a/web", "*/*", "*/*")
