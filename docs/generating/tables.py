"""Tables of a page, and names in them."""

from __future__ import annotations

from collections.abc import Iterable


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *[list(row) for row in rows]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"
