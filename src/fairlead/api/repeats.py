"""Creates that are like one before, to the letter, but for the name: what came of that one is spliced, not found again.

Pods are made by the thousand from one template. In kinds that say so (`Kind.beside_spec`) nothing about a new object
follows from its name, so a body that was taken before under another name, from the same user and in the same namespace,
leads to the same object, as long as all that admission read is still what it was. `verbs/create.py` asks here first
(`find`), and offers each create that went the long way (`learn`). Bounded: the oldest go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from fairlead.api import objects
from fairlead.api.attempt import Attempt
from fairlead.api.plan import Context
from fairlead.core import ids
from fairlead.core.kept import BoundedDict
from fairlead.core.spliced import Spliced
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.names import label_problems
from fairlead.port.request import JSON, Request
from fairlead.store.contract import CommittedChange, Damaged, Entry, Lost, Precondition, Put, Reader

_KEPT = 256
_BYTES_MAX = 16 * 1024  # of a body that is kept
# In place of the name; no JSON text contains it.
_BLANK = b"\0"
_NAME, _UID, _TIME = "@name@", "@uid@", "@time@"
_MARKS = {b"name": b"@name@", b"uid": b"@uid@", b"time": b"@time@"}


class _Meta(msgspec.Struct, gc=False):
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Meta


_named = msgspec.json.Decoder(_Named).decode


class Like(NamedTuple):
    """A create, apart from its name."""

    name: str
    rest: tuple[object, ...]


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


class RepeatedCreate(msgspec.Struct, frozen=True):
    """What came of a create, but for name, uid and time."""

    head: bytes
    tail: Spliced
    preconditions: tuple[Precondition, ...]
    warnings: tuple[str, ...]
    gets: tuple[tuple[Key, Entry | None], ...]
    lists: tuple[tuple[str, str, Sequence[Entry]], ...]

    def put(self, key: Key, context: Context) -> Put:
        uid = ids.uid(context.entropy)
        values = {
            b"name": key.name.encode(),
            b"uid": uid.encode(),
            b"time": timestamp(context.now).encode(),
        }
        return Put(key, uid, self.head, self.tail.fill(values))

    def holds(self, read: Reader) -> bool:
        """Whether all that was read for it is as it was."""
        for key, entry in self.gets:
            if read.get(key) is not entry:
                return False
        for resource, namespace, entries in self.lists:  # noqa: SIM110 - a hot path
            if read.list(resource, namespace) is not entries:
                return False
        return True


def like(request: Request, kind: Kind, context: Context) -> Like | None:
    """What another create must be like; None where it is not asked for."""
    body = request.body
    if (
        kind.beside_spec is None
        or "dryRun" in request.query
        or request.content_type != JSON
        or len(body) > _BYTES_MAX
        or _BLANK in body
    ):
        return None
    try:
        name = _named(body).metadata.name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if label_problems(name):
        return None  # "" as well; and a longer name than a label is warned of
    quoted = b'"%b"' % name.encode()
    if body.count(quoted) != 1:
        return None
    user = context.user
    rest = (
        kind.resource,
        request.namespace,
        body.replace(quoted, _BLANK),
        user.name,
        user.groups,
        user.uid,
        user.extra,
        request.manager or context.user_agent,
        bool(request.manager),
        *request.query.items(),
    )
    return Like(name, rest)


class Repeats:
    """One per desk."""

    __slots__ = ("_repeats",)

    def __init__(self) -> None:
        self._repeats: BoundedDict[tuple[object, ...], RepeatedCreate] = BoundedDict(_KEPT)

    def find(self, create: Like, read: Reader) -> RepeatedCreate | None:
        found = self._repeats.get(create.rest)
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
            attempt.kind, _marked(new), attempt.spec, attempt.managed.replace(time, b'"time":"@time@"')
        )
        made = RepeatedCreate(
            head=head,
            tail=Spliced(marked, _MARKS),
            preconditions=tuple(attempt.preconditions),
            warnings=tuple(attempt.warnings),
            gets=tuple(reads.gets.items()),
            lists=tuple((*asked, found) for asked, found in reads.lists.items()),
        )
        if made.put(key, context).tail == objects.parts(attempt.kind, new, attempt.spec, attempt.managed)[1]:
            self._repeats.keep(create.rest, made)


def _marked(new: Json) -> Json:
    metadata = {**new["metadata"], "name": _NAME, "uid": _UID, "creationTimestamp": _TIME}
    return {**new, "metadata": metadata}
