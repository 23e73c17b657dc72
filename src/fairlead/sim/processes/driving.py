"""A process that drives one machine in virtual time: `runtime/driving.py` with crashes, pauses and a clock that may be
wrong. `planes.py` and `agents.py` are such processes, and add what their machines ask for.

Each start is a new life with a new machine; what still comes for a former one is dropped. What comes while the process
is paused waits, as it does in the buffers of a real one. Every event goes through `_feed`. A machine has finished its
step when its instructions are carried out: a process that dies at one of them did not send the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import structs

from fairlead.cache.events import Mirrored, MirrorEvent
from fairlead.port.driving import Follow, ListAll, Machine, Started, WakeAt, Woke
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.faults import CLOCK_DRIFT, Faults
from fairlead.sim.network import Link
from fairlead.sim.time import Timeline

RESTART_MS_MAX = 8_000
_DRIFT_STEP = 1 / 4096  # sums of such steps are exact
_DRIFT_STEPS = int(CLOCK_DRIFT / _DRIFT_STEP)

E = TypeVar("E")
I = TypeVar("I")  # noqa: E741 - instructions, as E is events


class SimulatedProcess(ABC, Generic[E, I]):
    skew_ms_max: ClassVar[int]
    drifts: ClassVar[bool]
    in_order: ClassVar[bool]  # what waited while it was paused is handled as it came; if not, as chance says

    def __init__(self, timeline: Timeline, chance: Chance, digest: Digest, link: Link) -> None:
        self.link = link
        self.up = False
        self._timeline, self._chance, self._digest = timeline, chance, digest
        name = self.name = link.name
        self._luck = chance.stream("luck", name)
        self._skews = chance.faults("clock_skew", name)
        self._skew = chance.details("skew", self._skews)
        self._drifts = chance.faults("clock_drift", name)
        self._drift = chance.details("drift", self._drifts)
        self._dies_mid_step = chance.faults("crash_mid_step", name)
        self._mid_step = chance.details("crash.instruction", self._dies_mid_step)
        self.faults = Faults()
        self._restart_delay = chance.stream("restart", name)
        self._life = 0
        self._skew_ms = 0
        self._pace = 1.0  # seconds of its clock in a second
        self._paused_until = 0
        self._slow_until, self._slow_last, self._slow_ms = 0, -1, 0
        self._waiting: deque[Callable[[], E | Mirrored | Woke | None]] = deque()
        self._timers: dict[str, int] = {}  # by name, the number of the one that counts
        self._machine: Machine[E | Mirrored, I]

    @property
    def now(self) -> float:
        """What this process believes."""
        return self._clock()

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def crash(self) -> None: ...

    @abstractmethod
    def _carry_out(self, instruction: I) -> None: ...

    @abstractmethod
    def _note_event(self, event: E | Mirrored | Started | Woke) -> None:
        """For the digest, before the machine handles it."""

    # What becomes of it

    def _begin_life(self) -> None:
        self._life += 1
        self.up = True
        self._skew_ms, self._pace = 0, 1.0
        if self._skews.happens(self.faults.clock_skew):
            self._skew_ms = self._skew.choose(2 * self.skew_ms_max) - self.skew_ms_max
        if self.drifts and self._drifts.happens(self.faults.clock_drift):
            self._pace = 1.0 + (self._drift.choose(2 * _DRIFT_STEPS) - _DRIFT_STEPS) * _DRIFT_STEP
        self._slow_until, self._slow_last = 0, -1
        self._paused_until = self.link.paused_until = 0
        self._waiting.clear()

    def _start_machine(self, machine: Machine[E | Mirrored, I], *before: E) -> None:
        """`before`: events that it is told first."""
        self._machine = machine
        for event in before:
            self._feed(event)
        self._feed(Started(self.now, self._draw()))

    def pause(self, ms: int) -> None:
        """Nothing happens in it for a while; then it goes on as if nothing had been."""
        self._paused_until = max(self._paused_until, self._timeline.ms + ms)
        self.link.paused_until = self._paused_until

    @property
    def is_paused(self) -> bool:
        return self._timeline.ms < self._paused_until or bool(self._waiting)

    def slow_down(self, ms: int, late_ms: int) -> None:
        """For a while all it hears comes to it so late, in the same order: it is busy, not stopped."""
        self._slow_until, self._slow_ms = self._timeline.ms + ms, late_ms

    def _restart_later(self) -> None:
        delay = 500 + self._restart_delay.choose(RESTART_MS_MAX)
        self._timeline.after(delay, self._restart, self._life)

    def _restart(self, life: int) -> None:
        if life == self._life and not self.up:
            self.start()

    # What reaches it

    def _hear(self, life: int, make: Callable[[], E | Mirrored | Woke | None]) -> None:
        """`make` tells the event when it is handled, at the time that it is then; None if it is of no use any more."""
        ms = self._timeline.ms
        if ms >= self._slow_until and ms > self._slow_last:
            self._take(life, make)
            return
        late = self._slow_ms if ms < self._slow_until else 0
        self._slow_last = max(ms + late, self._slow_last + 1)  # one after the other, as they came
        self._timeline.at(self._slow_last, self._take, life, make, True)

    def _take(
        self, life: int, make: Callable[[], E | Mirrored | Woke | None], as_it_came: bool = False
    ) -> None:
        """`as_it_came`: also while it is paused it stays behind what came before it, as what a watch brings must."""
        if life != self._life or not self.up:
            return
        is_paused = self._timeline.ms < self._paused_until
        if is_paused and not (self.in_order or as_it_came):
            self._timeline.at(self._paused_until, self._take, life, make)
            return
        if is_paused or self._waiting:
            if not self._waiting:
                self._timeline.at(self._paused_until, self._go_on, life)
            self._waiting.append(make)
            return
        event = make()
        if event is not None:
            self._feed(event)

    def _go_on(self, life: int) -> None:
        while life == self._life and self.up and self._waiting:
            if self._timeline.ms < self._paused_until:
                self._timeline.at(self._paused_until, self._go_on, life)
                return
            event = self._waiting.popleft()()
            if event is not None:
                self._feed(event)

    def _feed(self, event: E | Mirrored | Started | Woke) -> None:
        """The only way into the machine."""
        self._note_event(event)
        instructions = self._machine.handle(event)
        if len(instructions) > 1 and self._dies_mid_step.happens(self.faults.crash_mid_step):
            instructions = instructions[: 1 + self._mid_step.choose(len(instructions) - 1)]
            for instruction in instructions:
                self._carry_out(instruction)
            self.crash()
            return
        for instruction in instructions:
            self._carry_out(instruction)
            if not self.up:
                return  # it died at this write, and what it would have done next with it

    def _draw(self) -> float:
        """For its machine: back-off and the like."""
        return self._luck.unit()

    # Timers

    def _wake_at(self, wake: WakeAt) -> None:
        number = self._timers[wake.timer] = self._timers.get(wake.timer, 0) + 1
        ms = int(((wake.at - self._timeline.epoch) * 1000 - self._skew_ms) / self._pace) + 1
        woke = partial(self._woke, wake.timer, number)
        self._timeline.at(max(ms, self._timeline.ms + 1), self._hear, self._life, woke)

    @staticmethod
    def is_timer(act: Callable[..., None], arguments: tuple[Any, ...]) -> bool:
        """Whether this entry of the timeline is a process that wakes by itself, and not something that reaches it."""
        if not isinstance(act, MethodType) or act.__func__ is not SimulatedProcess._hear:
            return False
        made = arguments[1].func if isinstance(arguments[1], partial) else None
        return isinstance(made, MethodType) and made.__func__ is SimulatedProcess._woke

    def _woke(self, timer: str, number: int) -> Woke | None:
        return Woke(self.now, self._draw(), timer) if number == self._timers[timer] else None

    # Mirrors

    def _list(self, asked: ListAll) -> None:
        self.link.list(asked.resource_name, asked.attempt, self._teller(asked.resource_name), self._clock)

    def _follow(self, asked: Follow) -> None:
        name, since = asked.resource_name, asked.since_revision
        self.link.follow(name, since, asked.attempt, self._teller(name), self._clock)

    def _teller(self, resource: str) -> Callable[..., None]:
        life, timeline = self._life, self._timeline

        def tell(*events: MirrorEvent) -> None:
            ms = timeline.ms
            hears = ms >= self._slow_until and ms > self._slow_last and life == self._life and self.up
            if hears and ms >= self._paused_until and not self._waiting:  # as it most often is
                self._feed(Mirrored(resource, events))
            else:
                self._hear(life, partial(self._told, resource, events))

        return tell

    def _told(self, resource: str, events: tuple[MirrorEvent, ...]) -> Mirrored:
        now = self.now
        if events[0].now != now:  # they waited while the process was paused
            events = tuple(structs.replace(event, now=now) for event in events)
        return Mirrored(resource, events)

    def _clock(self) -> float:
        return self._timeline.epoch + (self._timeline.ms * self._pace + self._skew_ms) / 1000
