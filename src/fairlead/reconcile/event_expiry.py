"""Which Events go: those of objects that are gone, after a while, and the oldest where there are too many.

Events tell the story of an object. While it lives they stay, the newest few of each object; of an object that is gone
they stay for as long as people ask what became of it. Kubernetes drops all after an hour.

Fed with every change by `runtime/server/event_expirer.py`, which asks `due` now and then and sends what it gives.
Events are kept in the order of their last write, those of gone objects in the order in which these went, so that a
change costs a few steps and nothing is searched. A deletion is bound to the revision that was known: an Event that was
written again in the meantime stays. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import msgspec

from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.store.contract import DELETED, CommittedChange, Entry
from fairlead.store.damage import is_stand_in

EVENTS = "events"
_NODES = "nodes"


@dataclass(frozen=True, slots=True)
class EventsKept:
    """`gone_seconds`: how long after its object went, or after it was written later."""

    gone_seconds: float
    #: bound: plane | Events kept of one object | its oldest go
    per_object: int = 50
    #: bound: plane | Events kept of objects that are gone | those of the object that went first go
    gone_max: int = 10_000
    #: bound: plane | Events kept in all | the oldest go, of gone objects first
    events_max: int = 100_000


class Involved(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def label(self) -> str:
        """By which its Events are counted together."""
        return self.uid or f"{self.kind}/{self.namespace}/{self.name}"


class _Meta(msgspec.Struct, rename="camel"):
    creation_timestamp: str = ""


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    last_timestamp: str | None = None
    involved_object: Involved = msgspec.field(default_factory=Involved)


class _Known(NamedTuple):
    revision: int
    about: str


_decode = msgspec.json.Decoder(_Event).decode
_NOTHING = _Event()


class EventExpiry:
    def __init__(self, kept: EventsKept, lives: Callable[[Involved], bool]) -> None:
        """`lives`: whether the object that an Event is about is there."""
        self._kept = kept
        self._lives = lives
        self._known: dict[Key, _Known] = {}  # the one written longest ago first
        self._of: dict[str, dict[Key, None]] = {}  # by object, in the same order
        self._gone: dict[
            Key, float
        ] = {}  # of objects that are gone, since when; those that went first, first
        self._surplus: dict[Key, None] = {}  # more than their object may have

    def learn(self, entries: Iterable[Entry]) -> None:
        """What is stored at the start. When it was written is known by what it says itself."""
        gone: list[tuple[float, Key]] = []
        for entry in sorted(entries, key=lambda entry: entry.revision):
            if is_stand_in(entry.data):
                continue  # people decide about it
            event = _read(entry)
            self._hold(entry, event.involved_object)
            if not self._lives(event.involved_object):
                times = (event.metadata.creation_timestamp, event.last_timestamp)
                gone.append((max(map(_seconds, times)), entry.key))
        self._gone.update((key, at) for at, key in sorted(gone))

    def observe(self, change: CommittedChange, now: float) -> None:
        entry = change.entry
        if entry.key.resource != EVENTS:
            if change.type == DELETED:
                self._went(entry, now)
            return
        self._forget(entry.key)
        if change.type != DELETED:
            involved = _read(entry).involved_object
            self._hold(entry, involved)
            if not self._lives(involved):
                self._gone[entry.key] = now

    def due(self, now: float, limit: int) -> list[Request]:
        """Deletions to be asked for now. What is not deleted comes again."""
        chosen: dict[Key, None] = {}
        for key in chain(self._surplus, self._aged(now), self._too_many()):
            chosen[key] = None
            if len(chosen) >= limit:
                break
        return [_deletion(key, self._known[key].revision) for key in chosen]

    # Inside

    def _aged(self, now: float) -> Iterator[Key]:
        surplus = len(self._gone) - self._kept.gone_max
        for number, (key, since) in enumerate(self._gone.items()):
            if number >= surplus and now - since < self._kept.gone_seconds:
                return
            yield key

    def _too_many(self) -> Iterator[Key]:
        surplus = len(self._known) - self._kept.events_max
        if surplus <= 0:
            return
        for number, key in enumerate(chain(self._gone, self._known)):
            if number >= surplus:
                return
            yield key

    def _hold(self, entry: Entry, involved: Involved) -> None:
        about = involved.label
        self._known[entry.key] = _Known(entry.revision, about)
        keys = self._of.setdefault(about, {})
        keys[entry.key] = None
        if len(keys) > self._kept.per_object:
            self._surplus[next(each for each in keys if each not in self._surplus)] = None

    def _forget(self, key: Key) -> None:
        known = self._known.pop(key, None)
        if known is None:
            return
        self._gone.pop(key, None)
        self._surplus.pop(key, None)
        keys = self._of[known.about]
        del keys[key]
        if not keys:
            del self._of[known.about]

    def _went(self, entry: Entry, now: float) -> None:
        """An object is gone: what is told of it becomes history."""
        labels = (entry.uid, entry.key.name) if entry.key.resource == _NODES else (entry.uid,)
        for label in labels:  # agents of Kubernetes name nodes by their names
            for key in self._of.get(label, ()):
                self._gone.setdefault(key, now)


def _read(entry: Entry) -> _Event:
    try:
        return _decode(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOTHING  # of what nobody can read nobody misses anything


def _seconds(text: str | None) -> float:
    return parse_time(text) if text else 0.0


def _deletion(key: Key, revision: int) -> Request:
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"resourceVersion": str(revision)},
    }
    return Request(
        verb="delete",
        group="",
        version="v1",
        plural=EVENTS,
        namespace=key.namespace,
        name=key.name,
        body=codec.encode(options),
    )
