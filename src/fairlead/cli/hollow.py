"""The part of `fairlead agent` that plays many pretend nodes instead of one real one: its options, checked."""

from __future__ import annotations

import argparse

from fairlead.cli import options as shared
from fairlead.cli.serving import HOLLOW_NODES_MAX
from fairlead.core.errors import UsageError
from fairlead.core.times import SECOND, parse_duration
from fairlead.model.names import subdomain_problems
from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.runtime.node.settings import HollowSettings

DEFAULT_NAME_PREFIX = "hollow-"
_OF_ONE_NODE = {
    "name": "--name",
    "data_dir": "--data-dir",
    "stop_pods": "--stop-pods",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hollow",
        type=shared.parse_whole,
        default=0,
        metavar="N",
        help="play N pretend nodes instead, which run nothing; the token must be an administrator's (default: 0)",
    )
    parser.add_argument(
        "--name-prefix",
        metavar="PREFIX",
        help=f"what their names begin with, a number follows (default: {DEFAULT_NAME_PREFIX})",
    )
    parser.add_argument(
        "--heartbeats-only",
        action="store_true",
        help="only renew the leases of pretend nodes that `up --hollow-nodes` registers and plays",
    )
    parser.add_argument(
        "--report-every",
        metavar="DURATION",
        default="10s",
        help="say so often how many leases were renewed and how late (default: 10s)",
    )
    shared.add_output(parser, "text", "json")


def check_is_one(options: argparse.Namespace) -> None:
    """Without --hollow what is said of pretend nodes means nothing."""
    for option, given in (
        ("--name-prefix", options.name_prefix is not None),
        ("--heartbeats-only", options.heartbeats_only),
    ):
        if given:
            raise UsageError(f"{option} is about pretend nodes: add --hollow N, or leave it out")


def settings(
    options: argparse.Namespace, connection: ServerAccess, labels: dict[str, str], capacity: dict[str, str]
) -> HollowSettings:
    if not 1 <= options.hollow <= HOLLOW_NODES_MAX:
        raise UsageError(f"--hollow {options.hollow}: choose from 1 to {HOLLOW_NODES_MAX}")
    for field, option in _OF_ONE_NODE.items():
        if getattr(options, field):
            raise UsageError(f"{option} is about one node that runs pods: leave it out with --hollow")
    prefix = options.name_prefix if options.name_prefix is not None else DEFAULT_NAME_PREFIX
    problems = subdomain_problems(f"{prefix}{options.hollow - 1}")
    if problems:
        raise UsageError(f"--name-prefix {prefix}: {problems[0]}")
    return HollowSettings(
        nodes=options.hollow,
        name_prefix=prefix,
        connection=connection,
        token_file=options.token_file,
        labels=labels,
        capacity=capacity,
        lease_seconds=options.lease_seconds,
        renew_seconds=options.renew_seconds,
        heartbeats_only=options.heartbeats_only,
        report_seconds=_seconds(options.report_every),
        as_json=options.output == "json",
    )


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text) / SECOND
    except ValueError as error:
        raise UsageError(f"--report-every {text}: {error}; write it like 10s") from error
    if seconds < 0.1:
        raise UsageError(f"--report-every {text}: choose at least 100ms")
    return seconds
