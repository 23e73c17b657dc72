"""`fairlead stop`: ends the plane of a data directory properly, wherever it was started, and waits for it."""

from __future__ import annotations

import argparse
from contextlib import closing

from fairlead.cli import options as shared
from fairlead.cli.output import hint
from fairlead.core.errors import DataDirectoryError, OperatorError, UsageError

#: bound: plane | `fairlead stop` waits, if nothing is said | exit code 1
STOP_SECONDS = 60
#: bound: plane | `fairlead stop` says that it waits every | -
TELL_SECONDS = 5.0
EPILOG = """examples:
  fairlead stop                              the plane that keeps its data in ./fairlead-data
  fairlead stop --data-dir /var/lib/fairlead --timeout 120

As Ctrl-C does: the nodes of `fairlead up` and their pods end, open requests are answered, everything is kept. Nothing
is killed: what does not end in time is told, with exit code 1. Where nothing runs there is nothing to do.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    shared.data_dir(parser)
    parser.add_argument(
        "--timeout",
        type=shared.parse_whole,
        default=STOP_SECONDS,
        metavar="SECONDS",
        help="how long to wait for its end (default: 60)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data.holding import HolderProcess, holder

    directory = options.data_dir
    if options.timeout < 1:
        raise UsageError("--timeout takes a number of seconds greater than 0")
    if not directory.is_dir():
        raise DataDirectoryError(f"{directory} is no data directory: name one with --data-dir")
    found = holder(directory)
    if found is None:
        hint(f"nothing runs on {directory}")
        return 0
    try:
        process = HolderProcess(found)
    except (ProcessLookupError, ValueError):
        return _gone(directory)
    with closing(process):
        if holder(directory) != found:  # it ended before it was held fast
            return _gone(directory)
        print(f"asking process {found.pid} to stop: its nodes and pods end with it", flush=True)
        try:
            process.ask_to_stop()
        except ProcessLookupError:
            return _gone(directory)
        except PermissionError:
            raise OperatorError(
                f"process {found.pid} belongs to another user: stop it as that user, or as root"
            ) from None
        waited = 0.0
        while not process.ended(min(TELL_SECONDS, options.timeout - waited)):
            waited += TELL_SECONDS
            if waited >= options.timeout:
                raise OperatorError(
                    f"process {found.pid} has not ended within {options.timeout}s: wait, or look into"
                    f" {directory}/fairlead.log"
                )
            hint(f"process {found.pid} is still ending, after {waited:.0f}s")
    return _gone(directory)


def _gone(directory: object) -> int:
    print(f"stopped; everything is kept in {directory}")
    return 0
