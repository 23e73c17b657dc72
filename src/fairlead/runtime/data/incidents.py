"""A data directory as the origin of a capture (`replay/capture.py`), in use or not: it is copied first."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fairlead.core.errors import DataDirectoryError
from fairlead.replay.store_origin import StoreOrigin
from fairlead.runtime.data.archive import DATABASE_FILE
from fairlead.store import database_files as database
from fairlead.store.machine import Store
from fairlead.store.sqlite import SqliteJournal


@contextmanager
def stored_origin(data_dir: Path, also: Collection[str] = ()) -> Iterator[StoreOrigin]:
    source = data_dir / DATABASE_FILE
    if not source.is_file():
        raise DataDirectoryError(
            f"{data_dir} holds no {DATABASE_FILE}: name a data directory with --data-dir"
        )
    with tempfile.TemporaryDirectory(prefix="fairlead-incident-") as staging:
        copy = Path(staging, DATABASE_FILE)
        database.backup(str(source), str(copy))
        with closing(SqliteJournal(str(copy))) as journal:
            store = Store(journal.recover(), journal)
            yield StoreOrigin(store, journal, secrets.token_bytes(32), also)
