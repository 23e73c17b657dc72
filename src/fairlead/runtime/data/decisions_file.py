"""What a plane decided, on this machine's disk: a bounded log in SQLite, for a plane whose server is not ours.

Written by `runtime/remote/process.py` before what was decided is sent, read by `fairlead decisions --data-dir`. It
survives the end of the process in any way; what was written in the last moment before a power cut may be lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fairlead.control.instructions import DECISIONS, TURNS, Record
from fairlead.core import codec
from fairlead.core.errors import OperatorError

FILE = "decisions.sqlite"
#: bound: plane | decisions that it keeps | the oldest go
DECISIONS_KEPT_MAX = 100_000
#: bound: plane | turns without effect that it keeps | the oldest go
TURNS_KEPT_MAX = 20_000
_TRIM_AFTER = 1_000


class DecisionsFile:
    def __init__(self, directory: Path, kept_max: int = DECISIONS_KEPT_MAX) -> None:
        self._path = directory / FILE
        self._kept_max = kept_max
        self._untrimmed = 0
        try:
            self._file = sqlite3.connect(self._path, isolation_level=None)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            for stream in (DECISIONS, TURNS):
                self._file.execute(
                    f"CREATE TABLE IF NOT EXISTS {stream}"
                    " (sequence INTEGER PRIMARY KEY AUTOINCREMENT, record BLOB)"
                )
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def append(self, records: Sequence[Record]) -> None:
        try:
            self._file.execute("BEGIN")
            for each in records:
                self._file.execute(f"INSERT INTO {each.stream} (record) VALUES (?)", (each.body,))
            self._untrimmed += len(records)
            if self._untrimmed >= min(_TRIM_AFTER, self._kept_max):
                for stream, kept in ((DECISIONS, self._kept_max), (TURNS, TURNS_KEPT_MAX)):
                    self._file.execute(
                        f"DELETE FROM {stream} WHERE sequence <= (SELECT max(sequence) FROM {stream}) - ?",
                        (kept,),
                    )
                self._untrimmed = 0
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def close(self) -> None:
        self._file.close()


def read_decisions(directory: Path, stream: str = DECISIONS) -> Iterator[dict[str, Any]]:
    """As `/fairlead/v1/decisions` tells them, oldest first; also while a plane writes."""
    path = directory / FILE
    if not path.exists():
        raise OperatorError(
            f"{directory} has no decisions: name the directory of a `fairlead control`, or leave --data-dir out"
        )
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            for sequence, record in file.execute(f"SELECT sequence, record FROM {stream} ORDER BY sequence"):
                yield {"sequence": sequence, "record": codec.decode(record)}
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: sqlite3.Error) -> OperatorError:
    return OperatorError(f"{path} cannot be used: {error}; make room or choose another --data-dir")
