"""Whose turn it is to be sent to: the fan-out of changes to watches, within budgets of time and of bytes.

Asked by `watching.py`. Encrypting a change for one watch after the other takes as long as there are watches, so it is
done in turns of the loop: a turn ends after TURN_SECONDS, and other clients are served before the next. Users take
turns, and within a user their watches, each for one step (a piece of a large change, or some small ones).

Bytes that a client does not read stay in its connection. Each watch takes STALLED_BYTES of a budget that users share
(`budget.py`) before its first step, and gives it back when it has sent all there is. Where a user's share is used up,
the user's further watches wait, which costs nothing: what they are to be told is kept once for all. If that lasts,
those whose clients have not read for STALLED_SECONDS are cut.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from fairlead.wire.budget import ByteBudget

#: bound: connections | time of a turn in which watches are told of changes |
#:        other clients are served before the next turn
TURN_SECONDS = 0.002
#: bound: connections | the same for all watchers together |
#:        watchers of a user who holds as much as is still free wait
WATCHES_BYTES_MAX = 128 * 1024 * 1024
# A piece in TLS, and what the socket's own queue takes before it says that the client does not read.
#: bound: connections | bytes set aside for a watcher that does not read | -
STALLED_BYTES = 128 * 1024
#: bound: connections | a watcher for which others wait must read within | it is cut
STALLED_SECONDS = 10.0
_LOOK_SECONDS = 1.0


class Receiver(Protocol):
    """One watch. `queued`, `waiting`, `held` and `stalled_at` are the fan-out's own notes about it."""

    queued: bool
    waiting: bool
    held: int
    stalled_at: float

    @property
    def user_name(self) -> str: ...

    @property
    def writable(self) -> bool:
        """Its client reads, or it is closed."""
        ...

    def own_bytes(self) -> int:
        """Bytes of the next change that are made for this watch alone, because it asks for a form of its own."""
        ...

    def step(self) -> bool:
        """Send a little; whether there is more to send now."""
        ...

    def cut(self) -> None: ...


class Fanout:
    def __init__(self, loop: asyncio.AbstractEventLoop, bytes_max: int = WATCHES_BYTES_MAX) -> None:
        self._loop = loop
        self._now = loop.time
        self.budget = ByteBudget(bytes_max)
        self._ready: dict[str, deque[Receiver]] = {}  # by user, in the order of their turns
        self._waiting: dict[str, deque[Receiver]] = {}  # for a share of the budget
        self._stalled: dict[Receiver, None] = {}  # whose clients do not read, the longest first
        self._turn_due: asyncio.Handle | None = None
        self._look_due: asyncio.TimerHandle | None = None
        self._in_turn = False
        self.turns = 0
        self.cuts = 0

    def push(self, receiver: Receiver) -> None:
        """It has something to send; its turn comes with the next `run`."""
        if receiver.queued or receiver.waiting:
            return
        receiver.queued = True
        user = receiver.user_name
        queue = self._ready.get(user)
        if queue is None:
            queue = self._ready[user] = deque()
        queue.append(receiver)

    def add(self, receiver: Receiver) -> None:
        """It has something to send; its turn comes soon."""
        self.push(receiver)
        self._go_on()

    def run(self) -> None:
        """Begin at once, if nothing is under way."""
        if self._turn_due is None and not self._in_turn:
            self._turn()

    def resumed(self, receiver: Receiver) -> None:
        """Its client reads again."""
        self._stalled.pop(receiver, None)
        self.add(receiver)

    def release(self, receiver: Receiver) -> None:
        """What it held of the budget is free again: it is closed, or its client reads."""
        if receiver.held:
            user = receiver.user_name
            self.budget.give_back(user, receiver.held)
            receiver.held = 0
            self._stalled.pop(receiver, None)
            waiting = self._waiting.get(user)
            if waiting:
                self._admit(user, waiting)
                self._go_on()

    def _go_on(self) -> None:
        if self._turn_due is None and self._ready and not self._in_turn:
            self._turn_due = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_due, self._in_turn = None, True
        self.turns += 1
        now, ready = self._now, self._ready
        deadline = now() + TURN_SECONDS
        while ready:
            user, queue = next(iter(ready.items()))
            receiver = queue.popleft()
            del ready[user]
            if queue:
                ready[user] = queue  # the next user comes first
            receiver.queued = False
            self._serve(receiver)
            if now() >= deadline:
                break
        self._in_turn = False
        self._go_on()

    def _serve(self, receiver: Receiver) -> None:
        user = receiver.user_name
        if not receiver.writable:
            return  # `resumed` comes
        if not receiver.held:
            size = STALLED_BYTES + receiver.own_bytes()
            if not self.budget.take(user, size):
                receiver.waiting = True
                self._waiting.setdefault(user, deque()).append(receiver)
                self._look_soon()
                return
            receiver.held = size
        more = receiver.step()
        if not receiver.writable:
            receiver.stalled_at = self._now()
            self._stalled[receiver] = None
            return
        if more:
            self.push(receiver)  # it keeps its share until it has all
        else:
            self.release(receiver)

    def _admit(self, user: str, waiting: deque[Receiver]) -> None:
        receiver = waiting.popleft()
        if not waiting:
            del self._waiting[user]
        receiver.waiting = False
        self.push(receiver)

    # Those that wait for others

    def _look_soon(self) -> None:
        if self._look_due is None:
            self._look_due = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._look_due = None
        late = self._now() - STALLED_SECONDS
        for receiver in list(self._stalled):
            if receiver.stalled_at > late:
                break
            if receiver.user_name in self._waiting:
                self.cuts += 1
                receiver.cut()
        for user, waiting in list(self._waiting.items()):
            for _ in range(len(waiting)):
                self._admit(user, waiting)
        self._go_on()

    def stop(self) -> None:
        for due in (self._turn_due, self._look_due):
            if due is not None:
                due.cancel()
        self._turn_due = self._look_due = None
