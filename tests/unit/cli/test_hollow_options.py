"""`fairlead agent --hollow`: what its options become, and what is refused with the way out."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fairlead.cli import agent, hollow
from fairlead.core.errors import UsageError
from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.runtime.node.settings import HollowSettings

HERE = ServerAccess("https://127.0.0.1:7443")


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    agent.configure(parser)
    return parser.parse_args(words)


def settings(*words: str) -> HollowSettings:
    return hollow.settings(parsed(*words), HERE, {}, {"pods": "110"})


def test_what_is_not_said_is_as_for_one_node() -> None:
    found = settings("--hollow", "5000")
    assert (found.nodes, found.name_prefix, found.heartbeats_only) == (5000, "hollow-", False)
    assert (found.lease_seconds, found.renew_seconds, found.report_seconds) == (40, 10.0, 10.0)


def test_what_is_said_is_taken() -> None:
    found = settings(
        "--hollow", "7", "--name-prefix", "far-", "--heartbeats-only", "--report-every", "1m", "-o", "json"
    )
    assert (found.nodes, found.name_prefix, found.heartbeats_only) == (7, "far-", True)
    assert (found.report_seconds, found.as_json) == (60.0, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--hollow", "-1"), "--hollow -1: choose from 1 to 20000"),
        (("--hollow", "20001"), "--hollow 20001: choose from 1 to 20000"),
        (("--hollow", "2", "--name", "n1"), "--name is about one node"),
        (("--hollow", "2", "--data-dir", "d"), "--data-dir is about one node"),
        (("--hollow", "2", "--stop-pods"), "--stop-pods is about one node"),
        (("--hollow", "2", "--name-prefix", "Far-"), "--name-prefix Far-: "),
        (("--hollow", "2", "--report-every", "often"), "--report-every often: "),
        (("--hollow", "2", "--report-every", "0s"), "--report-every 0s: choose at least 100ms"),
    ],
)
def test_refused(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        settings(*words)
    assert told in str(refused.value)


@pytest.mark.parametrize("words", [("--name-prefix", "far-"), ("--heartbeats-only",)])
def test_without_pretend_nodes_their_options_are_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        agent.run(parsed(*words))
    assert f"{words[0]} is about pretend nodes: add --hollow N" in str(refused.value)
