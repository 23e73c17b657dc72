"""Reading and writing of artifacts for the actions of `fairlead sim`, with a sentence for whatever can be wrong."""

from __future__ import annotations

import argparse
import os
from math import isfinite
from pathlib import Path

from fairlead.core.errors import DataDirectoryError, OperatorError, UsageError
from fairlead.replay.artifact import Artifact, read_artifact, write_artifact
from fairlead.runtime.private_files import write_private


def add_folder(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--artifacts", type=Path, metavar="DIR", help=f"keep an artifact of each {what} there"
    )


def parse_seconds(text: str) -> float:
    """For `type=`."""
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not isfinite(seconds) or seconds < 0:
        raise argparse.ArgumentTypeError("seconds are at least 0")
    return seconds


def make_folder(folder: Path | None) -> None:
    """Before anything runs: nobody wants to learn afterwards that nothing can be kept."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperatorError(f"{folder} cannot be made: {error.strerror}; name another --artifacts") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OperatorError(f"nothing can be written into {folder}: name another --artifacts")


def keep_artifact(folder: Path, name: str, artifact: Artifact) -> Path:
    file = folder / f"{name}.jsonl"
    write_file(file, write_artifact(artifact))
    return file


def write_file(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise OperatorError(f"{file} cannot be written: {error.strerror}") from None


def write_incident(file: Path, artifact: Artifact) -> int:
    """How many bytes it has. It holds objects of all namespaces, so only its owner may read it; what was captured into
    that file before is there until this is, whole."""
    data = write_artifact(artifact)
    try:
        if file.exists() and not file.is_file():  # a pipe, or `/dev/stdout`
            write_file(file, data)
        else:
            write_private(file, data)
    except (DataDirectoryError, OSError) as error:  # to ask whether it exists may be refused as well
        cause = error if isinstance(error, OSError) else error.__cause__
        why = cause.strerror if isinstance(cause, OSError) else str(error)
        raise OperatorError(f"{file} cannot be written: {why}; name another with -o") from None
    return len(data)


def load_artifact(file: Path) -> Artifact:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    try:
        return read_artifact(data)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
