"""A reader at a terminal: one bash for a whole page, in an empty directory with the repository's parts beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests import nursery
from tests.docs.pages import ROOT, Block
from tests.running import Running

_SENTINEL = "=== block done ==="
# What `make up` gives to `fairlead up`.
MAKE_UP = tuple(re.findall(r"fairlead up (.*) \$\(ARGS\)", (ROOT / "Makefile").read_text())[0].split())


class Reader:
    """Runs blocks in order; variables, directory and server are those the blocks before left behind."""

    def __init__(self, folder: Path, *, prepared: bool) -> None:
        """`prepared`: a server runs and the shell knows it, as the guides assume."""
        self._folder = folder
        self._servers: dict[str, Running] = {}
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / ".venv").symlink_to(Path(sys.prefix))
        environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PWD")}
        environment |= {"HOME": str(folder), "TERM": "dumb"}
        if prepared:
            self._start("fairlead-data")
            environment["KUBECONFIG"] = str(folder / "fairlead-data/kubeconfig")
            programs = (nursery.command().parent, folder / ".venv/bin", environment["PATH"])
            environment["PATH"] = os.pathsep.join(map(str, programs))
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment,
        )
        self._say("set -eo pipefail")

    def do(self, block: Block) -> None:
        """Run one block and compare what it prints."""
        word, _, rest = block.marker.partition(" ")
        if word == "start":
            self._start(rest or "fairlead-data", MAKE_UP if "make up" in block.body else ())
        elif word in ("yes", "fails"):
            printed = self._run(block, fails=word == "fails")
            _compare(block, printed)
        else:
            assert word == "no,", f"line {block.line}: unknown marker {block.marker!r}"

    def files(self) -> set[str]:
        """What the page left in the reader's directory."""
        ours = {"examples", "fairlead-data", "fairlead-data.log"}
        return {each.name for each in self._folder.iterdir() if not each.name.startswith(".")} - ours

    def objects(self) -> set[str]:
        """Those that people make, on the server that was prepared."""
        kinds = "namespaces,nodes,pods,configmaps,secrets,deployments,priorityclasses"
        kubeconfig = self._folder / "fairlead-data/kubeconfig"
        shown = subprocess.run(
            ["kubectl", "--kubeconfig", kubeconfig, "get", kinds, "-A", "-o", "name"],
            capture_output=True,
            text=True,
            check=True,
        )
        return set(shown.stdout.split())

    def close(self) -> None:
        if self._bash.stdin is not None:
            self._bash.stdin.close()
        self._bash.wait(60)
        if self._bash.stdout is not None:
            self._bash.stdout.close()
        for server in self._servers.values():
            if server.process.poll() is None:
                server.stop()

    def _start(self, name: str, arguments: tuple[str, ...] = ()) -> None:
        known = self._servers.get(name)
        if known is not None:
            known.process.wait(60)  # the page has stopped it by now
        port = known.port if known else 0
        self._servers[name] = started = Running(self._folder / name, port, arguments=arguments)
        # A person reads what it prints before going on: on a new directory with nodes, that the sample runs.
        while arguments and known is None and "hello runs" not in (text := started.log.read_text()):
            assert "hello is not ready" not in text, text
            time.sleep(0.1)

    def _run(self, block: Block, *, fails: bool) -> str:
        script = self._folder / ".block.sh"
        script.write_text(block.body)
        sourced = f"source {script} < /dev/null"
        judged = f"if {sourced}; then false; else true; fi" if fails else sourced
        self._say(f"{judged}\necho; echo '{_SENTINEL}'")  # in one go: bash may be gone after the first line
        assert self._bash.stdout is not None
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.strip() == _SENTINEL:
                return "".join(lines)
            lines.append(line)
        expected = "should have been refused" if fails else "failed"
        raise AssertionError(
            f"line {block.line}: the block {expected}:\n{block.body}\nit printed:\n{''.join(lines)}"
        )

    def _say(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(text + "\n")
        self._bash.stdin.flush()


def _compare(block: Block, printed: str) -> None:
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    position = 0
    for expected in block.output:
        pattern = ".*".join(re.escape(part.strip()) for part in " ".join(expected.split()).split("..."))
        for index in range(position, len(lines)):
            if re.fullmatch(pattern, lines[index]):
                position = index + 1
                break
        else:
            raise AssertionError(
                f"line {block.line}: {expected!r} is not printed:\n{block.body}\nprinted:\n{printed}"
            )
