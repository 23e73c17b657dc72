"""Real mirrors of a plane's store, fed with each change as it is committed: what the Deciders of a World read.

A mirror is made, and lists, when its resource is first asked for. There is one for each type of view: a collector that
holds pods as they are stored and a controller that reads them decoded have one each, as in planes of their own. The
mirror of leases keeps when it heard what, as in every plane that judges nodes; it may be cut off (`deaf`), and then gets
what it missed later, as from a watch that goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cache.events import Framed, Listed, Marked
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.cache.wall_clock import WallClock
from fairlead.decision.contract import FirstTurn
from fairlead.decision.failure_detector import FailureDetector
from fairlead.model.views import LEASES, Resource
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.port.driving import Started
from fairlead.store.contract import CommittedChange
from tests.inprocess import InProcess


class Mirrors:
    def __init__(self, plane: InProcess) -> None:
        self.wall = WallClock()
        self.first_turns: dict[str, dict[str, FirstTurn]] = {}  # of overrides, by uid: tests write here
        self.deaf = False
        self._plane = plane
        self._by_name: dict[str, dict[type, Mirror[Any]]] = {}
        self._withheld: list[CommittedChange] = []  # changes of leases that nobody has heard of
        plane.observers.append(self._observe)

    def of(self, resource: Resource[Any]) -> Mirror[Any]:
        made = self._by_name.setdefault(resource.name, {})
        mirror = made.get(resource.type)
        if mirror is None:
            mirror = made[resource.type] = Mirror(resource)
            if resource.name in (LEASES.name, RUNBOOK_RUNS.name):
                mirror.failure_detector = FailureDetector()
            store, now = self._plane.store, self._plane.now
            mirror.handle(Started(now))
            mirror.handle(Listed(store.revision, tuple(store.list(resource.name)), now))
        return mirror

    def view(self, *resources: Resource[Any]) -> MirrorView:
        """What a Decider sees that declares these in `reads`."""
        return MirrorView({each.name: self.of(each) for each in resources}, self.wall, self._first_turns_of)

    def _first_turns_of(self, uid: str) -> dict[str, FirstTurn]:
        return self.first_turns.get(uid, {})

    def hear(self) -> None:
        """A bookmark of the leases; the leader's own lease changes often enough that something is always heard."""
        if not self.deaf:
            withheld, self._withheld = self._withheld, []
            self._deliver(withheld)
            self.of(LEASES).handle(Marked(self._plane.store.revision, self._plane.now))

    def restart(self) -> None:
        """Another plane takes over, which lists everything."""
        self._by_name.clear()
        self._withheld.clear()
        self.hear()

    def _observe(self, changes: tuple[CommittedChange, ...]) -> None:
        missed = [each for each in changes if self.deaf and each.entry.key.resource == LEASES.name]
        self._withheld += missed
        self._deliver(each for each in changes if each not in missed)

    def _deliver(self, changes: Iterable[CommittedChange]) -> None:
        for change in changes:
            for mirror in self._by_name.get(change.entry.key.resource, {}).values():
                mirror.handle(Framed(change.type, change.entry, self._plane.now))
