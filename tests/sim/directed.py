"""Faults put where a test wants them: a calm run's tape, edited at one choice.

A tape of nothing but zeros is the calmest run there is. Its trail says which call is the n-th; the n-th choice of a
call's fate (and for writes, whether the plane dies as it leaves) is that call's. What follows on the tape stays calm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.port.request import READ_VERBS
from fairlead.sim.faults import Faults
from fairlead.sim.run import Runner
from fairlead.sim.tape import Tape
from fairlead.sim.world import Run

FAULTS = ("request_lost", "request_late", "reply_lost", "crash_unsent", "crash_sent")

Choices = list[tuple[str, int, int]]


class Asked(NamedTuple):
    """One call of a plane, and its place on the tape."""

    number: int  # among all calls
    write: int  # among the writes; -1 for a read
    controller: str
    verb: str
    resource: str
    subresource: str


def calm(runner: Runner) -> Run:
    return runner.play(Tape.replay(()), trail=True)


def calls(run: Run) -> list[Asked]:
    found: list[Asked] = []
    writes = 0
    for line in run.trail or ():
        if line.startswith("call "):
            _, _, _, controller, verb, resource, address, *_ = line.split(" ", 7)
            is_read = verb in READ_VERBS
            place = (len(found), -1 if is_read else writes)
            found.append(Asked(*place, controller, verb, resource, address.split("/")[2]))
            writes += not is_read
    return found


def strike(runner: Runner, run: Run, asked: Asked, fault: str, told_late: int = 0) -> Run:
    """The same run with this fault at this call, and none after it; but that the so-manieth delivery of a watch from
    there on (`told_late`, from 1) lags as long as one can."""
    choices = list(run.tape.choices)
    if fault.startswith("crash"):
        at = _position(choices, asked.write, lambda label: label == "crash_at_write")
        label, n, _ = choices[at]
        choices[at : at + 1] = [(label, n, n - 1), ("crash.sent", 2, int(fault == "crash_sent"))]
    else:
        at = _position(choices, asked.number, lambda label: label == "call.fate")
        label, n, _ = choices[at]
        struck = (label, n, int(n * (1.0 - _middle(runner.faults, fault))))
        late = [("call.late", 5_000, 4_999)] if fault == "request_late" else []
        choices[at : at + 1] = [struck, *late]
    struck_run = runner.play(Tape.replay(choices), trail=True)
    return _told_late(runner, struck_run, at + 1, told_late) if told_late else struck_run


def _told_late(runner: Runner, run: Run, since: int, which: int) -> Run:
    choices = list(run.tape.choices)
    at = [at for at in range(since, len(choices)) if choices[at][0] == "watch_lag"][which - 1]
    label, n, _ = choices[at]
    choices[at : at + 1] = [(label, n, n - 1), ("watch.lag", 12_000, 11_999)]
    return runner.play(Tape.replay(choices), trail=True)


def _position(choices: Sequence[tuple[str, int, int]], number: int, is_one: Callable[[str], bool]) -> int:
    return [position for position, choice in enumerate(choices) if is_one(choice[0])][number]


def _middle(faults: Faults, fault: str) -> float:
    """The middle of this fate's share, in the order in which the network draws them."""
    before = 0.0
    for name in ("request_lost", "request_late", "reply_lost"):
        share: float = getattr(faults, name)
        if name == fault:
            return before + share / 2
        before += share
    raise KeyError(fault)
