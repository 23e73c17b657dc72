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


# Names that leave nothing out: what a checker looks at, or how it tells what it sees.
_NO_ALLOWANCE = """
    autoscaling._BY autoscaling.REACT_TO_BLOCKED budgets._SCALED certificates._DECISIONS collected_justly._BY_COLLECTOR
    contract.ACCESS_GRANTS contract.CLUSTER_ROLES contract.EVENTS contract.LATE contract._ACCESS_KINDS contract._TYPED
    damage._COUNTED damage._NAMED forgotten._LAID_DOWN_BY forgotten._SUPPOSED grants.BY_USER grants._RESOURCE
    justified_deletes.NAMESPACES justified_removals._CONTROLLERS justified_removals._OVER justified_removals._OWNERS
    live_children._LIMITS no_ghost._KINDS no_ghost._OWNERS no_orphan._DEFINITIONS override_moments.APPROVED
    override_moments.KEEPS_WAITING override_moments.LEAVES_RESIDUE override_moments.LENDS_ROOM override_moments.MOMENTS
    override_moments._CLOSED_BY policies.SETS progress._WAY progress._WORKLOADS quiet._EVENTS quota_sums._COUNT
    quota_sums._PLAIN quotas.BOUND refusals._CLASSES refusals._REQUESTS releases._BRAKED reservations.ACTIVE
    rights._BINDINGS rights._ROLES runs._MADE_BY runs._NEXT slices._FULL sound_capacity._BY sound_capacity._LONG_AGO
    sound_capacity._MARKS writers_progress._CONFLICT
"""
_ALLOWS_NOTHING = frozenset(_NO_ALLOWANCE.split())


def _constants() -> dict[str, object]:
    """Of all checkers, where they are made."""
    found: dict[str, object] = {}
    for module in pkgutil.iter_modules(checkers.__path__):
        source = Path(checkers.__path__[0], f"{module.name}.py").read_text()
        loaded = importlib.import_module(f"fairlead.sim.checkers.{module.name}")
        for name in re.findall(r"^(_?[A-Z][A-Z_]*)(?:: [^=\n]+)? = ", source, flags=re.MULTILINE):
            found[f"{module.name}.{name}"] = vars(loaded)[name]
    return found


def _allowances() -> dict[str, str]:
    """Those that read like an allowance."""
    return {
        name: str(value)
        for name, value in _constants().items()
        if _ALLOWANCE.fullmatch(name.partition(".")[2])
    }


def _names(value: object) -> str:
    return ", ".join(sorted(filter(None, value))) if isinstance(value, frozenset) else str(value)


def _table(heading: str) -> list[list[str]]:
    section = _PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


def test_every_allowance_is_listed_with_its_value() -> None:
    listed = {name: value for name, value, *_ in _table("Times and numbers")}
    assert listed == _allowances()


def test_every_other_constant_is_listed_with_what_it_names_or_known_to_allow_nothing() -> None:
    others = {name: _names(value) for name, value in _constants().items() if name not in _allowances()}
    assert others.keys() >= _ALLOWS_NOTHING
    listed = {name: value for name, value, *_ in _table("Names")}
    assert listed == {name: value for name, value in others.items() if name not in _ALLOWS_NOTHING}


def test_every_difference_that_a_world_may_state_is_listed() -> None:
    assert {name for name, *_ in _table("Against the run without faults")} == set(ALLOWED)
    stated = {each for make, _ in WORLDS.values() for each in make().allowed}
    assert stated <= set(ALLOWED)
