"""Watch streams: pumps what the hub has for a subscriber into its connection, as fast as the client reads.

Opened by the handler, woken by the runtime after each publish. A client that does not read stops being written to;
its subscription then fills up to its bound and is cut, and the connection with it. Streams end cleanly at their
timeout and when the server stops, so that clients resume where they were.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace

from fairlead.api.plan import Watch
from fairlead.api.status import failure
from fairlead.api.users import User
from fairlead.core.errors import Expired, Unavailable
from fairlead.store.contract import ADDED, Change, Compacted
from fairlead.store.watch import Hub, Subscription, frame
from fairlead.wire.exchange import Exchange

log = logging.getLogger("fairlead.wire")

BOOKMARK_SECONDS = 30.0
# Per turn of the loop and watcher; others get their turn in between.
_CHANGES_PER_TURN = 256
_INITIAL_PER_TURN = 500
# What one turn hands to a connection before looking whether the client reads: objects can be large.
_BYTES_PER_TURN = 256 * 1024
_CHANGES_AT_FIRST = 1
_JSON = b"application/json"


class Watches:
    """All open streams."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hub: Hub, clock: Callable[[], float]) -> None:
        self.loop = loop
        self.hub = hub
        self.clock = clock
        self._streams: dict[Subscription, _Stream] = {}
        self._stopping = False

    def __len__(self) -> int:
        return len(self._streams)

    def open(self, exchange: Exchange, watch: Watch, user: User) -> None:
        if self._stopping:
            raise Unavailable("the server is stopping; connect again", retry_after_seconds=1)
        try:
            subscription = self.hub.subscribe(watch.resource, watch.namespace, watch.accepts, watch.since)
        except Compacted as compacted:
            raise Expired(f"too old resource version: {watch.since} ({compacted.floor})") from compacted
        stream = _Stream(self, exchange, watch, subscription, user)
        self._streams[subscription] = stream
        stream.begin()

    def wake(self, subscriptions: list[Subscription]) -> None:
        """Called after each publish with those who have something new."""
        streams = self._streams
        for subscription in subscriptions:
            stream = streams.get(subscription)
            if stream is not None:
                stream.pump()

    def keep(self, allowed: Callable[[User], bool]) -> None:
        """End the streams of users who may no longer sign in: a revoked token must not go on reading."""
        for stream in list(self._streams.values()):
            if not allowed(stream.user):
                stream.finish()

    def end_of(self, resources: Collection[str]) -> None:
        """End the streams of these: what they are, or whether they are at all, has changed."""
        if resources:
            for stream in list(self._streams.values()):
                if stream.resource in resources:
                    stream.finish()

    def expire(self) -> None:
        """End every stream as when what it was to send is no longer kept: its client must list again."""
        for subscription, stream in list(self._streams.items()):
            stream.end_with(Expired(f"too old resource version: {subscription.position}"))

    def forget(self, subscription: Subscription) -> None:
        self._streams.pop(subscription, None)
        self.hub.unsubscribe(subscription)

    def stop(self) -> None:
        """End every stream; none is opened any more."""
        self._stopping = True
        for stream in list(self._streams.values()):
            stream.finish()


class _Stream:
    __slots__ = (
        "_exchange",
        "_initial",
        "_mark_end",
        "_open",
        "_owner",
        "_per_turn",
        "_subscription",
        "_timers",
        "_watch",
        "user",
    )

    def __init__(
        self, owner: Watches, exchange: Exchange, watch: Watch, subscription: Subscription, user: User
    ) -> None:
        self.user = user
        self._owner = owner
        self._exchange = exchange
        # A watch lives for long: it must not keep alive all the versions that it began with.
        self._watch = replace(watch, initial=())
        self._initial = deque(watch.initial)
        self._mark_end = watch.initial_end
        self._subscription = subscription
        self._open = True
        self._per_turn = _CHANGES_AT_FIRST
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def resource(self) -> str:
        return self._watch.resource

    def begin(self) -> None:
        exchange, loop = self._exchange, self._owner.loop
        exchange.on_gone = self._gone
        exchange.on_writable(self.pump)
        exchange.stream(_JSON)
        self._timers.append(loop.call_later(self._watch.timeout_seconds, self.finish))
        if self._watch.bookmarks:
            self._timers.append(loop.call_later(BOOKMARK_SECONDS, self._bookmark))
        self.pump()

    def pump(self) -> None:
        """Send what there is. Never raises: others are being told of the same change."""
        try:
            self._pump()
        except Exception:
            log.exception("a watch of %s could not go on", self._watch.resource)
            if self._open:
                self._close()
                self._exchange.abort()

    def _pump(self) -> None:
        exchange, subscription = self._exchange, self._subscription
        if not self._open:
            return
        if subscription.cut:
            self._cut()
            return
        if not exchange.writable:
            return
        if self._initial or self._mark_end:
            self._send_initial()
            self._owner.loop.call_soon(self.pump)
            return
        try:
            changes = self._owner.hub.take(subscription, self._per_turn)
        except Compacted as compacted:
            self.end_with(Expired(f"too old resource version: {compacted.asked} ({compacted.floor})"))
            return
        if changes:
            self._send_changes(changes)
        if subscription.ready:
            self._owner.loop.call_soon(self.pump)

    def _send_changes(self, changes: list[Change]) -> None:
        """As many in one turn as fit: more the next time if these were small, fewer if they were large."""
        frames = b"".join([self._encoded(change) for change in changes])
        self._exchange.send(frames)
        if len(frames) > _BYTES_PER_TURN:
            self._per_turn = max(1, self._per_turn // 2)
        else:
            self._per_turn = min(_CHANGES_PER_TURN, self._per_turn * 2)

    def _send_initial(self) -> None:
        initial = self._initial
        frames: list[bytes] = []
        size = 0
        while initial and len(frames) < _INITIAL_PER_TURN and size < _BYTES_PER_TURN:
            frames.append(self._encoded(Change(ADDED, initial.popleft(), None)))
            size += len(frames[-1])
        if not initial and self._mark_end:
            self._mark_end = False
            frames.append(self._watch.bookmark(self._watch.since, True))
        self._exchange.send(b"".join(frames))

    def _encoded(self, change: Change) -> bytes:
        encode = self._watch.encode
        return frame(change) if encode is None else encode(change.type, change, self._owner.clock())

    def _bookmark(self) -> None:
        revision = self._owner.hub.progress(self._subscription)
        if revision and not self._initial and self._exchange.writable:
            self._exchange.send(self._watch.bookmark(revision, False))
        self._timers[-1] = self._owner.loop.call_later(BOOKMARK_SECONDS, self._bookmark)

    def end_with(self, error: Expired) -> None:
        self._exchange.send(b'{"type":"ERROR","object":' + failure(error).body.rstrip() + b"}\n")
        self.finish()

    def _cut(self) -> None:
        if self._exchange.writable:
            self.finish()
        else:
            self._close()
            self._exchange.abort()

    def finish(self) -> None:
        """End cleanly: the client has all we sent and resumes from there."""
        if self._open:
            self._close()
            self._exchange.end()

    def _gone(self) -> None:
        self._close()

    def _close(self) -> None:
        self._open = False
        for timer in self._timers:
            timer.cancel()
        self._owner.forget(self._subscription)
