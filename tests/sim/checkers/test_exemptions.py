"""Every allowance of a checker is in the documentation, with its value: a checker that forgives in silence finds nothing."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

from fairlead.sim import checkers
from fairlead.sim.endstate import ALLOWED
from fairlead.sim.worlds.roster import WORLDS

_PAGE = Path(__file__).parents[3] / "docs/reference/simulator-exemptions.md"
_ALLOWANCE = re.compile(r"_?[A-Z_]*(SECONDS|_MS|EXEMPT|GRACE|SLACK|SPARE|TRIES|SHARE|MAX)[A-Z_]*")


def _allowances() -> dict[str, str]:
    """Constants of checkers that read like an allowance, where they are made."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(checkers.__path__):
        source = Path(checkers.__path__[0], f"{module.name}.py").read_text()
        loaded = importlib.import_module(f"fairlead.sim.checkers.{module.name}")
        for name in re.findall(r"^(\w+)(?:: [^=\n]+)? = ", source, flags=re.MULTILINE):
            if _ALLOWANCE.fullmatch(name):
                found[f"{module.name}.{name}"] = str(vars(loaded)[name])
    return found


def _table(heading: str) -> list[list[str]]:
    section = _PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


def test_every_allowance_is_listed_with_its_value() -> None:
    listed = {name: value for name, value, *_ in _table("Times and numbers")}
    assert listed == _allowances()


def test_every_difference_that_a_world_may_state_is_listed() -> None:
    assert {name for name, *_ in _table("Against the run without faults")} == set(ALLOWED)
    stated = {each for make, _ in WORLDS.values() for each in make().allowed}
    assert stated <= set(ALLOWED)
