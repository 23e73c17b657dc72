"""The oracle shares nothing with what it judges: it imports no module of Fairlead, only Python's own and itself."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BRIDGES = ("kernel.py", "mutating.py")  # compare the two, and are no part of the oracle
ORACLE = sorted(
    path.name for path in HERE.glob("*.py") if path.name not in BRIDGES and not path.name.startswith("test_")
)


def imported(source: str) -> set[str]:
    found = set()
    for each in ast.walk(ast.parse(source)):
        if isinstance(each, ast.Import):
            found |= {alias.name for alias in each.names}
        elif isinstance(each, ast.ImportFrom):
            found.add("." * each.level + (each.module or ""))
    return found


@pytest.mark.parametrize("name", ORACLE)
def test_a_file_of_the_oracle_imports_only_python_and_the_oracle(name: str) -> None:
    own = {f"tests.oracle.{Path(each).stem}" for each in ORACLE}
    foreign = {
        each
        for each in imported((HERE / name).read_text())
        if each not in own and each.split(".")[0] not in sys.stdlib_module_names
    }
    assert not foreign


def test_the_check_sees_every_way_of_importing() -> None:
    source = (
        "import fairlead.a\nfrom fairlead import b\ndef f():\n    from fairlead.c import d\nfrom . import e\n"
    )
    assert imported(source) == {"fairlead.a", "fairlead", "fairlead.c", "."}
    assert {"filters.py", "scores.py", "preemption.py", "requests.py", "labels.py"} <= set(ORACLE)
