"""Files that people name on the command line and that cannot be used: wrong usage, with the place where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.manifests import documents
from fairlead.cli.sim.artifacts import load_artifact
from fairlead.cli.sim.scenario import read_scenario
from fairlead.core.errors import UsageError


@pytest.mark.parametrize("read", [load_artifact, read_scenario])
def test_a_file_that_is_not_there_is_wrong_usage(read: object, tmp_path: Path) -> None:
    assert callable(read)
    with pytest.raises(UsageError, match="nope cannot be read: no such file or directory"):
        read(tmp_path / "nope")


def test_a_manifest_that_is_no_yaml_is_told_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("kind: Pod\nmetadata:\n  name: [x\n")
    with pytest.raises(UsageError, match=r"bad\.yaml is not YAML: line 4: expected ',' or ']'"):
        list(documents([str(file)]))


def test_a_scenario_that_is_no_text_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(b"\x00\xff\xfe")
    with pytest.raises(UsageError, match=r"bad\.yaml: this is not YAML"):
        read_scenario(file)
