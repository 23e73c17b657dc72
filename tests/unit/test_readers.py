"""Every setting and every enum member is used by some code: what nothing reads is a promise that nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairlead

SOURCES = Path(fairlead.__file__).parent
_ENUMS = {"Enum", "IntEnum", "StrEnum"}
_SETTINGS = ("Settings", "Policy", "Limits", "Options")

Tree = dict[Path, ast.Module]


@pytest.fixture(scope="module")
def tree() -> Tree:
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCES.rglob("*.py"))}


def classes(tree: Tree) -> Iterator[ast.ClassDef]:
    for module in tree.values():
        yield from (node for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def attributes(tree: Tree) -> set[str]:
    """Names that are read as an attribute of something other than `cls` or a keyword."""
    return {
        node.attr
        for module in tree.values()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


def members(tree: Tree) -> set[tuple[str, str]]:
    """(class, member) wherever a name is followed by an attribute."""
    return {
        (node.value.id, node.attr)
        for module in tree.values()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def test_every_member_of_an_enum_is_made_or_compared_somewhere(tree: Tree) -> None:
    used = members(tree)
    unused = [
        f"{each.name}.{target.id}"
        for each in classes(tree)
        if {base.id for base in each.bases if isinstance(base, ast.Name)} & _ENUMS
        for line in each.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name) and (each.name, target.id) not in used
    ]
    assert unused == []


def test_every_setting_is_read(tree: Tree) -> None:
    read = attributes(tree)
    unread = [
        f"{each.name}.{line.target.id}"
        for each in classes(tree)
        if each.name.endswith(_SETTINGS)
        for line in each.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id not in read
    ]
    assert unread == []
