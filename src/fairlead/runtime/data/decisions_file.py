"""What a plane decided, on this machine's disk: a bounded log in SQLite, for a plane whose server is not ours.

Written by `runtime/remote/process.py` before what was decided is sent, read by `fairlead decisions --data-dir`. It
survives the end of the process in any way; what was written in the last moment before a power cut may be lost.

Where the server keeps lines of planes in other processes, each waits here as well until the server has it, under a
number that is never given twice (`unsent`, `sent`): `runtime/remote/shipping.py` sends them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.control.instructions import DECISIONS, TURNS, Record
from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.errors import OperatorError

UNSENT = "unsent"
FILE = "decisions.sqlite"
#: bound: plane | decisions that it keeps | the oldest go
DECISIONS_KEPT_MAX = 100_000
#: bound: plane | turns without effect that it keeps | the oldest go
TURNS_KEPT_MAX = 20_000
#: bound: plane | lines that wait for a server which does not answer | the oldest are not sent, and stay here
UNSENT_MAX = 50_000
_TRIM_AFTER = 1_000
_BATCHES_KEPT = 256
_SHARED = ("policy", "reads")
_UNSENT_ROWS = "(number INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT, record BLOB)"


class UnsentLine(NamedTuple):
    number: int
    stream: str
    record: bytes


class DecisionsFile:
    """`log`: by what the server knows this file."""

    def __init__(self, directory: Path, kept_max: int = DECISIONS_KEPT_MAX) -> None:
        self._path = directory / FILE
        self._kept_max = kept_max
        self.sends = False  # lines are to be sent too
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
            self._file.execute(f"CREATE TABLE IF NOT EXISTS {UNSENT} {_UNSENT_ROWS}")
            self._file.execute("CREATE TABLE IF NOT EXISTS log (id TEXT)")
            self._file.execute(
                "INSERT INTO log SELECT ? WHERE NOT EXISTS (SELECT * FROM log)", (os.urandom(8).hex(),)
            )
            self.log = str(self._file.execute("SELECT id FROM log").fetchone()[0])
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def append(self, records: Sequence[Record]) -> None:
        try:
            self._file.execute("BEGIN")
            for each in records:
                self._file.execute(f"INSERT INTO {each.stream} (record) VALUES (?)", (each.body,))
            if self.sends:
                rows = [(each.stream, each.body) for each in records]
                self._file.executemany(f"INSERT INTO {UNSENT} (stream, record) VALUES (?, ?)", rows)
            self._untrimmed += len(records)
            if self._untrimmed >= min(_TRIM_AFTER, self._kept_max):
                for stream, kept in ((DECISIONS, self._kept_max), (TURNS, TURNS_KEPT_MAX)):
                    self._file.execute(
                        f"DELETE FROM {stream} WHERE sequence <= (SELECT max(sequence) FROM {stream}) - ?",
                        (kept,),
                    )
                self._file.execute(
                    f"DELETE FROM {UNSENT} WHERE number <= (SELECT max(number) FROM {UNSENT}) - ?",
                    (UNSENT_MAX,),
                )
                self._untrimmed = 0
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def unsent(self, limit: int) -> list[UnsentLine]:
        """The oldest; they follow one another without a gap."""
        try:
            rows = self._file.execute(
                f"SELECT number, stream, record FROM {UNSENT} ORDER BY number LIMIT ?", (limit,)
            )
            return [UnsentLine(*row) for row in rows]
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def sent(self, number: int) -> None:
        """The server has them up to this one."""
        try:
            self._file.execute(f"DELETE FROM {UNSENT} WHERE number <= ?", (number,))
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
            batches: BoundedDict[tuple[Any, ...], dict[str, Any]] = BoundedDict(_BATCHES_KEPT)
            for sequence, body in file.execute(f"SELECT sequence, record FROM {stream} ORDER BY sequence"):
                record = codec.decode(body)
                # An attempt that was merged until now stands among those of another batch, after its own.
                if "assumed" in record:
                    batches.keep(_batch_of(record), record)
                elif "position" in record and "reads" not in record:
                    batch = batches.get(_batch_of(record), {})
                    record |= {name: batch[name] for name in _SHARED if name in batch}
                yield {"sequence": sequence, "record": record}
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _batch_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """In whose line, before it, stands what its attempts share (`control/batch_lines.py`)."""
    return record.get("time"), record.get("batch")


def _unusable(path: Path, error: sqlite3.Error) -> OperatorError:
    return OperatorError(f"{path} cannot be used: {error}; make room or choose another --data-dir")
