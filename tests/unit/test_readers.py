"""Every setting, enum member, function and constant is used by some code: what nothing reads is a promise that nobody
keeps. And the name of a class stands for one thing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import fairlead

SOURCES = Path(fairlead.__file__).parent
ROOT = Path(__file__).parents[2]
_ENUMS = {"Enum", "IntEnum", "StrEnum"}
_SETTINGS = ("Settings", "Policy", "Limits", "Options")


# An error of the API, and what a client makes of it; the machine that decides, and the running one that tests talk to.
_SHARED = {"Conflict", "Expired", "Plane"}
# Tables of the simulator that tests hold pages, samples and the list of bugs to.
_TABLES = {
    "sim/checkers/override_moments.py MOMENTS",
    "sim/endstate.py ALLOWED",
    "sim/zoo/roster.py KNOWN_BUGS",
}


@dataclass(slots=True)
class Sources:
    """What the tests look for, found in one walk."""

    classes: list[ast.ClassDef] = field(default_factory=list)
    read: set[str] = field(default_factory=set)  # names that are read as an attribute of something
    members: set[tuple[str, str]] = field(default_factory=set)  # wherever a name is followed by an attribute
    defined: dict[str, str] = field(default_factory=dict)  # functions and constants of modules, and where
    used: set[str] = field(default_factory=set)  # names that are loaded or imported


@pytest.fixture(scope="module")
def sources() -> Sources:
    found = Sources()
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        if "testing" not in path.parts:  # which others use
            found.defined |= {name: f"{path.relative_to(SOURCES)} {name}" for name in _defined(tree)}
        found.used |= _used(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.classes.append(node)
            elif isinstance(node, ast.Attribute):
                if isinstance(node.ctx, ast.Load):
                    found.read.add(node.attr)
                if isinstance(node.value, ast.Name):
                    found.members.add((node.value.id, node.attr))
    for path in sorted([*ROOT.glob("docs/*.py"), *ROOT.glob("bench/*.py")]):
        found.used |= _used(ast.parse(path.read_text()))
    return found


def _defined(module: ast.Module) -> Iterator[str]:
    for line in module.body:
        if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef):
            yield line.name
        elif isinstance(line, ast.Assign):
            yield from (each.id for each in line.targets if isinstance(each, ast.Name))
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id


def _used(module: ast.Module) -> set[str]:
    used = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used |= {each.name for each in node.names}
    return used


def test_every_function_and_constant_of_a_module_is_used(sources: Sources) -> None:
    unused = {where for name, where in sources.defined.items() if name not in sources.used}
    assert {each for each in unused if not each.endswith("__")} == _TABLES


def test_every_member_of_an_enum_is_made_or_compared_somewhere(sources: Sources) -> None:
    unused = [
        f"{each.name}.{target.id}"
        for each in sources.classes
        if {base.id for base in each.bases if isinstance(base, ast.Name)} & _ENUMS
        for line in each.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name) and (each.name, target.id) not in sources.members
    ]
    assert unused == []


def test_every_setting_is_read(sources: Sources) -> None:
    unread = [
        f"{each.name}.{line.target.id}"
        for each in sources.classes
        if each.name.endswith(_SETTINGS)
        for line in each.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id not in sources.read
    ]
    assert unread == []


def test_the_name_of_a_class_stands_for_one_thing(sources: Sources) -> None:
    public = [each.name for each in sources.classes if not (each.col_offset or each.name.startswith("_"))]
    names = Counter(public)
    assert {name for name, count in names.items() if count > 1} == _SHARED
