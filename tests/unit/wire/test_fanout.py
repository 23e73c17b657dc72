"""The fan-out's turns: bounded in time, shared among users, and bounded in what clients that do not read hold."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any, cast

from fairlead.wire.fanout import STALLED_BYTES, STALLED_SECONDS, TURN_SECONDS, Fanout


class Timer:
    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at, self.callback, self.cancelled = at, callback, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """A clock that is moved by hand, and by the steps of watches."""

    def __init__(self) -> None:
        self.now = 0.0
        self.soon: deque[Timer] = deque()
        self.later: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None]) -> Timer:
        self.soon.append(Timer(self.now, callback))
        return self.soon[-1]

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.later.append(Timer(self.now + seconds, callback))
        return self.later[-1]

    def turn(self) -> None:
        for _ in range(len(self.soon)):
            self.soon.popleft().callback()

    def settle(self) -> None:
        while self.soon:
            self.turn()

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while due := sorted((each for each in self.later if each.at <= until), key=lambda each: each.at):
            self.later.remove(due[0])
            self.now = max(self.now, due[0].at)
            due[0].callback()
            self.settle()
        self.now = until


class Watch:
    def __init__(self, world: World, user: str, steps: int, reads: bool, own: int) -> None:
        self.world, self.user_name, self.left, self.reads, self.own = world, user, steps, reads, own
        self.queued = self.waiting = self.was_cut = False
        self.held = self.steps = 0
        self.stalled_at = 0.0
        self.writable = True

    def own_bytes(self) -> int:
        return self.own

    def step(self) -> bool:
        self.world.loop.now += self.world.step_seconds
        self.world.order.append(self.user_name)
        self.left -= 1
        self.steps += 1
        self.writable = self.reads
        return self.left > 0

    def cut(self) -> None:
        self.was_cut = self.writable = True
        self.left = 0
        self.world.fanout.release(self)


class World:
    def __init__(self, bytes_max: int = 1 << 40) -> None:
        self.loop = Loop()
        self.fanout = Fanout(cast(Any, self.loop), bytes_max)
        self.order: list[str] = []
        self.step_seconds = TURN_SECONDS / 4

    def watch(self, user: str = "ann", steps: int = 1, reads: bool = True, own: int = 0) -> Watch:
        made = Watch(self, user, steps, reads, own)
        self.fanout.push(made)
        return made


def test_a_turn_ends_in_time_however_many_wait_and_all_get_everything() -> None:
    world = World()
    watches = [world.watch(steps=3) for _ in range(200)]
    world.fanout.run()
    assert len(world.order) == 4, "the rest is for later turns"
    turns = 1
    while world.loop.soon:
        assert len(world.loop.soon) == 1, "two chains of turns"
        before = len(world.order)
        world.loop.turn()
        turns += 1
        assert len(world.order) - before <= 4
    assert [each.steps for each in watches] == [3] * 200
    assert turns == world.fanout.turns == 150
    assert world.fanout.budget.held == 0


def test_what_comes_during_the_turns_waits_for_them() -> None:
    world = World()
    for _ in range(40):
        world.watch()
    world.fanout.run()
    world.watch("tom")
    world.fanout.run()
    assert len(world.order) == 4
    world.loop.turn()
    assert "tom" in world.order


def test_a_user_with_many_watches_does_not_keep_another_waiting() -> None:
    world = World()
    for _ in range(500):
        world.watch("ann", steps=20)
    world.watch("tom", steps=20)
    world.fanout.run()
    while world.order.count("tom") < 20:
        world.loop.turn()
    assert Counter(world.order)["ann"] <= 21


def test_clients_that_do_not_read_hold_no_more_than_their_users_share() -> None:
    world = World(30 * STALLED_BYTES)
    silent = [world.watch("ann", steps=5, reads=False) for _ in range(100)]
    world.fanout.run()
    world.loop.settle()
    assert sum(each.steps for each in silent) == 15, "half of the budget"
    assert world.fanout.budget.held == 15 * STALLED_BYTES
    reading = world.watch("tom", steps=50)
    world.fanout.run()
    world.loop.settle()
    assert reading.steps == 50, "others go on"
    silent[0].writable = silent[0].reads = True
    world.fanout.resumed(silent[0])
    world.loop.settle()
    assert silent[0].steps == 5
    assert sum(each.steps > 0 for each in silent) == 16, "who reads again makes room for the next"


def test_who_does_not_read_for_long_is_cut_if_others_wait() -> None:
    world = World(30 * STALLED_BYTES)
    patient = [world.watch("tom", steps=2, reads=False)]
    silent = [world.watch("ann", steps=2, reads=False) for _ in range(40)]
    world.fanout.run()
    world.loop.settle()
    world.loop.pass_time(STALLED_SECONDS - 1)
    assert not any(each.was_cut for each in silent)
    world.loop.pass_time(2)
    assert sum(each.was_cut for each in silent) == world.fanout.cuts == 14
    world.loop.pass_time(3 * STALLED_SECONDS)
    assert all(each.steps for each in silent), "everybody had a chance"
    assert not patient[0].was_cut, "nobody of that user waits"
    assert world.fanout.budget.held <= 30 * STALLED_BYTES


def test_a_form_of_its_own_is_paid_for_with_its_size() -> None:
    world = World(40 * STALLED_BYTES)
    watches = [world.watch(own=9 * STALLED_BYTES, reads=False) for _ in range(10)]
    world.fanout.run()
    world.loop.settle()
    assert sum(each.steps for each in watches) == 2


def test_those_that_are_closed_leave_nothing_behind() -> None:
    world = World(4 * STALLED_BYTES)
    watches = [world.watch(reads=False) for _ in range(10)]
    world.fanout.run()
    world.loop.settle()
    for each in watches:
        each.left, each.writable, each.reads = 0, True, True
        world.fanout.release(each)
    world.loop.pass_time(5)
    for each in watches:
        world.fanout.release(each)
    assert (world.fanout.budget.held, world.fanout._waiting, world.fanout._ready) == (0, {}, {})
    world.fanout.stop()
