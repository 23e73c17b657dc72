"""Writes the table of what controllers read and write anew, from what worlds show: `python -m tests.sim.footprints_table`.

It takes a minute or two. What was known stays, because a seldom read shows in one run and not in the next; with
`--afresh` it is forgotten first. `test_footprints.py` looks that the table has all that a world shows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from fairlead.control.footprint_rows import OBSERVED
from fairlead.decision.footprint import READS, WRITES, Footprint, merged, parse_table
from fairlead.sim.worlds.roster import WORLDS
from tests.sim.footprints import ObservedFootprints

ROWS = Path(__file__).parents[2] / "src/fairlead/control/footprint_rows.py"
# Together they have objects for every controller that a world can have objects for.
SHOWING = (
    "std20",
    "autoscaling",
    "bit-rot",
    "clocks",
    "comeback",
    "custom-kubernetes",
    "garbage-kubernetes",
    "late-marks",
    "nodes",
    "overrides",
    "quota-repair",
    "quota-return",
    "recovery",
    "refused",
    "roles",
    "rollouts",
    "runbooks",
    "sched",
    "sched-kubernetes",
    "silent-drain",
    "silent-flip",
)
_HEAD = '''"""Rows of `footprints.py`, as worlds showed them: `python -m tests.sim.footprints_table` writes this file."""

OBSERVED = """
'''


def format_table(footprints: Mapping[str, Footprint], width: int = 118) -> str:
    """As `parse_table` reads it."""
    lines: list[str] = []
    for controller, footprint in sorted(footprints.items()):
        for act, table in zip((READS, WRITES), footprint, strict=True):
            for resource, fields in sorted(table.items()):
                lines += _wrapped(f"{controller} {act} {resource}", sorted(fields), width)
    return "\n".join(lines) + "\n"


def _wrapped(head: str, fields: list[str], width: int) -> list[str]:
    lines = [head]
    for field in fields:
        if len(lines[-1]) + 1 + len(field) > width:
            lines.append(" ")
        lines[-1] += f" {field}"
    return lines


def main() -> None:
    found: dict[str, Footprint] = {} if "--afresh" in sys.argv else parse_table(OBSERVED)
    for name in SHOWING:
        make, faults = WORLDS[name]
        for seed in (1, 2):
            seen = ObservedFootprints()
            run = seen.observe(make(), faults, seed=seed)
            if run.violation is not None:
                raise SystemExit(f"{name}, seed {seed}: {run.violation}")
            found = merged(found, seen.footprints())
    ROWS.write_text(f'{_HEAD}{format_table(found)}"""\n')


if __name__ == "__main__":
    main()
