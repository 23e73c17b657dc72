"""`fairlead serve`: the server without what a person at a terminal wants; for service managers."""

from __future__ import annotations

import argparse

from fairlead.cli.serving import add_options, settings

EPILOG = """examples:
  fairlead serve --data-dir /var/lib/fairlead
  fairlead serve --listen 10.0.0.5 --listen-anywhere    reachable from other machines

Stops cleanly on SIGTERM: open watches end, what was acknowledged is on disk.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    chosen = settings(options, banner=False)
    # The whole server: only once the options are known to be good.
    from fairlead.runtime.server import process as server

    return server.run(chosen)
