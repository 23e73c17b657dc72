"""Which request belongs to whom: numbers for Asks and Probes, and who is told the answer.

Shared by the parts of one Agent (`machine.py`); an answer that nobody waits for, as after a restart, is of nobody.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.agent.contract import Ask
from fairlead.port.request import Request

MANAGER = "fairlead-agent"  # owner of what agents write, in metadata.managedFields


class Purpose(NamedTuple):
    """`part` of the agent, and what of it: a pod's uid, the key of an object."""

    part: str
    about: str = ""


class Calls:
    def __init__(self) -> None:
        self._number = 0
        self._open: dict[int, Purpose] = {}

    def number(self) -> int:
        """A number never given before."""
        self._number += 1
        return self._number

    def ask(self, purpose: Purpose, request: Request) -> Ask:
        call = self.number()
        self._open[call] = purpose
        return Ask(call, request)

    def answered(self, call: int) -> Purpose | None:
        return self._open.pop(call, None)

    def open_for(self, part: str) -> int:
        return sum(1 for purpose in self._open.values() if purpose.part == part)
