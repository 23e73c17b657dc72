"""`fairlead check`: reads everything a data directory holds, changes nothing, and says what is damaged."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.cli import options as shared
from fairlead.cli.output import cell, print_json
from fairlead.core.times import timestamp

if TYPE_CHECKING:
    from fairlead.runtime.data.checking import Checked, Offer

DAMAGED = 1  # the exit code

EPILOG = """examples:
  fairlead check
  fairlead check /var/lib/fairlead
  fairlead check --backup monday.fairlead     also what that backup has of each damaged object

Every object, its history, the audit log and the decisions are compared with the digests they were written with, each
table with the number of its rows, and SQLite checks its pages. The decisions of a `fairlead control` (decisions.sqlite)
have no digests and are not checked. A server may run meanwhile; of a directory that no
server has open, the log and the mark of the revision are checked too. Nothing is changed. Exit code 1 if anything is
damaged.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory",
        type=Path,
        nargs="?",
        default=shared.DEFAULT_DATA_DIR,
        metavar="DIR",
        help="the data directory (default: ./fairlead-data)",
    )
    parser.add_argument("--backup", type=Path, metavar="FILE", help="a file that `fairlead backup` wrote")
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data.checking import check_directory  # brings the database library along

    checked = check_directory(options.directory, options.backup)
    if options.output == "json":
        print_json(_document(checked))
    else:
        _tell(options.directory, checked)
    return 0 if checked.findings.sound and not checked.log_lost else DAMAGED


def _tell(directory: Path, checked: Checked) -> None:
    found = checked.findings
    print(
        f"read {directory} (format {found.format}) at revision {found.revision}:"
        f" {found.objects} objects, {found.versions} versions, {found.notes} lines of logs"
    )
    if found.undigested:
        print(f"{found.undigested} of these rows are older than digests: they were read, and not compared")
    if checked.in_use:
        print("a server has it open: its log and its mark were not examined")
    if checked.log_lost:
        print(f"LOST: {checked.log_lost}; the next start goes on above all revisions that were given out")
        if checked.backup_created:
            print(f"  {_offered_of_lost(checked)}")
    for lost in found.lost:
        print(
            f"lost before ({timestamp(lost.at)}): revisions {lost.after + 1} to {lost.until - 1}, as far as they were"
            f" given out ({cell(lost.why)})"
        )
    offers = {offer.damaged.entry.key: offer for offer in checked.offers}
    for each in found.damaged:
        key = each.entry.key
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        print(
            f"DAMAGED: {cell(key.resource)} {cell(name)} at revision {each.entry.revision} ({cell(each.why)})"
        )
        if each.since:
            print(f"  known since {timestamp(each.since)}")
        if key in offers:
            print(f"  {_offered(offers[key], checked)}")
    for problem in found.problems:
        print(f"DAMAGED: {cell(problem)}")
    if found.sound and not checked.log_lost:
        print("nothing is damaged")
    elif not checked.backup_created:
        print(
            "`--backup FILE` tells what a backup has of this; docs/guides/backup-and-restore.md tells what to do"
        )


def _offered(offer: Offer, checked: Checked) -> str:
    backup = f"the backup of {checked.backup_created}"
    if offer.entry is None:
        return f"{backup} does not have it"
    if offer.entry.revision == offer.damaged.entry.revision:
        return f"{backup} has this very version"
    return f"{backup} has an older version, of revision {offer.entry.revision}"


def _offered_of_lost(checked: Checked) -> str:
    backup = f"the backup of {checked.backup_created} is of revision {checked.backup_revision}"
    if checked.backup_revision > checked.findings.revision:
        return f"{backup}: it has what was lost up to there"
    return f"{backup}, no newer than what is left: it has nothing of what was lost"


def _document(checked: Checked) -> dict[str, Any]:
    found = checked.findings
    offers = {offer.damaged.entry.key: offer.entry for offer in checked.offers}
    return {
        "format": found.format,
        "revision": found.revision,
        "objects": found.objects,
        "versions": found.versions,
        "lines": found.notes,
        "withoutDigest": found.undigested,
        "inUse": checked.in_use,
        "lost": checked.log_lost,
        "backup": {"created": checked.backup_created, "revision": checked.backup_revision}
        if checked.backup_created
        else None,
        "lostBefore": [
            {"after": each.after, "until": each.until, "why": each.why, "at": timestamp(each.at)}
            for each in found.lost
        ],
        "damaged": [
            {
                "resource": each.entry.key.resource,
                "namespace": each.entry.key.namespace,
                "name": each.entry.key.name,
                "revision": each.entry.revision,
                "why": each.why,
                "since": timestamp(each.since) if each.since else None,
                "backupRevision": entry.revision
                if (entry := offers.get(each.entry.key)) is not None
                else None,
            }
            for each in found.damaged
        ],
        "problems": found.problems,
        "sound": found.sound and not checked.log_lost,
    }
