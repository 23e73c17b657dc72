"""What must happen sometimes: moments that a sample of seeds has to have met, or its clean result proves little.

The world counts them (`world.py`, from what planes and links saw), `sample.py` judges the counts. The moments at which
an effect was committed and its caller was not told are generated from the registry of effects: an effect that is in no
row of `CALLS` has a probe that nothing can hit, so the sample fails until it has one.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.effects import RETRY, Bind, Change, ChangeScale, ChangeStatus, Create, Delete, Finalize

CRASH_BETWEEN_WRITES = "crash between two writes of one turn"
TAKEOVER_MID_TURN = "takeover mid-turn"
RELIST_AFTER_410 = "relist after 410"

# How the network sees an effect: verb and subresource of its call.
CALLS: dict[type, str] = {
    Create: "create",
    Change: "patch",
    ChangeStatus: "patch status",
    ChangeScale: "patch scale",
    Finalize: "update finalize",
    Delete: "delete",
    Bind: "create binding",
}


# What the standard world never asks for: nothing there follows a load. The world `autoscaling` is made for it.
ELSEWHERE = frozenset({ChangeScale})


def timeout_after_commit(effect: type) -> str:
    return f"timeout after commit of {effect.__name__}"


def probe_names(effects: Iterable[type] = RETRY) -> tuple[str, ...]:
    asked = (each for each in effects if each not in ELSEWHERE)
    return (CRASH_BETWEEN_WRITES, TAKEOVER_MID_TURN, RELIST_AFTER_410, *map(timeout_after_commit, asked))
