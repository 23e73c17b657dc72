"""kubectl as an operator uses it: a command line in, what it printed out. Used by every test in this folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.clients.reading import plain_question, reader_of
from tests.running import need_kubectl

MEETS = re.compile(
    r"^Warning: .* meets [a-z-]+, which "
)  # what is said of a write past a controller (test_forecast.py)
AGE = re.compile(r"^(\d+[smhd])+$")


class Done(NamedTuple):
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Operator:
    """Somebody at a terminal. Command lines are split as a shell would; bodies go in as standard input."""

    kubeconfig: Path
    namespace: str = ""

    def inside(self, namespace: str) -> Operator:
        return replace(self, namespace=namespace)

    def run(self, line: str, stdin: Any = "", **environment: str) -> Done:
        """Run to the end, whatever the outcome. `stdin` may be an object or a list of them."""
        done = subprocess.run(
            self._words(line),
            input=_text(stdin),
            capture_output=True,
            text=True,
            timeout=120,
            env=self._environment(environment),
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def __call__(self, line: str, stdin: Any = "", **environment: str) -> str:
        """What a command that must succeed printed; what it warned of counts as a failure."""
        done = self.run(line, stdin, **environment)
        assert done.code == 0, f"kubectl {line}: exit {done.code}: {done.out}{done.err}"
        warned = [each for each in done.err.splitlines() if not MEETS.match(each)]
        assert not warned, f"kubectl {line} warned: {done.err}"
        return done.out

    def refused(self, line: str, stdin: Any = "", **environment: str) -> str:
        """What a command that must fail with exit code 1 said on standard error."""
        done = self.run(line, stdin, **environment)
        assert done.code == 1, f"kubectl {line}: exit {done.code}: {done.out}{done.err}"
        assert "panic" not in done.err
        assert "Traceback" not in done.err
        return done.err

    def asked(self, line: str) -> str:
        """What a plain `get` prints, without a kubectl where that is not what is tested (`reading.py`)."""
        question, reader = plain_question(line), reader_of(self.kubeconfig)
        found = reader.get(question, self.namespace) if question and reader else None
        return self(line) if found is None else found

    def yaml(self, line: str, stdin: Any = "") -> Any:
        return yaml.safe_load(self(f"{line} -o yaml", stdin))

    @contextmanager
    def started(
        self, line: str, told: Path | None = None, **environment: str
    ) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on, such as a watch; read its `stdout` line by line.

        `told`: the file for what it says on standard error, which otherwise is among the rest.
        """
        with open(told or os.devnull, "w") as file:
            process = subprocess.Popen(
                self._words(line),
                stdout=subprocess.PIPE,
                stderr=file if told else subprocess.STDOUT,
                text=True,
                env=self._environment(environment),
            )
        # A line that never comes would hold the reader for ever: with the end of the process it reads "".
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()
            process.communicate()

    def _words(self, line: str) -> list[str]:
        chosen = ["--namespace", self.namespace] if self.namespace else []
        return [need_kubectl(), *chosen, *shlex.split(line)]

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        # kubectl keeps what it discovered in the home directory: one per server, or it would mix them up.
        home = str(self.kubeconfig.parent)
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": home, **more}


def table(text: str) -> list[dict[str, str]]:
    """Rows by column name; an age reads `AGE`. Empty cells are found by where the heading starts."""
    heading, *lines = text.rstrip("\n").split("\n")
    names = list(re.finditer(r"\S+(?: \S+)*", heading))
    starts = [match.start() for match in names]
    ends = [*starts[1:], None]
    rows = []
    for line in lines:
        cells = (line[start:end].strip() for start, end in zip(starts, ends, strict=True))
        rows.append(
            {
                name.group(): "AGE" if AGE.match(cell) else cell
                for name, cell in zip(names, cells, strict=True)
            }
        )
    return rows


def columns(text: str) -> list[str]:
    """The headings of a table."""
    return re.split(r" {2,}", text.split("\n")[0].strip())


def _text(stdin: Any) -> str:
    if isinstance(stdin, str):
        return stdin
    documents = stdin if isinstance(stdin, list) else [stdin]
    # Not as YAML: the two sides disagree on whether an unquoted y is a text.
    return "\n".join(json.dumps(document) for document in documents)
