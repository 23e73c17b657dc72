"""A plane as a process: `runtime/server/plane_driver.py` in virtual time. Each start is a new plane with a new
identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, assert_never

from fairlead.api.access.users import MASTERS, User
from fairlead.cache.events import Framed, Mirrored
from fairlead.cache.mirror import Mirror, MirrorPhase
from fairlead.control.instructions import (
    Answers,
    AskProgress,
    Call,
    Forget,
    PlaneEvent,
    PlaneInstruction,
    Record,
    Replied,
    Report,
)
from fairlead.control.plane import Plane
from fairlead.port.driving import Follow, ListAll, Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Done, Outcome
from fairlead.port.request import READ_VERBS
from fairlead.sim.calls import what_of
from fairlead.sim.chance import Chance, FaultStream, Stream
from fairlead.sim.digest import Digest
from fairlead.sim.encounters import Met
from fairlead.sim.network import Link
from fairlead.sim.processes.driving import SimulatedProcess
from fairlead.sim.time import Timeline
from fairlead.sim.violation import Violation

MIRRORS_GO_ON = "mirrors-go-on"

MakePlane = Callable[[str], Plane]


class PlaneProcess(SimulatedProcess[Answers | Stepped, PlaneInstruction]):
    skew_ms_max = 30_000
    drifts = True
    in_order = False

    def __init__(
        self,
        slot: int,
        make: MakePlane,
        timeline: Timeline,
        chance: Chance,
        digest: Digest,
        link: Link,
        tells_progress: bool = True,  # of watches, when asked; otherwise the mirror lists again, as over HTTPS
    ) -> None:
        super().__init__(timeline, chance, digest, link)
        self._crashes: dict[
            tuple[str, str, str], tuple[FaultStream, Stream, FaultStream]
        ] = {}  # by kind of write
        self.crashes_between_writes = 0
        self._slot = slot
        self._tells_progress = tells_progress
        self._make = make
        self._died_mid_turn = False
        self.lives: list[Plane] = []  # every plane that it was, to be taken apart when the run is over
        self._users: dict[str, User] = {}
        self.met = Met()

    @property
    def identity(self) -> str:
        return f"plane-{self._slot}-{self._life}"

    called = identity

    @property
    def mirrors(self) -> Mapping[str, Mirror[Any]]:
        return self.plane.mirrors

    def start(self) -> None:
        self._begin_life()
        self.plane = self._make(self.identity)
        self.lives.append(self.plane)
        self.plane.health.answered = self.met.answers
        self._digest.add(b"start", self.name, self.identity)
        self._start_machine(self.plane)

    def crash(self) -> None:
        if not self.up:
            return
        self.up = False
        self.link.close()
        self._digest.add(b"crash", self.name, self.identity)
        if any(turn.position for turn in self.plane.turns()):
            self.crashes_between_writes += 1
        self._died_mid_turn = bool(self.plane.turns())
        self._restart_later()

    @property
    def follows(self) -> bool:
        """All its mirrors are up to date, or will be soon; none waits before it tries again."""
        if not self.up:
            return False
        for mirror in self.plane.mirrors.values():  # noqa: SIM110 asked every second
            if mirror.phase is not MirrorPhase.FOLLOWING:
                return False
        return True

    @property
    def mid_turn(self) -> bool:
        """Something it began has no answer yet, or never will have."""
        return bool(self.plane.turns()) if self.up else self._died_mid_turn

    def _feed(self, event: PlaneEvent) -> None:
        """What a mirror shows is never older than what it showed: judged here, because no commit tells."""
        mirror = self.plane.mirrors.get(event.resource) if isinstance(event, Mirrored) else None
        before = mirror.revision if mirror is not None else 0
        super()._feed(event)
        if mirror is not None and mirror.revision < before:
            told = f"{self.name} saw {mirror.resource.name} at {before}, and then at {mirror.revision}"
            raise Violation(MIRRORS_GO_ON, told)

    def set_wall_clock(self, ahead_seconds: float) -> None:
        """Of its machine, so far ahead of the right time. Its own time goes on; it is told."""
        self._hear(self._life, partial(self._stepped, ahead_seconds))

    def _stepped(self, ahead_seconds: float) -> Stepped:
        self._digest.add(b"stepped", self.name, f"{ahead_seconds:g}")
        told = f"the wall clock was set, {ahead_seconds:g} s ahead"
        return Stepped(ahead_seconds - self._skew_ms / 1000, told, self.now)

    def _note_event(self, event: PlaneEvent) -> None:
        # Not by patterns, which take longer: it is asked of everything that happens, and so is `_carry_out`.
        if isinstance(event, Mirrored):
            events = event.events
            revisions = [each.entry.revision for each in events if isinstance(each, Framed)]
            told = f"{event.resource} {type(events[0]).__name__} {revisions}"
            self._digest.add(b"told", self.name, told)
        elif isinstance(event, Woke):
            if event.timer:
                self._digest.add(b"told", self.name, f"{event.timer} Woke []")
            else:
                self._digest.add(b"woke", self.name)
        elif isinstance(event, Answers):
            for reply in event.replies:
                self._digest.add(b"replied", self.name, f"{reply.call} {type(reply.outcome).__name__}")
        elif not isinstance(event, Started | Stepped):
            assert_never(event)

    # What it asks for

    def _carry_out(self, instruction: PlaneInstruction) -> None:
        add, name = self._digest.add, self.name
        if isinstance(instruction, WakeAt):
            if not instruction.timer:
                add(b"wake at", name, f"{instruction.at!r}")
            self._wake_at(instruction)
        elif isinstance(instruction, Record):
            add(b"record", name, "", instruction.body)
            self.met.recorded(instruction.body)
        elif isinstance(instruction, Call):
            self._call(instruction)
        elif isinstance(instruction, Follow):
            add(b"follow", name, f"{instruction.resource_name} {instruction.since_revision}")
            self.met.add("watch")
            self._follow(instruction)
        elif isinstance(instruction, ListAll):
            add(b"list", name, instruction.resource_name)
            self.met.add("list")
            self._list(instruction)
        elif isinstance(instruction, AskProgress):
            if self._tells_progress:
                self.link.ask_progress(instruction.resource)
            elif not self.plane.mirrors[instruction.resource].passed(instruction.revision):
                self.link.expire(instruction.resource)
        elif isinstance(instruction, Report):
            add(b"report", name, instruction.message)
            if instruction.error is not None:
                raise Violation("deciders-do-not-raise", instruction.message) from instruction.error
        elif isinstance(instruction, Forget):
            self.link.forget(instruction.resource)
        else:
            assert_never(instruction)

    def _call(self, call: Call) -> None:
        request = call.request
        self.met.called(call)
        self._digest.add(
            b"call",
            self.name,
            f"{call.call} {call.controller} {request.verb} {request.plural} "
            f"{request.namespace}/{request.name}/{request.subresource}",
            request.body + repr(request.bindings).encode() if request.bindings else request.body,
        )
        if request.verb not in READ_VERBS:
            crashes, sent, _ = self._crashes_of(call)
            if crashes.happens(self.faults.crash_at_write):
                if sent.choose(2):
                    self._send(call)
                self.crash()
                return
        self._send(call)

    def _crashes_of(self, call: Call) -> tuple[FaultStream, Stream, FaultStream]:
        kind = (call.controller, call.request.verb, what_of(call.request))
        found = self._crashes.get(kind)
        if found is None:
            actor = " ".join((self.name, *kind))
            crashes = self._chance.faults("crash_at_write", actor)
            found = self._crashes[kind] = (
                crashes,
                self._chance.details("crash.sent", crashes),
                self._chance.faults("crash_after_write", actor),
            )
        return found

    def _send(self, call: Call) -> None:
        user = self._users.get(call.controller)
        if user is None:
            name = f"system:fairlead:{call.controller}"
            user = self._users[call.controller] = User(name, groups=(MASTERS,))
        # Leases are how leadership itself is settled: only what a leader does is a leader's.
        origin = "" if call.controller == "leadership" else f"{call.controller} of {self.identity}"
        life = self._life
        self.link.call(
            call.request,
            user,
            origin,
            lambda outcome: self._hear(life, partial(self._replied, call, outcome)),
        )

    def _replied(self, call: Call, outcome: Outcome) -> Answers | None:
        if call.request.verb not in READ_VERBS and isinstance(outcome, Done):
            *_, after = self._crashes_of(call)
            if after.happens(self.faults.crash_after_write):
                self.crash()
                return None
        return Answers((Replied(call.call, outcome, self.now, self._draw()),))
