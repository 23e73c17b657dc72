"""Options that several verbs share, spelled and explained once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

DEFAULT_DATA_DIR = Path("fairlead-data")


def parse_whole(text: str) -> int:
    """For `type=`; argparse's own message for int speaks of Python."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def add_otlp_endpoint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--otlp-endpoint",
        metavar="URL",
        help="send traces to this collector (OTLP over HTTP, as JSON), such as http://127.0.0.1:4318 "
        "(default: $OTEL_EXPORTER_OTLP_ENDPOINT; without it, nowhere)",
    )


def add_log_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="what the terminal gets: sentences about what is wrong, or every line of the log as JSON (default: text)",
    )


def data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DEFAULT_DATA_DIR,
        metavar="DIR",
        help="where everything is kept (default: ./fairlead-data)",
    )


def add_kubeconfig(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="how to reach the server (default: $KUBECONFIG, then ./fairlead-data/kubeconfig)",
    )


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """The first form is the default."""
    parser.add_argument(
        "-o",
        "--output",
        choices=forms,
        default=forms[0],
        help=f"form of the output (default: {forms[0]})",
    )


def add_namespace(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("-n", "--namespace", metavar="NS", help=text)


def add_client_options(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], *forms: str
) -> None:
    """What every verb has that asks a server: in which form it answers, whom it asks, and what runs it."""
    add_output(parser, *forms)
    add_kubeconfig(parser)
    parser.set_defaults(run=run)
