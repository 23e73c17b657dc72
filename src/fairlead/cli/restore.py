"""`fairlead restore`: a data directory from a backup, after checking all of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.output import print_json

EPILOG = """examples:
  fairlead restore monday.fairlead --data-dir fairlead-restored
  fairlead up --data-dir fairlead-restored

The directory must be new or empty. Checksums and the database are verified first; if anything is wrong,
nothing is written. Whoever could sign in when the backup was made can sign in again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `fairlead backup` wrote")
    shared.data_dir(parser)
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data import archive  # brings the database library along

    manifest = archive.restore_backup(options.file, options.data_dir)
    if options.output == "json":
        print_json({"dataDir": str(options.data_dir), **asdict(manifest)})
        return 0
    count = sum(manifest.objects.values())
    print(
        f"restored {options.data_dir} to revision {manifest.revision} of {manifest.created}: {count} objects"
    )
    for resource, number in manifest.objects.items():
        print(f"  {resource}: {number}")
    print(f"start it with `fairlead up --data-dir {options.data_dir}`")
    return 0
