"""The log's files: bounded, a line as JSON each, and whole across what was there before."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.runtime import logs


@pytest.fixture
def untouched() -> Iterator[None]:
    """What `set_up` changes of the whole process is put back."""
    root = logging.getLogger()
    kept = (root.handlers[:], root.level, logging.raiseExceptions, logging._srcfile)
    flags = logging.logThreads, logging.logProcesses, logging.logMultiprocessing
    yield
    for handler in root.handlers[:]:
        if handler not in kept[0]:
            handler.close()
    root.handlers[:], root.level, logging.raiseExceptions, logging._srcfile = kept
    logging.logThreads, logging.logProcesses, logging.logMultiprocessing = flags


@pytest.mark.usefixtures("untouched")
def test_files_are_bounded_and_no_line_is_lost_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_BYTES_MAX", 2_000)
    for start in (0, 10):  # the second process goes on where the first ended
        logs.set_up(tmp_path)
        for number in range(start, start + 10):
            logging.getLogger("test").info("line %d %s", number, "x" * 200)
        logging.getLogger().handlers[0].close()
    files = sorted(tmp_path.iterdir(), reverse=True)
    assert [each.name for each in files] == ["fairlead.log.2", "fairlead.log.1", "fairlead.log"]
    assert all(each.stat().st_size < 2_400 for each in files)
    told = [
        json.loads(line)["message"].split()[1] for each in files for line in each.read_text().splitlines()
    ]
    assert told == [str(number) for number in range(20)]


@pytest.mark.usefixtures("untouched")
def test_a_line_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    logs.set_up(tmp_path / "missing")
    logging.getLogger("test").info("nobody reads this")
    (tmp_path / "missing").mkdir()
    logging.getLogger("test").info("somebody reads this")
    assert "somebody" in (tmp_path / "missing" / logs.FILE).read_text()
