"""Transcripts of the command line: a command, what it prints, its exit code if that is not 0.

A line `$ ...` is a command; what follows is its output, lines of stderr marked `! `, then `? CODE`. Lines that
start with `#` are comments. FAIRLEAD_TRANSCRIPTS=write writes them anew; review the difference like code.
What argparse words itself differs between versions of Python, and stays out of them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.runtime.credentials import identity, kubeconfig
from tests.transcript import planes, stub_api

TRANSCRIPTS = sorted((Path(__file__).parent / "cli").glob("*.txt"))
NOW = 1_800_000_000.0
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: i}]%s}\n"
MANIFESTS = {
    "shop/a.yaml": _POD % ("web", ""),
    "shop/b.yml": _POD % ("later", ", schedulingGates: [{name: shop/paid}]"),
    "shop/notes.txt": "no manifest",
    "shop/below/c.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "deep"}, "spec": {}}',
    "empty/readme": "",
    "broken/d.yaml": "a: [",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A directory with a data directory whose kubeconfig leads to the stub; the clock stands still."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    made = identity.ensure(Path("fairlead-data"), "127.0.0.1", 7443, NOW)
    made.tokens.admit(stub_api.TOKEN, "admin", "admin", NOW)
    with stub_api.serving() as address:
        for name, url, token in (
            ("fairlead-data/kubeconfig", address, stub_api.TOKEN),
            ("stranger", address, "fairlead_" + "x" * 43),
            ("closed", "http://127.0.0.1:1", stub_api.TOKEN),
        ):
            kubeconfig.write(Path(name), url, "CA", "admin", token)
        for name, text in MANIFESTS.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        planes.make(NOW)
        monkeypatch.setattr("time.time", lambda: NOW)
        yield address


def blocks(text: str) -> Iterator[tuple[list[str], str]]:
    """(comment and blank lines, command) in order."""
    before: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            yield before, line[2:]
            before = []
        elif line.startswith("#"):
            before.append(line)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_command_line_prints_what_the_transcript_shows(
    path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[str] = []
    for comments, command in blocks(path.read_text()):
        program, *arguments = shlex.split(command)
        assert program == "fairlead"
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse ends this way after --help
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        written += ["", *comments, f"$ {command}", *captured.out.splitlines()]
        written += [f"! {line}" for line in captured.err.splitlines()]
        written += [f"? {code}"] if code else []
    text = "\n".join(written[1:]) + "\n"
    text = text.replace(server, "http://127.0.0.1:PORT")
    text = re.sub(r"fairlead_[\w-]{43}", "fairlead_TOKEN", text)
    text = re.sub(r"certificate-authority-data: \S+", "certificate-authority-data: CA", text)
    text = text.replace("\x1b", "<ESC>")
    if os.environ.get("FAIRLEAD_TRANSCRIPTS") == "write":
        path.write_text(text)
    assert text == path.read_text()
