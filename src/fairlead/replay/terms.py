"""What a plane was while it led, by the line that opened its term (`control/term.py`): how many nodes it pretended.

Used by `capture.py`, which takes the line of every term that a captured decision is of, by `replaying.py`, which runs
each decision with as many nodes as its plane had, and by `sim/closed/`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.control.instructions import DECISIONS
from fairlead.core import codec
from fairlead.replay.artifact import Artifact

_HOLLOW = "controller/hollow"


def term_of(decision: str) -> str:
    """The term that the id of a decision names; nothing of what has no id."""
    return decision.partition("-")[0]


def hollow_nodes_of(flags: Iterable[str]) -> int:
    """How many nodes the plane was to pretend."""
    told = (each.removeprefix(_HOLLOW) for each in flags if each.startswith(_HOLLOW))
    return next((int(number.removeprefix("=") or 1) for number in told), 0)


def pretended_in(artifact: Artifact) -> Mapping[str, int]:
    """By term, how many nodes; of a term whose first line was not captured, nothing."""
    found: dict[str, int] = {}
    for line in artifact.lines:
        body = bytes(line.body)
        if line.stream == DECISIONS and b'"term":' in body and "term" in (told := codec.decode(body)):
            found[told["term"]] = hollow_nodes_of(told["flags"])
    return found
