"""Runs the garbage collector and the namespace controller over a plane until neither asks for anything more.

As the loop does, but at once and in order: changes reach mirrors, which wake keys, each is decided on the mirrors and
asked of the API. A conflict is decided again; anything else that is refused is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.control.requests import request_of
from fairlead.decision.contract import EFFECTS_MAX
from fairlead.decision.decider import Decider, WatchEvent
from fairlead.decision.effects import Effect
from fairlead.model.key import Key
from fairlead.port.driving import Started
from fairlead.port.request import Reply, Request
from fairlead.reconcile.garbage import garbage_decider
from fairlead.reconcile.namespace import namespace_decider
from fairlead.store.contract import CommittedChange
from tests.inprocess import InProcess

_TURNS_MAX = 5000


class Collecting:
    """Begins to watch when it is made, and starts from what is stored, like a new leader."""

    def __init__(self, plane: InProcess) -> None:
        self.plane = plane
        self.asked: list[Request] = []
        self.deciders = (garbage_decider(), namespace_decider())
        self.mirrors: dict[str, Mirror[Any]] = {}
        for decider in reversed(self.deciders):  # the typed view of namespaces first
            for resource in decider.reads:
                self.mirrors.setdefault(resource.name, Mirror(resource))
        self._seen = len(plane.published)
        self._keys: dict[tuple[Decider, Key], None] = {}
        for name, mirror in self.mirrors.items():
            mirror.handle(Started(0.0))
            mirror.handle(mirrored.Listed(plane.store.revision, tuple(plane.store.list(name)), 0.0))
        self._wake_all()

    def settle(self) -> None:
        """Until quiescence; fails if there is none."""
        for _ in range(_TURNS_MAX):
            self._take_in()
            if not self._keys:
                return
            decider, key = next(iter(self._keys))
            del self._keys[decider, key]
            decision = decider.decide(self.view, key, self.plane.now)
            assert len(decision.effects) <= EFFECTS_MAX
            for effect in decision.effects:
                self._ask(effect)
            if decision.again_at:
                self._keys[decider, key] = None
        raise AssertionError(f"no end to it: {list(self._keys)[:5]} still ask")

    @property
    def woken(self) -> list[Key]:
        """What waits for a look."""
        return [key for _, key in self._keys]

    def everything(self) -> list[Request]:
        """What would be asked if all keys were looked at again."""
        self._take_in()
        return [
            request_of(effect)
            for decider in self.deciders
            for kind in self.mirrors
            for entry in self.plane.store.list(kind)
            for effect in decider.decide(self.view, entry.key, self.plane.now).effects
        ]

    @property
    def view(self) -> MirrorView:
        return MirrorView(self.mirrors)

    def _ask(self, effect: Effect) -> None:
        request = request_of(effect)
        reply = self.plane.send(request)
        assert isinstance(reply, Reply)
        assert reply.status in (200, 404, 409), reply.body
        self.asked.append(request)

    def _wake_all(self) -> None:
        for decider in self.deciders:
            assert decider.unsettled is not None
            self._wake(decider, decider.unsettled(self.view))

    def _wake(self, decider: Decider, keys: Iterable[Key]) -> None:
        for key in keys:
            self._keys[decider, key] = None

    def _take_in(self) -> None:
        changes = self.plane.published[self._seen :]
        self._seen += len(changes)
        self.take_in(changes)

    def take_in(self, changes: Iterable[CommittedChange]) -> None:
        for change in changes:
            name = change.entry.key.resource
            if name not in self.mirrors:
                continue  # not of the API: claims
            for instruction in self.mirrors[name].handle(mirrored.Framed(change.type, change.entry, 0.0)):
                if isinstance(instruction, mirrored.Changed):
                    told = WatchEvent(self.view, instruction.key, instruction.before, instruction.after)
                    for decider in self.deciders:
                        self._wake(decider, decider.woken_by(told))
        for mirror in self.mirrors.values():  # nothing is under way here
            mirror.handle(mirrored.Marked(self.plane.store.revision, 0.0))
