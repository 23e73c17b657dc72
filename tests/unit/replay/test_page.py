"""The page of a timeline holds all that it shows, needs nothing else, and nothing in a run can break out of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.replay.artifact import RecordedStep
from fairlead.replay.page import QUIET, STEPS_MAX, shown_kind, timeline_page

STEPS: list[RecordedStep] = [
    (0, "people", "asks", "create pods", "", -1),
    (2, "server", "committed", "1 pods/default/web by people", '{"x":"</script><b>&amp;"}', 0),
    (40, "plane-0", "told", "pods Framed [1]", "", 1),
    (41, "plane-0", "told", "nodes Listed []", "", -1),
    (50, "world", "violation", "one-leader: <b>two</b> led", "", 2),
]


def embedded(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    told: dict[str, object] = json.loads(found.group(1))
    return told


def test_every_step_is_in_the_page_with_its_cause() -> None:
    told = embedded(timeline_page("a title", ["what happened"], STEPS))
    shown = [[number, ms, actor, shown_kind(kind, text), text, data, cause]
             for number, (ms, actor, kind, text, data, cause) in enumerate(STEPS)]  # fmt: skip
    assert told["steps"] == shown
    assert told["quiet"] == sorted(QUIET)


def test_nothing_in_a_run_breaks_out_of_the_page() -> None:
    page = timeline_page("<i>title</i>", ["a <b>line</b> & more {{steps}}"], STEPS)
    assert page.count("</script>") == 2
    assert "<b>" not in page
    assert "<i>" not in page
    assert "a &lt;b&gt;line&lt;/b&gt; &amp; more {{steps}}" in page


def test_the_page_needs_nothing_else() -> None:
    page = timeline_page("a title", [], STEPS)
    assert not re.search(r"(src|href)\s*=|@import|url\(|fetch\(", page)


def test_of_a_very_long_run_the_end_is_shown() -> None:
    told = embedded(timeline_page("a title", [], [STEPS[0]] * STEPS_MAX + STEPS))
    steps = told["steps"]
    assert isinstance(steps, list)
    assert len(steps) == STEPS_MAX
    assert steps[-1][0] == STEPS_MAX + len(STEPS) - 1
    assert steps[-1][3] == "violation"


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("told", "pods Framed [3]", "told"),
        ("told", "pods Broke []", "told"),
        ("told", "pods Listed []", "listed"),
        ("told", "pods Woke []", "listed"),
        ("call", "1 x list pods //", "call"),
    ],
)
def test_lists_are_not_what_a_reader_looks_for_first(kind: str, text: str, shown: str) -> None:
    assert shown_kind(kind, text) == shown
    assert "listed" in QUIET
    assert "told" not in QUIET


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_draws_a_lane_per_process_and_an_arrow_per_cause(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(timeline_page("a title", ["one line"], STEPS), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path}/profile", page.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert len(re.findall(r'class="lane"', drawn)) == 4
    assert len(re.findall("<circle", drawn)) == 4  # not the list
    assert len(re.findall(r'<path[^>]*class="cause', drawn)) == 3
    assert "one-leader: &lt;b&gt;two&lt;/b&gt; led" in drawn
