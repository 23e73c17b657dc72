"""Watches: who is told of which change. Fed by the driver with every Publish, read by the watch streams.

A subscription has a position: every change at or below it was delivered, or was not for it. One that starts
in the past is `behind`: it reads changes from the store in chunks at its own pace and nothing is buffered for
it; when it has read up to the present it is live, and each published change goes to its bounded buffer.
Changes at or below the position are skipped, so the hand-over neither misses nor repeats. All on one thread,
no waiting: the driver learns from `publish` whom to wake. A live subscriber that does not keep up is cut,
never buffered without bound; one that is behind and never catches up ends with Compacted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from fairlead.store.contract import ADDED, DELETED, CommittedChange, Compacted, Entry, FutureRevision, Reader

Accepts = Callable[[Entry], bool]

#: bound: connections | changes buffered for a watcher | the watcher is cut
BUFFER_CHANGES_MAX = 1024
# Changes are kept once for all who wait for them, so this is less the memory of a watcher than its delay.
#: bound: connections | bytes buffered for a watcher | the watcher is cut
BUFFER_BYTES_MAX = 16 * 1024 * 1024
#: bound: connections | changes read at once for one behind | it takes another turn
CATCH_UP_CHANGES_MAX = 256

FRAME_STARTS = {name: b'{"type":"%b","object":' % name.encode() for name in ("ADDED", "MODIFIED", "DELETED")}

FRAME_END = b"}\n"


def frame(change: CommittedChange) -> bytes:
    """The change as a line of a watch stream; encoded once and shared by all watchers."""
    encoded = change.frame
    if not encoded:
        encoded = change.frame = b"%b%b}\n" % (FRAME_STARTS[change.type], change.entry.data)
    return encoded


def with_revision(data: bytes, revision: int) -> bytes:
    """Wire JSON with another metadata.resourceVersion, all else byte for byte."""
    top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    metadata = msgspec.json.decode(top["metadata"], type=dict[str, msgspec.Raw])
    metadata["resourceVersion"] = msgspec.Raw(b'"%d"' % revision)
    top["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(top)


def seen_through(change: CommittedChange, accepts: Accepts) -> CommittedChange | None:
    """The change as a watcher with a selector sees it: what begins to match was added, what no longer matches
    was deleted (in its last matching state, at the new revision), what matches neither time is nothing."""
    before, entry = change.before, change.entry
    if change.type == DELETED:
        return change if accepts(entry if before is None else before) else None
    matched = before is not None and accepts(before)
    if accepts(entry):
        if matched or change.type == ADDED:
            return change
        return CommittedChange(ADDED, entry, None)
    if not matched or before is None:
        return None
    data = with_revision(before.data, entry.revision)
    return CommittedChange(
        DELETED, Entry(entry.key, before.uid, entry.revision, data, before.revision), before
    )


class Subscription:
    """One watcher. Made by Hub.subscribe; `take` and `publish` of the hub move it on."""

    __slots__ = ("_buffer", "_bytes", "accepts", "behind", "cut", "namespace", "position", "resource")

    def __init__(self, resource: str, namespace: str, accepts: Accepts | None, position: int) -> None:
        self.resource = resource
        self.namespace = namespace
        self.accepts = accepts
        self.position = position
        self.behind = False
        self.cut = False
        self._buffer: deque[CommittedChange] = deque()
        self._bytes = 0

    @property
    def ready(self) -> bool:
        """Something is to be taken, or to be learnt (the cut)."""
        return self.behind or self.cut or bool(self._buffer)

    def _cut(self) -> None:
        """It did not keep up."""
        self.cut = True
        self._buffer.clear()
        self._bytes = 0

    @property
    def next_bytes(self) -> int:
        """The size of the next change to be taken, if one is buffered."""
        return len(self._buffer[0].entry.data) if self._buffer else 0

    def _drain(self, limit: int, bytes_max: int) -> list[CommittedChange]:
        buffer = self._buffer
        if len(buffer) <= limit and self._bytes <= bytes_max:  # as nearly always
            taken = list(buffer)
            buffer.clear()
            self._bytes = 0
            return taken
        taken, size = [], 0
        while buffer and len(taken) < limit:
            size += len(buffer[0].entry.data)
            if taken and size > bytes_max:
                break
            self._bytes -= len(buffer[0].entry.data)
            taken.append(buffer.popleft())
        return taken


class Hub:
    """All subscriptions, indexed by resource and namespace: a change costs only those who could want it."""

    def __init__(
        self,
        reader: Reader,
        buffer_changes_max: int = BUFFER_CHANGES_MAX,
        buffer_bytes_max: int = BUFFER_BYTES_MAX,
        catch_up_changes_max: int = CATCH_UP_CHANGES_MAX,
    ) -> None:
        self._reader = reader
        self._changes_max = buffer_changes_max
        self._bytes_max = buffer_bytes_max
        self._chunk = catch_up_changes_max
        # Dicts keep the order of subscribing, so that fan-out is the same in every run.
        self._index: dict[str, dict[str, dict[Subscription, None]]] = {}
        self._published = reader.revision
        self.cuts = 0

    def __len__(self) -> int:
        return sum(len(members) for spaces in self._index.values() for members in spaces.values())

    def subscribe(
        self, resource: str, namespace: str, accepts: Accepts | None, since_revision: int
    ) -> Subscription:
        """Every change after `since_revision`. Namespace "" means all. Raises Compacted or FutureRevision."""
        newest = self._reader.revision
        if since_revision > newest:
            raise FutureRevision(since_revision, newest)
        floor = self._reader.floor(resource)
        if since_revision < floor:
            raise Compacted(since_revision, floor)
        for lost in self._reader.lost:
            lost.check(since_revision)
        subscription = Subscription(resource, namespace, accepts, since_revision)
        subscription.behind = since_revision < newest
        self._index.setdefault(resource, {}).setdefault(namespace, {})[subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget it. Doing it twice is doing it once."""
        spaces = self._index.get(subscription.resource, {})
        members = spaces.get(subscription.namespace, {})
        members.pop(subscription, None)
        if not members:
            spaces.pop(subscription.namespace, None)
        if not spaces:
            self._index.pop(subscription.resource, None)

    def publish(self, changes: Iterable[CommittedChange]) -> list[Subscription]:
        """Hand durable changes to those who watch; returns those who have something new, for waking."""
        woken: dict[Subscription, None] = {}
        resource = namespace = ""
        watching: tuple[Subscription, ...] = ()
        for change in changes:
            key = change.entry.key
            self._published = change.entry.revision
            if key.resource != resource or key.namespace != namespace:  # most come in a row
                resource, namespace = key.resource, key.namespace
                watching = self._watching(resource, namespace)
            if watching:
                self._fan_out(change, watching, woken)
        return list(woken)

    def _watching(self, resource: str, namespace: str) -> tuple[Subscription, ...]:
        """Those who could want a change there: who watches all namespaces first."""
        spaces = self._index.get(resource)
        if spaces is None:
            return ()
        return (*spaces.get("", ()), *(spaces.get(namespace, ()) if namespace else ()))

    def _fan_out(
        self, change: CommittedChange, watching: Iterable[Subscription], woken: dict[Subscription, None]
    ) -> None:
        revision, size = change.entry.revision, len(change.entry.data)
        for subscription in watching:
            if subscription.cut or subscription.behind or revision <= subscription.position:
                continue
            subscription.position = revision
            accepts = subscription.accepts
            seen = change if accepts is None else seen_through(change, accepts)
            if seen is None:
                continue
            buffer = subscription._buffer
            buffer.append(seen)
            subscription._bytes += size if seen is change else len(seen.entry.data)
            if len(buffer) > self._changes_max or subscription._bytes > self._bytes_max:
                subscription._cut()
            woken[subscription] = None
            if subscription.cut:
                self.cuts += 1

    def take(
        self, subscription: Subscription, limit: int = CATCH_UP_CHANGES_MAX, bytes_max: int = BUFFER_BYTES_MAX
    ) -> list[CommittedChange]:
        """The next changes to send, oldest first; of those buffered at least one, and else no more than `bytes_max`.
        Empty while `behind` means that this stretch held nothing for it: take again. Raises Compacted
        when it is behind the floor."""
        if subscription.cut:
            return []
        if subscription.behind:
            return self._catch_up(subscription, min(limit, self._chunk))
        return subscription._drain(limit, bytes_max)

    def _catch_up(self, subscription: Subscription, limit: int) -> list[CommittedChange]:
        newest = self._reader.revision
        chunk = self._reader.changes_after(subscription.position, subscription.resource, limit)
        if len(chunk) < limit:
            subscription.position, subscription.behind = newest, False
        else:
            subscription.position = chunk[-1].entry.revision
        namespace, accepts = subscription.namespace, subscription.accepts
        taken = []
        for change in chunk:
            if namespace and change.entry.key.namespace != namespace:
                continue
            seen = change if accepts is None else seen_through(change, accepts)
            if seen is not None:
                taken.append(seen)
        return taken

    def progress(self, subscription: Subscription) -> int:
        """The revision a bookmark may name: all up to it was taken. 0 while something is left to take."""
        return 0 if subscription.ready else max(subscription.position, self._published)
