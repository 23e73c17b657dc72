"""Tables of limits: a row for each bound that is declared above its constant in the sources (`Bound`)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import NamedTuple

from generating.tables import table

SOURCES = Path(__file__).parents[2] / "src/fairlead"
_DECLARATION = "#: bound:"


class Bound(NamedTuple):
    """A row of a table of limits, as it is declared above its constant, in one line or more:

    #: bound: TABLE | what is bounded | what happens beyond it
    BODY_BYTES_MAX = 3 * 1024 * 1024
    """

    table: str
    what: str
    beyond: str
    module: str  # below `fairlead.`
    constant: str  # or Class.field

    @property
    def place(self) -> str:
        return f"`{self.module.replace('.', '/')}.py` {self.constant}"

    @property
    def unit(self) -> str:
        name = self.constant.upper()
        return "bytes" if "_BYTES" in name else "seconds" if "_SECONDS" in name else ""


def declared(module: str, source: str) -> Iterable[Bound]:
    lines = source.splitlines()
    names = dict(_constants(ast.parse(source)))
    number = 0
    while number < len(lines):
        number += 1
        text = lines[number - 1].strip()
        if not text.startswith(_DECLARATION):
            continue
        while number < len(lines) and lines[number].strip().startswith("#:"):
            text += " " + lines[number].strip().removeprefix("#:").strip()
            number += 1
        match [each.strip() for each in text.removeprefix(_DECLARATION).split("|")]:
            case [table, what, beyond] if number + 1 in names:
                yield Bound(table, what, beyond, module, names[number + 1])
            case _:
                sys.exit(
                    f"{module}, line {number}: write `{_DECLARATION} TABLE | WHAT | BEYOND` above a constant"
                )


def _constants(tree: ast.Module) -> Iterable[tuple[int, str]]:
    """The line and name of each constant of a module, and of each field of its classes."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in inner:
            targets = each.targets if isinstance(each, ast.Assign) else ()
            target = each.target if isinstance(each, ast.AnnAssign) else next(iter(targets), None)
            if isinstance(target, ast.Name):
                yield target.lineno, prefix + target.id


def _every_bound() -> Iterable[Bound]:
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text()
        if _DECLARATION in source:
            module = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
            yield from declared(module, source)


BOUNDS = tuple(_every_bound())


def value_of(bound: Bound) -> float:
    module = importlib.import_module(f"fairlead.{bound.module}")
    owner, _, field = bound.constant.rpartition(".")
    number: float = (
        signature(getattr(module, owner)).parameters[field].default if owner else getattr(module, field)
    )
    return number


def shown(number: float, unit: str) -> str:
    """4 MiB, 30 s, 5 min, 1,024."""
    if unit == "bytes":
        for name, size in (("MiB", 1024 * 1024), ("KiB", 1024)):
            if number % size == 0:
                return f"{number // size:,.0f} {name}"
    if unit == "seconds":
        for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
            if number % size == 0:
                return f"{number // size:.0f} {name}"
        return f"{number:,g} s" if number < 1 else f"{number:,.0f} s"
    return f"{number:,}"


def limits(name: str, current: str) -> str:
    """Rows stay where the page has them, and new ones come last: move them where they belong."""

    def position(bound: Bound) -> int:
        found = current.find(f"| {bound.place} |\n")
        return found if found >= 0 else len(current)

    rows = sorted((bound for bound in BOUNDS if bound.table == name), key=position)
    return table(
        ("bound", "value", "beyond it", "set in"),
        ((row.what, shown(value_of(row), row.unit), row.beyond, row.place) for row in rows),
    )
