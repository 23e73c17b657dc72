"""Coupling as a picture: writers on the left, what they write in the middle, readers on the right. Pure.

`dot` for Graphviz, which lays it out itself; `svg` is complete as it is, with no script, font or address of its own.
Both take couplings as JSON has them, from a running plane or from the sources alone (`docs/generate.py`). Where there
are too many fields to be read, what is written is drawn by its resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

Json = dict[str, Any]
_COLOURS = {
    "shared field": "#4c78a8",
    "shared capacity": "#e45756",
    "shared API budget": "#b279a2",
    "cache lag": "#9d755d",
    "label mutation": "#f58518",
    "overlapping ownership": "#d62728",
    "aligned timers": "#72b7b2",
}
_ROW, _TOP, _WIDTH, _COLUMNS = 20, 60, 1080, (20, 400, 860)
_FIELDS_SHOWN = 3
_EDGES_MAX, _TEXT_MAX = 150, 62
_BY_PEOPLE = ("people", "*")


class _Edge(NamedTuple):
    writer: str
    middle: str
    reader: str
    form: str
    writes: int


def dot(couplings: Iterable[Json]) -> str:
    lines = ["digraph coupling {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif", fontsize=10];']
    edges = _edges(couplings)
    for name in sorted({each.middle for each in edges}):
        lines.append(f"  {_quoted('= ' + name)} [label={_quoted(name)}, shape=ellipse];")
    for (writer, middle, form), writes in _written(edges).items():
        label = f"{form} ({writes})" if writes else form
        lines.append(
            f"  {_quoted(writer)} -> {_quoted('= ' + middle)} [color={_quoted(_COLOURS[form])},"
            f" label={_quoted(label)}, fontsize=8];"
        )
    for middle, reader in sorted({(each.middle, each.reader) for each in edges}):
        lines.append(f"  {_quoted('= ' + middle)} -> {_quoted(reader + ' ')};")
    for reader in sorted({each.reader for each in edges}):
        lines.append(f"  {_quoted(reader + ' ')} [label={_quoted(reader)}, style=bold];")
    return "\n".join([*lines, "}", ""])


def svg(couplings: Iterable[Json], title: str = "Who can change whose inputs") -> str:
    """One column of writers, one of what they write, one of readers; lines are drawn in the colour of their form."""
    edges = _edges(couplings)
    columns = [
        sorted({each.writer for each in edges}),
        sorted({each.middle for each in edges}),
        sorted({each.reader for each in edges}),
    ]
    rows = max(map(len, columns), default=0)
    height = _TOP + rows * _ROW + 40 + _ROW * len(_COLOURS)
    places = [_places(names, rows) for names in columns]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="24" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    heads = zip(_COLUMNS, ("writer", "field", "reader"), strict=True)
    lines += [f'<text x="{x}" y="44" fill="#666666">{head}</text>' for x, head in heads]
    for (writer, middle, form), writes in _written(edges).items():
        told = f"{writer} writes {middle}: {form}" + (f", {writes} times" if writes else "")
        start = (_COLUMNS[0] + 190, places[0][writer])
        lines.append(_line(start, (_COLUMNS[1] - 6, places[1][middle]), _COLOURS[form], told))
    for middle, reader in sorted({(each.middle, each.reader) for each in edges}):
        told = f"{reader} decides on {middle}"
        start = (_COLUMNS[1] + 370, places[1][middle])
        lines.append(_line(start, (_COLUMNS[2] - 6, places[2][reader]), "#bbbbbb", told))
    for x, names, place in zip(_COLUMNS, columns, places, strict=True):
        lines += [f'<text x="{x}" y="{place[name] + 4}">{escape(_cut(name))}</text>' for name in names]
    for number, (form, colour) in enumerate(_COLOURS.items()):
        y = _TOP + rows * _ROW + 30 + number * _ROW
        lines.append(f'<line x1="20" y1="{y}" x2="60" y2="{y}" stroke="{colour}" stroke-width="3"/>')
        lines.append(f'<text x="70" y="{y + 4}">{form}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _edges(couplings: Iterable[Json]) -> list[_Edge]:
    """People can change whatever they have rights for: they are drawn where they did."""
    drawn = [each for each in couplings if (each["writer"], each["fields"][0]) != _BY_PEOPLE]
    is_coarse = len(drawn) > _EDGES_MAX
    found: dict[_Edge, int] = {}
    for each in drawn:
        edge = _Edge(each["writer"], _middle(each, is_coarse), each["reader"], each["form"], 0)
        found[edge] = found.get(edge, 0) + int(each.get("writes", 0))
    return sorted(edge._replace(writes=writes) for edge, writes in found.items())


def _written(edges: Iterable[_Edge]) -> dict[tuple[str, str, str], int]:
    """The left half, which is the same for every reader."""
    found: dict[tuple[str, str, str], int] = {}
    for each in edges:
        key = (each.writer, each.middle, each.form)
        found[key] = max(found.get(key, 0), each.writes)
    return found


def _middle(coupling: Json, is_coarse: bool) -> str:
    if is_coarse:
        return str(coupling["resource"])
    fields: Sequence[str] = coupling["fields"]
    more = f" and {len(fields) - _FIELDS_SHOWN} more" if len(fields) > _FIELDS_SHOWN else ""
    return f"{coupling['resource'].partition('.')[0]}: {', '.join(fields[:_FIELDS_SHOWN])}{more}"


def _places(names: Sequence[str], rows: int) -> dict[str, int]:
    """Spread over the height that the longest column takes."""
    step = rows * _ROW / max(1, len(names))
    return {name: int(_TOP + step * (number + 0.5)) for number, name in enumerate(names)}


def _line(start: tuple[int, int], end: tuple[int, int], colour: str, told: str) -> str:
    bend = (start[0] + end[0]) // 2
    path = f"M{start[0]},{start[1]} C{bend},{start[1]} {bend},{end[1]} {end[0]},{end[1]}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-opacity="0.7"><title>{escape(told)}</title></path>'


def _cut(text: str) -> str:
    """What fits into its column; the lines that end there have the whole of it as their title."""
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
