"""Entries of managedFields: what an update makes of them, their order, and what becomes of too many."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core import codec
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.managers import (
    ANCIENT,
    APPLY,
    UPDATE,
    UPDATE_ENTRIES_MAX,
    ManagedFieldsEntry,
    Who,
    entries_in,
    entries_of,
    managed_fields,
    managed_json,
    record_update,
)
from fairlead.model.apply.trees import TreeDifference

A: Any = {"f:a": {}}
B: Any = {"f:b": {}}
AB: Any = {"f:a": {}, "f:b": {}}


def entry(
    name: str, fields: Any, operation: str = UPDATE, time: str = "t0", version: str = "v1", sub: str = ""
) -> ManagedFieldsEntry:
    return ManagedFieldsEntry(Who(name, operation, version, sub), time, fields)


ME = Who("me", UPDATE, "v1")


@pytest.mark.parametrize(
    ("before", "changed", "removed", "after"),
    [
        ([], A, {}, [entry("me", A, time="now")]),
        ([entry("me", A)], A, {}, [entry("me", A, time="now")]),
        ([entry("me", A)], B, {}, [entry("me", AB, time="now")]),
        ([entry("me", AB)], {}, B, [entry("me", A)]),
        ([entry("me", A)], {}, A, []),
        ([entry("you", AB)], A, {}, [entry("me", A, time="now"), entry("you", B)]),
        ([entry("you", A)], A, {}, [entry("me", A, time="now")]),
        ([entry("you", AB)], {}, A, [entry("you", B)]),
        ([entry("me", A, APPLY)], A, {}, [entry("me", A, time="now")]),
        ([entry("me", A, sub="status")], B, {}, [entry("me", B, time="now"), entry("me", A, sub="status")]),
        ([entry("me", A, version="v2")], B, {}, [entry("me", B, time="now"), entry("me", A, version="v2")]),
        ([entry("you", A)], {}, {}, [entry("you", A)]),
    ],
)  # fmt: skip
def test_what_was_changed_is_theirs_who_changed_it(
    before: list[ManagedFieldsEntry], changed: Any, removed: Any, after: list[ManagedFieldsEntry]
) -> None:
    found = record_update(before, TreeDifference(changed, removed), ME, "now")
    assert sorted(found, key=repr) == sorted(after, key=repr)


def test_appliers_come_first_then_the_oldest() -> None:
    entries = [
        entry("z", A, time="2"),
        entry("b", A, time="1"),
        entry("a", A, time="1"),
        entry("x", A, APPLY, "3"),
    ]
    assert [each.who.manager for each in entries_of(managed_fields(entries))] == ["x", "a", "b", "z"]


def test_of_too_many_updates_the_oldest_become_one() -> None:
    entries: tuple[ManagedFieldsEntry, ...] = (entry("applier", A, APPLY),)
    for number in range(30):
        fields: dict[str, Any] = {f"f:{number}": {}}
        entries = record_update(
            entries, TreeDifference(fields, {}), Who(f"m{number:02}", UPDATE, "v1"), f"t{number:02}"
        )
    updates = [each for each in entries if each.who.operation == UPDATE]
    assert len(updates) == UPDATE_ENTRIES_MAX
    assert updates[0].who == Who(ANCIENT, UPDATE, "v1")
    assert [each.who.manager for each in updates[1:]] == [f"m{number:02}" for number in range(21, 30)]
    assert set(updates[0].fields) == {f"f:{number}" for number in range(21)}
    assert updates[0].time == "t20"
    assert len(entries) == UPDATE_ENTRIES_MAX + 1, "who applied is not lost"


def test_versions_are_not_mixed_when_the_oldest_become_one() -> None:
    entries: tuple[ManagedFieldsEntry, ...] = ()
    for number in range(12):
        who = Who(f"m{number:02}", UPDATE, f"v{number % 2}")
        entries = record_update(entries, TreeDifference({f"f:{number}": {}}, {}), who, f"t{number:02}")
    assert {each.who.api_version: set(each.fields) for each in entries if each.who.manager == ANCIENT} == {
        "v0": {"f:0", "f:2"},
        "v1": {"f:1", "f:3"},
    }


GOOD = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": A}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"operation": "Patch"}, "operation: must be `Apply` or `Update`"),
        ({"operation": None}, "operation"),
        ({"apiVersion": ""}, "apiVersion: must not be empty"),
        ({"fieldsType": ""}, "fieldsType"),
        ({"fieldsType": "FieldsV2"}, "fieldsType"),
        ({"fieldsV1": {"a": {}}}, "metadata.managedFields[1]"),
        ({"fieldsV1": {"f:a": 1}}, "fieldsV1"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(change: Any, says: str) -> None:
    with pytest.raises(UndecodableError) as refused:
        entries_of([GOOD, {**GOOD, "manager": "other", **change}])
    assert says in str(refused.value)


def test_entries_survive_the_wire() -> None:
    entries = (entry("a", AB, APPLY), entry("b", A, time=""), entry("b", B, sub="status"))
    assert sorted(entries_of(managed_fields(entries)), key=repr) == sorted(entries, key=repr)
    assert [next(reversed(each)) for each in managed_fields(entries)] == ["fieldsType"] * 3
    assert entries_of([GOOD, GOOD]) == entries_of([GOOD]), "of two entries of one manager the last counts"


SENT: list[Any] = [
    [],
    [{}],
    [None],
    ["entry"],
    {"operation": UPDATE},
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1"}],
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": None, "manager": None}],
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {"f:b": {}}}}],
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x:a": {}}}],
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": 1}}],
    [
        {
            "operation": UPDATE,
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {},
            "subresource": "status",
        }
    ],
    [{"operation": UPDATE, "apiVersion": "", "fieldsType": "FieldsV1"}],
    [{"operation": "Other", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
    [{"operation": UPDATE, "apiVersion": "v1", "fieldsType": "Other"}],
    [
        {"operation": UPDATE, "apiVersion": "v1", "fieldsType": "FieldsV1", "time": t, "manager": "m"}
        for t in "ba"
    ],
    [{"operation": APPLY, "apiVersion": v, "fieldsType": "FieldsV1", "manager": "m"} for v in ("v1", "v2")],
]


@pytest.mark.parametrize("sent", SENT)
def test_json_is_read_as_what_it_stands_for(sent: Any) -> None:
    try:
        wanted = entries_of(sent)
    except UndecodableError:
        with pytest.raises(UndecodableError):
            entries_in(codec.encode(sent))
        return
    assert entries_in(codec.encode(sent)) == wanted
    assert managed_json(wanted) == codec.encode(managed_fields(wanted))


def test_sets_that_are_too_long_to_be_kept_are_read_too() -> None:
    long: dict[str, Any] = {f"f:{number}": {} for number in range(2000)}
    made = (entry("m", long),)
    assert entries_in(managed_json(made)) == made
