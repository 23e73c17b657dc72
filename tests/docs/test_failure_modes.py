"""What the page of failure modes names exists: metrics, commands with their options, and the checks."""

from __future__ import annotations

import argparse
import importlib
import re

import pytest

from fairlead.cli.main import VERBS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/reference/failure-modes.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| failure |", "| --- |"))
]
WORDS = re.findall(r"`([^`]+)`", PAGE)
COMMANDS = sorted({word for word in WORDS if word.startswith("fairlead ")})


def test_each_failure_has_something_that_shows_it() -> None:
    assert len(ROWS) == 6 + 9 + 6
    for row in ROWS:
        assert len(row) == 4, row[0]
        assert re.search(r"`(fairlead[ _]|sim/|tests/)", row[3]), row[0]


def test_metrics_are_explained() -> None:
    """And what is explained is served: `test_served.py`."""
    explained = set(
        re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/metrics.md").read_text(), re.MULTILINE)
    )
    named = {word for word in WORDS if re.fullmatch(r"fairlead_\w+", word)}
    assert named
    assert named - explained == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_their_options_exist(command: str) -> None:
    _, verb, *rest = command.split()
    modules = {each.name: each.module for each in VERBS}
    assert verb in modules, f"there is no fairlead {verb}"
    parser = argparse.ArgumentParser(prog=verb)
    importlib.import_module(modules[verb]).configure(parser)
    known = parser.format_help()
    for word in rest:
        if not word.startswith("-"):
            assert re.search(rf"\b{word}\b", known), command
            found = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
            parser = found[0].choices[word] if found and word in found[0].choices else parser
            known = parser.format_help()
        else:
            assert word in known, command


@pytest.mark.parametrize("path", sorted({word for word in WORDS if re.match(r"(sim|tests)/", word)}))
def test_checks_exist(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "src/fairlead" / path).exists()
