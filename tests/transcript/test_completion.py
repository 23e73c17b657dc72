"""What a shell offers after the script of `fairlead completion`."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
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


OFFERED: tuple[tuple[str, set[str]], ...] = (
    ("fairlead exp", {"explain"}),
    ("fairlead st", {"status", "stop"}),
    ("fairlead audit --peo", {"--people"}),
    ("fairlead get -o ", {"table", "wide", "json", "yaml", "name"}),
    ("fairlead get pods --output y", {"yaml"}),
    ("fairlead token re", {"revoke"}),
    ("fairlead token create --role v", {"viewer"}),
    ("fairlead get --no-such", set()),
)


@pytest.mark.parametrize(("typed", "offered"), OFFERED)
def test_bash_completes(bash: str, typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"{bash}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fairlead; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(tmp_path: Path) -> None:
    (tmp_path / "fairlead.fish").write_text(script("fish"))
    (tmp_path / "requirements.txt").touch()  # no file is offered where a word is wanted
    asked = "".join(f"echo ask; complete -C '{typed}'; " for typed, _ in OFFERED)
    words = ["fish", "--no-config", "-c", f"source fairlead.fish; {asked}"]
    home = {**ENVIRONMENT, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=home, capture_output=True, text=True, check=True)
    answers = [
        {line.split("\t")[0] for line in part.splitlines()} - {""} for part in done.stdout.split("ask\n")[1:]
    ]
    assert answers == [offered for _, offered in OFFERED]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_what_is_typed(tmp_path: Path) -> None:
    """Through a terminal, as people do it: what has one continuation is completed by the tabulator."""
    (tmp_path / "script").write_text(script("zsh"))
    (tmp_path / "rc").write_text(
        "PS1=\nautoload -U compinit; compinit -D -u\n. ./script\n"
        "fairlead() { print -r -- '<'$*'>' }\nprint -r -- '<'ready'>'\n"
    )
    typed = [(words, next(iter(offered))) for words, offered in OFFERED if len(offered) == 1]
    expected = [f"{words.rpartition(' ')[0]} {offered}".removeprefix("fairlead ") for words, offered in typed]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        plain = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(tmp_path)}
        os.execvpe("zsh", ["zsh", "-f", "-i"], plain)
    try:
        os.write(terminal, b". ./rc\n")
        answers = [_told(terminal)]
        for words, _ in typed:
            os.write(terminal, f"{words}\t\n".encode())
            answers.append(_told(terminal))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    assert answers == ["ready", *expected]


def _told(terminal: int) -> str:
    """What the shell says next between angles; what is typed is echoed without any."""
    heard = b""
    while (found := re.search(rb"<([^<>']*)>", heard)) is None:
        if not select.select([terminal], [], [], 20)[0]:
            return f"nothing but {heard!r}"
        heard += os.read(terminal, 65536)
    return found[1].decode().strip()
