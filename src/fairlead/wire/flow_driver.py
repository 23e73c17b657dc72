"""Drives the machine of turns (`api/flow/machine.py`): requests begin when it is their turn, a bounded time at once.

Given every request by the handler, once it is known who sends it and what it asks for, and before anything is done for
it. One turn of the loop is as long as TURN_SECONDS and the last request that was begun in it; then everybody whose
bytes have arrived is read, and the machine is asked who is next. A request that comes while nobody waits begins at
once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from fairlead.api.access.users import User
from fairlead.api.flow.events import (
    CONCURRENCY_LIMIT,
    QUEUE_FULL,
    TIME_OUT,
    Arrived,
    Begin,
    Configured,
    Instruction,
    LookAt,
    Looked,
    Refuse,
    RequestEnded,
    TurnCame,
)
from fairlead.api.flow.in_force import FlowControl
from fairlead.api.flow.levels import PriorityLevel
from fairlead.api.flow.machine import FlowMachine
from fairlead.api.flow.width import ONE, width_of
from fairlead.core.errors import TooManyRequests
from fairlead.port.request import Request
from fairlead.store.contract import Reader
from fairlead.wire.exchange import Exchange

# So long a turn of the loop begins further requests; what is begun is not interrupted.
#: bound: requests | a turn of the loop begins requests for | the others wait for the next turn
TURN_SECONDS = 0.0005
# While all requests are of one flow, nobody is kept waiting by longer turns and fuller commits, which cost less each.
#: bound: requests | the same while all come from one flow | the same
ALONE_TURN_SECONDS = 0.01
#: bound: requests | a commit waits for more of one flow that comes alone | it begins
GATHER_SECONDS = 0.01
#: bound: requests | one that was turned away comes back after | it may be turned away again
RETRY_SECONDS = 1
_BECAUSE = {
    QUEUE_FULL: "as many as may wait for their turn do",
    CONCURRENCY_LIMIT: "as many as may be under way are",
    TIME_OUT: "its turn did not come in time",
}

Refusal = Callable[[TooManyRequests], None]


class _Turn:
    """One request: how it begins, and how it is turned away."""

    __slots__ = ("begin", "refuse")

    def __init__(self, begin: Callable[[], None], refuse: Refusal) -> None:
        self.begin = begin
        self.refuse = refuse


class Turns:
    """One per server."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        control: FlowControl,
        read: Reader,
        now: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._control = control
        self._read = read
        self._now = now  # not the loop's clock, which stands still during a turn
        self.machine: FlowMachine[_Turn] = FlowMachine()
        self._known = -1  # the state of `control` that the machine was told
        self._is_due = False  # `_go_on` is called in the next turn of the loop
        self._began = 0.0  # when this turn did
        self._look: asyncio.TimerHandle | None = None
        self._gathers_from = 0.0  # since when a commit is waiting for more; 0: none does

    def arrive(
        self,
        exchange: Exchange,
        user: User,
        request: Request | None,
        path: str,
        begin: Callable[[], None],
        refuse: Refusal,
    ) -> None:
        """`begin` is called when it is the request's turn, perhaps at once; or `refuse`, with the reason. `request` is
        None for a path that names no resource."""
        if self._known != self._control.changes:
            self._known = self._control.changes
            self._carry_out(self.machine.handle(Configured(self._control.levels, self._now())))
        if request is None:
            method = exchange.method.decode("latin-1").lower()
            flow, width = self._control.flow_of((user, method, "", "", "", path)), ONE
        else:
            asked = user, request.verb, request.group, request.plural, request.subresource, request.namespace
            flow, width = self._control.flow_of(asked), width_of(request, self._read)
        exchange.flow = flow.headers
        turn = _Turn(begin, refuse)
        exchange.on_settled = partial(self._end, turn)
        now = self._now()
        if not self._is_due:
            self._began = now
            self._soon()
        room = now < self._began + self._turn_seconds(now)
        self._carry_out(self.machine.handle(Arrived(turn, flow, width.seats, width.in_turn, now, room)))

    def _end(self, turn: _Turn) -> None:
        instructions = self.machine.handle(RequestEnded(turn))
        if instructions:  # others wait
            self._carry_out(instructions)

    @property
    def levels(self) -> Mapping[str, PriorityLevel]:
        return self._control.levels

    def stop(self) -> None:
        if self._look is not None:
            self._look.cancel()

    def gathers(self) -> bool:
        """Whether a commit should wait: more of the only flow that there is begin in the next turn."""
        now = self._now()
        if not self._is_due or not self.machine.waiting or not self.machine.is_alone(now):
            self._gathers_from = 0.0
            return False
        self._gathers_from = self._gathers_from or now
        if now < self._gathers_from + GATHER_SECONDS:
            return True
        self._gathers_from = 0.0
        return False

    def _turn_seconds(self, now: float) -> float:
        return ALONE_TURN_SECONDS if self.machine.is_alone(now) else TURN_SECONDS

    def _soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """A turn of the loop."""
        self._is_due = False
        now = self._began = self._now()
        until = now + self._turn_seconds(now)
        while now < until:
            instructions = self.machine.handle(TurnCame(now))
            if not instructions:
                return
            self._carry_out(instructions)
            now = self._now()

    def _looked(self) -> None:
        self._look = None
        self._carry_out(self.machine.handle(Looked(self._now())))

    def _carry_out(self, instructions: tuple[Instruction[_Turn], ...]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Begin):
                instruction.ticket.begin()
            elif isinstance(instruction, Refuse):
                told = f"Too many requests, please try again later. ({_BECAUSE[instruction.reason]})"
                instruction.ticket.refuse(TooManyRequests(told, retry_after_seconds=RETRY_SECONDS))
            elif isinstance(instruction, LookAt):
                delay = max(0.0, instruction.at - self._now())
                self._look = self._loop.call_later(delay, self._looked)
            else:
                self._soon()
