"""A world made of a live plane's state: the server, one plane with all its controllers, and nodes that behave.

    world = PreviewWorld(backup, epoch)
    world.settle(until); world.ask(request); world.settle(until); world.commits

The parts are those of any simulated world (`sim/world.py`), without faults and without checkers: what is judged here
is a change, not the code. Nothing of the live plane is touched. What need not happen does not: nobody renews a lease
of a node, Events are not written, and a pod that runs undisturbed costs nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fairlead.api.access.users import MASTERS, User
from fairlead.api.apply.managing import Managing
from fairlead.api.assembly import Remembered
from fairlead.api.attempt import Attempt
from fairlead.api.audit.recording import Audit
from fairlead.cache.events import Broke, Framed
from fairlead.control.instructions import Answers, Call, Outbox, PlaneEvent, PlaneInstruction, Record, Replied
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.settings import PlacingSettings
from fairlead.decision.decider import Decider
from fairlead.model.fields import FieldTables
from fairlead.model.views import LEASES, Pod, View
from fairlead.port.outcome import Done, Outcome, Unknown, outcome_of
from fairlead.port.request import Reply, Request
from fairlead.schedule.waiting import TakenPod
from fairlead.sim.backup import Backup
from fairlead.sim.calls import Heard
from fairlead.sim.chance import Chance
from fairlead.sim.decoded import Decoded
from fairlead.sim.digest import Digest, NoDigest
from fairlead.sim.memory import Memory
from fairlead.sim.network import FollowedWatch, Link
from fairlead.sim.preview.cast import absent_from, cast_of, kinds_present
from fairlead.sim.preview.nodes import Behaviour, PlayedNodes
from fairlead.sim.processes.planes import MakePlane, PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.rest import nothing_is_due
from fairlead.sim.time import Timeline
from fairlead.store.contract import CommittedChange, Note
from fairlead.store.watch import Subscription

PERSON = "you"  # whoever asks for the change, as an actor
DRAIN = "drain"  # and whoever takes pods off a node for them
_QUIET_SECONDS = 20.0  # nothing written for so long, although something may still be due: it has settled
_STEP_MS = 500
_MANY = 2_000  # objects
_WATCH_MS, _WATCH_MS_OF_MANY = 50, 500  # how long changes gather before they are told
_AT_ONCE = 100_000

Answered = Callable[[Reply | None], None]


@dataclass(frozen=True, slots=True)
class PreviewCommit:
    """One write that happened in the world: when, by whom (a controller's name, or PERSON), and what."""

    seconds: float
    by: str
    change: CommittedChange


class PreviewWorld:
    def __init__(
        self,
        backup: Backup,
        epoch: int,
        behaviour: Behaviour,
        resources: Iterable[str] = (),
        user: User | None = None,
        more: Callable[[], tuple[Decider, ...]] | None = None,
        decoded: Decoded | None = None,
    ) -> None:
        """`resources`: of what the change may bring. `user`: as whom it is asked for. `more`: controllers besides
        those of production. `decoded`: what is decoded already, and is from now on, for whoever reads the same."""
        chance = Chance(0)
        kinds = kinds_present([*resources, *(change.entry.key.resource for change in backup.changes)])
        self.absent = absent_from(kinds)  # controllers by name
        self.timeline = Timeline(chance, epoch)
        self.commits: list[PreviewCommit] = []
        self._digest = NoDigest(self.timeline)
        self._user = user or User(PERSON, groups=(MASTERS, "system:authenticated"))
        self._last_ms = 0
        self.asking = 0  # what was asked for and not answered yet, or not taken yet
        self._decoded = decoded or Decoded()
        self.server = SimulatedServer(self.timeline, chance, self._digest, self, backup, memory=_memory())
        self._nodes = PlayedNodes(self.timeline, self.server, behaviour, self._decoded.decoder(Pod))

        def make(identity: str) -> Plane:
            deciders = (*cast_of(kinds), *(more() if more is not None else ()))
            plane = _WidePlane(identity, deciders, _GroupingPlacer)
            plane.widen()
            for mirror in plane.mirrors.values():
                mirror.decode = self._decoded.decoder(mirror.resource.type)
            return plane

        self._link = _QuietLink("plane-0", self.timeline, chance, self.server)
        self._link.watch_ms = _WATCH_MS if len(backup.changes) < _MANY else _WATCH_MS_OF_MANY
        self.plane = _QuietPlane(0, make, self.timeline, chance, self._digest, self._link)
        self.decode_pod = self._decoded.decoder(Pod)
        self._is_started = False
        for change in backup.changes:
            self._nodes.observe(change)

    def start(self) -> None:
        """The plane comes up; a world that settles does so by itself."""
        if not self._is_started:
            self._is_started = True
            self.timeline.after(1, self.plane.start)

    # What is asked of it

    @property
    def seconds(self) -> float:
        return self.timeline.ms / 1000

    def ask(self, request: Request, answered: Answered, by: str = PERSON, user: User | None = None) -> None:
        self.server.send(request, user or self._user, by, answered)

    def settle(self, until_seconds: float) -> bool:
        """Go on until nothing more happens, or until then. Whether it settled."""
        self.start()
        with _not_collected():
            self._last_ms = self.timeline.ms
            while self.seconds < until_seconds:
                self.timeline.run_until(min(self.timeline.ms + _STEP_MS, int(until_seconds * 1000)))
                if self._rests():
                    return True
        return False

    def _rests(self) -> bool:
        if self.asking or not self.plane.up or not self.plane.plane.leadership.may_act(self.plane.now):
            return False
        if nothing_is_due(self.timeline, (self.plane,), _QUIET_SECONDS):
            return True
        return self.timeline.ms - self._last_ms >= _QUIET_SECONDS * 1000

    # Witness of the server

    def committed(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        for change in changes:
            if change.entry.key.resource == LEASES.name:
                continue
            by = origins.get(change.entry.revision, "")
            self.commits.append(PreviewCommit(self.seconds, by, change))
            self._nodes.observe(change)
            self._last_ms = self.timeline.ms

    def answered(self, request: Request, origin: str, reply: Reply) -> None:
        """Conflicts are nobody's concern here."""

    def wake_watches(self, subscriptions: list[Subscription]) -> None:
        for subscription in subscriptions:
            self._link.wake(subscription)

    def server_died(self) -> None:
        """It does not."""


class _QuietLink(Link):
    """A way without chance on which much goes together: what takes no time need not be decided on in between. Events
    are answered and not written: nobody reads them here."""

    watch_ms = 0

    def call(self, request: Request, user: User, origin: str, heard: Heard) -> None:
        if request.plural == "events":
            heard(Done())
            return
        self._server.send(request, user, origin, partial(_answer, heard))

    def _delay(self, follow: FollowedWatch) -> int:
        return self.watch_ms - self._timeline.ms % self.watch_ms

    def _deliver(self, subscription: Subscription) -> None:
        follow = self._follows.get(subscription)
        if follow is None:
            return
        follow.is_due = False
        changes: list[CommittedChange] = []
        while subscription.ready and not subscription.cut:  # one that is behind brings so much, and then more
            changes += self._server.hub.take(subscription, _AT_ONCE)
        now = follow.clock()
        if changes:
            follow.tell(*[Framed(each.type, each.entry, now, follow.attempt) for each in changes])
        if subscription.cut:
            self._end(subscription, follow, Broke("the watch was cut", now, follow.attempt))


def _answer(heard: Heard, reply: Reply | None) -> None:
    heard(outcome_of(reply) if reply is not None else Unknown("the connection broke"))


class _WidePlane(Plane):
    """Works on everything at once: in virtual time nothing is won by doing it in portions, and each portion costs its
    own looks at what is left."""

    def widen(self) -> None:
        self.health.recording.is_off = True
        for controller in self.controllers:
            controller.settings = replace(controller.settings, turns_max=_AT_ONCE)
        if self.placer is not None:
            self.placer.settings = replace(self.placer.settings, batch_max=_AT_ONCE, in_flight_max=_AT_ONCE)

    def _use_settings(self, found: View | None, now: float, out: list[PlaneInstruction]) -> None:
        super()._use_settings(found, now, out)
        self.widen()


class _GroupingPlacer(Placer):
    """Of pods that wait at one moment with one priority, those of one owner come together: what was found out about
    nodes for the first holds for the others. Bindings still go in transactions of the usual size."""

    def _place(self, batch: list[TakenPod], now: float, out: Outbox) -> None:
        usual = PlacingSettings().batch_max
        if len(batch) > usual:
            batch = sorted(batch, key=lambda taken: (-taken.pod.spec.priority, _owner(taken.pod)))
        for first in range(0, len(batch), usual):
            super()._place(batch[first : first + usual], now, out)


def _owner(pod: Pod) -> str:
    owner = pod.metadata.controller
    return owner.uid if owner is not None else ""


class _QuietPlane(PlaneProcess):
    """Takes all answers of a moment together."""

    def __init__(
        self, slot: int, make: MakePlane, timeline: Timeline, chance: Chance, digest: Digest, link: Link
    ) -> None:
        super().__init__(slot, make, timeline, chance, digest, link)
        self._replies: list[tuple[int, Outcome]] = []

    def _call(self, call: Call) -> None:
        self._send(call)

    def _note_event(self, event: PlaneEvent) -> None:
        """Nobody compares two previews to the byte."""

    def _carry_out(self, instruction: PlaneInstruction) -> None:
        if not isinstance(instruction, Record):
            super()._carry_out(instruction)

    def _send(self, call: Call) -> None:
        user = self._users.get(call.controller)
        if user is None:
            user = self._users[call.controller] = User(
                f"system:fairlead:{call.controller}", groups=(MASTERS,)
            )
        origin = "" if call.controller == "leadership" else call.controller
        self.link.call(call.request, user, origin, partial(self._gather, call.call))

    def _gather(self, call: int, outcome: Outcome) -> None:
        if not self._replies:
            self._timeline.after(1, self._hear, self._life, self._take_replies)
        self._replies.append((call, outcome))

    def _take_replies(self) -> Answers:
        replies, self._replies = self._replies, []
        now = self.now
        return Answers(tuple(Replied(call, outcome, now, self._draw()) for call, outcome in replies))


class _Unmanaged(Managing):
    """Whose fields they become is of no consequence for what happens."""

    def track(self, tables: FieldTables, attempt: Attempt) -> None:
        """Nothing is written down."""


class _Unaudited(Audit):
    """Who wrote what is told by the commits of the world."""

    __slots__ = ()

    @property
    def is_kept(self) -> bool:
        return False

    def accepted(self, *about: Any, **more: Any) -> tuple[Note, ...]:
        return ()


def _memory() -> Memory:
    memory = Memory()
    memory.remembered = Remembered(managing=_Unmanaged(), make_audit=lambda _: _Unaudited())
    return memory


@contextmanager
def _not_collected() -> Iterator[None]:
    """Almost all that a run makes lives as long as it does."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
