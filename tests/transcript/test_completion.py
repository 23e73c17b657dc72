"""What a shell offers after the script of `fairlead completion`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "fairlead.cli.main", "completion"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


def script(shell: str) -> str:
    return subprocess.run(
        [*COMMAND, shell], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def bash() -> str:
    return script("bash")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("fairlead exp", {"explain"}),
        ("fairlead st", {"status", "stop"}),
        ("fairlead audit --peo", {"--people"}),
        ("fairlead get -o ", {"table", "wide", "json", "yaml", "name"}),
        ("fairlead get pods --output y", {"yaml"}),
        ("fairlead token re", {"revoke"}),
        ("fairlead token create --role v", {"viewer"}),
        ("fairlead get --no-such", set()),
    ],
)
def test_bash_completes(bash: str, typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"{bash}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fairlead; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == offered


def test_the_others_have_the_same_words() -> None:
    zsh, fish = script("zsh"), script("fish")
    assert zsh.startswith("autoload -U +X bashcompinit")
    assert "complete -c fairlead -n '__fish_seen_subcommand_from audit' -l people" in fish
    wanted = "'__fish_seen_subcommand_from token; and __fish_seen_subcommand_from create' -l role -x -a"
    assert wanted in fish
