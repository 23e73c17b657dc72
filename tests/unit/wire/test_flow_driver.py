"""The driver of turns: when the handler's requests begin, in which turn of the loop, and what ends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from fairlead.api.access.users import AUTHENTICATED, MASTERS, User
from fairlead.api.flow.in_force import FlowControl
from fairlead.api.flow.machine import WAIT_SECONDS
from fairlead.core.errors import TooManyRequests
from fairlead.port.request import Request
from fairlead.store.contract import Reader
from fairlead.wire.exchange import Exchange
from fairlead.wire.flow_driver import ALONE_TURN_SECONDS, GATHER_SECONDS, TURN_SECONDS, Turns
from fairlead.wire.http import ServerConnection

ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
PEOPLE = [User(name, groups=(AUTHENTICATED,)) for name in ("ann", "bob")]


class Loop:
    """Turns of a loop by hand."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def call_later(self, delay: float, call: Callable[[], None]) -> Any:
        self.later.append((delay, call))
        return self

    def turn(self) -> None:
        due, self.soon = self.soon, []
        for call in due:
            call()


class World:
    """Requests of which each takes `work_seconds` to begin, and is answered when `end` is called."""

    def __init__(self, work_seconds: float = 0.0) -> None:
        self.loop = Loop()
        self.now = 10.0
        self.turns = Turns(cast(Any, self.loop), FlowControl(), cast(Reader, None), lambda: self.now)
        self.begun: list[str] = []
        self.refused: list[tuple[str, str]] = []
        self._work_seconds = work_seconds
        self.exchanges: dict[str, Exchange] = {}

    def ask(self, name: str, user: User = ADMIN) -> None:
        exchange = Exchange(cast(ServerConnection, None), b"POST", b"/", {})
        self.exchanges[name] = exchange

        def begin() -> None:
            self.begun.append(name)
            self.now += self._work_seconds

        def refuse(error: TooManyRequests) -> None:
            self.refused.append((name, str(error)))
            exchange.settle()

        request = Request("create", "", "v1", "pods", "shop")
        self.turns.arrive(exchange, user, request, "", begin, refuse)

    def end(self, name: str) -> None:
        self.exchanges[name].settle()


def test_what_does_not_fit_in_a_turn_of_the_loop_waits_for_the_next_ones() -> None:
    world = World(work_seconds=0.4 * TURN_SECONDS)
    for number in range(8):
        world.ask(f"r{number}", ADMIN)
    assert world.begun == ["r0", "r1", "r2"], "the third began in time"
    world.loop.turn()
    assert len(world.begun) == 6
    world.loop.turn()
    assert len(world.begun) == 8
    world.loop.turn()
    assert world.loop.soon == [], "nobody waits: the loop sleeps"


def test_turns_are_longer_while_all_is_of_one_flow() -> None:
    world = World(work_seconds=TURN_SECONDS)
    world.ask("first")
    world.now += 1.0
    world.loop.turn()
    for number in range(40):
        world.ask(f"r{number}")
    before = len(world.begun)
    world.loop.turn()
    assert len(world.begun) - before == round(ALONE_TURN_SECONDS / TURN_SECONDS)


def test_who_is_refused_is_told_to_try_again() -> None:
    world = World()
    for number in range(100):
        world.ask(f"r{number}", PEOPLE[number % 2])  # catch-all has few seats and no queues
    assert 0 < len(world.begun) < 100
    assert len(world.begun) + len(world.refused) == 100
    assert world.refused[0][1].startswith("Too many requests, please try again later.")


def test_an_exchange_that_is_settled_makes_room_and_does_so_once() -> None:
    world = World()
    for number in range(100):
        world.ask(f"r{number}", PEOPLE[number % 2])
    first, seats = world.begun[0], len(world.begun)
    world.end(first)
    world.end(first)
    world.ask("next")
    world.ask("one", PEOPLE[0])
    world.ask("more", PEOPLE[1])
    assert world.begun[seats:] == ["next", "one"]


class Connection:
    """What a stream begins on."""

    def release_body(self, exchange: Exchange) -> None: ...

    def bound_stream(self, *, streams: bool) -> None: ...

    def write(self, data: bytes) -> None: ...


def test_what_becomes_a_stream_holds_nothing_from_then_on() -> None:
    settled: list[bool] = []
    exchange = Exchange(cast(ServerConnection, Connection()), b"GET", b"/", {})
    exchange.on_settled = lambda: settled.append(True)
    exchange.stream(b"application/json")
    assert settled == [True]


def test_the_exchange_tells_its_flow() -> None:
    world = World()
    world.ask("a")
    assert world.exchanges["a"].flow.startswith(b"x-kubernetes-pf-flowschema-uid: ")


def test_a_commit_waits_for_more_of_a_flow_that_is_alone_but_not_for_long_and_not_if_another_comes() -> None:
    world = World(work_seconds=ALONE_TURN_SECONDS)
    world.ask("first")
    world.now += 1.0
    world.loop.turn()
    assert not world.turns.gathers(), "nobody waits"
    for number in range(20):
        world.ask(f"r{number}")
    assert world.turns.gathers()
    world.now += GATHER_SECONDS
    assert not world.turns.gathers()
    assert world.turns.gathers(), "this is for the next commit"
    world.ask("another", PEOPLE[0])
    assert not world.turns.gathers()


def test_who_waits_for_too_long_is_refused_by_the_clock() -> None:
    world = World(work_seconds=TURN_SECONDS)
    world.ask("begins")
    world.ask("waits")
    (delay, look), *_ = world.loop.later
    assert delay > 0
    world.now += WAIT_SECONDS
    look()
    assert [name for name, _ in world.refused] == ["waits"]
