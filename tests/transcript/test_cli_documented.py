"""The reference page names every verb, every option and every exit code; every verb's help has examples."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.main import INTERRUPTED, PIPE_CLOSED, VERBS, build_parser
from fairlead.core import errors

PAGE = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every parser below this one that has options of its own."""
    subcommands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in subcommands:
        for sub in action.choices.values():
            yield sub
            yield from commands(sub)


def configured(verb: str) -> list[argparse.ArgumentParser]:
    prefix = f"fairlead {verb}"
    return [
        sub for sub in commands(build_parser(verb)) if sub.prog == prefix or sub.prog.startswith(prefix + " ")
    ]


def section(prog: str) -> str:
    found = re.search(rf"^###? {re.escape(prog)}$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/cli.md has no section for `{prog}`"
    return found[1]


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_every_command_and_option_is_documented(verb: str) -> None:
    for parser in configured(verb):
        text = section(parser.prog)
        for action in parser._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or f"`{option}" in text, f"{parser.prog} {option}"


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_no_option_is_documented_that_does_not_exist(verb: str) -> None:
    for parser in configured(verb):
        known = {option for action in parser._actions for option in action.option_strings}
        listed = re.findall(r"^\| `(-[^`]*)`(?:, `(-[^`]*)`)?", section(parser.prog), re.MULTILINE)
        assert {text.split()[0] for pair in listed for text in pair if text} <= known


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_the_help_of_every_verb_teaches_by_example(verb: str) -> None:
    text = configured(verb)[0].format_help()
    assert re.search(r"^examples?:\n  fairlead ", text, re.MULTILINE)


def test_the_help_shows_every_verb() -> None:
    text = build_parser(None).format_help()
    for verb in VERBS:
        assert re.search(rf"^  {verb.name}  +{re.escape(verb.summary)}$", text, re.MULTILINE)


def test_every_exit_code_is_documented() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {c.exit_code for c in classes if issubclass(c, errors.FairleadError)}
    for code in codes | {0, INTERRUPTED, PIPE_CLOSED}:
        assert f"\n| {code} | " in PAGE, code
