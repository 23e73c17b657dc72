"""The plane: mirrors, controllers and leadership joined into one machine. `runtime/` drives it, and the simulator.

    mirror events -> copies change -> keys are queued -> turns begin -> Call -> Replied -> turns go on

Followers keep their mirrors and queues warm and begin no turns; the moment leadership is won every key is decided
anew (level, not edge). Writes of the leader carry its fence. All time and chance come with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.control.breaker import Breaker
from fairlead.control.controller import Controller
from fairlead.control.instructions import Call, Instruction, Replied, WakeAt, Woke
from fairlead.control.leadership import Leadership
from fairlead.control.turn import Write
from fairlead.decision.contract import Decider
from fairlead.model.views import Resource, View
from fairlead.port.outcome import Done
from fairlead.port.request import READ_VERBS, Request
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

RESYNC_SECONDS = 300.0
ASK_PROGRESS_SECONDS = 0.5

MirrorCall = mirrored.ListAll | mirrored.Follow


class MirrorWakeAt:
    """A mirror's own timer, with its name."""

    __slots__ = ("at", "resource")

    def __init__(self, resource: str, at: float) -> None:
        self.resource, self.at = resource, at


class AskProgress:
    """Tell this mirror (Marked) how far its watch is, once that has delivered all there was. No answer is no harm."""

    __slots__ = ("resource",)

    def __init__(self, resource: str) -> None:
        self.resource = resource


PlaneInstruction = Instruction | MirrorCall | MirrorWakeAt | AskProgress


class Plane:
    def __init__(
        self, identity: str, deciders: Sequence[Decider], queue_settings: QueueSettings | None = None
    ) -> None:
        self._calls = count(1)
        self.breaker = Breaker()
        self.leadership = Leadership(identity, lambda: next(self._calls))
        resources = _resources(deciders)
        self.mirrors: dict[str, Mirror[Any]] = {name: Mirror(resources[name]) for name in sorted(resources)}
        self.controllers = tuple(
            Controller(
                decider,
                WorkQueue(queue_settings),
                self.breaker,
                lambda: next(self._calls),
                self._seen,
                self._view,
            )
            for decider in deciders
        )
        self._readers: dict[str, tuple[Controller, ...]] = {
            name: tuple(c for c in self.controllers if any(r.name == name for r in c.decider.reads))
            for name in self.mirrors
        }
        self._callers: dict[int, Controller] = {}
        self._led = False
        self._resync_at = 0.0
        self._ask_at = 0.0  # when to ask again how far the watches are; 0: nothing to ask
        self._wake_at = 0.0  # what the driver was last asked for

    @property
    def synced(self) -> bool:
        return all(mirror.synced for mirror in self.mirrors.values())

    @property
    def idle(self) -> bool:
        """Nothing is under way and nothing is due: what is left waits for time or for changes."""
        return all(controller.idle for controller in self.controllers)

    def begin(self, now: float, chance: float) -> Iterator[PlaneInstruction]:
        for name, mirror in self.mirrors.items():
            yield from self._mirrored(name, mirror.handle(mirrored.Started(now, chance)), now)
        yield from self._led_by(self.leadership.begin(now))

    def mirror(self, resource: str, *events: mirrored.Event) -> Iterator[PlaneInstruction]:
        """A mirror's call came back, or its timer. What arrives together is taken in before anything is decided."""
        now = events[-1].now
        mirror = self.mirrors[resource]
        before = mirror.revision
        for event in events:
            yield from self._mirrored(resource, mirror.handle(event), now)
        if mirror.revision != before:
            for controller in self._readers[resource]:
                controller.caught_up(now)
        yield from self._step(now)

    def replied(self, event: Replied) -> Iterator[PlaneInstruction]:
        now = event.now
        if isinstance(event.outcome, Done) and event.outcome.revision:
            for mirror in self.mirrors.values():
                mirror.heard_of(event.outcome.revision)
        if self.leadership.answers(event.call):
            yield from self._led_by(self.leadership.answered(event.outcome, now))
        else:
            controller = self._callers.pop(event.call)
            for instruction in controller.answered(event.call, event.outcome, now, event.chance):
                yield self._sent(controller, instruction)
        yield from self._step(now)

    def woke(self, event: Woke) -> Iterator[PlaneInstruction]:
        self._wake_at = 0.0
        self._stir()
        yield from self._led_by(self.leadership.woke(event.now))
        yield from self._step(event.now)

    # Inside

    def _mirrored(
        self, resource: str, instructions: tuple[mirrored.Instruction, ...], now: float
    ) -> Iterator[PlaneInstruction]:
        for instruction in instructions:
            if isinstance(instruction, mirrored.Changed):
                for controller in self._readers[resource]:
                    controller.observe(resource, instruction.before, instruction.after, now)
            elif isinstance(instruction, mirrored.WakeAt):
                yield MirrorWakeAt(resource, instruction.at)
            else:
                yield instruction

    def _step(self, now: float) -> Iterator[PlaneInstruction]:
        """Begin what can be begun, and say when there is something to do next."""
        leads = self.leadership.may_act(now) and self.synced
        if leads and not self._led:
            behind = self._behind_the_fence()
            yield from self._ask_progress(behind, now)
            leads = not behind
        if leads:
            if not self._led or now >= self._resync_at:
                self._resync(now, 0.0 if not self._led else RESYNC_SECONDS / 10)
            for controller in self.controllers:
                if controller.stirred or 0.0 < controller.due_at <= now:
                    for instruction in controller.step(now):
                        yield self._sent(controller, instruction)
                    controller.stirred = False
                    controller.due_at = self._next_turn_at(controller, now)
        self._led = leads
        at = min((at for at in self._due(leads, now) if at), default=0.0)
        if at and at != self._wake_at:
            self._wake_at = at
            yield WakeAt(max(now, at))

    def _behind_the_fence(self) -> tuple[str, ...]:
        """Mirrors that may not show yet what the former leader did: on those nothing is decided."""
        fence = self.leadership.fence_revision
        return tuple(name for name, mirror in self.mirrors.items() if not mirror.passed(fence))

    def _ask_progress(self, behind: tuple[str, ...], now: float) -> Iterator[AskProgress]:
        if not behind:
            self._ask_at = 0.0
        elif now >= self._ask_at:
            self._ask_at = now + ASK_PROGRESS_SECONDS
            for name in behind:
                yield AskProgress(name)

    def _due(self, leads: bool, now: float) -> Iterator[float]:
        yield self.leadership.next_at
        if self._ask_at > now and self.leadership.leads:
            yield self._ask_at
        if not leads:
            return
        yield self._resync_at
        for controller in self.controllers:
            yield controller.due_at

    def _next_turn_at(self, controller: Controller, now: float) -> float:
        """When it may begin something without being stirred first; 0 if only then."""
        look_at = controller.next_at
        if self.breaker.is_open(now):
            turn_at = self.breaker.open_until
        else:
            turn_at = (controller.queue.next_ready_at(now) or 0.0) if controller.has_room else 0.0
        return min(look_at, turn_at) if look_at and turn_at else look_at or turn_at

    def _stir(self) -> None:
        """Have every controller look: what it may do can have changed by something it was not told of."""
        for controller in self.controllers:
            controller.stirred = True

    def _led_by(self, instructions: tuple[Instruction, ...]) -> Iterator[Instruction]:
        """Leadership's calls. Its timer is one of those that `_due` joins into one."""
        return (instruction for instruction in instructions if not isinstance(instruction, WakeAt))

    def _resync(self, now: float, spread: float) -> None:
        """Look at everything again: what was missed, by us or by a former leader, is found."""
        self._resync_at = now + RESYNC_SECONDS
        for controller in self.controllers:
            first: Callable[[], tuple[Key, ...]] = getattr(controller.decider, "initial_keys", tuple)
            controller.queue.resync(first(), now, spread)
            for resource in controller.decider.reads:
                keys: dict[Key, None] = {}
                for view in self.mirrors[resource.name].index.all():
                    keys.update(dict.fromkeys(controller.decider.keys(resource.name, None, view)))
                controller.queue.resync(tuple(keys), now, spread)
        self._stir()

    def _view(self) -> MirrorView:
        return MirrorView(self.mirrors)

    def _sent(self, controller: Controller, instruction: Instruction) -> Instruction:
        if not isinstance(instruction, Call):
            return instruction
        self._callers[instruction.call] = controller
        request = instruction.request
        if request.verb in READ_VERBS:
            return instruction
        return Call(instruction.call, instruction.controller, _with_fence(request, self.leadership.fence))

    def _seen(self, write: Write) -> bool:
        mirror = self.mirrors.get(write.key.resource)
        if mirror is None:
            return True
        current = mirror.revision_of(write.key)
        if current:
            return current >= write.revision
        return mirror.passed(write.revision) if write.creates else True


def _resources(deciders: Sequence[Decider]) -> dict[str, Resource[View]]:
    """What all of them read. One mirror serves all readers of a resource, so they must mean the same view of it."""
    found: dict[str, Resource[View]] = {}
    for decider in deciders:
        for resource in decider.reads:
            known = found.setdefault(resource.name, resource)
            if known.type is not resource.type:
                raise ValueError(
                    f"{decider.name} reads {resource.name} as {resource.type.__name__}, "
                    f"another controller as {known.type.__name__}"
                )
    return found


def _with_fence(request: Request, fence: str) -> Request:
    return Request(
        request.verb,
        request.group,
        request.version,
        request.resource,
        request.namespace,
        request.name,
        request.subresource,
        {**request.query, "fence": fence},
        request.body,
        request.content_type,
        request.accept,
    )
