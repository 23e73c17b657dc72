"""Directories and a backup that release 0.2.0 left: all of it is there, checked, and nothing is said to be damaged."""

from __future__ import annotations

import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import pytest

from fairlead.runtime.data import archive
from tests.unit.store.test_format_1 import opened

FIXTURES = Path(__file__).parents[2] / "fixtures" / "release-0.2.0"
EXPECTED: dict[str, Any] = json.loads(lzma.decompress((FIXTURES / "expected.json.xz").read_bytes()))


def unpacked(name: str, target: Path) -> Path:
    if name == "backup":
        file = target.with_suffix(".fairlead")
        file.write_bytes(lzma.decompress((FIXTURES / "backup.fairlead.xz").read_bytes()))
        archive.restore_backup(file, target)
    else:
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as content:
            content.extractall(target, filter="data")
    return target


@pytest.mark.parametrize("name", ["data", "killed", "backup"])
def test_all_of_it_is_there_at_the_first_start_and_at_the_next(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path / "plane")
    assert (path / "FORMAT").read_text() == "2\n"
    assert opened(path) == EXPECTED[name]
    assert opened(path) == EXPECTED[name]
    assert len(EXPECTED[name]["objects"]) > 40
