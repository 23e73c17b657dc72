"""Manifests as kubectl's `-f` takes them: files, directories, standard input; several of them. Used by `plan`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlead.core.errors import UsageError

_STANDARD_INPUT = "-"
_SUFFIXES = (".json", ".yaml", ".yml")  # what of a directory is read, as by kubectl


def documents(names: Sequence[str], recursive: bool = False) -> Iterator[dict[str, Any]]:
    """Every object in all of them, in the order given; files of a directory by name."""
    if names.count(_STANDARD_INPUT) > 1:
        raise UsageError("-f - reads standard input, which can be read once: give it once")
    for name in names:
        for file in _files(name, recursive):
            yield from _objects(file)


def _files(name: str, recursive: bool) -> list[str]:
    path = Path(name)
    if name == _STANDARD_INPUT or not path.is_dir():
        return [name]
    found = path.rglob("*") if recursive else path.iterdir()
    files = sorted(str(each) for each in found if each.suffix in _SUFFIXES and each.is_file())
    if not files:
        below = "" if recursive else "; -R looks into the directories below it, too"
        raise UsageError(f"{name} has no file that ends in {', '.join(_SUFFIXES)}{below}")
    return files


def _objects(file: str) -> Iterator[dict[str, Any]]:
    import yaml  # only here

    try:
        text = sys.stdin.read() if file == _STANDARD_INPUT else Path(file).read_text("utf-8")
        found = [each for each in yaml.safe_load_all(text) if each is not None]
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        raise UsageError(f"{file} is not YAML: {line}{error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not YAML: {str(error).splitlines()[0]}") from error
    for each in found:
        _check(file, each)
        for item in (each.get("items") or ()) if each["kind"] == "List" else (each,):
            _check(file, item)
            yield item


def _check(file: str, found: Any) -> None:
    if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
        raise UsageError(f"{file} has a document that is no object: apiVersion and kind are needed")
