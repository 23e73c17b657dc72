"""What a plane decides on: its mirrors, who reads which of them, and who heeds what sort of change. The plane has one.

Mirrors are made for what the controllers and the scheduler read, and for custom kinds as their definitions come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.cache.wall import WallClock
from fairlead.control.controller import Controller
from fairlead.control.instructions import Forget, Report
from fairlead.control.narrow import Versions
from fairlead.control.placing import Placer
from fairlead.control.turn import Write
from fairlead.decision.contract import Decider
from fairlead.decision.hearing import Hearing
from fairlead.decision.heeds import facts_of
from fairlead.model.custom.definition import outline_of
from fairlead.model.served import Served
from fairlead.model.views import PLACEMENT_QUOTAS, PLANE_SETTINGS, Resource, Stored, View


class Sources:
    def __init__(self, deciders: Sequence[Decider], scheduler: type[Placer] | None) -> None:
        resources = _resources((*deciders, scheduler) if scheduler is not None else deciders)
        self.mirrors: dict[str, Mirror[Any]] = {name: Mirror(resources[name]) for name in sorted(resources)}
        for dated in {each.name for decider in deciders for each in getattr(decider, "dated", ())}:
            self.mirrors[dated].hearing = Hearing()  # of these it matters when they were seen
        self.readers: dict[str, tuple[Controller, ...]] = {}
        self._controllers: tuple[Controller, ...] = ()
        # By resource and facts, those of the readers who heed such a change: with `keys`, with `adopters`.
        self._heeding: dict[tuple[str, int], tuple[tuple[Controller, ...], tuple[Controller, ...]]] = {}
        # What is served, where deciders take kinds that come and go: their objects are mirrored as well.
        self._kinds: Served | None = next((each.kinds for each in deciders if hasattr(each, "kinds")), None)
        self._fixed = frozenset(self.mirrors)
        self.wall = WallClock()
        self._synced = False

    def read_by(self, controllers: tuple[Controller, ...]) -> None:
        self._controllers = controllers
        self._find_readers()

    def _find_readers(self) -> None:
        readers: dict[str, dict[Controller, None]] = {name: {} for name in self.mirrors}
        for controller in self._controllers:
            for resource in controller.decider.reads:
                if resource.name in readers:
                    readers[resource.name][controller] = None
        self.readers = {name: tuple(found) for name, found in readers.items()}

    @property
    def synced(self) -> bool:
        """Each has had all there was at one time."""
        if not self._synced:
            self._synced = all(mirror.synced for mirror in self.mirrors.values())
        return self._synced

    def view(self) -> MirrorView:
        return MirrorView(self.mirrors, self.wall)

    def tell(self, resource: str, before: View | None, after: View | None, now: float) -> None:
        """Those who may have keys to name for this change. Most changes of most objects concern few."""
        mark = (resource, facts_of(before, after))
        heeding = self._heeding.get(mark)
        if heeding is None:
            readers = self.readers[resource]
            named = tuple(each for each in readers if each.heeds(*mark))
            heeding = self._heeding[mark] = named, tuple(each for each in readers if each.adopts(*mark))
        for controller in heeding[0]:
            controller.observe(resource, before, after, now)
        if heeding[1]:
            view = self.view()
            for controller in heeding[1]:
                controller.observe_adoptable(view, resource, before, after, now)

    def learn(self, name: str, definition: View | None) -> tuple[list[Report | Forget], list[str]]:
        """A CustomResourceDefinition changed. What to say and do, and the resources that have a mirror from now on."""
        kinds = self._kinds
        outlined = outline_of(definition.data) if isinstance(definition, Stored) else ()
        if kinds is None or outlined == kinds.of_owner(name):
            return [], []
        try:
            kinds.serve(name, outlined) if outlined else kinds.withdraw(name)
        except ValueError as error:
            return [Report("plane", f"the kinds of {name} are not followed: {error}")], []
        for controller in self._controllers:
            told: Callable[[], None] | None = getattr(controller.decider, "kinds_changed", None)
            if told is not None:
                told()
        served = {kind.resource: kind for kind in kinds.custom}
        gone = [each for each in self.mirrors if each not in served and each not in self._fixed]
        for each in gone:
            del self.mirrors[each]
        new = [each for each in served if each not in self.mirrors]
        for each in new:
            kind = served[each]
            self.mirrors[each] = Mirror(Resource(each, kind.api_version, kind.kind, Stored))
        self._find_readers()
        self._heeding.clear()
        return [Forget(each) for each in gone], new

    def behind(self, fence: int) -> tuple[str, ...]:
        """Mirrors that are not known to show all up to this revision."""
        return tuple(name for name, mirror in self.mirrors.items() if not mirror.passed(fence))

    def has_seen(self, write: Write) -> bool:
        mirror = self.mirrors.get(write.key.resource)
        if mirror is None:
            return True
        current = mirror.revision_of(write.key)
        if current:
            # A mirror that is past a write and shows an older version read it from a store that lost the write.
            return current >= write.revision or mirror.passed(write.revision)
        return mirror.passed(write.revision) if write.creates else True

    def quotas_in(self, namespace: str) -> Versions:
        mirror = self.mirrors.get(PLACEMENT_QUOTAS.name)
        found = mirror.index.in_namespace(namespace) if mirror is not None else ()
        return {view.metadata.name: view.metadata.revision for view in found}


def _resources(deciders: Sequence[Decider | type[Placer]]) -> dict[str, Resource[View]]:
    """What all of them read, and the settings. One mirror serves all readers of a resource, so they must mean the
    same view of it; who needs no more than what is stored is served by any."""
    found: dict[str, Resource[View]] = {PLANE_SETTINGS.name: PLANE_SETTINGS}
    for decider in deciders:
        for resource in decider.reads:
            known = found.get(resource.name)
            if known is None or known.type is Stored:
                found[resource.name] = resource
            elif resource.type not in (known.type, Stored):
                raise ValueError(
                    f"{decider.name} reads {resource.name} as {resource.type.__name__}, "
                    f"another controller as {known.type.__name__}"
                )
    return found
