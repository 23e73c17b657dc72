"""Logs: one JSON object per line in the data directory, and short lines on the terminal.

The file has the details (tracebacks among them) and is bounded by rotation; the terminal gets one sentence per
warning and is told where the rest is. Set up once by the server. No log line ever carries an object's values.
"""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec

from fairlead.core.times import microtime

FILE = "fairlead.log"
_BYTES_MAX = 8 * 1024 * 1024
_FILES_KEPT = 3


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": microtime(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
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


def set_up(data_dir: Path) -> None:
    """Send this process' log to the data directory and its warnings to the terminal as well."""
    path = data_dir / FILE
    file = RotatingFileHandler(path, maxBytes=_BYTES_MAX, backupCount=_FILES_KEPT - 1, delay=True)
    file.setFormatter(_JsonLines())
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(_Sentences(path))
    root = logging.getLogger()
    root.handlers[:] = [file, terminal]
    root.setLevel(logging.INFO)
    # A log that cannot be written, on a full disk, must not stop or flood the server.
    logging.raiseExceptions = False
