"""Watch streams: pumps what the hub has for a subscriber into its connection, as fast as the client reads.

Opened by the handler, woken by the runtime after each publish; `fanout.py` says whose turn it is. A large change is
sent in pieces, and all its watches share its bytes. A client that does not read stops being written to; its
subscription then fills up to its bound and is cut, and the connection with it. Streams end cleanly at their timeout and
when the server stops, so that clients resume where they were.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace

from fairlead.api.access.users import User
from fairlead.api.plan import Watch
from fairlead.api.status import failure
from fairlead.core.errors import Expired, Unavailable
from fairlead.store.contract import ADDED, CommittedChange, Compacted
from fairlead.store.watch import FRAME_END, FRAME_STARTS, Hub, Subscription, frame
from fairlead.wire.exchange import Exchange
from fairlead.wire.fanout import Fanout

log = logging.getLogger("fairlead.wire")

#: bound: connections | a bookmark is sent every | -
BOOKMARK_SECONDS = 30.0
# Per step of a watch; others get theirs in between.
_CHANGES_PER_STEP = 256
_INITIAL_PER_STEP = 500
# What one step hands to a connection before looking whether the client reads: objects can be large.
#: bound: connections | bytes of a change sent to a watcher at once |
#:        the rest follows when it is the watcher's turn again
PIECE_BYTES = 32 * 1024
_CHANGES_AT_FIRST = 1
_JSON = b"application/json"


class Watches:
    """All open streams."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hub: Hub, clock: Callable[[], float]) -> None:
        self.loop = loop
        self.hub = hub
        self.clock = clock
        self.fanout = Fanout(loop)
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
            if stream is not None and subscription.cut:
                stream.fall_behind()
            elif stream is not None:
                self.fanout.push(stream)
        self.fanout.run()

    def keep(self, allowed: Callable[[User], bool]) -> None:
        """End the streams of users who may no longer sign in: a revoked token must not go on reading."""
        for stream in list(self._streams.values()):
            if not allowed(stream.user):
                stream.finish()

    def keep_granted(self, holds: Callable[[str], bool]) -> None:
        """End the streams that were opened by a grant which does not hold any more."""
        for stream in list(self._streams.values()):
            if stream.grant and not holds(stream.grant):
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
        self.fanout.stop()


class _Stream:
    __slots__ = (
        "_exchange",
        "_initial",
        "_mark_end",
        "_open",
        "_owner",
        "_per_step",
        "_rest",
        "_subscription",
        "_timers",
        "_watch",
        "held",
        "queued",
        "stalled_at",
        "user",
        "waiting",
    )

    def __init__(
        self, owner: Watches, exchange: Exchange, watch: Watch, subscription: Subscription, user: User
    ) -> None:
        self.user = user
        self.queued = self.waiting = False
        self.held = 0
        self.stalled_at = 0.0
        self._owner = owner
        self._exchange = exchange
        # A watch lives for long: it must not keep alive all the versions that it began with.
        self._watch = replace(watch, initial=())
        self._initial = deque(watch.initial)
        self._mark_end = watch.initial_end
        self._subscription = subscription
        self._open = True
        self._per_step = _CHANGES_AT_FIRST
        self._rest: deque[memoryview] = deque()  # of a large change that is being sent
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def resource(self) -> str:
        return self._watch.resource

    @property
    def grant(self) -> str:
        return self._watch.grant

    @property
    def user_name(self) -> str:
        return self.user.name

    @property
    def writable(self) -> bool:
        return not self._open or self._exchange.writable

    def own_bytes(self) -> int:
        return 0 if self._watch.encode is None or self._rest else self._subscription.next_bytes

    def begin(self) -> None:
        exchange, loop = self._exchange, self._owner.loop
        exchange.on_gone = self._gone
        exchange.on_writable(self._resumed)
        exchange.stream(_JSON)
        self._timers.append(loop.call_later(self._watch.timeout_seconds, self.finish))
        if self._watch.bookmarks:
            self._timers.append(loop.call_later(BOOKMARK_SECONDS, self._bookmark))
        self._owner.fanout.push(self)
        self._owner.fanout.run()

    def _resumed(self) -> None:
        self._owner.fanout.resumed(self)

    def step(self) -> bool:
        """Send a little of what there is. Never raises: others are being told of the same change."""
        try:
            return self._open and self._step()
        except Exception:
            log.exception("a watch of %s could not go on", self._watch.resource)
            self.cut()
            return False

    def _step(self) -> bool:
        subscription = self._subscription
        if self._rest:
            self._send_piece()
        elif self._initial or self._mark_end:
            self._send_initial()
        else:
            try:
                changes = self._owner.hub.take(subscription, self._per_step, PIECE_BYTES)
            except Compacted as compacted:
                self.end_with(Expired(f"too old resource version: {compacted.asked} ({compacted.floor})"))
                return False
            if changes:
                self._send_changes(changes)
        return bool(self._rest or subscription.ready or self._initial or self._mark_end)

    def _send_changes(self, changes: list[CommittedChange]) -> None:
        """Where they are read from history: more at a time if these were small, fewer if they were large."""
        if self._send(self._lines(changes)) > PIECE_BYTES:
            self._per_step = max(1, self._per_step // 2)
        else:
            self._per_step = min(_CHANGES_PER_STEP, self._per_step * 2)

    def _send_initial(self) -> None:
        initial = self._initial
        first: list[CommittedChange] = []
        size = count = 0
        while (
            initial and count < _INITIAL_PER_STEP and (not size or size + len(initial[0].data) <= PIECE_BYTES)
        ):
            size += len(initial[0].data)
            count += 1
            first.append(CommittedChange(ADDED, initial.popleft(), None))
        parts = self._lines(first)
        if not initial and self._mark_end:
            self._mark_end = False
            parts.append(self._watch.bookmark(self._watch.since, True))
        self._send(parts)

    def _send(self, parts: list[bytes]) -> int:
        """All at once if it is little, else its first piece."""
        size = sum([len(part) for part in parts])
        if size <= PIECE_BYTES:
            self._exchange.send(parts[0] if len(parts) == 1 else b"".join(parts))
        else:
            start, end = self._exchange.chunk_ends(size)
            self._rest.extend([memoryview(part) for part in (start, *parts, end) if part])
            self._send_piece()
        return size

    def _send_piece(self, room: int = PIECE_BYTES) -> None:
        pieces, rest = [], self._rest
        while rest and room > 0:
            piece = rest[0][:room]
            room -= len(piece)
            pieces.append(piece)
            if len(piece) == len(rest[0]):
                rest.popleft()
            else:
                rest[0] = rest[0][len(piece) :]
        self._exchange.send_pieces(pieces)

    def _lines(self, changes: list[CommittedChange]) -> list[bytes]:
        """Each change as a line; a large one in parts, so that no second copy of it is made."""
        encode = self._watch.encode
        if encode is not None:
            return [encode(change.type, change, self._owner.clock()) for change in changes]
        lines: list[bytes] = []
        for change in changes:
            if len(change.entry.data) <= PIECE_BYTES:
                lines.append(frame(change))
            else:
                lines += (FRAME_STARTS[change.type], change.entry.data, FRAME_END)
        return lines

    def _bookmark(self) -> None:
        revision = self._owner.hub.progress(self._subscription)
        if revision and not self._initial and not self._rest and self._exchange.writable:
            self._exchange.send(self._watch.bookmark(revision, False))
        self._timers[-1] = self._owner.loop.call_later(BOOKMARK_SECONDS, self._bookmark)

    def end_with(self, error: Expired) -> None:
        self._send_rest()
        self._exchange.send(b'{"type":"ERROR","object":' + failure(error).body.rstrip() + b"}\n")
        self.finish()

    def fall_behind(self) -> None:
        """More has gathered for it than may: its client must begin anew."""
        if self._exchange.writable:
            self.finish()
        else:
            self.cut()

    def cut(self) -> None:
        """End it with the connection: its client does not read."""
        if self._open:
            self._close()
            self._exchange.abort()

    def finish(self) -> None:
        """End cleanly: the client has all we sent and resumes from there."""
        if self._open:
            self._send_rest()
            self._close()
            self._exchange.end()

    def _send_rest(self) -> None:
        """A change that was begun is sent whole: a stream ends between two."""
        if self._rest:
            self._send_piece(sum([len(part) for part in self._rest]))

    def _gone(self) -> None:
        self._close()

    def _close(self) -> None:
        self._open = False
        for timer in self._timers:
            timer.cancel()
        self._rest.clear()
        self._owner.fanout.release(self)
        self._owner.forget(self._subscription)
