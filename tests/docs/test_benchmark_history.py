"""The history of benchmarks: what is kept can be drawn, the drawing is current, and what a bench prints is taken in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import history

from tests.docs.pages import ROOT


def test_the_drawing_is_current_and_shown() -> None:
    drawn = history.drawing(history.read(history.ROWS))
    assert history.DRAWING.read_text() == drawn, "run python bench/history.py draw"
    ElementTree.fromstring(drawn)
    assert f"]({history.DRAWING.name})" in (ROOT / "docs/concepts/performance.md").read_text()


def test_every_figure_says_when_where_and_what() -> None:
    for row in history.read(history.ROWS):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.date)
        assert row.figure > 0
        assert (ROOT / f"bench/{row.bench}.py").exists()
        assert row.commit
        assert row.case
        assert row.unit
        assert row.machine


def test_what_a_bench_prints_is_appended_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "bench/turns.py", "--json", "--deployments", "3", "--nodes", "2"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept, drawn = tmp_path / "history.jsonl", tmp_path / "history.svg"
    kept.write_text("")
    monkeypatch.setattr(history, "ROWS", kept)
    monkeypatch.setattr(history, "DRAWING", drawn)
    for note in ("", "busy machine"):
        given = tmp_path / "printed.json"
        given.write_text(printed)
        with given.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            history.main(["add", "--note", note])
    rows = history.read(kept)
    phases = json.loads(printed)["phases"]
    assert len(rows) == 2 * len(phases) > 0
    assert [row.figure for row in rows[: len(phases)]] == [
        phase["microseconds_per_turn"] for phase in phases.values()
    ]
    assert {row.note for row in rows} == {"", "busy machine"}
    assert drawn.read_text().count("<circle") == len(rows)
    assert drawn.read_text().count('fill="#fff" stroke') == len(phases), "what does not compare is hollow"


def test_anything_else_is_refused() -> None:
    with pytest.raises(SystemExit, match="this is not what"):
        list(history.figures_of({"seeds": 1}))
