"""The past as a Decider saw it: mirrors of the history at the revisions that a record names, and what the record heard.

    HistoryMirrors   one mirror per resource, moved to the revision that is asked for
    PastView         Reading over them for one recorded turn: all that is in no history is answered from its record

Used by `rerun.py`. The mirrors are real ones (`cache/mirror.py`), fed with the objects of the beginning and the changes
since: what could not be decoded then cannot be decoded now either. To go forwards costs the changes in between, to go
back begins anew, so decisions are best run again in the order of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from fairlead.cache.events import Framed, Listed, Marked
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.decision.contract import FirstTurn, Sighting, Silent
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.views import Resource, View
from fairlead.port.driving import Started
from fairlead.store.contract import Entry

T = TypeVar("T", bound=View)


class NotKept(Exception):
    """The history that is at hand does not reach there. The text says where, for people."""


class NotAsked(Exception):
    """A decision that is run again asks what it did not ask then: it takes another way."""


class PastChange(NamedTuple):
    change_type: str  # ADDED, MODIFIED, DELETED
    entry: Entry


class ResourceHistory(NamedTuple):
    """One resource as it was at a revision, and its changes up to another, in order."""

    start: int
    entries: tuple[Entry, ...]
    changes: Sequence[PastChange]
    end: int


class History(Protocol):
    def of(self, resource: str) -> ResourceHistory:
        """NotKept if there is nothing of it."""
        ...


class HistoryMirrors:
    """`resources`: how each is decoded, as the plane's mirrors do it."""

    def __init__(self, history: History, resources: Mapping[str, Resource[Any]]) -> None:
        self.resources = resources
        self._history = history
        self._mirrors: dict[str, tuple[Mirror[Any], int]] = {}  # and how many changes it has taken in

    def at(self, name: str, revision: int) -> Mirror[Any]:
        """The mirror of a resource as it was when it stood at this revision."""
        if not revision:
            return Mirror(self.resources[name])  # there had been no list
        history = self._history.of(name)
        if not history.start <= revision <= history.end:
            raise NotKept(f"{name} is at hand from revision {history.start} to {history.end} only")
        mirror, taken = self._mirrors.get(name) or (None, 0)
        if mirror is None or mirror.revision > revision:
            mirror, taken = Mirror(self.resources[name]), 0
            mirror.handle(Started(0.0))
            mirror.handle(Listed(history.start, history.entries, 0.0))
        changes = history.changes
        while taken < len(changes) and changes[taken].entry.revision <= revision:
            mirror.handle(Framed(*changes[taken], 0.0))
            taken += 1
        mirror.handle(Marked(revision, 0.0))
        self._mirrors[name] = mirror, taken
        return mirror

    def version(self, key: Key, revision: int) -> bytes | None:
        """An object at a revision of its own; None if that is not at hand."""
        history = self._history.of(key.resource)
        versions = (*history.entries, *(each.entry for each in history.changes))
        return next((each.data for each in versions if (each.key, each.revision) == (key, revision)), None)


class PastView(MirrorView):
    """What one recorded turn read."""

    __slots__ = ("_heard", "_past", "_read")

    def __init__(self, past: HistoryMirrors, reads: Mapping[str, Sequence[int]], heard: Json) -> None:
        super().__init__({})
        self._past = past
        self._read = reads
        self._heard = heard

    def sighting(self, resource: Resource[T], namespace: str, name: str) -> Sighting | None:
        told = self._heard.get("sightings", {})
        key = "/".join((resource.name, namespace, name))
        if key not in told:
            raise NotAsked(f"when {key} was last heard of")
        return None if told[key] is None else Sighting(*told[key])

    def silent(self, resource: Resource[T], namespace: str, seconds: float) -> Silent:
        for each in self._heard.get("silent", ()):
            if (each["resource"], each["namespace"], each["seconds"]) == (resource.name, namespace, seconds):
                names = {name: Sighting(*told) for name, told in each["names"].items()}
                return Silent(names, each["next"])
        raise NotAsked(f"which {resource.name} of {namespace} were silent for {seconds:g} s")

    def wall(self, at: float) -> float:
        for instant, ahead in self._heard.get("wall", ()):
            if instant == at:
                return at + float(ahead)
        if "wall" in self._heard:
            raise NotAsked("what the wall clock showed at another instant")
        return at

    def shows(self, resource: Resource[T], revision: int) -> bool:
        for name, asked, shown in self._heard.get("shows", ()):
            if (name, asked) == (resource.name, revision):
                return bool(shown)
        return revision <= self._mirror(resource).revision

    def deleting_since(self, resource: Resource[T], key: Key) -> int:
        return int(self._heard.get("deleting", {}).get("/".join(key), 0))

    def first_turns(self, uid: str) -> Mapping[str, FirstTurn]:
        told = self._heard.get("firstTurns", {}).get(uid, {})
        return {name: FirstTurn(*each) for name, each in told.items()}

    def missed(self) -> tuple[Key, ...]:
        return tuple(Key(*each.split("/")) for each in self._heard.get("missed", ()))

    def revision_of(self, key: Key) -> int:
        return self._past.at(key.resource, self._revision(key.resource)).revision_of(key)

    def _revision(self, name: str) -> int:
        try:
            return self._read[name][0]
        except KeyError:
            raise NotAsked(f"for {name}") from None

    def _mirror(self, resource: Resource[T], *, patiently: bool = False) -> Mirror[T]:
        return self._past.at(resource.name, self._revision(resource.name))
