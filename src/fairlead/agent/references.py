"""ConfigMaps and Secrets that this node's pods refer to: which, what is in them, and when to read them again.

`named_by` lists a pod's references; `Library` keeps what was read. Objects are read one at a time (the node's role
allows no more), and for a new pod anew, so that it starts with what was stored before it; where no API answers, with
what an earlier agent kept on the machine. While a pod uses them they are watched, and read again when they changed. A
watch is a hint only: about every minute they are read in any case, and those beyond `Pace.attended_max` by that alone.
Asked by `pod/worker.py`, read by `pod/environment.py` and `pod/volumes.py`, driven by `machine.py`. Bounded by the
references of the pods on this node: what no pod uses any more is forgotten.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable
from typing import NamedTuple

from fairlead.agent.calls import Calls, Purpose
from fairlead.agent.contract import Ask, Attend, Disregard, Keep, Stirred
from fairlead.agent.pace import Pace, Retry
from fairlead.agent.views import BoundPod
from fairlead.core import codec
from fairlead.core.errors import ApiError
from fairlead.model.views import Json
from fairlead.port.outcome import Done, Outcome, Refused
from fairlead.port.request import Request

PART = "reference"
CONFIG_MAP, SECRET = "configmap", "secret"


class Reference(NamedTuple):
    kind: str  # configmap, secret
    namespace: str
    name: str

    @property
    def about(self) -> str:
        return "/".join(self)

    @property
    def place(self) -> tuple[str, str, str]:
        """Resource, namespace, name."""
        return f"{self.kind}s", self.namespace, self.name


class _Content(NamedTuple):
    items: dict[str, bytes] | None  # None: it does not exist
    immutable: bool = False
    revision: int = 0


class Missing(Exception):
    """Something that a pod needs is not there. The message is for its status."""


class Pending(Exception):
    """It is not known yet whether it is there."""


def named_by(pod: BoundPod) -> tuple[Reference, ...]:
    """Every ConfigMap and Secret that the pod's variables and volumes name, once, in order."""
    namespace = pod.metadata.namespace
    found: dict[Reference, None] = {}

    def note(kind: str, source: Json | None, field: str = "name") -> None:
        name = (source or {}).get(field)
        if name:
            found[Reference(kind, namespace, name)] = None

    for container in pod.all_containers:
        for group in container.env_from:
            note(CONFIG_MAP, group.get("configMapRef"))
            note(SECRET, group.get("secretRef"))
        for variable in container.env:
            source = variable.get("valueFrom") or {}
            note(CONFIG_MAP, source.get("configMapKeyRef"))
            note(SECRET, source.get("secretKeyRef"))
    for volume in pod.spec.volumes:
        note(CONFIG_MAP, volume.get("configMap"))
        note(SECRET, volume.get("secret"), "secretName")
        for source in (volume.get("projected") or {}).get("sources") or ():
            note(CONFIG_MAP, source.get("configMap"))
            note(SECRET, source.get("secret"))
    return tuple(found)


class _Book:
    """One object: what was read of it, and who reads it."""

    __slots__ = (
        "asked_at",
        "attended_at",
        "due",
        "immutable",
        "in_flight",
        "items",
        "read_at",
        "readers",
        "retry",
        "revision",
        "stirred",
        "trouble",
        "watch_retry",
    )

    def __init__(self) -> None:
        self.items: dict[str, bytes] | None = None  # None: it does not exist, or could never be read
        self.read_at = -1.0  # when the request was sent whose answer this is
        self.asked_at = 0.0
        self.due = 0.0
        self.in_flight = self.immutable = False
        self.trouble = ""  # why it could not be read
        self.readers: dict[str, float] = {}  # uid -> what it reads must be as new as this
        self.retry = Retry()
        self.attended_at = -1.0  # since when it is watched; -1: it is not
        self.watch_retry = Retry()
        self.revision = 0  # of what was read
        self.stirred = 0  # the newest revision that the watch told of and nobody read


class ReferenceLibrary:
    def __init__(self, pace: Pace, calls: Calls) -> None:
        self._pace, self._calls = pace, calls
        self._books: dict[Reference, _Book] = {}
        self._recalled: dict[Reference, _Content] = {}
        self._keeps: list[Keep] = []
        self._attended = 0  # how many are watched
        self._disregards: list[Disregard] = []
        self.version = 0  # grows when the content of anything changes
        self.away = False  # no API has answered since the start: what was kept must do

    def recall(self, kept: Iterable[Keep]) -> None:
        for each in kept:
            kind = each.resource.removesuffix("s")
            if kind in (CONFIG_MAP, SECRET) and each.data is not None:
                reference = Reference(kind, each.namespace, each.name)
                outcome: Outcome = Done(0, each.data) if each.data else Refused(404, "NotFound", "")
                self._recalled[reference] = _content(reference, outcome)

    def forget_recalled(self) -> None:
        """The API answers: what no pod reads any more need not be kept."""
        for reference in self._recalled:
            if reference not in self._books:
                self._keep(reference, None)
        self._recalled.clear()

    def keeps(self) -> list[Keep]:
        made, self._keeps = self._keeps, []
        return made

    def _keep(self, reference: Reference, data: bytes | None) -> None:
        self._keeps.append(Keep(*reference.place, data))

    def _forget(self, reference: Reference) -> None:
        self._disregard(reference, self._books.pop(reference))
        self._keep(reference, None)

    def _disregard(self, reference: Reference, book: _Book) -> None:
        if book.attended_at >= 0:
            book.attended_at = -1.0
            self._attended -= 1
            self._disregards.append(Disregard(*reference.place))

    def lend(self, uid: str, wanted: tuple[Reference, ...], now: float) -> None:
        """This pod reads these from now on."""
        for reference in wanted:
            book = self._books.get(reference)
            if book is None:
                book = self._books[reference] = _Book()
            if uid not in book.readers:
                book.readers[uid] = now
                if book.read_at < now and not book.immutable:
                    book.due = min(book.due, now)

    def give_back(self, uid: str) -> None:
        for reference in list(self._books):
            book = self._books[reference]
            book.readers.pop(uid, None)
            if not book.readers and not book.in_flight:
                self._forget(reference)

    def read(self, uid: str, reference: Reference) -> dict[str, bytes] | None:
        """What is in it; None if it does not exist. Raises Pending while that is not known."""
        book = self._books.get(reference)
        if book is None or uid not in book.readers:
            raise Pending(f"{reference.kind} {reference.name} has not been read yet")
        if book.read_at < book.readers[uid] and not book.immutable:
            if self.away and reference in self._recalled:
                return self._recalled[reference].items
            detail = f": {book.trouble}" if book.trouble else ""
            raise Pending(f"{reference.kind} {reference.name} has not been read yet{detail}")
        return book.items

    @property
    def next_at(self) -> float:
        """When something is to be read; 0: nothing is, or it waits for an answer."""
        dues = [book.watch_retry.at for book in self._books.values() if self._may_attend(book)]
        if self._calls.open_for(PART) < self._pace.reads_in_flight_max:
            dues += [max(book.due, book.retry.at) for book in self._books.values() if not book.in_flight]
        return min(dues, default=0.0)

    def _may_attend(self, book: _Book) -> bool:
        free = self._attended < self._pace.attended_max
        return (
            free and book.attended_at < 0 and book.read_at >= 0 and bool(book.readers) and not book.immutable
        )

    def step(self, now: float) -> tuple[Ask | Attend | Disregard, ...]:
        watches: list[Attend | Disregard] = [*self._disregards]
        self._disregards.clear()
        for reference, book in self._books.items():
            if self._may_attend(book) and not book.watch_retry.waits(now):
                book.attended_at = now
                self._attended += 1
                watches.append(Attend(*reference.place))
        return (*watches, *self._asks(now))

    def _asks(self, now: float) -> list[Ask]:
        asks: list[Ask] = []
        room = self._pace.reads_in_flight_max - self._calls.open_for(PART)
        for reference, book in self._books.items():
            if len(asks) >= room:
                break
            if book.in_flight or now < book.due or book.retry.waits(now):
                continue
            book.in_flight, book.asked_at = True, now
            request = Request("get", "", "v1", *reference.place)
            asks.append(self._calls.ask(Purpose(PART, reference.about), request))
        return asks

    def stirred(self, event: Stirred, chance: float) -> None:
        """What the watch of one of them tells."""
        book = self._books.get(Reference(event.resource.removesuffix("s"), event.namespace, event.name))
        if book is None or book.attended_at < 0:
            return  # it was told before the watch was given up
        if event.revision:
            book.watch_retry.succeeded()
            if event.revision > book.revision:
                book.stirred = max(book.stirred, event.revision)
                book.due = min(book.due, max(event.now, book.asked_at + self._pace.stirred_seconds))
            return
        if event.now >= book.attended_at + self._pace.refresh_seconds:
            book.watch_retry.succeeded()  # servers end watches after a while
        book.watch_retry.failed(event.now, self._pace, chance)
        book.attended_at = -1.0
        self._attended -= 1

    def answered(self, about: str, outcome: Outcome, now: float, chance: float) -> tuple[str, ...]:
        """The pods for which something changed."""
        kind, namespace, name = about.split("/")
        reference = Reference(kind, namespace, name)
        book = self._books.get(reference)
        if book is None:
            return ()
        book.in_flight = False
        if not book.readers:
            self._forget(reference)
            return ()
        known = isinstance(outcome, Done) or (isinstance(outcome, Refused) and outcome.status in (403, 404))
        if not known:
            book.trouble = outcome.message if not isinstance(outcome, Done) else ""
            book.retry.failed(now, self._pace, chance)
            return ()
        items, immutable, revision = _content(reference, outcome)
        waited = any(book.read_at < since for since in book.readers.values())
        changed = waited or items != book.items
        self.version += changed
        if changed:
            self._keep(reference, outcome.body if isinstance(outcome, Done) else b"")
        book.items, book.immutable, book.trouble = items, immutable, ""
        book.read_at, book.revision = book.asked_at, revision
        book.retry.succeeded()
        rest = self._pace.absent_seconds if items is None else self._pace.refresh_seconds
        book.due = float("inf") if immutable else now + rest
        if immutable:
            self._disregard(reference, book)
        elif items is not None and revision < book.stirred:  # what was read is from before the change
            book.due = max(now, book.asked_at + self._pace.stirred_seconds)
        book.stirred = 0  # a server that was restored may never come to it
        if any(book.read_at < since for since in book.readers.values()):
            book.due = now  # somebody came while it was being read
        return tuple(book.readers) if changed else ()


def _content(reference: Reference, outcome: Outcome) -> _Content:
    if not isinstance(outcome, Done):
        return _Content(None)
    try:
        body = codec.decode(outcome.body)
    except ApiError:
        return _Content(None)
    items: dict[str, bytes] = {}
    for key, text in (body.get("data") or {}).items():
        items[key] = _decoded(text) if reference.kind == SECRET else str(text).encode()
    if reference.kind == CONFIG_MAP:
        for key, text in (body.get("binaryData") or {}).items():
            items[key] = _decoded(text)
    return _Content(items, bool(body.get("immutable")), outcome.revision)


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text)
    except (binascii.Error, ValueError):
        return b""
