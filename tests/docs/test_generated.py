"""Tables that are facts of the code are current, and no public bound of the code is missing from them."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys

import pytest

import fairlead
from fairlead.core import errors
from fairlead.model.catalog import CATALOG
from tests.docs.pages import ROOT

# Not bounds of what a client may do, or the same bound under its second name.
NOT_LISTED = {
    "queue.histogram.BOUNDS_SECONDS",
    "wire.latency.BOUNDS_SECONDS",
    "sim.checkers.autoscaling.LATE_SECONDS",
    "sim.checkers.live_children.GRACE_SECONDS",
    "sim.processes.driving.RESTART_MS_MAX",
    "replay.page.STEPS_MAX",  # of one page that somebody looks at
    "cli.client.TIMEOUT_SECONDS",  # of the command line's own requests
}

sys.path.insert(0, str(ROOT / "docs"))  # where its parts are, as for a script
GENERATE, BOUNDS = importlib.import_module("generate"), importlib.import_module("generating.bounds")
PAGES = {page.stem: page.read_text() for page in sorted((ROOT / "docs").rglob("*.md"))}


def test_every_generated_table_is_current() -> None:
    for name, text in PAGES.items():
        assert GENERATE.generated(text) == text, f"{name}.md: run python docs/generate.py"


def test_every_drawing_is_current_and_shown() -> None:
    for name, draw in GENERATE.DRAWINGS.items():
        assert (ROOT / "docs" / name).read_text() == draw(), f"{name}: run python docs/generate.py"
        assert f"({name.rpartition('/')[2]})" in "".join(PAGES.values())


def test_every_table_is_used_once() -> None:
    used = re.findall(r"<!-- generated: (\w+) -->", "".join(PAGES.values()))
    limits = {f"limits_{bound.table}" for bound in BOUNDS.BOUNDS}
    assert sorted(used) == sorted([*GENERATE.TABLES, *limits])


def test_every_public_bound_of_the_code_is_in_the_table_of_limits() -> None:
    listed = {f"{bound.module}.{bound.constant}" for bound in BOUNDS.BOUNDS}
    found = set()
    for module in pkgutil.walk_packages(fairlead.__path__, "fairlead."):
        source = ROOT / "src" / (module.name.replace(".", "/") + ".py")
        if source.exists():
            names = re.findall(
                r"^([A-Z][A-Z_]*(?:_MAX|_SECONDS))(?:: \w+)? = ", source.read_text(), re.MULTILINE
            )
            found |= {f"{module.name.removeprefix('fairlead.')}.{name}" for name in names}
    assert sorted(found - listed - NOT_LISTED) == []  # declare it above the constant, as others there do


@pytest.mark.parametrize(
    ("source", "bounds"),
    [
        ("#: bound: store | a | b\nA_MAX: int = 1\n", [("store", "a", "b", "m", "A_MAX")]),
        ("#: bound: store | a |\n#:    b c\nA_BYTES = 1  # why\n", [("store", "a", "b c", "m", "A_BYTES")]),
        (
            "class L:\n    #: bound: store | a | -\n    a_max: int = 1\n",
            [("store", "a", "-", "m", "L.a_max")],
        ),
        ("A_MAX = 1\n", []),
    ],
)
def test_a_bound_is_read_above_its_constant(source: str, bounds: list[tuple[str, ...]]) -> None:
    assert [tuple(bound) for bound in BOUNDS.declared("m", source)] == bounds


@pytest.mark.parametrize(
    "source",
    [
        "#: bound: store | a\nA_MAX = 1\n",
        "#: bound: store | a | b | c\nA_MAX = 1\n",
        "#: bound: store | a | b\n\nA_MAX = 1\n",
        "#: bound: store | a | b\ndef f(): ...\n",
        "#: bound: store | a | b",
    ],
)
def test_a_bound_of_no_constant_or_without_all_its_columns_is_refused(source: str) -> None:
    with pytest.raises(SystemExit, match="m, line 1: write"):
        list(BOUNDS.declared("m", source))


def test_each_limit_is_shown_with_the_value_the_code_has() -> None:
    for bound in BOUNDS.BOUNDS:
        value = BOUNDS.shown(BOUNDS.value_of(bound), bound.unit)
        pages = PAGES["api"] + PAGES["process-driver"] + PAGES["node-endpoint"]
        assert f"| {bound.what} | {value} | {bound.beyond} |" in pages


def test_numbers_are_shown_in_the_largest_unit_that_fits() -> None:
    cases = [(3 * 1024 * 1024, "bytes", "3 MiB"), (65536, "bytes", "64 KiB"), (0.5, "seconds", "0.5 s")]
    cases += [
        (300.0, "seconds", "5 min"),
        (7200.0, "seconds", "2 h"),
        (86400, "seconds", "1 d"),
        (1024, "", "1,024"),
    ]
    assert [BOUNDS.shown(number, unit) for number, unit, _ in cases] == [text for _, _, text in cases]


def test_every_kind_and_every_reason_is_named() -> None:
    for kind in CATALOG:
        assert f"| {kind.kind} | `{kind.api_version}` | `{kind.plural}` |" in PAGES["kinds"]
    for error in vars(errors).values():
        if (
            isinstance(error, type)
            and issubclass(error, errors.FairleadError)
            and error.__subclasses__() == []
        ):
            assert f"`{error.reason}`" in PAGES["errors"], error.reason
