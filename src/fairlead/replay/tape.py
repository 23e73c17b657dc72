"""The tape of a plane: all that its driver told it, and every request that it sent, in order. Law 3 makes this enough:
a machine that is told the same does the same.

    tape = TapeWriter()
    tape.told(event); tape.sent(...); tape.take()      a line for the log DELIVERIES, or b""
    items_of(line)                                     and back

Objects are not on it: a delivery names the revision up to which the mirror has seen its resource, and history has what
was committed. What a decision was made on, and in which order keys came, follows; faults that were
injected stand where they struck. Written by `runtime/server/plane_driver.py`, which is told everything through
one hook; read by `sim/closed/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from fairlead.cache.events import Broke, Expired, Framed, Listed, ListFailed, Marked, Mirrored
from fairlead.control.instructions import Answers, Call, PlaneEvent, Replied
from fairlead.core.times import microtime
from fairlead.port.driving import Started, Stepped, Woke
from fairlead.port.outcome import Done
from fairlead.port.request import Request

#: bound: plane | items of the tape of a plane in one line | the next line begins
TAPE_ITEMS_MAX = 512


class Began(msgspec.Struct, frozen=True, array_like=True, tag="began", gc=False):
    """A plane was started: a new machine, with an empty memory. `revision`: the newest of the store then."""

    now: float
    chance: float
    identity: str
    revision: int


class Awoke(msgspec.Struct, frozen=True, array_like=True, tag="woke", gc=False):
    now: float
    chance: float
    timer: str


class Delivered(msgspec.Struct, frozen=True, array_like=True, tag="frames", gc=False):
    """A watch brought its mirror up to this revision."""

    now: float
    resource: str
    revision: int
    attempt: int


class WasListed(msgspec.Struct, frozen=True, array_like=True, tag="list", gc=False):
    now: float
    resource: str
    revision: int
    attempt: int


class WasMarked(msgspec.Struct, frozen=True, array_like=True, tag="mark", gc=False):
    now: float
    resource: str
    revision: int
    attempt: int


class Ended(msgspec.Struct, frozen=True, array_like=True, tag="end", gc=False):
    """A watch or a list ended without more. `how`: Broke, Expired, ListFailed."""

    now: float
    resource: str
    how: str
    reason: str
    attempt: int


class SetClock(msgspec.Struct, frozen=True, array_like=True, tag="stepped", gc=False):
    now: float
    ahead_seconds: float
    message: str


class Sent(msgspec.Struct, frozen=True, array_like=True, tag="sent", gc=False):
    """A request reached the API. `allotted`: the newest revision that any write had been given by then."""

    call: int
    now: float
    entropy: str  # hex; what ids of new objects are made of
    controller: str
    what: str
    digest: str
    allotted: int


class Struck(msgspec.Struct, frozen=True, array_like=True, tag="struck", gc=False):
    """A fault was injected into a request, which is sent all the same, later or not at all."""

    call: int
    now: float
    controller: str
    what: str
    fault: str


class Heard(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The answer to a call."""

    call: int
    chance: float
    done: int = 0  # the revision that it says the object has; 0: none told


class WereAnswered(msgspec.Struct, frozen=True, array_like=True, tag="replies", gc=False):
    now: float
    replies: tuple[Heard, ...]


TapeItem = Began | Awoke | Delivered | WasListed | WasMarked | Ended | SetClock | Sent | Struck | WereAnswered


class TapeLine(msgspec.Struct, frozen=True):
    time: str
    tape: tuple[TapeItem, ...]


_line = msgspec.json.Decoder(TapeLine).decode
_encode = msgspec.json.encode


def items_of(body: bytes) -> tuple[TapeItem, ...]:
    return _line(body).tape


class TapeWriter:
    """`is_on`: whether anything is kept."""

    def __init__(self) -> None:
        self.is_on = True
        self._items: list[TapeItem] = []

    @property
    def is_full(self) -> bool:
        return len(self._items) >= TAPE_ITEMS_MAX

    def take(self, now: float) -> bytes:
        """What has gathered, as a line; b"" if nothing has."""
        if not self._items:
            return b""
        items, self._items = self._items, []
        return _encode({"time": microtime(now), "tape": items})

    def began(self, event: Started, identity: str, revision: int) -> None:
        if self.is_on:
            self._items.append(Began(event.now, event.chance, identity, revision))

    def struck(self, call: Call, now: float, fault: str) -> None:
        if self.is_on:
            what = text_of_request(call.request)
            self._items.append(Struck(call.call, now, call.controller, what, fault))

    def sent(self, call: Call, now: float, entropy: bytes, allotted: int) -> None:
        if self.is_on:
            request = call.request
            self._items.append(
                Sent(
                    call.call,
                    now,
                    entropy.hex(),
                    call.controller,
                    text_of_request(request),
                    digest_of_request(request),
                    allotted,
                )
            )

    def told(self, event: PlaneEvent) -> None:
        if not self.is_on:
            return
        add = self._items.append
        match event:
            case Mirrored(resource, events):
                self._mirrored(resource, events)
            case Woke(now, chance, timer):
                add(Awoke(now, chance, timer))
            case Answers(replies):
                add(WereAnswered(event.now, tuple([self._heard(each) for each in replies])))
            case Stepped(ahead, message, now):
                add(SetClock(now, ahead, message))
            case Started():
                pass  # with its identity: `began`

    def _heard(self, reply: Replied) -> Heard:
        done = reply.outcome.revision if isinstance(reply.outcome, Done) else 0
        return Heard(reply.call, reply.chance, done)

    def _mirrored(self, resource: str, events: Iterable[object]) -> None:
        last: Framed | None = None
        for event in events:
            if isinstance(event, Framed):
                last = event
                continue
            if last is not None:
                self._items.append(Delivered(last.now, resource, last.entry.revision, last.attempt))
                last = None
            match event:
                case Listed(revision, _, now, attempt):
                    self._items.append(WasListed(now, resource, revision, attempt))
                case Marked(revision, now, attempt):
                    self._items.append(WasMarked(now, resource, revision, attempt))
                case Broke(reason, now, attempt) | ListFailed(reason, now, attempt):
                    self._items.append(Ended(now, resource, type(event).__name__, reason, attempt))
                case Expired(now, attempt):
                    self._items.append(Ended(now, resource, "Expired", "", attempt))
        if last is not None:
            self._items.append(Delivered(last.now, resource, last.entry.revision, last.attempt))


def text_of_request(request: Request) -> str:
    """What a request is about: create pods shop/, bind pods shop/web-1 and 63 more."""
    if request.bindings:
        first = request.bindings[0]
        more = f" and {len(request.bindings) - 1} more" if len(request.bindings) > 1 else ""
        return f"bind pods {first.namespace}/{first.name}{more}"
    resource = f"{request.plural}.{request.group}" if request.group else request.plural
    part = f"/{request.subresource}" if request.subresource else ""
    return f"{request.verb} {resource}{part} {request.namespace}/{request.name}"


def digest_of_request(request: Request) -> str:
    """Of all that it asks for, but for the premise of leadership, which is another's in another run."""
    asked = request.body if not request.bindings else _encode(request.bindings)
    return blake2b(asked, digest_size=6).hexdigest()
