"""Logs: one JSON object per line in the data directory, and short lines on the terminal.

The file has the details (tracebacks among them) and is bounded by rotation; the terminal gets one sentence per
warning and is told where the rest is, or, in the form `json`, the same lines as the file, for those who collect what a
process prints. Set up once by each process. Lines about acts carry fields by which they are joined with records, Events
and audit (`acts.py`). No log line ever carries an object's values.
"""

from __future__ import annotations

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec

from fairlead.core.times import microtime
from fairlead.wire.rated_log import FIELDS

FILE = "fairlead.log"
TEXT, JSON = "text", "json"
FORMS = (TEXT, JSON)
_BYTES_MAX = 8 * 1024 * 1024
_FILES_KEPT = 3


class _File(RotatingFileHandler):
    """Formats a line once and counts bytes itself: the library's own asks the file system about each line, and formats
    it twice, which is more than all the rest of a line takes."""

    _size = 0  # of what `stream` is open on

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + "\n"
            if self.stream is None:
                self.stream = self._open()
                self._size = os.fstat(self.stream.fileno()).st_size
            self._size += len(line)
            self.stream.write(line)
            self.stream.flush()
            if self._size >= self.maxBytes:
                self.doRollover()  # the next line opens the next file
        except (OSError, ValueError, TypeError):  # TypeError: a message that its arguments do not fit
            self.handleError(record)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": microtime(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **record.__dict__.get(FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class _Sentences(logging.Formatter):
    """What happened, without how: tracebacks stay in the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def format(self, record: logging.LogRecord) -> str:
        details = f" (details: {self._path})" if record.exc_info else ""
        return f"fairlead: {record.getMessage().splitlines()[0]}{details}"


def set_up(data_dir: Path, form: str = TEXT) -> None:
    """Send this process' log to the data directory, and to the terminal: warnings as sentences, or all of it."""
    path = data_dir / FILE
    file = _File(path, maxBytes=_BYTES_MAX, backupCount=_FILES_KEPT - 1, delay=True)
    file.setFormatter(_JsonLines())
    terminal = logging.StreamHandler(sys.stderr)
    if form == JSON:
        terminal.setFormatter(_JsonLines())
    else:
        terminal.setLevel(logging.WARNING)
        terminal.setFormatter(_Sentences(path))
    root = logging.getLogger()
    root.handlers[:] = [file, terminal]
    root.setLevel(logging.INFO)
    # A log that cannot be written, on a full disk, must not stop or flood the server.
    logging.raiseExceptions = False
    # No line tells who logged it: finding out takes as long as writing it.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
