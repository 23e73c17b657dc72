"""`fairlead backup`: one file with everything, consistent also while the server runs."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.output import print_json

EPILOG = """examples:
  fairlead backup monday.fairlead
  fairlead backup --data-dir /var/lib/fairlead /backups/$(date +%F).fairlead
  fairlead restore monday.fairlead --data-dir fairlead-restored

The file holds every object with its history, the audit log, and the server's keys: it is as secret as the
data directory, and readable by you only. It is checked completely before it gets its name.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="where to write it; must not exist")
    shared.data_dir(parser)
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data import archive  # brings the database library along

    manifest = archive.write_backup(options.data_dir, options.file, time.time())
    if options.output == "json":
        print_json({"file": str(options.file), **asdict(manifest)})
    else:
        count = sum(manifest.objects.values())
        print(f"wrote {options.file}: {count} objects at revision {manifest.revision}")
    return 0
