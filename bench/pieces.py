"""Long runs in pieces: a JSON file is written after every piece, and a later run of the same sources goes on from it.

Used by what `make soak` runs: `soak.py`, `kills.py`, `outage.py`. Whether sources are the same is told by a hash over
them, so a commit in between that changes none of them does no harm. With --seconds a run stops by itself, between two
pieces, with exit code 75: there is more to do.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import fairlead

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
MORE_TO_DO = 75

Json = dict[str, Any]


class OutOfTimeError(Exception):
    """The seconds of this run are over."""


class Pieces:
    """What is told so far, here and in the file; `head` comes first in it and must be the same to go on."""

    def __init__(self, options: argparse.Namespace, head: Json) -> None:
        self._file: Path = options.file
        self._until = time.monotonic() + options.seconds if options.seconds else float("inf")
        self._head = {**head, "sources": sources()}
        self.told: Json = {} if options.afresh else self._begun()

    def _begun(self) -> Json:
        """What a former run of the same sources left, or nothing."""
        if self._file.exists():
            told: Json = json.loads(self._file.read_text())
            if all(told.get(name) == value for name, value in self._head.items()):
                return told
        return {}

    def check_time(self, needed_seconds: float = 0.0) -> None:
        """Before each piece: whether there is time for one that takes so long."""
        if time.monotonic() + needed_seconds > self._until:
            raise OutOfTimeError

    def write(self, told: Json) -> None:
        head = {**self._head, "commit": commit(), "python": platform.python_version()}
        self.told = {**head, **{name: value for name, value in told.items() if name not in head}}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps(self.told, indent=2) + "\n")
        beside.replace(self._file)

    def more_to_do(self) -> int:
        say(f"there is more to do: run this again; so far: {self._file}")
        return MORE_TO_DO


def arguments(description: str | None, file: Path) -> argparse.ArgumentParser:
    """With the options that all of them have: `make soak ARGS=...` passes these on."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="stop after this long; 0: when all is done"
    )
    parser.add_argument("--file", type=Path, default=file)
    parser.add_argument("--afresh", action="store_true", help="do not go on with what the file holds")
    return parser


def chunks(start: int, end: int, size: int) -> Iterator[range]:
    for first in range(start, end, size):
        yield range(first, min(first + size, end))


def sources() -> str:
    """A hash over everything that a run depends on."""
    package = Path(fairlead.__file__).parent
    files = sorted(each for each in package.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    total = blake2b(digest_size=16)
    for each in files:
        total.update(f"{each.relative_to(package)}\0".encode() + blake2b(each.read_bytes()).digest())
    return total.hexdigest()


def commit() -> str:
    """Of the checkout, with a mark if the sources are not as committed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return git("rev-parse", "HEAD") + (" with changes" if changed else "")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
