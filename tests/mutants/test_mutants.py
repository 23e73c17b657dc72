"""Each promise has a test that was seen to fail: here the breaks that show it stay in step with the sources.

What is quick is looked at always: that every break still has its place and every test its name. `make soak` carries them
out; so does `python -m tests.mutants`.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.mutant import PROMISES, Mutant
from tests.mutants.runner import ROOT, SOURCES, Copy
from tests.mutants.table import MUTANTS


@cache
def _tests_of(file: str) -> frozenset[str]:
    """What pytest would collect there: "test_name", "TestClass::test_name"."""
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.update(
                f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)
            )
    return frozenset(each for each in found if each.rpartition("::")[2].startswith("test_"))


def test_every_promise_has_its_mutants() -> None:
    assert {each.point for each in MUTANTS} == set(PROMISES)


def test_every_mutant_has_its_place_in_the_sources() -> None:
    texts = {file: (SOURCES / file).read_text() for file in {each.file for each in MUTANTS}}
    wrong = [each.name for each in MUTANTS if texts[each.file].count(each.text) != 1]
    same = [each.name for each in MUTANTS if each.text == each.replacement]
    assert (wrong, same) == ([], [])


def test_what_is_left_of_a_mutated_file_is_python() -> None:
    for each in MUTANTS:
        if each.file.endswith(".py"):
            ast.parse((SOURCES / each.file).read_text().replace(each.text, each.replacement), each.name)


def test_every_test_that_is_named_exists() -> None:
    named = {killer for each in MUTANTS for killer in each.killers}
    split = [each.partition("::") for each in sorted(named)]
    missing = [f"{file}::{test}" for file, _, test in split if test not in _tests_of(file)]
    assert missing == []
    assert all(each.killers for each in MUTANTS)


def test_names_are_unique_and_told_in_words() -> None:
    assert [name for name, count in Counter(each.name for each in MUTANTS).items() if count > 1] == []
    assert [each.name for each in MUTANTS if len(each.broken.split()) < 4] == []


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("mutants"))


@pytest.mark.soak
def test_on_the_sources_as_they_are_every_test_passes(copy: Copy) -> None:
    told = copy.run(sorted({killer for each in MUTANTS for killer in each.killers}))
    assert copy.is_imported(told)
    assert (told["failures"], told["not_collected"]) == ([], []), told["output"][-3000:]
    assert told["passed"]


@pytest.mark.soak
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_every_mutant_is_noticed(mutant: Mutant, copy: Copy) -> None:
    verdict = copy.try_mutant(mutant)
    assert verdict.killed, verdict.why


@pytest.mark.parametrize(
    ("replacement", "said"),
    [
        ("return True, []  # of it", "it survives"),
        ("import nothing_of_that_name", "failed with ModuleNotFoundError"),
        ("raise KeyError", "failed with KeyError"),
    ],
)
@pytest.mark.soak
def test_what_does_not_count_as_noticed(copy: Copy, replacement: str, said: str) -> None:
    """A break that no test sees, one that is none, and one that fails otherwise than the row says."""
    killer = "tests/unit/agent/pod/test_at_most_one.py::test_others_are_started_at_once"
    text = "return True, []\n        if is_released"
    row = Mutant(
        1,
        "for this test",
        "agent/pod/at_most_one.py",
        text,
        replacement + "\n        if is_released",
        (killer,),
    )
    verdict = copy.try_mutant(row)
    assert not verdict.killed
    assert said in verdict.why


def test_a_copy_is_as_it_was_after_a_mutant(tmp_path: Path) -> None:
    (row, *_) = MUTANTS
    copy = Copy(tmp_path / "copy")
    with copy.mutated(row):
        assert row.replacement in (tmp_path / "copy" / "fairlead" / row.file).read_text()
    assert (tmp_path / "copy" / "fairlead" / row.file).read_text() == (SOURCES / row.file).read_text()
