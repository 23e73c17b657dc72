"""What does not exist has one exit code, whichever verb is asked for it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.main import VERBS, build_parser, main
from fairlead.core.errors import NotFound, Unreachable, UsageError
from tests.transcript.test_cli import server

__all__ = ["server"]
_POD = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: i}]}}"
ABSENT = (
    "chaos stop nothing",
    "get pod/nope",
    "get pod nope -o json",
    "get pods -n nope",
    "get pod/web -n nope",
    "audit --object pod/nope",
    "decisions --object deploy/nope",
    "timeline pod/nope",
    "debug pod/nope",
    "explain pod/nope",
    "explain nope --all",
    "why-not pod/nope node-1",
    "why-not pod/web nope",
    "progress deployment/nope",
    "progress workload/nope -o json",
    "drain nope --reason test",
    "override cordon node/nope --reason test",
    "override drain zone/nope --reason test --dry-run",
    "override pause rollout deployment/nope --reason test",
    "override end nope",
    "override report nope",
    "override approve nope",
    "overrides --object deploy/nope",
    "timeline pod/nope",
    "debug pod/nope",
    "runbook show nope",
    "runbook run nope",
    "runbook check nope",
    "grant approve nope",
    "grant review nope --note fine",
    "token revoke nope",
)
UNKNOWN = (
    "get nope",
    "audit --object nope/x",
    "decisions --object nope/x",
    "decisions --controller nope",
    "timeline nope/x",
    "debug nope/x",
    "coupling nope",
    "explain nope/x",
    "why-not nope/x node-1",
    "why-not pod/web nope/x",
    "progress nope/x",
    "drain nope/x --reason test",
    "overrides --object nope/x",
    "timeline nope/x",
    "debug nope/x",
)
AWAY = (
    "get pods",
    "get pod/web",
    "audit",
    "audit --object pod/web",
    "decisions",
    "timeline pod/web",
    "debug pod/web",
    "explain pod/web",
    "why-not pod/web node-1",
    "plan -f pod.yaml",
    "forecast --delete pod/web",
    "coupling",
    "progress deployment/web",
    "drain node-1 --reason test",
    "override pause rollout deployment/web --reason test",
    "overrides",
    "overrides --object deploy/web",
    "timeline pod/web",
    "debug pod/web",
    "repair",
    "runbook list",
    "runbook show recover-workload",
    "runbook run recover-workload --set workload=web",
    "runbook runs",
    "runbook status run-1",
    "runbook answer run-1 confirm go=true",
    "runbook abort run-1 --reason test",
    "runbook check",
    "queues",
    "grants",
    "freezes",
    "grant approve review-me",
    "sim from",
    "incident capture -o x.incident",
    "chaos list",
    "chaos stop drill",
    "chaos run --fault throttled=1 --controller job --for 1s --reason test",
)
# Take no name of an object: they start something, or tell all there is.
WITHOUT = {
    "coupling",
    "up",
    "serve",
    "status",
    "stop",
    "agent",
    "control",
    "kinds",
    "plan",
    "forecast",
    "repair",
    "queues",
    "grants",
    "freezes",
    "backup",
    "restore",
    "check",
    "incident",
    "replay",
    "sim",
    "version",
    "completion",
}


@pytest.mark.parametrize("command", ABSENT)
def test_what_does_not_exist(command: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == NotFound.exit_code == 7
    told = capsys.readouterr()
    assert told.out == ""
    assert "there is no " in told.err


@pytest.mark.parametrize("command", UNKNOWN)
def test_a_word_that_nobody_knows(command: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "no resource" in told.err or "no controller" in told.err


@pytest.mark.parametrize("command", AWAY)
def test_a_server_that_does_not_answer(command: str, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pod.yaml").write_text(_POD)
    assert main([*shlex.split(command), "--kubeconfig", "closed"]) == Unreachable.exit_code == 6
    told = capsys.readouterr()
    assert told.out == ""
    assert "no server answers at http://127.0.0.1:1" in told.err


@pytest.mark.parametrize("verb", [each.name for each in VERBS])
def test_an_option_that_there_is_not(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--no-such-option"]) == UsageError.exit_code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"see `fairlead {verb} --help`" in told.err


def test_every_verb_that_asks_a_server_is_asked_without_one() -> None:
    asking = {
        verb.name
        for verb in VERBS
        if any("--kubeconfig" in each.option_strings for each in _actions(_parser(verb.name)))
    }
    assert {command.split()[0] for command in AWAY} == asking - {"agent", "control"}, "those two go on trying"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for each in parser._actions:
        yield each
        for below in each.choices.values() if isinstance(each, argparse._SubParsersAction) else ():
            yield from _actions(below)


def _parser(verb: str) -> argparse.ArgumentParser:
    (below,) = (each for each in build_parser(verb)._actions if isinstance(each, argparse._SubParsersAction))
    found: argparse.ArgumentParser = below.choices[verb]
    return found


def test_every_verb_is_asked() -> None:
    assert {command.split()[0] for command in ABSENT} == {verb.name for verb in VERBS} - WITHOUT


def test_a_backup_that_cannot_be_written_does_not_blame_the_data_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("store.db", "FORMAT"):
        (data / name).write_bytes(b"")
    assert main(["backup", str(tmp_path / "nope/x"), "--data-dir", str(data)]) == 2
    told = capsys.readouterr().err
    assert "nope" in told
    assert "--data-dir" not in told
