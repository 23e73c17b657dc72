"""Writes the tables of the documentation that are facts of the code: kinds, errors, limits, admission.

    python docs/generate.py           rewrite them
    python docs/generate.py --check   exit 1 if one of them is not current

A table stands between `<!-- generated: NAME -->` and `<!-- end -->`; everything outside is written by hand.
Deterministic: the same code gives the same bytes. `tests/docs/test_generated.py` runs the check. Tables of limits
have a row for each bound that is declared above its constant in the sources (`Bound`). `DRAWINGS` are pictures, whole
files of their own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from generating.bounds import limits
from generating.controlled import (
    controls,
    coupling,
    coupling_drawing,
    evidence_authority,
    evidence_regions,
    evidence_table,
    evidence_zones,
    plane_settings,
    repair_ambiguous,
    repair_clear,
)
from generating.served import (
    admission,
    api_errors,
    concerned,
    event_words,
    exit_codes,
    kinds,
    metrics,
    owners_otherwise,
    reasons_and_owners,
    retention,
)
from generating.simulated import planted_bugs, simulated_faults

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_LIMITS = "limits_"
DRAWINGS: dict[str, Callable[[], str]] = {"concepts/coupling.svg": coupling_drawing}
TABLES: dict[str, Callable[[], str]] = {
    "coupling": coupling,
    "metrics": metrics,
    "repair_clear": repair_clear,
    "repair_ambiguous": repair_ambiguous,
    "evidence_authority": evidence_authority,
    "evidence_table": evidence_table,
    "evidence_regions": evidence_regions,
    "evidence_zones": evidence_zones,
    "kinds": kinds,
    "admission": admission,
    "api_errors": api_errors,
    "event_words": event_words,
    "reasons_and_owners": reasons_and_owners,
    "owners_otherwise": owners_otherwise,
    "concerned": concerned,
    "controls": controls,
    "exit_codes": exit_codes,
    "retention": retention,
    "plane_settings": plane_settings,
    "simulated_faults": simulated_faults,
    "planted_bugs": planted_bugs,
}


def generated(text: str) -> str:
    """A page with its tables made anew."""
    return _BLOCK.sub(lambda found: found[1] + made(found[2], found[3]) + found[4], text)


def made(name: str, current: str) -> str:
    return limits(name.removeprefix(_LIMITS), current) if name.startswith(_LIMITS) else TABLES[name]()


def main(arguments: list[str]) -> int:
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        current = generated(text)
        if current != text:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(current)
    for name, draw in DRAWINGS.items():
        picture, current = DOCS / name, draw()
        if not picture.exists() or picture.read_text() != current:
            stale.append(picture)
            if "--check" not in arguments:
                picture.write_text(current)
    for page in stale:
        print(f"{'not current' if '--check' in arguments else 'wrote'}: {page.relative_to(DOCS.parent)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
