"""`fairlead token create -o FILE`: a file for its owner alone, or no file and no token."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.runtime.credentials import identity, kubeconfig


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    identity.ensure(tmp_path / "data", "127.0.0.1", 7443, time.time())
    return tmp_path / "data"


def create(data_dir: Path, file: Path, name: str = "eve") -> int:
    return main(
        ["token", "create", "--role", "viewer", "--name", name, "--data-dir", str(data_dir), "-o", str(file)]
    )


def names(data_dir: Path) -> list[str]:
    return [entry.name for entry in identity.of(data_dir).tokens.entries()]


@pytest.mark.parametrize("ending", ["kubeconfig", "token", "json"])
def test_the_file_is_its_owners_alone_whatever_the_umask(data_dir: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"eve.{ending}"
    before = os.umask(0)
    try:
        assert create(data_dir, file) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    if ending == "kubeconfig":
        token = kubeconfig.load(file).token
    else:
        token = json.loads(file.read_text())["token"] if ending == "json" else file.read_text().strip()
    user = identity.of(data_dir).tokens.tokens().user_of(token)
    assert user is not None
    assert user.name == "eve"


def test_a_file_that_is_there_is_left_alone_and_no_token_made(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link.token").symlink_to(tmp_path / "mine")
    for file in (tmp_path / "mine", tmp_path / "link.token", tmp_path / "nowhere" / "x"):
        assert create(data_dir, file) == 2
    assert (tmp_path / "mine").read_text() == "mine"
    assert names(data_dir) == ["admin"]


def test_a_name_that_is_taken_leaves_no_file_and_the_token_as_it_was(data_dir: Path, tmp_path: Path) -> None:
    assert create(data_dir, tmp_path / "a.token") == 0
    assert create(data_dir, tmp_path / "b.token") == 2
    assert not (tmp_path / "b.token").exists()
    assert "eve" in names(data_dir)


def test_a_token_that_could_not_be_written_down_is_taken_back(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fairlead.cli.token.kubeconfig.render", full)
    assert create(data_dir, tmp_path / "eve.kubeconfig") != 0
    assert not (tmp_path / "eve.kubeconfig").exists()
    assert names(data_dir) == ["admin"]
