"""Levels, flows and a driver of the machine, for tests of whose turn it is."""

from __future__ import annotations

from fairlead.api.flow.dealing import deal, number_of
from fairlead.api.flow.events import (
    Arrived,
    Begin,
    Configured,
    LookAt,
    Looked,
    Refuse,
    RequestEnded,
    TurnCame,
    TurnSoon,
)
from fairlead.api.flow.in_force import Flow
from fairlead.api.flow.levels import PriorityLevel
from fairlead.api.flow.machine import FlowMachine


def queueing(
    name: str,
    shares: int,
    *,
    queues: int = 16,
    hand_size: int = 4,
    queue_length: int = 10,
    lendable_percent: int = 0,
    borrowing_percent: int | None = None,
) -> PriorityLevel:
    return PriorityLevel(
        name,
        shares=shares,
        lendable_percent=lendable_percent,
        borrowing_percent=borrowing_percent,
        queues=queues,
        hand_size=hand_size,
        queue_length=queue_length,
    )


def rejecting(name: str, shares: int) -> PriorityLevel:
    return PriorityLevel(name, shares=shares)


EXEMPT = PriorityLevel("exempt", exempt=True)


class Driven:
    """Carries out nothing: keeps who began, who was refused, and whether a turn is due. Time moves with `now`."""

    def __init__(self, *levels: PriorityLevel, seats: int = 10) -> None:
        self.machine: FlowMachine[str] = FlowMachine(seats)
        self.levels = {level.name: level for level in levels}
        self.now = 100.0
        self.begun: list[str] = []
        self.refused: dict[str, str] = {}
        self.turn_due = False
        self.look_at = 0.0
        self._flows: dict[tuple[str, str], Flow] = {}
        self.configure(*levels)

    def configure(self, *levels: PriorityLevel) -> None:
        self.levels = {level.name: level for level in levels}
        self._do(Configured(self.levels, self.now))

    def flow(self, level: str, user: str) -> Flow:
        """The same for the same user."""
        made = self._flows.get((level, user))
        if made is None:
            known = self.levels[level]
            hand = deal(number_of(level, user), known.queues, known.hand_size)
            made = self._flows[level, user] = Flow(f"of-{level}", level, hand, b"")
        return made

    def arrive(
        self,
        ticket: str,
        level: str,
        user: str = "",
        *,
        width: int = 1,
        in_turn: bool = False,
        room: bool = False,
    ) -> None:
        self._do(Arrived(ticket, self.flow(level, user), width, in_turn, self.now, room))

    def end(self, ticket: str) -> None:
        self._do(RequestEnded(ticket, self.now))

    def turn(self) -> list[str]:
        """One turn of the loop with time for everybody who can begin. Who began in it."""
        before = len(self.begun)
        while True:
            count = len(self.begun)
            self.turn_due = False
            self._do(TurnCame(self.now))
            if len(self.begun) == count:
                return self.begun[before:]

    def one_turn(self) -> str | None:
        """Time for one."""
        count = len(self.begun)
        self.turn_due = False
        self._do(TurnCame(self.now))
        return self.begun[-1] if len(self.begun) > count else None

    def look(self) -> None:
        self._do(Looked(self.now))

    def _do(self, event: Arrived[str] | Configured | RequestEnded[str] | Looked | TurnCame) -> None:
        for instruction in self.machine.handle(event):
            if isinstance(instruction, Begin):
                self.begun.append(instruction.ticket)
            elif isinstance(instruction, Refuse):
                self.refused[instruction.ticket] = instruction.reason
            elif isinstance(instruction, LookAt):
                self.look_at = instruction.at
            else:
                assert isinstance(instruction, TurnSoon)
                self.turn_due = True
