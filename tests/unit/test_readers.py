"""Every setting, field of a record, enum member, method, function and constant is used by some code, and every default of
a function is departed from somewhere: what nothing reads is a promise that nobody keeps. And the name of a class stands
for one thing.

Names are compared, not types: what bears the name of something that is read counts as read. Of `self.name` only the
class itself is a reader where it has a field of that name.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import fairlead

SOURCES = Path(fairlead.__file__).parent
ROOT = Path(__file__).parents[2]
_ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
_RECORDS = {"NamedTuple", "dataclass"}  # structs go out as a whole, and somebody else reads them
_SETTINGS = ("Settings", "Policy", "Limits", "Options", "Pace")


# An error of the API, and what a client makes of it; the machine that decides, and the running one that tests talk to.
_SHARED = {"Conflict", "Expired", "Plane"}
# Tables of the simulator that tests hold pages, samples and the list of bugs to.
_TABLES = {
    "sim/checkers/override_moments.py MOMENTS",
    "sim/endstate.py ALLOWED",
    "sim/zoo/roster.py KNOWN_BUGS",
}
# Called by name: by asyncio, httptools, logging and urllib.
_CALLED_BY_LIBRARIES = {
    *("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing"),
    *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"),
    *("emit", "redirect_request"),
}
# Only tests depart from them: which kinds there are, how a directory is upgraded, what a sample is held to.
_DEFAULTS_FOR_TESTS = {
    "control/roster.py serving_deciders catalog",
    "runtime/data/directory.py open_data_directory upgrades",
    "sim/probes.py probe_names effects",
    "sim/sample.py probe_lines probes",
}


@dataclass(slots=True)
class Sources:
    """What the tests look for, found in one walk."""

    classes: list[tuple[str, ast.ClassDef]] = field(default_factory=list)
    functions: dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    calls: dict[str, list[ast.Call]] = field(default_factory=lambda: defaultdict(list))
    handed_on: set[str] = field(default_factory=set)  # names that are read, but not to be called at once
    read: set[str] = field(
        default_factory=set
    )  # names that are read as an attribute of something, or of another class
    read_of_self: set[tuple[str, str]] = field(default_factory=set)  # of a class, by itself
    texts: set[str] = field(default_factory=set)  # that could be names: of fields that are got by name
    members: set[tuple[str, str]] = field(default_factory=set)  # wherever a name is followed by an attribute
    defined: dict[str, str] = field(default_factory=dict)  # functions and constants of modules, and where
    used: set[str] = field(default_factory=set)  # names that are loaded or imported

    def reads(self, name: str, of: str) -> bool:
        return name in self.read or name in self.texts or (of, name) in self.read_of_self


@pytest.fixture(scope="module")
def sources() -> Sources:
    found = Sources()
    for path in sorted(SOURCES.rglob("*.py")):
        tree, where = ast.parse(path.read_text()), str(path.relative_to(SOURCES))
        if "testing" not in path.parts:  # which others use
            found.defined |= {name: f"{where} {name}" for name in _defined(tree)}
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found.functions[node.name].append((where, node))
        found.classes += [(where, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        _look(tree, found)
    for path in sorted([*ROOT.glob("docs/**/*.py"), *ROOT.glob("bench/*.py"), *ROOT.glob("monitoring/*.py")]):
        _look(ast.parse(path.read_text()), found)
    return found


def _look(tree: ast.Module, found: Sources) -> None:
    found.used |= _used(tree)
    own = {
        id(node): each.name
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef)
        for node in ast.walk(each)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        if node.attr in _fields(each)
    }
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called.add(id(node.func))
            found.calls[_name(node.func)].append(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.texts.add(node.value)
        elif isinstance(node, ast.MatchClass):
            found.read.update(node.kwd_attrs)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if id(node) not in called:
            found.handed_on.add(_name(node))
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                found.members.add((node.value.id, node.attr))
            if id(node) in own:
                found.read_of_self.add((own[id(node)], node.attr))
            else:
                found.read.add(node.attr)


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _fields(of: ast.ClassDef) -> list[str]:
    return [
        line.target.id
        for line in of.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    ]


def _is_record(of: ast.ClassDef) -> bool:
    """By its bases and decorators, called or not."""
    said = [*of.bases, *of.decorator_list]
    plain = [each.func if isinstance(each, ast.Call) else each for each in said]
    return bool({_name(each) for each in plain if isinstance(each, ast.Name | ast.Attribute)} & _RECORDS)


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
        for _, each in sources.classes
        if {base.id for base in each.bases if isinstance(base, ast.Name)} & _ENUMS
        for line in each.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name) and (each.name, target.id) not in sources.members
    ]
    assert unused == []


def test_every_setting_and_every_field_of_a_record_is_read(sources: Sources) -> None:
    unread = [
        f"{where} {each.name}.{name}"
        for where, each in sources.classes
        if each.name.endswith(_SETTINGS) or _is_record(each)
        for name in _fields(each)
        if not sources.reads(name, each.name)
    ]
    assert unread == []


def test_every_method_is_used(sources: Sources) -> None:
    unused = [
        f"{where} {each.name}.{line.name}"
        for where, each in sources.classes
        if not where.startswith("testing/")
        for line in each.body
        if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef)
        if not line.name.startswith("__") and line.name not in _CALLED_BY_LIBRARIES
        if not sources.reads(line.name, each.name)
    ]
    assert unused == []


def test_every_default_of_a_function_is_departed_from_somewhere(sources: Sources) -> None:
    """Of functions and methods that are alone in bearing their name and are only ever called by it."""
    kept = {
        f"{defined[0][0]} {name} {parameter}"
        for name, defined in sources.functions.items()
        if len(defined) == 1 and sources.calls[name] and name not in sources.handed_on
        for place, parameter in _defaulted(defined[0][1])
        if not any(_passes(call, place, parameter) for call in sources.calls[name])
    }
    assert kept == _DEFAULTS_FOR_TESTS


def _defaulted(of: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    """With the place in a call; what has to be named is beyond all."""
    given = [each.arg for each in (*of.args.posonlyargs, *of.args.args)]
    bound = 1 if given[:1] in (["self"], ["cls"]) else 0
    for place in range(len(given) - len(of.args.defaults), len(given)):
        yield place - bound, given[place]
    for argument, default in zip(of.args.kwonlyargs, of.args.kw_defaults, strict=True):
        if default is not None:
            yield 1_000, argument.arg


def _passes(call: ast.Call, place: int, parameter: str) -> bool:
    named = {each.arg for each in call.keywords}
    spread = None in named or any(isinstance(each, ast.Starred) for each in call.args)
    return spread or parameter in named or len(call.args) > place


def test_the_name_of_a_class_stands_for_one_thing(sources: Sources) -> None:
    public = [each.name for _, each in sources.classes if not (each.col_offset or each.name.startswith("_"))]
    names = Counter(public)
    assert {name for name, count in names.items() if count > 1} == _SHARED
