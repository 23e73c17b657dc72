"""Data directories for transcripts of `fairlead check`: a sound one, its backup, and one in which a bit has flipped."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from fairlead.model.key import Key
from fairlead.runtime.data import archive
from fairlead.runtime.data.directory import open_data_directory
from fairlead.store.contract import ADDED, MODIFIED, Batch, CommittedChange, Entry, Note


def make(now: float) -> None:
    """`sound`, `rotten` and `monday.fairlead` in the current directory."""
    with open_data_directory(Path("sound")) as held:
        journal = held.journal()
        journal.recover()
        menu, opening = Key("configmaps", "shop", "menu"), Key("configmaps", "shop", "opening-hours")
        for revision, key, type_, previous in (
            (1, menu, ADDED, 0),
            (2, opening, ADDED, 0),
            (3, menu, MODIFIED, 1),
        ):
            head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"%d",' % revision
            data = head + f'"name":"{key.name}","namespace":"shop","uid":"u"}}}}'.encode()
            change = CommittedChange(type_, Entry(key, "u", revision, data, previous), None)
            journal.append(Batch((change,), (Note("audit", b'{"verb":"create"}', revision),), now))
        journal.close()
    archive.write_backup(Path("sound"), Path("monday.fairlead"), now)
    shutil.copytree("sound", "rotten")
    connection = apsw.Connection("rotten/store.db")
    for revision in (1, 2):
        connection.execute("UPDATE log SET uid = 'v' WHERE revision = ?", (revision,))
    connection.close()
