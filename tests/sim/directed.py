"""Faults put where a test wants them: a calm run, with one choice forced.

The calmest run there is forces nothing. Its trail says which calls were made; the fate of a call (and for writes, whether
the plane dies as it leaves) is a choice with a name that follows from the call. Everything else stays calm.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from fairlead.port.request import READ_VERBS
from fairlead.sim.calls import FATES
from fairlead.sim.chance import Chance, ChoiceName
from fairlead.sim.run import Runner
from fairlead.sim.world import Run

FAULTS = ("request_lost", "request_late", "reply_lost", "crash_unsent", "crash_sent")


class Asked(NamedTuple):
    """One call of a plane, and what the choices about it are called."""

    number: int  # among all calls
    write: int  # among the writes; -1 for a read
    controller: str
    verb: str
    resource: str
    subresource: str
    fate: ChoiceName
    crash: ChoiceName


def calm(runner: Runner) -> Run:
    return runner.play(Chance.replay(()), trail=True)


def calls(run: Run) -> list[Asked]:
    found: list[Asked] = []
    writes = 0
    made: Counter[str] = Counter()
    for step in run.trail or ():
        if step.kind == "call":
            _, controller, verb, resource, address = step.text.split(" ")
            below = address.split("/")[2]
            actor = f"{step.actor} {controller} {verb} {resource}" + (f"/{below}" if below else "")
            is_read = verb in READ_VERBS
            fate, crash = ("call", actor, made[actor]), ("crash_at_write", actor, made[actor])
            place = (len(found), -1 if is_read else writes)
            found.append(Asked(*place, controller, verb, resource, below, fate, crash))
            made[actor] += 1
            writes += not is_read
    return found


def strike(runner: Runner, asked: Asked, fault: str, told_late: int = 0) -> Run:
    """The calm run with this fault at this call, and no other; but that the so-manieth delivery of a watch from there on
    (`told_late`, from 1) lags as long as one can."""
    if fault.startswith("crash"):
        struck, actor = asked.crash, asked.crash[1]
        forced = {struck: 1, ("crash.sent", actor, struck[2]): int(fault == "crash_sent")}
    else:
        struck = asked.fate
        forced = {struck: 1 + FATES.index(fault), ("call.late", *struck[1:]): 4_999}
    run = runner.play(Chance(0, forced, calm=True), trail=True)
    if not told_late:
        return run
    names = [choice[:3] for choice in run.chance.choices]
    after = names[names.index(struck) :]
    late = [name for name in after if name[0] == "watch_lag"][told_late - 1]
    # How long it lags has the number of the lag.
    forced |= {late: 1, ("watch.lag", *late[1:]): 11_999}
    return runner.play(Chance(0, forced, calm=True), trail=True)
