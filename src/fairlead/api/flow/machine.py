"""Whose turn it is: takes requests as they arrive, and says which begins, which waits and which is refused.

A machine like the store's, driven by `wire/flow_driver.py`. There are two scarce things: turns of the one loop, and
seats (`levels.py`), which a request holds from its beginning until it is answered. Levels share the turns in proportion
to their shares of seats, the flows of a level equally; both by start-time fair queueing (`queues.py`), so that a level
or a flow from which nothing came for a while is next when something comes. A level always has its own seats, and
borrows what others lend and do not use. An exempt level needs no seat and refuses nobody, but takes turns like the
others. A flow that has been alone for a moment has ALONE_SEATS, until another comes.

    Arrived --+--> Begin                  nobody waits, there is a seat and time in this turn of the loop
              +--> TurnSoon, LookAt       it waits in a queue of its level
              +--> Refuse                 its queue is full, or its level has no queues and no seat
    TurnCame ----> Begin, TurnSoon        the next one; TurnSoon if another waits. Nothing: nobody could begin
    Ended -------> TurnSoon               a seat or a place is free, and somebody waits
    Looked ------> Refuse..., LookAt      who has waited for WAIT_SECONDS; seats held for SEAT_SECONDS are free again
"""

from __future__ import annotations

from typing import Generic, TypeVar

from fairlead.api.flow.counts import FlowCounts
from fairlead.api.flow.events import (
    CONCURRENCY_LIMIT,
    QUEUE_FULL,
    TIME_OUT,
    Arrived,
    Begin,
    Configured,
    Event,
    Instruction,
    LookAt,
    Looked,
    Refuse,
    RequestEnded,
    TurnCame,
    TurnSoon,
)
from fairlead.api.flow.in_force import Flow
from fairlead.api.flow.levels import ALONE_SEATS, SEATS, PriorityLevel, Seats, deal_seats
from fairlead.api.flow.queues import FairQueues, WaitingRequest

T = TypeVar("T")

#: bound: requests | a request waits for its turn | 429
WAIT_SECONDS = 15.0
# A client that does not read its list, or a node that does not answer, must not keep others of its level out.
#: bound: requests | a request that is not answered keeps its seat for | it goes on without one
SEAT_SECONDS = 5.0
_LOOK_SECONDS = 1.0
# So long after a request of another flow, one that is left is alone.
_ALONE_SECONDS = 0.1
#: bound: requests | schemas and levels that are counted apart | the rest is counted together
COUNTED_MAX = 512
_OTHER = ("other", "other")
_NO_SEATS = Seats(0, 0, 0)


class _LevelState(Generic[T]):
    """One priority level: who waits, and what is held."""

    __slots__ = ("cost", "held", "level", "queues", "seats", "tag")

    def __init__(self, level: PriorityLevel, tag: float) -> None:
        self.queues: FairQueues[T] = FairQueues()
        self.held = 0  # seats
        self.tag = tag
        self.become(level, _NO_SEATS, 1)

    def become(self, level: PriorityLevel, seats: Seats, shares: int) -> None:
        self.level = level
        self.seats = seats
        # What a seat of width costs of the level's share of turns. An exempt level has as much as all others together.
        self.cost = 1.0 / (shares if level.exempt else max(1, level.shares))


class FlowMachine(Generic[T]):
    """`counts` are for metrics, by priority level and schema."""

    __slots__ = (
        "_alone_from",
        "_begun",
        "_flow",
        "_held",
        "_levels",
        "_looks",
        "_tag",
        "_total",
        "_turn_asked",
        "_waiting",
        "counts",
    )

    def __init__(self, total: int = SEATS) -> None:
        self._total = total
        self._levels: dict[str, _LevelState[T]] = {}
        self._waiting: dict[T, WaitingRequest[T]] = {}  # oldest first
        self._begun: dict[T, WaitingRequest[T]] = {}  # with a seat, oldest first
        self._tag = 0.0  # of the level that was served last
        self._turn_asked = self._looks = False
        self._flow: Flow | None = None  # of the last request
        self._alone_from = 0.0  # when, if none of another flow comes before, it is alone
        self._held = 0  # seats of all levels
        self.counts: dict[tuple[str, str], FlowCounts] = {}

    def handle(self, event: Event[T]) -> tuple[Instruction[T], ...]:
        if isinstance(event, Arrived):
            return self._arrived(event)
        if isinstance(event, RequestEnded):
            return self._ended(event.ticket)
        if isinstance(event, TurnCame):
            return self._turn(event.now)
        if isinstance(event, Looked):
            return self._look(event.now)
        return self._configured(event)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def is_alone(self, now: float) -> bool:
        """All requests have been of one flow for a while."""
        return now >= self._alone_from

    def seats_held(self, level: str) -> int:
        state = self._levels.get(level)
        return state.held if state is not None else 0

    def seats_of(self, level: str) -> Seats:
        state = self._levels.get(level)
        return state.seats if state is not None else _NO_SEATS

    # Events

    def _configured(self, event: Configured) -> tuple[Instruction[T], ...]:
        seats = deal_seats(event.levels.values(), self._total)
        shares = sum(each.shares for each in event.levels.values()) or 1
        for level in event.levels.values():
            state = self._levels.get(level.name)
            if state is None:
                state = self._levels[level.name] = _LevelState(level, self._tag)
            state.become(level, seats[level.name], shares)
        for name in [name for name in self._levels if name not in event.levels]:
            gone = self._levels[name]
            if gone.queues.count or gone.held:
                gone.become(gone.level, Seats(1, 0, 0), shares)  # one after the other, to the end
            else:
                del self._levels[name]
        return self._turn_soon()

    def _arrived(self, event: Arrived[T]) -> tuple[Instruction[T], ...]:
        flow = event.flow
        if flow is not self._flow:
            self._flow, self._alone_from = flow, event.now + _ALONE_SECONDS
        state = self._levels[flow.level]
        width = max(1, min(event.width, state.seats.nominal + state.seats.borrowable))
        counts = self.counts.get((flow.level, flow.schema)) or self._first_counts(flow)
        request = WaitingRequest(event.ticket, flow, width, event.in_turn, event.now, counts)
        if event.room and not self._waiting and (event.in_turn or self._has_seat(state, width, event.now)):
            self._tag = state.tag = max(state.tag, self._tag)
            self._begin(state, request, event.now)
            counts.at_once += 1
            return (Begin(event.ticket),)
        level = state.level
        index = 0
        if level.queues:
            index = state.queues.shortest(flow.hand)
            if state.queues.length(index) >= level.queue_length:
                return self._refuse(request, QUEUE_FULL)
        elif not level.exempt and state.held + state.queues.seats + width > state.seats.nominal:
            return self._refuse(request, CONCURRENCY_LIMIT)
        if not state.queues.count:
            state.tag = max(state.tag, self._tag)
        state.queues.add(index, request)
        self._waiting[event.ticket] = request
        counts.waiting += 1
        if event.room:
            found = self._turn(event.now)
            return (*found, *self._look_later(event.now))
        return (*self._turn_soon(), *self._look_later(event.now))

    def _ended(self, ticket: T) -> tuple[Instruction[T], ...]:
        request = self._begun.pop(ticket, None)
        if request is not None:
            self._give_back(request)
            return self._turn_soon() if self._waiting else ()
        request = self._waiting.pop(ticket, None)
        if request is not None:  # nobody waits for it any more
            self._levels[request.level].queues.remove(request)
            counts = request.counts
            counts.waiting -= 1
            counts.cancelled += 1
            return self._turn_soon()  # others may have waited behind it
        return ()

    def _turn(self, now: float) -> tuple[Instruction[T], ...]:
        self._turn_asked = False
        found = self._next(now)
        if found is None:
            return ()
        state, in_turn = found
        request = state.queues.take(in_turn=in_turn)
        del self._waiting[request.ticket]
        self._tag = max(self._tag, state.tag)
        counts = request.counts
        counts.waiting -= 1
        counts.waited.observe(max(0.0, now - request.since))
        self._begin(state, request, now)
        return (Begin(request.ticket), *self._turn_soon())

    def _look(self, now: float) -> tuple[Instruction[T], ...]:
        self._looks = False
        out: list[Instruction[T]] = []
        for request in list(self._waiting.values()):
            if request.since > now - WAIT_SECONDS:
                break
            del self._waiting[request.ticket]
            self._levels[request.level].queues.remove(request)
            request.counts.waiting -= 1
            out += self._refuse(request, TIME_OUT)
        for request in list(self._begun.values()):
            if request.since > now - SEAT_SECONDS:
                break
            del self._begun[request.ticket]
            self._give_back(request)
        return (*out, *self._turn_soon(), *self._look_later(now))

    # Who is next

    def _next(self, now: float) -> tuple[_LevelState[T], bool] | None:
        """The level whose turn it is, and whether its next needs no seat. None: nobody who waits could begin."""
        best: tuple[_LevelState[T], bool] | None = None
        for state in self._levels.values():
            if not state.queues.count or (best is not None and best[0].tag <= state.tag):
                continue
            in_turn = self._next_of(state, now)
            if in_turn is not None:
                best = state, in_turn
        return best

    def _next_of(self, state: _LevelState[T], now: float) -> bool | None:
        seated, passing = state.queues.head(in_turn=False), state.queues.head(in_turn=True)
        if seated is not None and not self._has_seat(state, seated[1].width, now):
            seated = None  # it waits for its seats, and those behind it too
        if seated is None:
            return None if passing is None else True
        return passing is not None and passing[0] <= seated[0]

    def _has_seat(self, state: _LevelState[T], width: int, now: float) -> bool:
        held, seats = state.held + width, state.seats
        if held <= seats.nominal or state.level.exempt:
            return True
        if now >= self._alone_from and seats.nominal and self._held + width <= ALONE_SEATS:
            return True
        if not state.held and seats.nominal:
            return True  # a wide one, in a level that has become narrow since it came
        if held > seats.nominal + seats.borrowable:
            return False
        lent = borrowed = 0
        for other in self._levels.values():
            if other.held > other.seats.nominal:
                borrowed += 0 if other.level.exempt else other.held - other.seats.nominal
            elif other is not state:
                lent += min(other.seats.lendable, other.seats.nominal - other.held)
        return borrowed + held - max(state.held, seats.nominal) <= lent

    # Books

    def _begin(self, state: _LevelState[T], request: WaitingRequest[T], now: float) -> None:
        request.since = now
        state.tag += request.width * state.cost
        counts = request.counts
        counts.dispatched += 1
        counts.executing += 1
        state.held += request.width
        self._held += request.width
        self._begun[request.ticket] = request

    def _give_back(self, request: WaitingRequest[T]) -> None:
        state = self._levels[request.level]
        state.held -= request.width
        self._held -= request.width
        request.counts.executing -= 1

    def _refuse(self, request: WaitingRequest[T], reason: str) -> tuple[Instruction[T], ...]:
        refused = request.counts.refused
        refused[reason] = refused.get(reason, 0) + 1
        return (Refuse(request.ticket, reason),)

    def _first_counts(self, flow: Flow) -> FlowCounts:
        key = (flow.level, flow.schema) if len(self.counts) < COUNTED_MAX else _OTHER
        return self.counts.setdefault(key, FlowCounts())

    def _turn_soon(self) -> tuple[Instruction[T], ...]:
        if self._turn_asked or not self._waiting:
            return ()
        self._turn_asked = True
        return (TurnSoon(),)

    def _look_later(self, now: float) -> tuple[Instruction[T], ...]:
        if self._looks or not self._waiting:
            return ()
        self._looks = True
        return (LookAt(now + _LOOK_SECONDS),)
