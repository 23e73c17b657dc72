"""Creates that are like one before, to the letter, but for the name: what came of that one is spliced, not found again.

Pods are made by the thousand from one template. In kinds that say so (`Kind.beside_spec`) nothing about a new object
follows from its name, so a body that was taken before under another name, from the same user and in the same namespace,
leads to the same object, as long as all that admission read is still what it was. The same holds for kinds that name
texts on which nothing depends (`Kind.free_texts`): Events that tell the same of different pods. `verbs/create.py` asks
here first (`find`), and offers each create that went the long way (`learn`). Bounded: the oldest go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from fairlead.api import objects
from fairlead.api.attempt import Attempt
from fairlead.api.plan import Context
from fairlead.core import codec, ids
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.spliced import Spliced
from fairlead.core.times import parse_time, timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.names import label_problems, name_problems
from fairlead.port.request import JSON, Request
from fairlead.store.contract import CommittedChange, Damaged, Entry, Lost, Precondition, Put, Reader

_KEPT = 256  # of a kind
_BYTES_MAX = 16 * 1024  # of a body that is kept
_TEXT_MAX = 1024  # of one that is free; longer ones may be refused
_NAME_PATH = ("metadata", "name")
# In place of the name; no JSON text contains it.
_BLANK = b"\0"
_NAME, _UID, _TIME = "@name@", "@uid@", "@time@"
_MARKS = {b"name": b"@name@", b"uid": b"@uid@", b"time": b"@time@"}


class _Meta(msgspec.Struct, gc=False):
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Meta


_named = msgspec.json.Decoder(_Named).decode
_NOTHING: Mapping[bytes, bytes] = {}


class Like(NamedTuple):
    """A create, apart from its name and from `free`: texts on which nothing depends, as JSON, by their marks."""

    name: str
    rest: tuple[object, ...]
    free: Mapping[bytes, bytes] = _NOTHING


class RecordedReads:
    """A Reader that remembers what it was asked and what it said, so that it can be asked again. Objects and lists that
    nothing was changed in are the same ones (`store/objects.py`)."""

    __slots__ = ("_read", "gets", "lists", "whole")

    def __init__(self, read: Reader) -> None:
        self._read = read
        self.gets: dict[Key, Entry | None] = {}
        self.lists: dict[tuple[str, str], Sequence[Entry]] = {}
        self.whole = True  # nothing was asked that cannot be asked again

    @property
    def revision(self) -> int:
        self.whole = False
        return self._read.revision

    @property
    def damaged(self) -> dict[Key, Damaged]:
        self.whole = False
        return dict(self._read.damaged)

    @property
    def lost(self) -> Sequence[Lost]:
        self.whole = False
        return self._read.lost

    @property
    def short(self) -> str:
        self.whole = False
        return self._read.short

    def get(self, key: Key) -> Entry | None:
        found = self.gets[key] = self._read.get(key)
        return found

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        found = self.lists[resource, namespace] = self._read.list(resource, namespace)
        return found

    def newest(self, key: Key) -> Entry | None:
        self.whole = False
        return self._read.newest(key)

    def get_at(self, key: Key, revision: int) -> Entry | None:
        self.whole = False
        return self._read.get_at(key, revision)

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        self.whole = False
        return self._read.list_at(resource, namespace, revision)

    def floor(self, resource: str) -> int:
        self.whole = False
        return self._read.floor(resource)

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        self.whole = False
        return self._read.changes_after(revision, resource, limit)


class RepeatedCreate(msgspec.Struct):
    """What came of a create, but for name, uid and time."""

    head: bytes
    tail: Spliced
    preconditions: tuple[Precondition, ...]
    warnings: tuple[str, ...]
    gets: tuple[tuple[Key, Entry | None], ...]
    lists: tuple[tuple[str, str, Sequence[Entry]], ...]
    held_at: int = -1  # the revision at which all that was read was last found to be as it was
    held_with: Mapping[Key, Damaged] | None = None  # what was damaged then

    def put(self, key: Key, context: Context, free: Mapping[bytes, bytes] = _NOTHING) -> Put:
        uid = ids.uid(context.entropy)
        values = {
            **free,
            b"name": key.name.encode(),
            b"uid": uid.encode(),
            b"time": timestamp(context.now).encode(),
        }
        return Put(key, uid, self.head, self.tail.fill(values))

    def holds(self, read: Reader) -> bool:
        """Whether all that was read for it is as it was. Asked once of each state of the store: every commit gives a
        new revision, and a store that reads its journal again has a new record of what is damaged in it."""
        revision, damaged = read.revision, read.damaged
        if revision == self.held_at and damaged is self.held_with:
            return True
        for key, entry in self.gets:
            if read.get(key) is not entry:
                return False
        for resource, namespace, entries in self.lists:
            if read.list(resource, namespace) is not entries:
                return False
        self.held_at, self.held_with = revision, damaged
        return True


def like(request: Request, kind: Kind, context: Context) -> Like | None:
    """What another create must be like; None where it is not asked for."""
    body = request.body
    if (
        (kind.beside_spec is None and not kind.free_texts)
        or "dryRun" in request.query
        or request.content_type != JSON
        or len(body) > _BYTES_MAX
        or _BLANK in body
    ):
        return None
    blanked = _without_free(body, kind) if kind.free_texts else _without_name(body)
    if blanked is None:
        return None
    name, rest_of_body, free = blanked
    user = context.user
    rest = (
        kind.resource,
        request.namespace,
        rest_of_body,
        user.name,
        user.groups,
        user.uid,
        user.extra,
        request.manager or context.user_agent,
        bool(request.manager),
        *request.query.items(),
    )
    return Like(name, rest, free)


_Blanked = tuple[str, bytes, Mapping[bytes, bytes]]


def _without_name(body: bytes) -> _Blanked | None:
    try:
        name = _named(body).metadata.name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if label_problems(name):
        return None  # "" as well; and a longer name than a label is warned of
    quoted = b'"%b"' % name.encode()
    return (name, body.replace(quoted, _BLANK), _NOTHING) if body.count(quoted) == 1 else None


def _without_free(body: bytes, kind: Kind) -> _Blanked | None:
    """Only of a text as we write it ourselves, where each of them is written once: then nothing else can be meant."""
    if b"\\" in body:
        return None
    try:
        obj = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    name, free = "", dict[bytes, bytes]()
    for number, path in enumerate(_free_paths(kind)):
        value = _value_at(obj, path)
        if value is None:
            continue
        if type(value) is not str or len(value) > _TEXT_MAX:
            return None
        if path == _NAME_PATH:
            name = value
            if name_problems(kind.name_rule, name):
                return None
        elif path in kind.free_times and not _is_time(value):
            return None
        field, text = path[-1].encode(), codec.encode(value)
        written = b'"%b":%b' % (field, text)
        if body.count(written) != 1:
            return None
        body = body.replace(written, b'"%b":%b' % (field, _BLANK))
        free[b"%d" % number] = text
    return (name, body, free) if name else None


def _free_paths(kind: Kind) -> tuple[tuple[str, ...], ...]:
    return (_NAME_PATH, *kind.free_texts, *kind.free_times)


def _value_at(obj: object, path: tuple[str, ...]) -> object:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _is_time(text: str) -> bool:
    """To the second, as we write times ourselves."""
    try:
        return timestamp(parse_time(text)) == text
    except ValueError:
        return False


class Repeats:
    """One per desk."""

    __slots__ = ("_repeats",)

    def __init__(self) -> None:
        self._repeats: dict[object, BoundedDict[tuple[object, ...], RepeatedCreate]] = {}  # by resource

    def find(self, create: Like, read: Reader) -> RepeatedCreate | None:
        known = self._repeats.get(create.rest[0])
        found = known.get(create.rest) if known is not None else None
        return found if found is not None and found.holds(read) else None

    def learn(self, create: Like, attempt: Attempt, reads: RecordedReads) -> None:
        """It was admitted, and `reads` is all that this rests on."""
        new, key, context = attempt.new, attempt.key, attempt.context
        assert new is not None
        if not reads.whole or attempt.operations or any(create.name in each.name for each in reads.gets):
            return
        now = timestamp(context.now)
        time = b'"time":"%b"' % now.encode()
        if attempt.managed.count(time) != 1 or new["metadata"]["uid"] != ids.uid(context.entropy):
            return
        head, marked = objects.parts(
            attempt.kind,
            _marked(new, attempt.kind, create.free),
            attempt.spec,
            attempt.managed.replace(time, b'"time":"@time@"'),
        )
        made = RepeatedCreate(
            head=head,
            tail=Spliced(marked, {**_MARKS, **{each: b'"@%b@"' % each for each in create.free}}),
            preconditions=tuple(attempt.preconditions),
            warnings=tuple(attempt.warnings),
            gets=tuple(reads.gets.items()),
            lists=tuple((*asked, found) for asked, found in reads.lists.items()),
        )
        if (
            made.put(key, context, create.free).tail
            == objects.parts(attempt.kind, new, attempt.spec, attempt.managed)[1]
        ):
            self._repeats.setdefault(create.rest[0], BoundedDict(_KEPT)).keep(create.rest, made)


def _marked(new: Json, kind: Kind, free: Mapping[bytes, bytes]) -> Json:
    metadata = {**new["metadata"], "name": _NAME, "uid": _UID, "creationTimestamp": _TIME}
    marked = {**new, "metadata": metadata}
    for number, path in enumerate(_free_paths(kind)):
        if path != _NAME_PATH and b"%d" % number in free:
            inner = marked
            for step in path[:-1]:
                inner[step] = inner = dict(inner[step])
            inner[path[-1]] = f"@{number}@"
    return marked
