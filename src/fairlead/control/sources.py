"""What a plane decides on: its mirrors, who reads which of them, and whom a change wakes. The plane has one.

Mirrors are made for what the controllers and the scheduler read, and for custom kinds as their definitions come and go.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, NamedTuple

from fairlead.cache.events import Changed, Listed
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import FirstTurnsOf, MirrorView
from fairlead.cache.wall_clock import WallClock
from fairlead.control.controller import Controller
from fairlead.control.instructions import AskProgress, Forget, Report
from fairlead.control.own_writes import Write, is_shown
from fairlead.control.placing import Placer
from fairlead.control.read_before_write import Versions
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.failure_detector import FailureDetector
from fairlead.decision.predicates import facts_of
from fairlead.model.custom.definition import outline_of
from fairlead.model.kind import Kind
from fairlead.model.served import Served
from fairlead.model.views import PLACEMENT_QUOTAS, PLANE_SETTINGS, RECORDING_POLICIES, Resource, Stored, View
from fairlead.port.driving import Started

# So many custom kinds are known for a while after their definitions went.
_GONE_MAX = 16
#: bound: plane | a mirror that a decision waits for, and that does not move, is asked for again after | -
ASK_AGAIN_SECONDS = 5.0


class Learned(NamedTuple):
    """What follows from a change of a definition."""

    instructions: tuple[Report | Forget, ...] = ()
    mirrored: tuple[str, ...] = ()  # resources that have a mirror from now on
    changes: tuple[tuple[str, tuple[Changed, ...]], ...] = ()  # objects that are gone with their definition


class _Woken(NamedTuple):
    """A wake that some change concerns, if there is any of these objects; None: in any case."""

    controller: Controller
    wake: Wake[Any]
    among: Sized | None


class MirrorSources:
    """`finalizes`: whether a definition goes only after the dependents of its objects were dealt with. Otherwise its
    kinds are known for a while longer, without objects, so that these dependents are found to have no owner left."""

    def __init__(
        self,
        deciders: Sequence[Decider],
        scheduler: type[Placer] | None,
        *,
        finalizes: bool = True,
        first_turns: FirstTurnsOf | None = None,
    ) -> None:
        self._first_turns = first_turns
        resources = resources_read((*deciders, scheduler) if scheduler is not None else deciders)
        self.mirrors: dict[str, Mirror[Any]] = {name: Mirror(resources[name]) for name in sorted(resources)}
        for dated in {each.name for decider in deciders for each in decider.dated}:
            self.mirrors[
                dated
            ].failure_detector = FailureDetector()  # of these it matters when they were seen
        self.readers: dict[str, tuple[Controller, ...]] = {}
        self._controllers: tuple[Controller, ...] = ()
        # By resource and facts, the wakes of its readers that such a change concerns.
        self._wakes: dict[tuple[str, int], tuple[_Woken, ...]] = {}
        # What is served, where deciders take kinds that come and go: their objects are mirrored as well.
        self._kinds: Served | None = next((each.kinds for each in deciders if each.kinds is not None), None)
        self._fixed = frozenset(self.mirrors)
        self._finalizes = finalizes
        self._gone: dict[str, None] = {}  # definitions that went, the last few, in order
        self._asked: dict[str, tuple[float, int]] = {}  # when a mirror was last to move on, and from where
        self.wall = WallClock()
        self.unsynced = list(self.mirrors)  # of the fixed ones those that may have had no list yet

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
        """Each has had all there was at one time. Those of custom kinds, which perhaps nobody may list, are waited for
        by those decisions alone that read them (`Mirror.floor`)."""
        unsynced = self.unsynced
        while unsynced and self.mirrors[unsynced[-1]].synced:
            unsynced.pop()
        return not unsynced

    def view(self) -> MirrorView:
        return MirrorView(self.mirrors, self.wall, self._first_turns)

    def tell(self, resource: str, change: Changed, now: float) -> None:
        """Queue the keys that a change wakes. Most changes of most objects concern few controllers."""
        mark = (resource, facts_of(change.before, change.after))
        wakes = self._wakes.get(mark)
        if wakes is None:
            readers = self.readers[resource]
            wakes = self._wakes[mark] = tuple(
                _Woken(each, wake, self._among(wake))
                for each in readers
                for wake in each.decider.wakes_on(*mark)
            )
        event: WatchEvent[Any] | None = None
        for controller, wake, among in wakes:
            if among is None or among:
                if event is None:
                    event = WatchEvent(self.view(), change.key, change.before, change.after)
                controller.observe(wake, event, now)

    def _among(self, wake: Wake[Any]) -> Sized | None:
        """What a wake needs one of, by now and later."""
        if wake.while_leaving is not None:
            return self.mirrors[wake.while_leaving.name].deleting
        return self.mirrors[wake.among.name].index.held if wake.among is not None else None

    def learn(self, name: str, definition: View | None) -> Learned:
        """A CustomResourceDefinition changed."""
        kinds = self._kinds
        if kinds is None or name in self._fixed:
            return Learned()
        outlined = outline_of(definition.data) if isinstance(definition, Stored) else ()
        was_gone = name in self._gone
        if not outlined if was_gone else outlined == kinds.of_owner(name):
            return Learned()
        if definition is None and not self._finalizes:
            return self._lose(name)
        self._gone.pop(name, None)
        try:
            kinds.serve(name, outlined) if outlined else kinds.withdraw(name)
        except ValueError as error:
            return Learned((Report("plane", f"the kinds of {name} are not followed: {error}"),))
        return self._follow_kinds(kinds, name if was_gone else "")

    def _lose(self, name: str) -> Learned:
        """A definition went, and all its objects before it, also those that the mirror still shows."""
        assert self._kinds is not None
        lost = self.mirrors[name]
        empty = self.mirrors[name] = Mirror(lost.resource)
        empty.handle(Started(0.0))
        empty.handle(Listed(lost.revision, (), 0.0))
        empty.has_ended = True
        self._gone[name] = None
        forgotten: tuple[Report | Forget, ...] = (Forget(name),)
        if len(self._gone) > _GONE_MAX:
            oldest = next(iter(self._gone))
            del self._gone[oldest]
            self._kinds.withdraw(oldest)
            forgotten += self._follow_kinds(self._kinds).instructions
        changes = tuple(Changed(view, None, key_of(name, view)) for view in lost.index.all())
        return Learned(forgotten, (), ((name, changes),))

    def _follow_kinds(self, kinds: Served, again: str = "") -> Learned:
        """Mirror the custom kinds that there are, and no others. `again`: one whose mirror is out of use."""
        for controller in self._controllers:
            if controller.decider.remade is not None:
                controller.decider = controller.decider.remade()
        served: dict[str, list[Kind]] = {}
        for kind in kinds.custom:
            served.setdefault(kind.resource, []).append(kind)
        gone = [
            name
            for name, mirror in self.mirrors.items()
            if name not in self._fixed
            and (
                name == again
                or all(mirror.resource.api_version != kind.api_version for kind in served.get(name, ()))
            )
        ]
        for each in gone:
            del self.mirrors[each]
            self._asked.pop(each, None)
        new = [name for name in served if name not in self.mirrors]
        for each in new:
            kind = served[each][0]
            self.mirrors[each] = Mirror(Resource(each, kind.api_version, kind.kind, Stored))
            self.mirrors[each].floor = 1
            # Something may have been left by owners of a kind that was gone, or not known to this plane yet.
            self.mirrors[each].is_awaited = True
        self._find_readers()
        self._wakes.clear()
        return Learned(tuple(map(Forget, gone)), tuple(new))

    def behind(self, fence: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Mirrors that are not known to show all up to this revision: those that everything waits for, and those of
        custom kinds, for which those decisions wait that read them."""
        fixed = self._fixed
        behind = tuple(
            [name for name, each in self.mirrors.items() if not each.passed(fence) and name in fixed]
        )
        if len(self.mirrors) == len(fixed):  # there are no custom kinds
            return behind, ()
        custom = [name for name in self.mirrors if name not in fixed and name not in self._gone]
        for name in custom:
            self.mirrors[name].floor = max(self.mirrors[name].floor, fence)
        return behind, tuple(name for name in custom if not self.mirrors[name].passed(fence))

    def ask_soon(self, asked: AskProgress, now: float) -> tuple[AskProgress, ...]:
        """A decision wants a mirror to pass a revision. Beside Kubernetes that takes a list of the whole resource:
        while the mirror has not moved it is not asked for again so soon."""
        mirror = self.mirrors.get(asked.resource)
        if mirror is None:
            return ()
        at, revision = self._asked.get(asked.resource, (0.0, -1))
        if mirror.revision == revision and now < at + ASK_AGAIN_SECONDS:
            return ()
        self._asked[asked.resource] = (now, mirror.revision)
        return (asked,)

    def address_of(self, resource: str) -> tuple[str, str] | None:
        """The group and version in which objects of a custom kind are read; None if there are none any more."""
        mirror = self.mirrors.get(resource)
        if mirror is None or resource in self._gone:
            return None
        group, _, version = mirror.resource.api_version.rpartition("/")
        return group, version

    def heard_of(self, revision: int) -> None:
        """It exists: some reply named it. As if each mirror were told (`Mirror.heard_of`), at every answer."""
        for mirror in self.mirrors.values():
            if revision > mirror.newest_seen:
                mirror.newest_seen = revision

    def has_seen(self, write: Write) -> bool:
        """Own writes first: until the mirrors show them, nothing more is decided for their key."""
        return is_shown(self.mirrors, write)

    def quotas_in(self, namespace: str) -> Versions:
        mirror = self.mirrors.get(PLACEMENT_QUOTAS.name)
        found = mirror.index.in_namespace(namespace) if mirror is not None else ()
        return {view.metadata.name: view.metadata.revision for view in found}


def resources_read(deciders: Sequence[Decider | type[Placer]]) -> dict[str, Resource[View]]:
    """What all of them read, the settings and the policy of records. One mirror serves all readers of a resource, so
    they must mean the same view of it; who reads metadata alone (`View`) is served by any."""
    found: dict[str, Resource[View]] = {each.name: each for each in (PLANE_SETTINGS, RECORDING_POLICIES)}
    for decider in deciders:
        for resource in decider.reads:
            known = found.get(resource.name)
            if known is None or known.type is View:
                found[resource.name] = resource
            elif resource.type not in (known.type, View):
                raise ValueError(
                    f"{decider.name} reads {resource.name} as {resource.type.__name__}, "
                    f"another controller as {known.type.__name__}"
                )
    return found
