"""Errors that a Decider raises, caught in one place and reported once for each kind and place.

Called by `controller.py`. The error itself goes with the report: the driver in `runtime/` logs its traceback, the
simulator ends the run with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TypeVar

from fairlead.control.instructions import Report
from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.key import Key
from fairlead.queue.heat import Quarantined

# Distinct errors that are remembered as reported, per controller.
#: bound: plane | errors of one controller told apart | told again
ERRORS_TOLD_MAX = 100
_SHOWN = 200

T = TypeVar("T")


def try_call(ask: Callable[..., T], *arguments: object) -> T | Exception:
    """The answer, or what was raised instead of one."""
    try:
        return ask(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, it ends one turn and not the plane
        return error


class Complaints:
    def __init__(self, controller: str) -> None:
        self._controller = controller
        self._told: BoundedDict[tuple[str, str, int], None] = BoundedDict(ERRORS_TOLD_MAX)
        self._reports: list[Report] = []

    def about(self, what: str, error: Exception) -> None:
        mark = (type(error).__name__, *_place(error.__traceback__))
        if mark in self._told:
            return
        self._told.keep(mark, None)
        message = f"{self._controller} failed at {what}: {one_line(error)}"
        self._reports.append(Report(self._controller, message, error))

    def take(self, noticed: Iterable[object] = ()) -> list[Report]:
        """What was not taken yet, and of what the queue `noticed` what is said of keys that are looked at too often."""
        reports, self._reports = self._reports, []
        for each in noticed:
            if isinstance(each, Quarantined):
                reports.append(Report(self._controller, _describe_heat(self._controller, each)))
        return reports


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:_SHOWN]


def _describe_heat(controller: str, hot: Quarantined[Key]) -> str:
    """What is said of a key that was looked at too often."""
    name = "/".join(part for part in hot.key if part)
    return f"{controller} looked at {name} {hot.turns} times within a window; it is slowed down"


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Where an error comes from: file and line of the innermost frame."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace is not None else ("", 0)
