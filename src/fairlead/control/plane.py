"""The plane: mirrors, controllers and leadership joined into one machine. `runtime/` drives it, and the simulator.

    Mirrored -> copies change -> keys are queued -> turns begin -> Call -> Answers -> turns go on

Followers keep their mirrors and queues warm and begin no turns; the moment leadership is won every key is decided
anew (level, not edge). Writes of the leader carry its fence. All time and chance come with the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import assert_never

from msgspec import structs

from fairlead.cache import events as mirrored
from fairlead.cache.events import Mirrored
from fairlead.control import recording
from fairlead.control.controller import Controller
from fairlead.control.events import Recorder
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
from fairlead.control.narrow import Narrow
from fairlead.control.placing import Placer
from fairlead.control.settings import settings_of
from fairlead.control.sources import MirrorSources
from fairlead.control.tallies import WorldTally
from fairlead.control.turn import Turn, Write
from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.decider import Decider, WatchEvent, key_of
from fairlead.decision.notes import WARNING
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.views import LEASES, OVERRIDES, PLANE_SETTINGS, PlaneSettings, SchedulerOverride, View
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.port.driving import Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Done
from fairlead.port.request import READ_VERBS
from fairlead.queue.work import WorkQueue
from fairlead.reconcile.overrides.decider import NAME as OVERRIDES_CONTROLLER
from fairlead.reconcile.overrides.telling import affected_by

_COMPONENT = "fairlead-plane"
_SOON_SECONDS = 2.0

_Out = list[PlaneInstruction]  # what the event that is being handled leads to, in order


class Plane:
    """`handle` is the only mutator."""

    def __init__(
        self,
        identity: str,
        deciders: Sequence[Decider],
        scheduler: type[Placer] | None = None,
        capabilities: Capabilities = FAIRLEAD,
        version: str = "",
    ) -> None:
        """`version`: of the code that decides, for the records."""
        self.version = version
        self._calls = count(1)
        self.health = Health()
        self.capabilities = capabilities
        self.leadership = Leadership(identity, lambda: next(self._calls), fencing=capabilities.fencing)
        self._sources = MirrorSources(
            deciders,
            scheduler,
            finalizes=capabilities.collects,
            first_turns=self.health.first_turns.of,
        )
        self.mirrors = self._sources.mirrors
        # Where the API cannot judge premises and charges in the transaction, writes go through this.
        self.narrow = (
            None
            if capabilities.complete
            else Narrow(
                capabilities,
                lambda: next(self._calls),
                lambda now: self.leadership.may_act(now),
                self._sources.quotas_in,
                lambda call: self._fenced(call),
                self._sources.address_of,
            )
        )
        self.tallies = WorldTally()
        self.recorder = Recorder(lambda: next(self._calls))
        self.controllers = tuple(
            Controller(
                decider,
                WorkQueue(self.health.settings.queue(decider.name)),
                self.health,
                lambda: next(self._calls),
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
        self.placer = (
            scheduler(
                self.health,
                lambda: next(self._calls),
                self.mirrors,
                self.recorder.tell,
                together=capabilities.together,
            )
            if scheduler is not None
            else None
        )
        self._workers = (*self.controllers, *((self.placer,) if self.placer is not None else ()))
        self._by_name = {controller.decider.name: controller for controller in self.controllers}
        self._callers: dict[int, Controller | Placer] = {}
        self._led = False
        self._resync_at = 0.0
        self._ask_at = 0.0  # when to ask again how far the watches are; 0: nothing to ask
        self._wake_at = 0.0  # what the driver was last asked for

    @property
    def synced(self) -> bool:
        return self._sources.synced

    @property
    def idle(self) -> bool:
        """Nothing is under way and nothing is due: what is left waits for time or for changes."""
        return all(worker.idle for worker in self._workers)

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
            for controller in self._sources.readers[resource]:
                controller.caught_up(resource, now)
        self._step(now, out)

    def _take_answers(self, replies: Sequence[Replied], now: float, out: _Out) -> None:
        newest = max((each.outcome.revision for each in replies if isinstance(each.outcome, Done)), default=0)
        if newest:
            for mirror in self.mirrors.values():
                mirror.heard_of(newest)
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
            worker = self._callers.pop(call)
            worker.answered(call, reply.outcome, now, reply.chance, _Outgoing(self, worker, now, out))

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
            if resource in recording.WATCHED:
                self.health.recording.observe(resource, instruction.before, instruction.after, now)
            if resource == OVERRIDES.name:
                after = instruction.after
                affected = affected_by(after) if isinstance(after, SchedulerOverride) else ()
                self.health.first_turns.observe(instruction.key, after, affected, now)
            before, after, synced = instruction.before, instruction.after, self.synced
            self.tallies.observe(resource, instruction.key, before, after, now, synced=synced)
            if not synced:
                continue  # nothing is decided yet, and whoever comes to lead looks at everything
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
        leads = self.leadership.may_act(now) and self.synced
        if leads and not self._led:
            behind, custom = self._behind_the_fence()
            self._ask_progress((*behind, *custom), now, out)
            leads = not behind
            self.recorder.forget()  # what it knew was of a former time as leader
            if leads:
                self._begin_term(now, out)
        elif leads and self._ask_at:
            self._ask_progress(self._behind_the_fence()[1], now, out)
        if leads:
            loop = self.health.settings.loop
            for name, key in self.health.budget.released(now):
                self._by_name[name].release(key)
            if not self._led or now >= self._resync_at:
                self._resync(now, 0.0 if not self._led else loop.resync_spread_seconds)
            for worker in self._workers:
                if worker.stirred or 0.0 < worker.due_at <= now:
                    worker.step(now, _Outgoing(self, worker, now, out))
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
        term.begin(leadership.identity, leadership.fence_revision, now)
        self.health.first_turns.begin()
        out.append(Record(term.opening(leadership.identity, self.version, self.flags, now)))

    def end_term(self) -> tuple[Record, ...]:
        """It leads no longer, or is about to end: what was counted of blocked decisions is to be kept."""
        return tuple(map(Record, self.health.merging.end()))

    @property
    def flags(self) -> tuple[str, ...]:
        """What may make it decide otherwise than another plane of its version: what the API can do, who decides."""
        able = self.capabilities
        told = {
            "fencing": able.fencing,
            "premises": able.premises,
            "charging": able.charging,
            "together": able.together,
            "collects": able.collects,
            "scheduler": self.placer is not None,
        }
        # Of one that has keys of its own, such as nodes to pretend, how many.
        controllers = (
            f"controller/{each.decider.name}"
            + (f"={number}" if (number := len(each.decider.initial_keys)) > 1 else "")
            for each in self.controllers
        )
        return (*(name for name, is_so in told.items() if is_so), *controllers)

    def _tell_first_turns(self, overrides: Iterable[Key], now: float, out: _Out) -> None:
        """The status of these overrides is to name them."""
        teller = self._by_name.get(OVERRIDES_CONTROLLER)
        if teller is None:
            return
        for key in overrides:
            teller.ease(key, now)
        teller.step(now, _Outgoing(self, teller, now, out))
        teller.due_at = teller.next_at(now)

    def _tell_events(self, now: float, out: _Out) -> None:
        """Events are the first to wait when the API is ill."""
        if self.health.breaker.is_open(now):
            self.recorder.rest_until(self.health.breaker.open_until)
            return
        out += [self._fenced(call) for call in self.recorder.step(now)]

    def _behind_the_fence(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Mirrors that may not show yet what the former leader did: on those nothing is decided. Those that everything
        waits for, and those of custom kinds."""
        return self._sources.behind(self.leadership.fence_revision)

    def _seen(self, write: Write) -> bool:
        """Own writes first: until the mirror shows them, nothing more is decided for their key."""
        return self._sources.has_seen(write)

    def _ask_progress(self, behind: tuple[str, ...], now: float, out: _Out) -> None:
        if not behind:
            self._ask_at = 0.0
        elif now >= self._ask_at:
            self._ask_at = now + self.health.settings.loop.ask_progress_seconds
            fence = self.leadership.fence_revision
            out += [AskProgress(name, fence) for name in behind]

    def _next_at(self, leads: bool, now: float) -> float:
        """When there is something to do next without being told; 0 if there is nothing."""
        due = [self.leadership.next_at]
        if self._ask_at > now and self.leadership.leads:
            due.append(self._ask_at)
        if leads:
            due += (self._resync_at, self._work_at(now))
        return min(filter(None, due), default=0.0)

    def _work_at(self, now: float) -> float:
        """When one that leads goes on with what it has to do; 0: when it is told something."""
        due = [self.recorder.next_at, *[worker.due_at for worker in self._workers]]
        if self.health.budget.waiting:
            due.append(self.health.budget.ready_at(now))
        return min(filter(None, due), default=0.0)

    def rests_until(self, now: float, most: float) -> float:
        """Until when, looking ahead to `most`, it has nothing to do if it is told nothing: it renews its lease, resyncs
        as often as it is set to, and keys that nothing wakes are looked at and settled. 0: it has something to do."""
        if not self.leadership.may_act(now):
            return most  # what it had begun waits until it leads again
        if self._ask_at or self._resync_at < now + _SOON_SECONDS or not (self._led and self.idle):
            return 0.0
        due = [self.recorder.next_at]
        for worker in self._workers:
            keys = worker.decider.initial_keys if isinstance(worker, Controller) else ()
            if 0.0 < worker.due_at < most and (not keys or self._finds(worker, keys, most)):
                due.append(worker.due_at)
        return min(filter(None, due), default=most)

    def _finds(self, controller: Controller, keys: Sequence[Key], now: float) -> bool:
        """Whether a controller would have anything to do for one of these keys then."""
        view, decide = self._sources.view(), controller.decider.decide
        return any(decide(view, key, now).effects for key in keys)

    def _resync(self, now: float, spread: float) -> None:
        """Look at everything again: what was missed, by us or by a former leader, is found."""
        self._resync_at = now + self.health.settings.loop.resync_seconds
        for controller in self.controllers:
            if not self._led:
                controller.lead()
            decider, view = controller.decider, self._sources.view()
            controller.resync(decider.initial_keys, now, spread)
            if decider.unsettled is not None:
                controller.resync(controller.guarded(decider.unsettled, view), now, spread)
                continue
            named = decider.reads[0].name  # what is not there needs no turn
            keys: dict[Key, None] = {}
            for each in self.mirrors[named].index.all():
                event = WatchEvent(view, key_of(named, each), None, each)
                keys.update(dict.fromkeys(controller.guarded(decider.woken_by, event)))
            controller.resync(tuple(keys), now, spread)
        if self.placer is not None:
            if self._led:
                self.placer.resync(now)
            else:
                self.placer.lead(now)
        for worker in self._workers:  # what it may do can have changed by something it was not told of
            worker.stirred = True

    def _sent(
        self, controller: Controller | Placer, instruction: Instruction, now: float
    ) -> tuple[Instruction, ...]:
        if isinstance(instruction, AskProgress):
            return self._sources.ask_soon(instruction, now)
        if not isinstance(instruction, Call):
            return (instruction,)
        self._callers[instruction.call] = controller
        return (
            self.narrow.outgoing(instruction, now)
            if self.narrow is not None
            else (self._fenced(instruction),)
        )

    def _fenced(self, call: Call) -> Call:
        request, fence = call.request, self.leadership.fence
        if request.verb in READ_VERBS or fence is None:
            return call
        premises, manager = (fence, *request.premises), f"fairlead-{call.controller}"
        fenced = structs.replace(request, premises=premises, manager=manager, decision=call.decision)
        return Call(call.call, call.controller, fenced, call.decision)


class _Outgoing:
    """The way out for what a controller asks: its calls are known as its own, and go as `_sent` says."""

    __slots__ = ("_controller", "_now", "_out", "_plane")

    def __init__(self, plane: Plane, controller: Controller | Placer, now: float, out: _Out) -> None:
        self._plane, self._controller, self._now, self._out = plane, controller, now, out

    def append(self, instruction: Instruction, /) -> None:
        self._out += self._plane._sent(self._controller, instruction, self._now)
