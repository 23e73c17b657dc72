"""`fairlead check` of directories that lost changes, and of those that are none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.runtime.data.archive import write_backup
from fairlead.runtime.data.decisions_file import FILE, DecisionsFile
from tests.unit.store.rot import NOW, fill


def test_it_says_what_a_backup_has_of_changes_that_were_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane, early, late = tmp_path / "plane", tmp_path / "early.fairlead", tmp_path / "late.fairlead"
    fill(plane, close=True)
    write_backup(plane, early, NOW)
    older = shutil.copy(plane / "store.db", tmp_path / "older.db")
    fill(plane, close=True)
    write_backup(plane, late, NOW)
    shutil.copy(older, plane / "store.db")
    assert main(["check", str(plane), "--backup", str(late)]) == 1
    told = capsys.readouterr().out
    assert "LOST: the store was closed at revision 180, and is at 90" in told
    assert "is of revision 180: it has what was lost up to there" in told
    assert main(["check", str(plane), "--backup", str(early)]) == 1
    assert "no newer than what is left: it has nothing of what was lost" in capsys.readouterr().out


def test_a_directory_of_a_control_plane_is_told_to_have_nothing_that_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    DecisionsFile(tmp_path).close()
    assert main(["check", str(tmp_path)]) != 0
    assert f"{FILE} has no digests that could be checked" in capsys.readouterr().err
