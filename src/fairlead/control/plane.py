"""The plane: mirrors, controllers and leadership joined into one machine. `runtime/` drives it, and the simulator.

    Mirrored -> copies change -> keys are queued -> turns begin -> Call -> Answers -> turns go on

Followers keep their mirrors and queues warm and begin no turns; the moment leadership is won every key is decided
anew (level, not edge). Writes of the leader carry its fence. All time and chance come with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import assert_never

from fairlead.cache import events as mirrored
from fairlead.cache.events import Mirrored
from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.due import Due
from fairlead.control.events import Recorder
from fairlead.control.fence_progress import FenceProgress
from fairlead.control.health import Health
from fairlead.control.instructions import (
    Answers,
    AskProgress,
    Call,
    Instruction,
    PlaneEvent,
    PlaneInstruction,
    Record,
    Replied,
    Report,
)
from fairlead.control.leadership import NAMESPACE, Leadership
from fairlead.control.object_tallies import WorldTally
from fairlead.control.outgoing import Outgoing, Worker, WorkerOutbox
from fairlead.control.own_writes import Write
from fairlead.control.placing import COMPONENT, Placer
from fairlead.control.refusal_waits import LIFTING
from fairlead.control.settings import settings_of
from fairlead.control.sources import MirrorSources
from fairlead.control.term import flags_of
from fairlead.control.turn import Turn
from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.decider import Decider
from fairlead.decision.notes import WARNING
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.views import LEASES, PLANE_SETTINGS, PlaneSettings, View
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.port.driving import Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Done
from fairlead.queue.work import WorkQueue
from fairlead.reconcile.overrides.decider import NAME as OVERRIDES_CONTROLLER

_COMPONENT = "fairlead-plane"
_SOON_SECONDS = 2.0

_Out = list[PlaneInstruction]  # what the event that is being handled leads to, in order


class Plane:
    """`handle` is the only mutator, but for what its server finds (`recorder.tell`, `health.writes`) and `end_term`."""

    def __init__(
        self,
        identity: str,
        deciders: Sequence[Decider],
        scheduler: type[Placer] | None = None,
        capabilities: Capabilities = FAIRLEAD,
        leading: Callable[[Callable[[], int]], Leadership] | None = None,
        version: str = "",
        scheduler_name: str = COMPONENT,
    ) -> None:
        """`leading`: how it comes to lead. `version`: of the code that decides. `scheduler_name`: whose pods it has."""
        self.version = version
        new_call = partial(next, count(1))
        self.health = Health()
        self.capabilities = capabilities
        self.leadership = (leading or partial(Leadership, identity, fencing=capabilities.fencing))(new_call)
        first = self.health.first_turns.of
        self._sources = MirrorSources(deciders, scheduler, finalizes=capabilities.collects, first_turns=first)
        self.mirrors = self._sources.mirrors
        self.outgoing = Outgoing(lambda: self.leadership, capabilities, new_call, self._sources)
        self.narrow = self.outgoing.narrow
        self.tallies = WorldTally()
        self.recorder = Recorder(new_call)
        self.controllers = tuple(
            Controller(
                decider,
                WorkQueue(self.health.settings.queue(decider.name)),
                self.health,
                new_call,
                self._seen,
                self._sources.view,
                tell=self.recorder.tell,
            )
            for decider in deciders
        )
        for controller in self.controllers:
            if controller.decider.gathers is not None:
                controller.gather(self.mirrors[controller.decider.gathers.name].index)
        self._sources.read_by(self.controllers)
        self.placer, given = None, (self.health, new_call, self.mirrors, self.recorder.tell)
        if scheduler is not None:
            self.placer = scheduler(*given, together=capabilities.together, scheduler_name=scheduler_name)
        self._workers = (*self.controllers, *((self.placer,) if self.placer is not None else ()))
        self._due = Due(self._workers, self.recorder, self.health)
        self._by_name = {controller.decider.name: controller for controller in self.controllers}
        self._led = False
        self._resync_at = 0.0
        self._progress = FenceProgress(self._sources, lambda: self.leadership, self.health)
        self._wake_at = 0.0  # what the driver was last asked for

    @property
    def synced(self) -> bool:
        return self._sources.synced

    @property
    def idle(self) -> bool:
        """Nothing is under way and nothing is due: what is left waits for time or for changes."""
        return all(worker.idle for worker in self._workers)

    @property
    def acts(self) -> bool:
        """It leads, and has looked at everything since it came to."""
        return self._led

    def look(self) -> MirrorView:
        """What a turn that began now would read."""
        return self._sources.view()

    def turns(self) -> list[Turn]:
        """All that is under way."""
        found = [turn for controller in self.controllers for turn in controller.underway]
        if self.placer is not None:
            found += [flight.turn for flight in self.placer.flights.underway]
        return found

    def handle(self, event: PlaneEvent) -> tuple[PlaneInstruction, ...]:
        out: _Out = []
        match event:
            case Mirrored():
                self._hear(event.resource, event.events, event.now, out)
            case Answers():
                self._take_answers(event.replies, event.now, out)
            case Woke():
                self._woke(event, out)
            case Stepped():
                self._clock_stepped(event, out)
            case Started():
                self._start(event, out)
            case _:
                assert_never(event)
        return tuple(out)

    # Events

    def _start(self, event: Started, out: _Out) -> None:
        for name, mirror in self.mirrors.items():
            self._mirrored(name, mirror.handle(event), event.now, out)
        self._lead(event, out)

    def _hear(self, resource: str, events: Iterable[mirrored.Event], now: float, out: _Out) -> None:
        mirror = self.mirrors.get(resource)
        if mirror is None:
            return  # it was forgotten meanwhile
        before = mirror.revision
        for event in events:
            self._mirrored(resource, mirror.handle(event), now, out)
        if mirror.is_awaited and mirror.revision >= mirror.floor:
            mirror.is_awaited = False  # looked at soon, together with others of which this is true
            self._resync_at = min(self._resync_at, now + _SOON_SECONDS)
        if mirror.revision != before:
            for each in self._sources.readers[resource]:
                if each.unshown or each.own_writes.unseen or each.own_writes.parked:  # most wait for nothing
                    each.caught_up(resource, now)
        self._step(now, out)

    def _take_answers(self, replies: Sequence[Replied], now: float, out: _Out) -> None:
        newest = max((each.outcome.revision for each in replies if isinstance(each.outcome, Done)), default=0)
        if newest:
            self._sources.heard_of(newest)
        for reply in replies:
            self._answered(reply, out)
        while self.narrow is not None and (settled := self.narrow.take()):
            for call, outcome in settled:
                self._answered(Replied(call, outcome, now, replies[-1].chance), out)
        self._step(now, out)

    def _answered(self, reply: Replied, out: _Out) -> None:
        call, now = reply.call, reply.now
        if self.leadership.answers(call):
            self._lead(reply, out)
        elif self.recorder.answers(call):
            self.recorder.answered(call, reply.outcome)
        elif self.narrow is not None and self.narrow.answers(call):
            out += self.narrow.answered(call, reply.outcome, now)
        else:
            worker = self.outgoing.take_caller(call)
            worker.answered(call, reply.outcome, now, reply.chance, self._outbox(worker, now, out))

    def _woke(self, event: Woke, out: _Out) -> None:
        if event.timer:
            self._hear(event.timer, (event,), event.now, out)
            return
        self._wake_at = 0.0
        self._lead(event, out)
        self._step(event.now, out)

    def _clock_stepped(self, event: Stepped, out: _Out) -> None:
        """Nothing that lasts follows the wall clock; what is due by it is looked at anew."""
        self._sources.wall.stepped(event.now, event.ahead_seconds)
        for controller in self.controllers:
            controller.stepped(event.now)
        if self._led:
            plane = Regarding(LEASES.api_version, LEASES.kind, NAMESPACE, self.leadership.lease_name, "")
            told = f"{self.leadership.identity}: {event.message}"
            self.recorder.tell(_COMPONENT, EventNote(plane, WARNING, "ClockStepped", told), event.now)
        self._step(event.now, out)

    # Inside

    def _lead(self, event: Started | Woke | Replied, out: _Out) -> None:
        """Leadership's calls. Its timer is one of those that `_next_at` joins into one."""
        out += [each for each in self.leadership.handle(event) if not isinstance(each, WakeAt)]

    def _mirrored(
        self, resource: str, instructions: tuple[mirrored.Instruction, ...], now: float, out: _Out
    ) -> None:
        for instruction in instructions:
            if not isinstance(instruction, mirrored.Changed):
                out.append(instruction)
                continue
            if resource == DEFINITIONS:
                self._learn_kinds(instruction.key.name, instruction.after, now, out)
            if resource == PLANE_SETTINGS.name:
                self._use_settings(instruction.after, now, out)
            if resource in Health.heeds:
                self.health.observe(resource, instruction, now)
            before, after = instruction.before, instruction.after
            synced = not self._sources.unsynced or self._sources.synced
            if resource in WorldTally.heeds:
                self.tallies.observe(resource, instruction.key, before, after, now, synced=synced)
            if not synced:
                continue  # nothing is decided yet, and whoever comes to lead looks at everything
            if resource in LIFTING:
                for name, key in self.health.waits.eased(resource, before, after):
                    self._by_name[name].ease(key, now)
            self._sources.tell(resource, instruction, now)
            if self.placer is not None and resource in self.placer.watched:
                self.placer.observe(resource, before, after, now)

    def _learn_kinds(self, name: str, definition: View | None, now: float, out: _Out) -> None:
        """A CustomResourceDefinition changed: mirror what it defines from now on, or no longer."""
        learned = self._sources.learn(name, definition)
        out += learned.instructions
        for each in learned.mirrored:
            self._mirrored(each, self.mirrors[each].handle(Started(now)), now, out)
        for resource, changes in learned.changes:
            self._mirrored(resource, changes, now, out)

    def _use_settings(self, found: View | None, now: float, out: _Out) -> None:
        """The PlaneSettings changed: work with them from now on, leading or not."""
        assert found is None or isinstance(found, PlaneSettings)
        if found is not None and found.metadata.name != plane_knobs.NAME:
            return
        settings = settings_of(found)
        if isinstance(settings, str):
            out.append(Report("plane", f"the PlaneSettings cannot be used, those in use stay: {settings}"))
            return
        self.health.apply(settings)
        for controller in self.controllers:
            controller.apply(settings, now)
        self.recorder.settings = settings.events
        self.tallies.apply(settings)
        if self.placer is not None:
            self.placer.apply(settings)
        self._resync_at = min(self._resync_at, now + settings.loop.resync_seconds)

    def _step(self, now: float, out: _Out) -> None:
        """Begin what can be begun, and say when there is something to do next."""
        leads = self.leadership.may_act(now) and self._sources.synced
        if leads and not self._led:
            leads, asks = self._progress.look(now)
            out += asks
            if leads:
                self._begin_term(now, out)
        elif leads and self._progress.ask_at:
            out += self._progress.look_at_custom(now)
        if leads:
            loop = self.health.settings.loop
            if self.health.budget.waiting:
                for name, key in self.health.budget.released(now):
                    self._by_name[name].release(key)
            if not self._led or now >= self._resync_at:
                self._resync(now, 0.0 if not self._led else loop.resync_spread_seconds)
            for worker in self._workers:
                if worker.stirred or 0.0 < worker.due_at <= now:
                    worker.step(now, self._outbox(worker, now, out))
                    worker.stirred = False
                    worker.due_at = worker.next_at(now)
            if news := self.health.first_turns.take():
                self._tell_first_turns(news, now, out)
            self._tell_events(now, out)
        elif self._led:
            out += self.end_term()
        self._led = leads
        at = self._next_at(leads, now)
        if at and at != self._wake_at:
            self._wake_at = at
            out.append(WakeAt(max(now, at)))

    def _begin_term(self, now: float, out: _Out) -> None:
        """From here on decisions are numbered anew; the first line says who decides, and as what."""
        leadership, term = self.leadership, self.health.term
        self.recorder.forget()  # what it knew was of a former time as leader
        term.begin(leadership.identity, leadership.fence_revision, now)
        self.health.first_turns.begin()
        out.append(Record(term.opening(leadership.identity, self.version, self.flags, now)))

    def end_term(self) -> tuple[Record, ...]:
        """It leads no longer, or is about to end: what was counted of blocked decisions is to be kept."""
        return tuple(map(Record, self.health.merging.end()))

    @property
    def flags(self) -> tuple[str, ...]:
        """What may make it decide otherwise than another plane of its version: what the API can do, who decides."""
        deciders = [each.decider for each in self.controllers]
        return flags_of(self.capabilities, deciders, schedules=self.placer is not None)

    def _tell_first_turns(self, overrides: Iterable[Key], now: float, out: _Out) -> None:
        """The status of these overrides is to name them."""
        teller = self._by_name.get(OVERRIDES_CONTROLLER)
        if teller is None:
            return
        for key in overrides:
            teller.ease(key, now)
        teller.step(now, self._outbox(teller, now, out))
        teller.due_at = teller.next_at(now)

    def _tell_events(self, now: float, out: _Out) -> None:
        """Events are the first to wait when the API is ill."""
        if self.health.breaker.is_open(now):
            self.recorder.rest_until(self.health.breaker.open_until)
            return
        out += [self.outgoing.fenced(call) for call in self.recorder.step(now)]

    def _seen(self, write: Write) -> bool:
        """Own writes first: until the mirror shows them, nothing more is decided for their key."""
        return self._sources.has_seen(write)

    def _next_at(self, leads: bool, now: float) -> float:
        """When there is something to do next without being told; 0 if there is nothing."""
        leadership, ask_at = self.leadership, self._progress.ask_at
        if not leads and ask_at <= now:
            return leadership.next_at
        due = [leadership.next_at]
        if ask_at > now and leadership.leads:
            due.append(ask_at)
        if leads:
            due += (self._resync_at, self._due.work_at(now))
        return min(filter(None, due), default=0.0)

    def rests_until(self, now: float, most: float) -> float:
        """Until when, looking ahead to `most`, it has nothing to do if it is told nothing, but to renew its lease and
        to resync as often as it is set to. 0: it has something to do."""
        if not self.leadership.may_act(now):
            return most  # what it had begun waits until it leads again
        if self._progress.ask_at or self._resync_at < now + _SOON_SECONDS or not (self._led and self.idle):
            return 0.0
        return self._due.rests_until(most, self._sources.view())

    def _resync(self, now: float, spread: float) -> None:
        """Look at everything again: what was missed, by us or by a former leader, is found."""
        self._resync_at = now + self.health.settings.loop.resync_seconds
        for controller in self.controllers:
            if not self._led:
                controller.lead()
            named = self.mirrors[controller.decider.reads[0].name].index.all()
            controller.resync_all(self._sources.view(), named, now, spread)
        if self.placer is not None:
            if self._led:
                self.placer.resync(now)
            else:
                self.placer.lead(now)
        for worker in self._workers:  # what it may do can have changed by something it was not told of
            worker.stirred = True

    def _outbox(self, worker: Worker, now: float, out: _Out) -> WorkerOutbox:
        return WorkerOutbox(self._sent, worker, now, out)

    def _sent(self, worker: Worker, instruction: Instruction, now: float) -> tuple[Instruction, ...]:
        if isinstance(instruction, AskProgress):
            return self._sources.ask_soon(instruction, now)
        if not isinstance(instruction, Call):
            return (instruction,)
        return self.outgoing.send(worker, instruction, now)
