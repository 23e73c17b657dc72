"""Fields as coupling names them."""

from __future__ import annotations

import pytest

from fairlead.decision.footprint import (
    Footprint,
    field_of,
    merged,
    parse_table,
    touches,
    written_fields,
)
from tests.sim.footprints import missing
from tests.sim.footprints_table import format_table
from tests.sim.scrambled_views import covers


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("spec.replicas", "spec.replicas"),
        ("spec.template.spec.containers[0].image", "spec.template"),
        ('metadata.labels["a.b/c"]', "metadata.labels"),
        ("metadata.labels.app", "metadata.labels"),
        ('metadata.annotations["a.b/c"]', "metadata.annotations[a.b/c]"),
        ("status.conditions[3].status", "status.conditions"),
        ("endpoints[3].addresses[0]", "endpoints"),
        ("data", "data"),
    ],
)
def test_a_path_is_part_of_a_field(path: str, field: str) -> None:
    assert field_of(path) == field


def test_conditions_are_told_by_their_type_wherever_they_stand() -> None:
    ready = {"type": "Ready", "status": "True"}
    before = {"status": {"conditions": [ready]}}
    after = {"status": {"conditions": [{"type": "Held", "status": "False"}, ready]}}
    assert written_fields(before, after) == {"status.conditions[Held]"}
    assert written_fields({"metadata": {}}, {"metadata": {}, **before}) == {"status.conditions[Ready]"}


def test_an_object_comes_is_deleted_and_goes() -> None:
    deleted = {"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z", "deletionGracePeriodSeconds": 0}}
    assert written_fields(None, {"metadata": {}}) == {"create"}
    assert written_fields({"metadata": {}}, deleted) == {"delete"}
    assert written_fields(deleted, None) == {"delete"}


def test_versions_are_no_fields() -> None:
    def at(revision: str) -> dict[str, object]:
        return {"metadata": {"resourceVersion": revision, "generation": int(revision)}}

    assert written_fields(at("1"), at("2")) == frozenset()


@pytest.mark.parametrize(
    ("written", "read", "met"),
    [
        ("spec.replicas", "spec.replicas", True),
        ("spec", "spec.replicas", True),
        ("spec.replicas", "spec", True),
        ("spec.replicas", "spec.replicasMax", False),
        ("status.conditions", "status.conditions[Ready]", True),
        ("status.conditions[Held]", "status.conditions[Ready]", False),
        ("delete", "spec.replicas", True),
        ("*", "spec.replicas", True),
    ],
)
def test_who_writes_meets_who_reads(written: str, read: str, met: bool) -> None:
    assert touches(written, read) is met


def test_what_is_declared_covers_what_is_below_it_and_not_what_is_above() -> None:
    assert covers("status.conditions", "status.conditions[Ready]")
    assert not covers("status.conditions[Ready]", "status.conditions")
    known = {"pods": frozenset({"status"})}
    assert missing(known, {"pods": ["status.phase", "spec.nodeName"], "nodes": ["spec"]}) == {
        "pods": ["spec.nodeName"],
        "nodes": ["spec"],
    }


def test_a_table_is_read_as_it_was_written() -> None:
    fields = frozenset(f"status.conditions[fairlead.dev/Number{number}]" for number in range(9))
    table = {"a": Footprint({"pods": fields, "nodes": frozenset()}, {}), "b": Footprint({}, {"pods": fields})}
    text = format_table(table)
    assert max(map(len, text.splitlines())) <= 118
    assert parse_table(text) == table
    more = {"a": Footprint({"pods": frozenset({"spec"})}, {})}
    assert merged(table, more)["a"].reads["pods"] == fields | {"spec"}
