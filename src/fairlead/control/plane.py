"""The plane: mirrors, controllers and leadership joined into one machine. `runtime/` drives it, and the simulator.

    mirror events -> copies change -> keys are queued -> turns begin -> Call -> Replied -> turns go on

Followers keep their mirrors and queues warm and begin no turns; the moment leadership is won every key is decided
anew (level, not edge). Writes of the leader carry its fence. All time and chance come with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

from fairlead.cache import events as mirrored
from fairlead.control.controller import Controller
from fairlead.control.events import Recorder
from fairlead.control.health import Health
from fairlead.control.instructions import (
    AskProgress,
    Call,
    Instruction,
    MirrorWakeAt,
    PlaneInstruction,
    Replied,
    Report,
    Stepped,
    WakeAt,
    Woke,
)
from fairlead.control.leadership import NAMESPACE, Leadership
from fairlead.control.narrow import Narrow
from fairlead.control.placing import Placer
from fairlead.control.settings import settings_of
from fairlead.control.sources import Sources
from fairlead.control.stages import StageTally
from fairlead.control.turn import Turn, Write
from fairlead.decision.contract import Decider, EventNote, Regarding
from fairlead.decision.notes import WARNING
from fairlead.model import plane_knobs
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.views import LEASES, PLANE_SETTINGS, PODS, PlaneSettings, Resource, View
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.port.outcome import Done
from fairlead.port.request import FENCE, READ_VERBS, Request
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

_COMPONENT = "fairlead-plane"


class Plane:
    def __init__(
        self,
        identity: str,
        deciders: Sequence[Decider],
        scheduler: type[Placer] | None = None,
        capabilities: Capabilities = FAIRLEAD,
    ) -> None:
        self._calls = count(1)
        self.health = Health()
        self.capabilities = capabilities
        self.leadership = Leadership(identity, lambda: next(self._calls), fencing=capabilities.fencing)
        self._sources = Sources(deciders, scheduler)
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
            )
        )
        self.stages = StageTally()
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
            gathers: Resource[View] | None = getattr(controller.decider, "gathers", None)
            if gathers is not None:
                controller.gather(self.mirrors[gathers.name].index)
        self._sources.read_by(self.controllers)
        self.placer = (
            scheduler(self.health, lambda: next(self._calls), self.mirrors, self.recorder.tell)
            if scheduler is not None
            else None
        )
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
        return all(controller.idle for controller in self.controllers) and (
            self.placer is None or self.placer.idle
        )

    def turns(self) -> Iterator[Turn]:
        """All that is under way."""
        for controller in self.controllers:
            yield from controller.turns()
        if self.placer is not None:
            yield from self.placer.flights.turns()

    def begin(self, now: float, chance: float) -> Iterator[PlaneInstruction]:
        for name, mirror in self.mirrors.items():
            yield from self._mirrored(name, mirror.handle(mirrored.Started(now, chance)), now)
        yield from self._led_by(self.leadership.begin(now))

    def mirror(self, resource: str, *events: mirrored.Event) -> Iterator[PlaneInstruction]:
        """A mirror's call came back, or its timer. What arrives together is taken in before anything is decided."""
        now = events[-1].now
        mirror = self.mirrors.get(resource)
        if mirror is None:
            return  # it was forgotten meanwhile
        before = mirror.revision
        for event in events:
            yield from self._mirrored(resource, mirror.handle(event), now)
        if mirror.revision != before:
            for controller in self._sources.readers[resource]:
                controller.caught_up(now)
        yield from self._step(now)

    def replied(self, *events: Replied) -> Iterator[PlaneInstruction]:
        """Calls were answered. As with mirrors, what arrives together is taken in before anything is decided."""
        newest = max((each.outcome.revision for each in events if isinstance(each.outcome, Done)), default=0)
        if newest:
            for mirror in self.mirrors.values():
                mirror.heard_of(newest)
        for event in events:
            yield from self._answered(event)
        while self.narrow is not None and (settled := self.narrow.take()):
            for call, outcome in settled:
                yield from self._answered(Replied(call, outcome, events[-1].now, events[-1].chance))
        yield from self._step(events[-1].now)

    def _answered(self, event: Replied) -> Iterator[PlaneInstruction]:
        now = event.now
        if self.leadership.answers(event.call):
            yield from self._led_by(self.leadership.answered(event.outcome, now))
        elif self.recorder.answers(event.call):
            self.recorder.answered(event.call, event.outcome)
        elif self.narrow is not None and self.narrow.answers(event.call):
            yield from self.narrow.answered(event.call, event.outcome, now)
        else:
            controller = self._callers.pop(event.call)
            for instruction in controller.answered(event.call, event.outcome, now, event.chance):
                yield from self._sent(controller, instruction, now)

    def woke(self, event: Woke) -> Iterator[PlaneInstruction]:
        self._wake_at = 0.0
        yield from self._led_by(self.leadership.woke(event.now))
        yield from self._step(event.now)

    def stepped(self, event: Stepped) -> Iterator[PlaneInstruction]:
        """The wall clock was set. Nothing that lasts follows it; what is due by it is looked at anew."""
        self._sources.wall.stepped(event.now, event.ahead_seconds)
        for controller in self.controllers:
            controller.stepped(event.now)
        if self._led:
            told = f"{self.leadership.identity}: {event.message}"
            self.recorder.tell(_COMPONENT, EventNote(self._self(), WARNING, "ClockStepped", told), event.now)
        yield from self._step(event.now)

    # Inside

    def _self(self) -> Regarding:
        """The plane as an object: its lease."""
        return Regarding(LEASES.api_version, LEASES.kind, NAMESPACE, self.leadership.lease_name, "")

    def _mirrored(
        self, resource: str, instructions: tuple[mirrored.Instruction, ...], now: float
    ) -> Iterator[PlaneInstruction]:
        for instruction in instructions:
            if isinstance(instruction, mirrored.Changed):
                if resource == DEFINITIONS:
                    yield from self._learn_kinds(instruction.key.name, instruction.after, now)
                if resource == PLANE_SETTINGS.name:
                    yield from self._use_settings(instruction.after, now)
                if not self.synced:
                    continue  # nothing is decided yet, and whoever comes to lead looks at everything
                for name, key in self.health.waits.eased(resource, instruction.before, instruction.after):
                    self._by_name[name].ease(key, now)
                self._sources.tell(resource, instruction.before, instruction.after, now)
                if resource == PODS.name:
                    self.stages.observe(instruction.before, instruction.after, now)
                if self.placer is not None and resource in self.placer.watched:
                    self.placer.observe(resource, instruction.before, instruction.after, now)
            elif isinstance(instruction, mirrored.WakeAt):
                yield MirrorWakeAt(resource, instruction.at)
            else:
                yield instruction

    def _learn_kinds(self, name: str, definition: View | None, now: float) -> Iterator[PlaneInstruction]:
        """A CustomResourceDefinition changed: mirror what it defines from now on, or no longer."""
        told, new = self._sources.learn(name, definition)
        yield from told
        for each in new:
            yield from self._mirrored(each, self.mirrors[each].handle(mirrored.Started(now, 0.5)), now)

    def _use_settings(self, found: View | None, now: float) -> Iterator[Instruction]:
        """The PlaneSettings changed: work with them from now on, leading or not."""
        assert found is None or isinstance(found, PlaneSettings)
        if found is not None and found.metadata.name != plane_knobs.NAME:
            return
        settings = settings_of(found)
        if isinstance(settings, str):
            yield Report("plane", f"the PlaneSettings cannot be used, those in use stay: {settings}")
            return
        self.health.apply(settings)
        for controller in self.controllers:
            controller.apply(settings, now)
        self.recorder.settings = settings.events
        if self.placer is not None:
            self.placer.apply(settings)
        self._resync_at = min(self._resync_at, now + settings.loop.resync_seconds)

    def _step(self, now: float) -> Iterator[PlaneInstruction]:
        """Begin what can be begun, and say when there is something to do next."""
        leads = self.leadership.may_act(now) and self.synced
        if leads and not self._led:
            behind = self._behind_the_fence()
            yield from self._ask_progress(behind, now)
            leads = not behind
            self.recorder.forget()  # what it knew was of a former time as leader
        if leads:
            loop = self.health.settings.loop
            for name, key in self.health.budget.released(now):
                self._by_name[name].release(key)
            if not self._led or now >= self._resync_at:
                self._resync(now, 0.0 if not self._led else loop.resync_spread_seconds)
            for controller in self.controllers:
                if controller.stirred or 0.0 < controller.due_at <= now:
                    for instruction in controller.step(now):
                        yield from self._sent(controller, instruction, now)
                    controller.stirred = False
                    controller.due_at = self._next_turn_at(controller, now)
            yield from self._schedule(now)
            yield from self._tell_events(now)
        self._led = leads
        at = self._next_at(leads, now)
        if at and at != self._wake_at:
            self._wake_at = at
            yield WakeAt(max(now, at))

    def _schedule(self, now: float) -> Iterator[Instruction]:
        placer = self.placer
        if placer is not None and (placer.stirred or 0.0 < placer.due_at <= now):
            for instruction in placer.step(now):
                yield from self._sent(placer, instruction, now)
            placer.stirred = False
            placer.due_at = placer.next_at(now)

    def _tell_events(self, now: float) -> Iterator[Instruction]:
        """Events are the first to wait when the API is ill."""
        if self.health.breaker.is_open(now):
            self.recorder.rest_until(self.health.breaker.open_until)
            return
        for call in self.recorder.step(now):
            yield self._fenced(call)

    def _behind_the_fence(self) -> tuple[str, ...]:
        """Mirrors that may not show yet what the former leader did: on those nothing is decided."""
        return self._sources.behind(self.leadership.fence_revision)

    def _seen(self, write: Write) -> bool:
        """Own writes first: until the mirror shows them, nothing more is decided for their key."""
        return self._sources.has_seen(write)

    def _ask_progress(self, behind: tuple[str, ...], now: float) -> Iterator[AskProgress]:
        if not behind:
            self._ask_at = 0.0
        elif now >= self._ask_at:
            self._ask_at = now + self.health.settings.loop.ask_progress_seconds
            for name in behind:
                yield AskProgress(name)

    def _next_at(self, leads: bool, now: float) -> float:
        """When there is something to do next without being told; 0 if there is nothing."""
        due = [self.leadership.next_at]
        if self._ask_at > now and self.leadership.leads:
            due.append(self._ask_at)
        if leads:
            due += (self._resync_at, self.recorder.next_at)
            if self.health.budget.waiting:
                due.append(self.health.budget.ready_at(now))
            due += [controller.due_at for controller in self.controllers]
            if self.placer is not None:
                due.append(self.placer.due_at)
        return min(filter(None, due), default=0.0)

    def _next_turn_at(self, controller: Controller, now: float) -> float:
        """When it may begin something without being stirred first; 0 if only then."""
        look_at = controller.next_at
        if self.health.breaker.is_open(now):
            turn_at = self.health.breaker.open_until
        else:
            turn_at = (controller.queue.next_ready_at(now) or 0.0) if controller.has_room else 0.0
        return min(look_at, turn_at) if look_at and turn_at else look_at or turn_at

    def _stir(self) -> None:
        """Have every controller look: what it may do can have changed by something it was not told of."""
        for controller in self.controllers:
            controller.stirred = True
        if self.placer is not None:
            self.placer.stirred = True

    def _led_by(self, instructions: tuple[Instruction, ...]) -> Iterator[Instruction]:
        """Leadership's calls. Its timer is one of those that `_next_at` joins into one."""
        return (instruction for instruction in instructions if not isinstance(instruction, WakeAt))

    def _resync(self, now: float, spread: float) -> None:
        """Look at everything again: what was missed, by us or by a former leader, is found."""
        self._resync_at = now + self.health.settings.loop.resync_seconds
        for controller in self.controllers:
            if not self._led:
                controller.lead()
            controller.queue.resync(controller.initial_keys(), now, spread)
            unsettled: Callable[..., Iterable[Key]] | None = getattr(controller.decider, "unsettled", None)
            if unsettled is not None:
                controller.queue.resync(controller.guarded(unsettled, self._sources.view()), now, spread)
                continue
            named = controller.decider.reads[0].name  # what is not there needs no turn
            keys: dict[Key, None] = {}
            for view in self.mirrors[named].index.all():
                keys.update(dict.fromkeys(controller.keys(named, None, view)))
            controller.queue.resync(tuple(keys), now, spread)
        if self.placer is not None:
            if self._led:
                self.placer.resync(now)
            else:
                self.placer.lead(now)
        self._stir()

    def _sent(
        self, controller: Controller | Placer, instruction: Instruction, now: float
    ) -> tuple[Instruction, ...]:
        if not isinstance(instruction, Call):
            return (instruction,)
        self._callers[instruction.call] = controller
        return (
            self.narrow.outgoing(instruction, now)
            if self.narrow is not None
            else (self._fenced(instruction),)
        )

    def _fenced(self, call: Call) -> Call:
        if call.request.verb in READ_VERBS or not self.leadership.fence:
            return call
        manager = f"fairlead-{call.controller}"
        return Call(call.call, call.controller, _with_fence(call.request, self.leadership.fence, manager))


def _with_fence(request: Request, fence: str, manager: str) -> Request:
    premise = request.query.get(FENCE)
    return Request(
        request.verb,
        request.group,
        request.version,
        request.resource,
        request.namespace,
        request.name,
        request.subresource,
        {**request.query, FENCE: f"{fence},{premise}" if premise else fence},
        request.body,
        request.content_type,
        request.accept,
        manager,
    )
