"""Events go an hour after they were last written, and the oldest when there are too many (kube-apiserver's event TTL).

Fed with every change of an Event by `runtime/server/expirer.py`, which asks `due` now and then and sends what it gives.
Events are kept in the order of their last write, so that a change costs one step and nothing is searched. A deletion is
bound to the revision that was known: an Event that was written again in the meantime stays. Pure.
"""

from __future__ import annotations

import msgspec

from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.store.contract import DELETED, CommittedChange, Entry
from fairlead.store.damage import is_stand_in

EVENTS = "events"
# More than this are not kept, whatever their age.
#: bound: plane | Events kept | the oldest go
EVENTS_MAX = 100_000


class _Meta(msgspec.Struct, rename="camel"):
    creation_timestamp: str = ""


class _Event(msgspec.Struct, rename="camel"):
    metadata: _Meta
    last_timestamp: str | None = None


_decode = msgspec.json.Decoder(_Event).decode


class EventExpiry:
    def __init__(self, kept_seconds: float, events_max: int = EVENTS_MAX) -> None:
        self._kept_seconds = kept_seconds
        self._events_max = events_max
        self._written: dict[Key, tuple[float, int]] = {}  # when, revision; the one written longest ago first

    def learn(self, entries: list[Entry]) -> None:
        """What is stored at the start. When it was written is known by what it says itself."""
        for entry in sorted(entries, key=lambda entry: entry.revision):
            if is_stand_in(entry.data):
                continue  # people decide about it
            event = _decode(entry.data)
            times = (event.metadata.creation_timestamp, event.last_timestamp)
            self._written[entry.key] = (max(map(_seconds, times)), entry.revision)

    def observe(self, change: CommittedChange, now: float) -> None:
        key = change.entry.key
        if key.resource == EVENTS:
            self._written.pop(key, None)
            if change.type != DELETED:
                self._written[key] = (now, change.entry.revision)

    def due(self, now: float, limit: int) -> list[Request]:
        """Deletions to be asked for now, the oldest first. What is not deleted comes again."""
        surplus = len(self._written) - self._events_max
        requests: list[Request] = []
        for key, (at, revision) in self._written.items():
            if len(requests) >= limit or (len(requests) >= surplus and now - at < self._kept_seconds):
                break
            requests.append(_deletion(key, revision))
        return requests


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
