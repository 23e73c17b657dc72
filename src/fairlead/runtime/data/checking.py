"""`fairlead check`: a whole data directory read, without changing it, and compared with a backup if there is one.
`fairlead audit verify`: its logs alone, whose lines are a chain.

A server may run meanwhile. If nobody has the directory open, its log and its mark are examined too, as a start would.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from fairlead.core.errors import DataDirectoryError
from fairlead.runtime.data import archive, decisions_file
from fairlead.runtime.data.revision_mark import FILE, mark_doubt, read_acknowledged, read_mark
from fairlead.runtime.private_files import unwritable_error
from fairlead.store import checking
from fairlead.store.checking import Findings
from fairlead.store.contract import Damaged, Entry
from fairlead.store.database_files import damage_explained, examined_log, merge_on_close, recognise
from fairlead.store.log_chain import Followed
from fairlead.store.log_verifying import FORMAT_OF_CHAINS, Heads, follow_all


class Offer(NamedTuple):
    """What a backup has of a damaged object."""

    damaged: Damaged
    entry: Entry | None  # None: it does not have it, or it is damaged there too


class Checked(NamedTuple):
    findings: Findings
    log_lost: str  # what the log lost, or is behind the mark
    in_use: bool
    offers: tuple[Offer, ...]
    backup_created: str = ""
    backup_revision: int = 0


def check_directory(directory: Path, backup: Path | None) -> Checked:
    path = _store_of(directory)
    try:
        with _held(directory) as in_use:
            lost = "" if in_use else examined_log(str(path)).lost
            findings = _findings(path, in_use)
    except OSError as error:
        raise unwritable_error(directory, error) from error
    if not in_use and findings.format >= 2:
        mark = read_mark(directory)
        if mark is None:
            findings.problems.append(
                f"{FILE} is missing or damaged: whether anything was lost cannot be told"
            )
        lost = lost or mark_doubt(mark, findings.revision, read_acknowledged(directory))
    if backup is None:
        return Checked(findings, lost, in_use, ())
    manifest, recovered = archive.read_backup(backup)
    damaged_there = {each.entry.key for each in recovered.damaged}
    there = {entry.key: entry for entry in recovered.entries if entry.key not in damaged_there}
    offers = tuple([Offer(each, there.get(each.entry.key)) for each in findings.damaged])
    return Checked(
        findings=findings,
        log_lost=lost,
        in_use=in_use,
        offers=offers,
        backup_created=manifest.created,
        backup_revision=manifest.revision,
    )


def follow_chains(directory: Path, heads: Heads) -> dict[str, Followed]:
    """Each log of a directory, in use or not."""
    path = _store_of(directory)
    try:
        with _held(directory) as in_use, _read(path, in_use) as (connection, version):
            if version < FORMAT_OF_CHAINS:
                raise DataDirectoryError(
                    f"{path} is of format {version}, whose logs are no chains yet; a start of this Fairlead upgrades it"
                )
            return follow_all(connection, version, heads)
    except OSError as error:
        raise unwritable_error(directory, error) from error


def _store_of(directory: Path) -> Path:
    path = directory / archive.DATABASE_FILE
    if not path.is_file() and (directory / decisions_file.FILE).is_file():
        raise DataDirectoryError(
            f"{directory} is the directory of a `fairlead control`: {decisions_file.FILE} has no digests that could be"
            " checked; `fairlead decisions --data-dir` reads it"
        )
    if not path.is_file() or not (directory / archive.LAYOUT_FILE).is_file():
        raise DataDirectoryError(f"{directory} is no data directory: it holds no store.db and FORMAT")
    return path


@contextlib.contextmanager
def _read(path: Path, in_use: bool) -> Iterator[tuple[apsw.Connection, int]]:
    """The store as it is at one moment, and its format."""
    with damage_explained(str(path)), contextlib.ExitStack() as stack:
        connection = stack.enter_context(contextlib.closing(_opened(path, in_use, stack)))
        connection.set_busy_timeout(10_000)
        merge_on_close(connection, False)
        version = recognise(connection, str(path))
        if not version:
            raise DataDirectoryError(f"{path} is empty, though a store never is; restore a backup")
        connection.execute("BEGIN")
        yield connection, version


def _findings(path: Path, in_use: bool) -> Findings:
    with _read(path, in_use) as (connection, version):
        return checking.check(connection, version)


def _opened(path: Path, in_use: bool, stack: contextlib.ExitStack) -> apsw.Connection:
    log = path.with_name(path.name + "-wal")
    if in_use:
        return apsw.Connection(str(path))
    if not log.exists():
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
    # Opening a database with its log changes what is beside it: a copy is opened.
    made = tempfile.TemporaryDirectory(prefix=".fairlead-check-", dir=path.parent)
    copies = Path(stack.enter_context(made))
    for each in (path, log):
        shutil.copyfile(each, copies / each.name)
    return apsw.Connection(str(copies / path.name))


@contextlib.contextmanager
def _held(directory: Path) -> Iterator[bool]:
    """Whether a server has the directory; if none has, none gets it meanwhile."""
    try:
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield True
            return
        yield False
    finally:
        os.close(lock)
