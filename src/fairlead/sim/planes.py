"""A plane as a process: `runtime/plane_driver.py` in virtual time, with crashes, pauses and a clock that may be wrong.

Each start is a new plane with a new identity. What still comes for a former one is dropped; what comes while the
process is paused waits, as it does in the buffers of a real one, and is then handled in an order the tape chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import structs

from fairlead.api.users import MASTERS, User
from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Phase
from fairlead.control.instructions import (
    AskProgress,
    Call,
    Forget,
    MirrorWakeAt,
    PlaneInstruction,
    Record,
    Replied,
    Report,
    Stepped,
    WakeAt,
    Woke,
)
from fairlead.control.plane import Plane
from fairlead.control.turn import Turn
from fairlead.port.outcome import Outcome
from fairlead.port.request import READ_VERBS
from fairlead.sim.digest import Digest
from fairlead.sim.faults import Faults
from fairlead.sim.network import Link
from fairlead.sim.tape import Tape
from fairlead.sim.time import Timeline
from fairlead.sim.violation import Violation

_SKEW_MS_MAX = 30_000
RESTART_MS_MAX = 8_000

MakePlane = Callable[[str], Plane]


class PlaneProcess:
    def __init__(
        self,
        slot: int,
        make: MakePlane,
        timeline: Timeline,
        tape: Tape,
        digest: Digest,
        link: Link,
        tells_progress: bool = True,  # of watches, when asked; otherwise the mirror lists again, as over HTTPS
    ) -> None:
        self.faults = Faults()
        self.link = link
        self.up = False
        self.crashes_between_writes = 0
        self._slot = slot
        self._tells_progress = tells_progress
        self._make = make
        self._timeline = timeline
        self._tape = tape
        self._digest = digest
        self._life = 0
        self._skew_ms = 0
        self._paused_until = 0
        self._timer = 0  # number of the one that counts
        self._died_mid_turn = False
        self._mirror_timers: dict[str, int] = {}
        self._users: dict[str, User] = {}

    @property
    def now(self) -> float:
        """What this process believes."""
        return self._timeline.epoch + (self._timeline.ms + self._skew_ms) / 1000

    @property
    def identity(self) -> str:
        return f"plane-{self._slot}-{self._life}"

    def start(self) -> None:
        self._life += 1
        self.up = True
        self._skew_ms = 0
        if self._tape.happens("clock_skew", self.faults.clock_skew):
            self._skew_ms = self._tape.choose("skew", 2 * _SKEW_MS_MAX) - _SKEW_MS_MAX
        self._paused_until = self.link.paused_until = 0
        self.plane = self._make(self.identity)
        self._digest.add(b"start", self.identity)
        self._carry_out(self.plane.begin(self.now, self._tape.chance("plane.chance")))

    def crash(self) -> None:
        if not self.up:
            return
        self.up = False
        self.link.close()
        self._digest.add(b"crash", self.identity)
        if any(turn.position for turn in self._turns()):
            self.crashes_between_writes += 1
        self._died_mid_turn = any(True for _ in self._turns())
        self._timeline.after(500 + self._tape.choose("restart", RESTART_MS_MAX), self._restart, self._life)

    @property
    def follows(self) -> bool:
        """All its mirrors are up to date, or will be soon; none waits before it tries again."""
        return self.up and all(mirror.phase is Phase.FOLLOWING for mirror in self.plane.mirrors.values())

    @property
    def mid_turn(self) -> bool:
        """Something it began has no answer yet, or never will have."""
        return any(True for _ in self._turns()) if self.up else self._died_mid_turn

    def _turns(self) -> Iterator[Turn]:
        return self.plane.turns()

    def _restart(self, life: int) -> None:
        if life == self._life and not self.up:
            self.start()

    def pause(self, ms: int) -> None:
        """Nothing happens in it for a while; then it goes on as if nothing had been."""
        self._paused_until = max(self._paused_until, self._timeline.ms + ms)
        self.link.paused_until = self._paused_until

    def set_wall_clock(self, ahead_seconds: float) -> None:
        """Of its machine, so far ahead of the right time. Its own time goes on; it is told."""
        told = f"the wall clock was set, {ahead_seconds:g} s ahead"
        self._hear(self._life, self._stepped, ahead_seconds, told)

    def _stepped(self, ahead_seconds: float, told: str) -> Iterable[PlaneInstruction]:
        self._digest.add(b"stepped", f"{self._slot} {ahead_seconds:g}")
        return self.plane.stepped(Stepped(ahead_seconds - self._skew_ms / 1000, told, self.now))

    # What reaches it

    def _hear(self, life: int, act: Callable[..., Iterable[PlaneInstruction]], *arguments: Any) -> None:
        if life != self._life or not self.up:
            return
        if self._timeline.ms < self._paused_until:
            self._timeline.at(self._paused_until, self._hear, life, act, *arguments)
            return
        self._carry_out(act(*arguments))

    def _replied(self, call: int, outcome: Outcome) -> Iterable[PlaneInstruction]:
        self._digest.add(b"replied", f"{self._slot} {call} {type(outcome).__name__}")
        return self.plane.replied(Replied(call, outcome, self.now, self._tape.chance("plane.chance")))

    def _woke(self, timer: int) -> Iterable[PlaneInstruction]:
        if timer != self._timer:
            return ()
        self._digest.add(b"woke", str(self._slot))
        return self.plane.woke(Woke(self.now, self._tape.chance("plane.chance")))

    def _mirror_woke(self, resource: str, timer: int) -> Iterable[PlaneInstruction]:
        if timer != self._mirror_timers[resource]:
            return ()
        return self._told(resource, mirrored.Woke(self.now, self._tape.chance("plane.chance")))

    def _told(self, resource: str, *events: mirrored.Event) -> Iterable[PlaneInstruction]:
        now = self.now
        if events[0].now != now:  # they waited while the process was paused
            events = tuple(structs.replace(event, now=now) for event in events)
        first = events[0]
        revisions = [event.entry.revision for event in events if isinstance(event, mirrored.Framed)]
        self._digest.add(b"told", f"{self._slot} {resource} {type(first).__name__} {revisions}")
        return self.plane.mirror(resource, *events)

    # What it asks for

    def _carry_out(self, instructions: Iterable[PlaneInstruction]) -> None:
        add, slot = self._digest.add, self._slot
        for instruction in instructions:
            if isinstance(instruction, Call):
                self._call(instruction)
                if not self.up:
                    return  # it died at this write, and what it would have done next with it
            elif isinstance(instruction, WakeAt):
                self._timer += 1
                add(b"wake at", f"{slot} {instruction.at!r}")
                self._at(instruction.at, self._woke, self._timer)
            elif isinstance(instruction, Record):
                add(b"record", str(slot), instruction.body)
            elif isinstance(instruction, Report):
                add(b"report", f"{slot} {instruction.message}")
                if instruction.error is not None:
                    raise Violation("deciders-do-not-raise", instruction.message) from instruction.error
            elif isinstance(instruction, MirrorWakeAt):
                resource = instruction.resource
                timer = self._mirror_timers[resource] = self._mirror_timers.get(resource, 0) + 1
                self._at(instruction.at, self._mirror_woke, resource, timer)
            elif isinstance(instruction, Forget):
                self.link.forget(instruction.resource)
            elif isinstance(instruction, AskProgress):
                if self._tells_progress:
                    self.link.ask_progress(instruction.resource)
                else:
                    self.link.expire(instruction.resource)
            elif isinstance(instruction, mirrored.ListAll):
                name, attempt = instruction.resource_name, instruction.attempt
                add(b"list", f"{slot} {name}")
                self.link.list(name, attempt, self._teller(name), self._clock)
            elif isinstance(instruction, mirrored.Follow):
                name, attempt = instruction.resource_name, instruction.attempt
                add(b"follow", f"{slot} {name} {instruction.since_revision}")
                self.link.follow(name, instruction.since_revision, attempt, self._teller(name), self._clock)

    def _call(self, call: Call) -> None:
        request = call.request
        self._digest.add(
            b"call",
            f"{self._slot} {call.call} {call.controller} {request.verb} {request.resource} "
            f"{request.namespace}/{request.name}/{request.subresource}",
            request.body,
        )
        if request.verb not in READ_VERBS and self._tape.happens(
            "crash_at_write", self.faults.crash_at_write
        ):
            if self._tape.choose("crash.sent", 2):
                self._send(call)
            self.crash()
            return
        self._send(call)

    def _send(self, call: Call) -> None:
        user = self._users.get(call.controller)
        if user is None:
            name = f"system:fairlead:{call.controller}"
            user = self._users[call.controller] = User(name, groups=(MASTERS,))
        # Leases are how leadership itself is settled: only what a leader does is a leader's.
        origin = "" if call.controller == "leadership" else f"{call.controller} of {self.identity}"
        heard = partial(self._hear, self._life, self._replied, call.call)
        self.link.call(call.request, user, origin, heard)

    def _at(self, at: float, act: Callable[..., Iterable[PlaneInstruction]], *arguments: Any) -> None:
        ms = int((at - self._timeline.epoch) * 1000) + 1 - self._skew_ms
        self._timeline.at(max(ms, self._timeline.ms + 1), self._hear, self._life, act, *arguments)

    def _teller(self, resource: str) -> Callable[..., None]:
        return partial(self._hear, self._life, self._told, resource)

    def _clock(self) -> float:
        return self.now
