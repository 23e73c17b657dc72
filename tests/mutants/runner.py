"""Runs the tests of a mutant against a copy of the sources that has it, and judges whether they notice.

The copy comes first on PYTHONPATH, before the editable install, for the tests and for every process they start
(`fairlead up`, agents, supervisors). A file is mutated with a time of its own, and gets its old time back, so that Python's
bytecode, kept beside the copy, never stands for another text. Killed is a mutant of whose tests at least one case of each
fails while it runs, with one of the errors that the row allows: not at import, at collection or in a fixture.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant
from tests.mutants.witness import VARIABLE

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "fairlead"
SECONDS_MAX = 300  # a mutant that hangs a test is killed by that test's own timeout, or counts as not noticed


@dataclass(frozen=True)
class Verdict:
    killed: bool
    why: str
    seconds: float


class Copy:
    """A copy of the sources in a directory of its own. One mutant at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._package = directory / "fairlead"
        self._mutations = 0
        shutil.copytree(SOURCES, self._package, ignore=shutil.ignore_patterns("__pycache__"))

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        path = self._package / mutant.file
        text, before = path.read_text(), path.stat()
        if text.count(mutant.text) != 1:
            raise ValueError(f"{mutant.file} has this {text.count(mutant.text)} times: {mutant.text}")
        self._mutations += 1
        path.write_text(text.replace(mutant.text, mutant.replacement))
        os.utime(path, (before.st_atime, before.st_mtime + 10 * self._mutations))
        try:
            yield
        finally:
            path.write_text(text)
            os.utime(path, (before.st_atime, before.st_mtime))

    def run(self, tests: Sequence[str]) -> dict[str, Any]:
        """What the witness tells of a run of these tests; `output`: what pytest printed."""
        told = self._directory / "witness.json"
        told.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(self._directory),
            "PYTHONPYCACHEPREFIX": str(self._directory / "bytecode"),
            VARIABLE: str(told),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment.pop("FAIRLEAD_SOAK", None)
        words = [sys.executable, "-m", "pytest", "-p", "tests.mutants.witness", "-m", "not soak"]
        words += ["-p", "no:randomly", "--tb=short", f"--timeout={SECONDS_MAX}", *tests]
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        if not told.exists():
            return {
                "imported": "",
                "failures": [],
                "passed": [],
                "not_collected": [output[-600:]],
                "output": output,
            }
        return {**json.loads(told.read_text()), "output": output}

    def is_imported(self, told: dict[str, Any]) -> bool:
        return bool(told["imported"] == str(self._package))

    def try_mutant(self, mutant: Mutant) -> Verdict:
        begun = time.monotonic()
        with self.mutated(mutant):
            told = self.run(mutant.killers)
        why = self._complaint(mutant, told)
        return Verdict(not why, why or _seen(told), time.monotonic() - begun)

    def _complaint(self, mutant: Mutant, told: dict[str, Any]) -> str:
        """Why it does not count as killed; "" if it does."""
        if told["not_collected"]:
            return f"the tests cannot be collected: {told['not_collected'][0]}"
        if not self.is_imported(told):
            return f"fairlead was imported from {told['imported']}"
        for each in told["failures"]:
            if each["when"] != "call":
                return f"{each['test']} failed in {each['when']} with {each['error']}"
            if each["error"] not in mutant.errors:
                return f"{each['test']} failed with {each['error']}, not with {' or '.join(mutant.errors)}"
        failed = {each["test"].partition("[")[0] for each in told["failures"]}
        survived = [each for each in mutant.killers if each not in failed]
        return f"it survives {', '.join(survived)}" if survived else ""


def _seen(told: dict[str, Any]) -> str:
    failures = told["failures"]
    return f"{failures[0]['error']}, {len(failures)} failed, {len(told['passed'])} passed"
