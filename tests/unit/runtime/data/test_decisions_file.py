"""The log of decisions of a plane whose server is not ours: kept over an end of any kind, bounded, readable meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.control.instructions import Record
from fairlead.core.errors import OperatorError
from fairlead.runtime.data.decisions_file import FILE, DecisionsFile, read_decisions


def test_what_was_appended_is_read_in_order_also_while_it_is_written(tmp_path: Path) -> None:
    file = DecisionsFile(tmp_path)
    file.append([Record(b'{"n": 1}'), Record(b'{"n": 2}')])
    assert [item["record"]["n"] for item in read_decisions(tmp_path)] == [1, 2]
    file.append([Record(b'{"n": 3}')])
    assert [item["record"]["n"] for item in read_decisions(tmp_path)] == [1, 2, 3]
    file.close()
    again = DecisionsFile(tmp_path)
    again.append([Record(b'{"n": 4}')])
    assert [item["sequence"] for item in read_decisions(tmp_path)] == [1, 2, 3, 4]
    again.close()


def test_an_attempt_is_read_with_what_its_batch_had_read(tmp_path: Path) -> None:
    file = DecisionsFile(tmp_path)
    batch = b'{"time":"t","batch":1,"policy":["default",3],"reads":{"nodes":[7,7]},"assumed":[]}'
    lines = [b'{"time":"t","batch":1,"position":0}', b'{"time":"u","batch":1,"position":0}']
    file.append([Record(lines[0]), Record(batch), Record(lines[0]), Record(lines[1])])
    first, _, whole, other = (item["record"] for item in read_decisions(tmp_path))
    assert (whole["policy"], whole["reads"]) == (["default", 3], {"nodes": [7, 7]})
    assert "reads" not in first
    assert "reads" not in other
    file.close()


def test_an_attempt_that_was_merged_takes_nothing_from_the_batch_it_is_written_with(tmp_path: Path) -> None:
    file = DecisionsFile(tmp_path)
    said = b'"policy":["default",3],"reads":{"nodes":[7,7]},"assumed":[]'
    ours, before = b'{"time":"u","batch":2,%b}' % said, b'{"time":"t","batch":1,%b}' % said
    attempts = [b'{"time":"%b","batch":%d,"position":0}' % each for each in ((b"t", 1), (b"u", 2), (b"u", 2))]
    file.append([Record(each) for each in (ours, before, *attempts)])
    assert all("reads" in item["record"] for item in read_decisions(tmp_path))
    file.close()


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    file = DecisionsFile(tmp_path, kept_max=10)
    for number in range(95):
        file.append([Record(b'{"n": %d}' % number)])
    left = [item["record"]["n"] for item in read_decisions(tmp_path)]
    assert left == list(range(95))[-len(left) :]
    assert 10 <= len(left) < 20
    file.close()


def test_a_directory_without_decisions_and_a_damaged_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="has no decisions: name the directory of a `fairlead control`"):
        list(read_decisions(tmp_path))
    (tmp_path / FILE).write_bytes(b"nothing that SQLite knows" * 100)
    with pytest.raises(OperatorError, match="cannot be used"):
        list(read_decisions(tmp_path))
    with pytest.raises(OperatorError, match="cannot be used"):
        DecisionsFile(tmp_path)
