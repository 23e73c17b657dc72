"""Where a captured incident goes: a file for its owner alone, whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from fairlead.cli.sim.artifacts import load_artifact, write_incident
from fairlead.core.errors import OperatorError
from fairlead.replay.artifact import Artifact, ArtifactHead

HEAD = ArtifactHead(fairlead="0.2.0", python="3.11.7", world="tiny")
ARTIFACT = Artifact(head=HEAD, scenario={"name": "tiny"}, faults={"kind": "Faults"})


def test_only_its_owner_may_read_it_also_in_place_of_another(tmp_path: Path) -> None:
    file = tmp_path / "it.incident"
    file.write_bytes(b"of before")
    file.chmod(0o644)
    size = write_incident(file, ARTIFACT)
    assert (file.stat().st_size, stat.S_IMODE(file.stat().st_mode)) == (size, 0o600)
    assert load_artifact(file) == ARTIFACT
    assert list(tmp_path.iterdir()) == [file]


def test_what_was_there_stays_if_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "it.incident"
    file.write_bytes(b"of before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        OperatorError, match=r"it\.incident cannot be written: No space left on device; name another"
    ):
        write_incident(file, ARTIFACT)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("it.incident", b"of before")]


@pytest.mark.parametrize("name", ["missing/it.incident", "", "a" * 300])
def test_a_place_that_takes_no_file_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(OperatorError, match="cannot be written"):
        write_incident(tmp_path / name, ARTIFACT)


def test_a_device_is_written_to_and_not_replaced() -> None:
    with pytest.raises(OperatorError, match="/dev/full cannot be written: No space left on device"):
        write_incident(Path("/dev/full"), ARTIFACT)
    write_incident(Path("/dev/null"), ARTIFACT)
    assert Path("/dev/null").is_char_device()
