"""Tables in the documentation that benches write: each between two marks of its own. Used by `zoo.py`, `shrinking.py`."""

from __future__ import annotations

from collections.abc import Sequence

from bench.pieces import ROOT

PAGE = ROOT / "docs" / "reference" / "zoo.md"


def put_table(name: str, lines: Sequence[str]) -> None:
    """In place of what is between its marks."""
    begin, end = f"<!-- table: {name} -->", f"<!-- end of table: {name} -->"
    before, found, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{PAGE.name} has no place for the table {name}")
    text = "\n".join(lines)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
