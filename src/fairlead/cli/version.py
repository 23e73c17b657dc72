"""`fairlead version`."""

from __future__ import annotations

import argparse
import platform

from fairlead import __version__
from fairlead.cli import options as shared
from fairlead.cli.output import print_json

EPILOG = "example:\n  fairlead version -o json\n"


def configure(parser: argparse.ArgumentParser) -> None:
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.output == "json":
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        print(f"fairlead {__version__} (Python {platform.python_version()})")
    return 0
