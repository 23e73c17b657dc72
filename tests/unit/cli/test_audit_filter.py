"""Which lines of the audit log a person asked for."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cli.about import About
from fairlead.cli.audit import AuditFilter
from fairlead.cli.objects import Typed

ALL = About(Typed("", "", ""), None, None)
NOON = "2026-11-16T12:00:00.000Z"


def line(user: str, time: str = NOON, **more: str) -> dict[str, Any]:
    return {"user": user, "time": time, **more}


@pytest.mark.parametrize(
    "machine",
    ["system:node:node-1", "system:fairlead:events", "system:serviceaccount:a:b", "system:anonymous"],
)
def test_people_are_those_who_are_no_machines(machine: str) -> None:
    people = AuditFilter("", "", ALL, people=True)
    assert people.accepts(line("admin"))
    assert not people.accepts(line(machine))
    assert AuditFilter("", "", ALL).accepts(line(machine))


def test_past_are_lines_that_name_the_controller_that_was_passed() -> None:
    past = AuditFilter("", "", ALL, past=True)
    assert not past.accepts(line("admin"))
    assert past.accepts({**line("admin"), "annotations": {"fairlead.dev/past": "deployment spec.replicas"}})


def test_since_is_from_then_on() -> None:
    wanted = AuditFilter("", NOON, ALL)
    assert wanted.accepts(line("admin"))
    assert not wanted.accepts(line("admin", "2026-11-16T11:59:59.999Z"))


def test_a_user_is_found_under_both_names() -> None:
    wanted = AuditFilter("bob", "", ALL)
    assert wanted.accepts(line("bob"))
    assert wanted.accepts(line("admin", impersonatedUser="bob"))
    assert not wanted.accepts(line("alice", impersonatedUser="carol"))
