"""Tables and JSON on a terminal or in a pipe. Used by every verb that shows something."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_BOLD, _PLAIN = "\033[1m", "\033[0m"
_GAP = "   "
# Control characters of whoever wrote an object must not reach the terminal of whoever reads it.
_UNPRINTABLE = dict.fromkeys((*range(32), *range(127, 160)), "?")


def colours(stream: TextIO) -> bool:
    """Only on a terminal, and only if nobody asked for none (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_yaml(value: Any) -> None:
    import yaml  # only for -o yaml

    print(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False), end="")


def cell(value: Any) -> str:
    """One value as text that cannot break the table."""
    if value is None or value == "":
        return "<none>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).translate(_UNPRINTABLE)


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[int]:
    """Columns as wide as their widest cell; returns the widths."""
    texts = [[cell(value) for value in row] for row in rows]
    widths = [len(title) for title in header]
    for row in texts:
        for index, text in enumerate(row):
            widths[index] = max(widths[index], len(text))
    line = align(header, widths)
    print(f"{_BOLD}{line}{_PLAIN}" if colours(sys.stdout) else line)
    for row in texts:
        print(align(row, widths))
    return widths


def align(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=False)]
    return _GAP.join([*padded, row[-1]]).rstrip()


def hint(text: str) -> None:
    """What a person wants to know and a script does not: to stderr."""
    print(text, file=sys.stderr)


def changes_later(count: int) -> str:
    """How far behind the newest something was read."""
    return f"{count} change{'' if count == 1 else 's'} later"
