"""What the simulator knows: faults, and bugs that can be planted."""

from __future__ import annotations

from fairlead.sim.faults import DEFAULT, MEANING
from fairlead.sim.sample import fault_kinds
from fairlead.sim.zoo.roster import SPECIMENS
from generating.tables import code, table


def simulated_faults() -> str:
    in_default = fault_kinds(DEFAULT)
    rows = (
        (f"`{name}`", where, what, "yes" if name in in_default else "")
        for name, (where, what) in MEANING.items()
    )
    return table(("fault", "where", "what happens", "in `std20`"), rows)


def planted_bugs() -> str:
    rows = (
        (
            f"`{each.name}`",
            str(each.number or ""),
            each.pattern,
            f"`{each.world}`",
            code(each.invariants[:2]),
        )
        for each in SPECIMENS
    )
    return table(("plant", "known bug", "mistake", "world", "told by, among others"), rows)
