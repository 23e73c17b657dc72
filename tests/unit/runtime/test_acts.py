"""Acts as lines of the log: with what joins them to other signals, at a bounded rate, and nothing for turns without act."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from fairlead.control.instructions import Record
from fairlead.core import codec
from fairlead.runtime import logs
from fairlead.runtime.acts import ActLog
from fairlead.wire.rated_log import ACT_LINES_BURST, FIELDS, RatedLog
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_health import set_plane


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    return [(each.getMessage(), each.__dict__.get(FIELDS, {})) for each in caplog.records]


def test_a_decision_with_effects_is_a_line_that_names_all_by_which_it_is_found_elsewhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "fairlead.acts")
    record = {
        "id": "0a1b2c3d-7",
        "controller": "replicaset",
        "object": "replicasets.apps/default/web",
        "uid": "u1",
        "generation": 4,
        "verdict": "Waiting",
        "reason": "MissingPods",
        "effects": [
            "Create replicaset/u1/create/1",
            "Create replicaset/u1/create/2",
            "Delete replicaset/u1/d/3",
        ],
        "about": ["pods/default/web-1"],
        "message": "what may hold a value",
    }
    ActLog().decided([Record(codec.encode(record))])
    ((message, fields),) = lines(caplog)
    assert message == (
        "replicaset decided for replicasets.apps/default/web: Waiting (MissingPods): 2 Create, 1 Delete"
    )
    assert fields == {
        "decision": "0a1b2c3d-7",
        "controller": "replicaset",
        "object": "replicasets.apps/default/web",
        "uid": "u1",
        "generation": 4,
        "verdict": "Waiting",
        "reason": "MissingPods",
        "operations": ["replicaset/u1/create/1", "replicaset/u1/create/2", "replicaset/u1/d/3"],
        "about": ("pods/default/web-1",),
    }


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"controller": "x", "object": "a/b", "verdict": "Settled"}, ""),
        ({"controller": "x", "object": "a/b", "verdict": "Waiting", "reason": "RollingOut"}, ""),
        (
            {"controller": "x", "object": "a/b", "verdict": "Stuck", "reason": "Bad"},
            "x decided for a/b: Stuck (Bad)",
        ),
        ({"of": "t-1", "outcome": "conflict"}, "what t-1 decided was not simply done: conflict"),
        ({"term": "0a1b", "identity": "vm", "version": "1"}, "term 0a1b of vm begins"),
        ({"controller": "scheduler", "batch": 3, "pods": [], "assumed": []}, ""),
        (
            {"controller": "scheduler", "object": "pods/d/p", "verdict": "Placed", "node": "n1", "batch": 1},
            "scheduler placed pods/d/p on n1",
        ),
    ],
)
def test_which_records_are_worth_a_line(
    caplog: pytest.LogCaptureFixture, record: dict[str, Any], message: str
) -> None:
    caplog.set_level(logging.INFO, "fairlead.acts")
    ActLog().decided([Record(codec.encode(record))])
    assert [each for each, _ in lines(caplog)] == ([message] if message else [])


def test_beyond_the_rate_lines_are_counted_and_the_count_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    now = [100.0]
    monkeypatch.setattr("fairlead.wire.rated_log.time.monotonic", lambda: now[0])
    rated = RatedLog(logging.getLogger("fairlead.test"), "tests", per_second=2.0, burst=3.0)
    told = []
    for _ in range(5):
        told.append(rated.has_room())
        if told[-1]:
            rated.write("one", {})
    assert told == [True, True, True, False, False]
    now[0] += 0.6
    assert rated.has_room(), "asking takes nothing"
    assert rated.has_room()
    rated.write("another", {"a": 1, "b": ""})
    assert not rated.has_room()
    assert rated.left_out == 3
    assert lines(caplog) == [("one", {})] * 3 + [
        ("2 tests came too fast to be logged", {}),
        ("another", {"a": 1}),
    ]


def test_leadership_and_settings_are_lines_when_they_change(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fairlead.acts")
    api, acts = InProcess(), ActLog()
    driver = Driver(api)
    acts.noticed(driver.plane)
    driver.run(2)
    for _ in range(2):
        acts.noticed(driver.plane)
    set_plane(api, queues={"replicaset": {"rateBurst": 7}})
    driver.run(2)
    for _ in range(2):
        acts.noticed(driver.plane)
    assert [message for message, _ in lines(caplog)] == [
        "plane: test leads",
        "plane: works with generation 1 of the PlaneSettings",
    ]
    assert lines(caplog)[1][1]["revision"] == driver.plane.health.settings.revision


@pytest.mark.parametrize("form", logs.FORMS)
def test_the_file_has_the_fields_and_the_terminal_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    root = logging.getLogger()
    before, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    try:
        logs.set_up(tmp_path, form)
        ActLog().decided([Record(codec.encode({"of": "t-1", "outcome": "refused"}))])
        for handler in root.handlers:
            handler.flush()
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:], logging.raiseExceptions = before, raises
        root.setLevel(level)
    (line,) = map(json.loads, (tmp_path / logs.FILE).read_text().splitlines())
    assert (line["decision"], line["outcome"], line["level"]) == ("t-1", "refused", "info")
    printed = capsys.readouterr().err
    assert (json.loads(printed) == line) if form == logs.JSON else (printed == "")


def test_what_comes_too_fast_is_counted_without_being_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    acts = ActLog()
    line = {"controller": "c", "object": "pods/n/a", "id": "t-1", "verdict": "Stuck", "reason": "Odd"}
    records = [Record(codec.encode(line))] * (10 * ACT_LINES_BURST)
    with caplog.at_level("INFO", "fairlead.acts"):
        acts.decided(records)
    told = [each for each in caplog.records if "decided for pods/n/a" in each.getMessage()]
    assert ACT_LINES_BURST <= len(told) < len(records)
    assert acts._decisions.left_out == len(records) - len(told)
