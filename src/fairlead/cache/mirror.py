"""A mirror: list and watch of one resource into a local copy that knows its revision. A machine (laws.md 3).

Between the API's watch and everything that decides: its driver feeds `handle` with events (`events.py`) and carries
out the instructions; `view.py` reads the copy for Deciders. The copy is always the resource exactly as it was at
`revision`, and `revision` never goes back: a watch delivers in order, so whatever is at or below it is known
already, be it a duplicate, a late frame or the echo of a deletion, and does nothing. A list that is older than the
copy is refused and asked for again later; a newer one becomes the differences.

Objects are decoded once, on arrival, but for resources that are held as they are stored. One that cannot be decoded is
not shown to Deciders, but its metadata is kept and `unreadable` names it: readers can tell "not there" from "not
understood". No clock, no chance, no waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, assert_never

import msgspec

from fairlead.cache.events import (
    Broke,
    Changed,
    Event,
    Expired,
    Framed,
    Instruction,
    Listed,
    ListFailed,
    Marked,
)
from fairlead.cache.index import Index
from fairlead.core.backoff import backoff
from fairlead.decision.failure_detector import FailureDetector
from fairlead.model.key import Key
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.views import Anything, Meta, Pod, Resource, Stored, View
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.store.contract import DELETED, Entry
from fairlead.store.damage import ANNOTATION, is_stand_in

T = TypeVar("T", bound=View)

# In a row, about half a minute of back-off: so long a resource is taken to be about to answer.
FAILURES_OF_PATIENCE = 8
_DAMAGED = "it is damaged in the store"
_METADATA = msgspec.json.Decoder(Anything)
_NOTHING: tuple[Instruction, ...] = ()


class MirrorBackoff(msgspec.Struct, frozen=True):
    """How a mirror tries again: doubling from `backoff_seconds` to `backoff_max_seconds`, times 1 +- jitter."""

    backoff_seconds: float = 0.1
    backoff_max_seconds: float = 30.0
    jitter: float = 0.5


class MirrorPhase(Enum):
    IDLE = "idle"
    LISTING = "listing"
    FOLLOWING = "following"
    RESTING = "resting"  # then it lists
    PAUSING = "pausing"  # then it follows


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """An object that is there but could not be decoded."""

    key: Key
    revision: int
    metadata: Meta
    message: str
    damaged: bool = False  # in the store: its owners and labels are not known either


class Mirror(Generic[T]):
    """One resource's copy. `handle` is the only mutator, but for `heard_of` and `recall`.

    In a phase (rows), an event leads to one of the phases named; `-` is an event without effect.

    |           | Started | Listed            | ListFailed | Framed    | Marked    | Broke   | Expired | Woke              |
    | --------- | ------- | ----------------- | ---------- | --------- | --------- | ------- | ------- | ----------------- |
    | IDLE      | LISTING | -                 | -          | -         | -         | -       | -       | -                 |
    | LISTING   | -       | FOLLOWING RESTING | RESTING    | -         | -         | -       | RESTING | -                 |
    | FOLLOWING | -       | -                 | -          | FOLLOWING | FOLLOWING | PAUSING | RESTING | -                 |
    | RESTING   | -       | -                 | -          | -         | -         | -       | -       | LISTING RESTING   |
    | PAUSING   | -       | -                 | -          | -         | -         | -       | -       | FOLLOWING PAUSING |

    Entering LISTING asks for ListAll, FOLLOWING for Follow, RESTING and PAUSING for WakeAt; waking too early asks
    again. An event of an attempt that was given up is late: `-` in every phase, but its revision is heard of.
    What ends a back-off's growth is a watch that delivered something or held for `backoff_max_seconds`; a list
    alone does not, or a history that is too short would have the mirror list without pause.
    """  # noqa: E501

    def __init__(self, resource: Resource[T], pace: MirrorBackoff | None = None) -> None:
        self.resource = resource
        self.pace = pace or MirrorBackoff()
        self.phase = MirrorPhase.IDLE
        self.revision = 0  # everything up to it is in the copy
        self.newest_seen = 0  # of anything that was heard
        self.synced = False  # there has been a list
        # So new the copy must be for decisions; 1 where some are made before there has been a list of this resource.
        self.floor = 0
        self.is_awaited = False  # something was not decided, because the copy was too old
        self.index: Index[T] = Index(resource)
        self.unreadable: dict[Key, Unreadable] = {}
        self.failures = 0  # in a row; what the back-off grows with
        self.trouble = ""  # why it is not following; "" when it is
        self.unfollowed_since = 0.0  # when it stopped following, or began; 0 while it follows
        # Plain counts for the runtime.
        self.lists = self.stale_lists = self.frames = self.ignored = 0
        # Bytes to a view. Mirrors of one process may share one that remembers.
        self.decode: Callable[[bytes], T] = _decoder(resource)
        # When things were heard, for those who judge silence; kept only where that is asked for.
        self.failure_detector: FailureDetector | None = None
        # Where any view will do, nothing is decoded.
        self.as_stored = resource.type is View or issubclass(resource.type, Stored)
        self._name = resource.name
        self._revisions: dict[Key, int] = {}  # of every object, unreadable ones included
        self.deleting: dict[Key, int] = {}  # the first version of an object that was seen being deleted
        self._recalled = 0  # the newest revision that `recall` was told of
        self.has_ended = False  # its resource is gone: it shows all that there ever will be
        self._attempt = 0
        self._followed_at = 0.0
        self._wake_at = 0.0
        self._chance = 0.5

    @property
    def behind(self) -> int:
        """By how many revisions the copy is older than the newest heard of. Revisions count the changes of all
        resources: this is a bound, and 0 is exact."""
        return self.newest_seen - self.revision

    @property
    def is_given_up(self) -> bool:
        """It is too old for decisions, and so many attempts failed that it may stay so."""
        return self.revision < self.floor and self.failures >= FAILURES_OF_PATIENCE

    def passed(self, revision: int) -> bool:
        """Whether everything up to this revision is in the copy."""
        return self.synced and (self.has_ended or revision <= self.revision)

    def revision_of(self, key: Key) -> int:
        """The version of an object that the copy has; 0 if it is not there."""
        return self._revisions.get(key, 0)

    @property
    def revisions(self) -> Mapping[Key, int]:
        """The version of every object that the copy has, unreadable ones included."""
        return self._revisions

    def heard_of(self, revision: int) -> None:
        """A revision exists: some reply named it."""
        if revision > self.newest_seen:
            self.newest_seen = revision

    def troubled(self, limit: int = 16) -> tuple[Unreadable, ...]:
        """The first few objects that could not be decoded, in key order, for people."""
        return tuple(self.unreadable[key] for key in sorted(self.unreadable)[:limit])

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        match event:
            case Framed():
                return self._framed(event)
            case Marked():
                return self._marked(event)
            case Listed():
                return self._listed(event)
            case ListFailed():
                return self._failed(
                    event.reason, event.now, event.attempt, MirrorPhase.LISTING, MirrorPhase.RESTING
                )
            case Broke():
                return self._broke(event)
            case Expired():
                return self._failed("Expired", event.now, event.attempt, self.phase, MirrorPhase.RESTING)
            case Woke():
                return self._woke(event)
            case Started():
                self._chance = event.chance
                self.unfollowed_since = self.unfollowed_since or event.now
                return self._list() if self.phase is MirrorPhase.IDLE else _NOTHING
            case _:
                assert_never(event)

    def recall(self, entries: Iterable[Entry]) -> tuple[Changed, ...]:
        """Before it starts: objects as somebody knew them. They are shown, and the first list replaces them all: one
        that is not older than they are, unless there is none for a while, as where a server was restored."""
        changes: list[Changed] = []
        for entry in entries:
            changes += self._hold(entry)
            self._revisions[entry.key] = 0
            self._recalled = max(self._recalled, entry.revision)
        return tuple(changes)

    # The watch

    def _framed(self, event: Framed) -> tuple[Instruction, ...]:
        entry = event.entry
        revision = entry.revision
        if revision > self.newest_seen:
            self.newest_seen = revision
        follows = self.phase is MirrorPhase.FOLLOWING and event.attempt in (0, self._attempt)
        if not follows or revision <= self.revision:
            self.ignored += 1
            return _NOTHING
        self.frames += 1
        self.revision = revision
        self.failures = 0
        if self.failure_detector is not None:
            self.failure_detector.heartbeat(event.now)
        if event.change_type == DELETED:
            self._revisions.pop(entry.key, None)
            return self._replace(entry.key, None)
        return self._hold(entry)

    def _marked(self, event: Marked) -> tuple[Instruction, ...]:
        revision = event.revision
        if revision > self.newest_seen:
            self.newest_seen = revision
        if self.phase is MirrorPhase.FOLLOWING and event.attempt in (0, self._attempt):
            self.failures = 0
            if self.failure_detector is not None:
                self.failure_detector.heartbeat(event.now)
            if revision > self.revision:
                self.revision = revision
        return _NOTHING

    def _broke(self, event: Broke) -> tuple[Instruction, ...]:
        if (
            self._current(event.attempt, MirrorPhase.FOLLOWING)
            and event.now - self._followed_at >= self.pace.backoff_max_seconds
        ):
            self.failures = 0
        return self._failed(
            event.reason, event.now, event.attempt, MirrorPhase.FOLLOWING, MirrorPhase.PAUSING
        )

    # The list

    def _listed(self, event: Listed) -> tuple[Instruction, ...]:
        self.heard_of(event.revision)
        if not self._current(event.attempt, MirrorPhase.LISTING):
            self.ignored += 1
            return _NOTHING
        if event.revision < self.revision or self._is_before_recalled(event.revision):
            if not self.synced and not self.stale_lists:
                self.failures = 0  # those before were of another sort: nobody answered
            self.stale_lists += 1
            return self._failed(
                "StaleList", event.now, event.attempt, MirrorPhase.LISTING, MirrorPhase.RESTING
            )
        self.lists += 1
        self.synced = True
        self.revision = event.revision
        if self.failure_detector is not None:
            self.failure_detector.heartbeat(event.now)
        return (*self._differences(event.entries), *self._follow(event.now))

    def _is_before_recalled(self, revision: int) -> bool:
        if self.synced or revision >= self._recalled:
            return False
        return not self.stale_lists or self.failures < FAILURES_OF_PATIENCE

    def _differences(self, entries: Iterable[Entry]) -> list[Changed]:
        """What a list says that the copy does not: deletions first, then the rest in the order of the list."""
        listed = {entry.key: entry for entry in entries}
        changes: list[Changed] = []
        for key in sorted(self._revisions.keys() - listed.keys()):
            del self._revisions[key]
            changes += self._replace(key, None)
        revisions = self._revisions
        for key, entry in listed.items():
            # Also one that is older than the copy: a store that lost its newest changes shows what was before them.
            if entry.revision != revisions.get(key, -1):
                changes += self._hold(entry)
        return changes

    # The copy

    def _hold(self, entry: Entry) -> tuple[Changed, ...]:
        key = entry.key
        self._revisions[key] = entry.revision
        if self.failure_detector is not None:
            self.failure_detector.observe(key)
        try:
            view: Any = _stored(entry) if self.as_stored else self.decode(entry.data)
        except (ValueError, RecursionError) as error:
            damaged = is_stand_in(entry.data)
            return self._hold_unreadable(entry, _DAMAGED if damaged else str(error), damaged=damaged)
        if self.as_stored:
            damaged, deleting = is_stand_in(entry.data), view.deleting
        else:
            # Of what was decoded the bytes are searched only where it says that there may be something to find.
            meta: Meta = view.metadata
            damaged = ANNOTATION in meta.annotations and is_stand_in(entry.data)
            deleting = meta.deletion_timestamp
        if damaged:
            return self._hold_unreadable(entry, _DAMAGED, damaged=True)
        if deleting:
            self.deleting.setdefault(key, entry.revision)
        elif self.deleting:
            self.deleting.pop(key, None)
        return self._replace(key, view)

    def _hold_unreadable(self, entry: Entry, told: str, *, damaged: bool) -> tuple[Changed, ...]:
        """It is there, and cannot be shown."""
        changes = self._replace(entry.key, None)
        self.unreadable[entry.key] = Unreadable(
            entry.key, entry.revision, _metadata(entry), told, damaged=damaged
        )
        return changes

    def _replace(self, key: Key, after: T | None) -> tuple[Changed, ...]:
        if self.unreadable:
            self.unreadable.pop(key, None)
        before: Any = self.index.put(key, after)
        if after is None:
            self.deleting.pop(key, None)
            if self.failure_detector is not None:
                self.failure_detector.forget(key)
        if before is None:
            return () if after is None else (Changed(None, after, key),)
        if after is not None:
            newest: Any = after
            was, now = (before, newest) if self.as_stored else (before.metadata, newest.metadata)
            if was.uid != now.uid:
                # Another object under the same name: those who cared for the first learn that it is gone.
                return Changed(before, None, key), Changed(None, after, key)
        return (Changed(before, after, key),)

    # Phases

    def _current(self, attempt: int, phase: MirrorPhase) -> bool:
        return self.phase is phase and attempt in (0, self._attempt)

    def _failed(
        self, reason: str, now: float, attempt: int, expected: MirrorPhase, then: MirrorPhase
    ) -> tuple[Instruction, ...]:
        if expected not in (MirrorPhase.LISTING, MirrorPhase.FOLLOWING) or not self._current(
            attempt, expected
        ):
            self.ignored += 1
            return _NOTHING
        pace = self.pace
        self.failures += 1
        self.trouble = reason
        self.unfollowed_since = self.unfollowed_since or now
        self.phase = then
        self._wake_at = now + backoff(
            self.failures, pace.backoff_seconds, pace.backoff_max_seconds, pace.jitter, self._chance
        )
        return (WakeAt(self._wake_at, self._name),)

    def _woke(self, event: Woke) -> tuple[Instruction, ...]:
        self._chance = event.chance
        if self.phase not in (MirrorPhase.RESTING, MirrorPhase.PAUSING):
            return _NOTHING
        if event.now < self._wake_at:
            return (WakeAt(self._wake_at, self._name),)
        return self._list() if self.phase is MirrorPhase.RESTING else self._follow(event.now)

    def _list(self) -> tuple[Instruction, ...]:
        self.phase = MirrorPhase.LISTING
        self._attempt += 1
        return (ListAll(self._name, self._attempt),)

    def _follow(self, now: float) -> tuple[Instruction, ...]:
        self.phase = MirrorPhase.FOLLOWING
        self.trouble = ""
        self.unfollowed_since = 0.0
        self._followed_at = now
        self._attempt += 1
        return (Follow(self._name, self.revision, self._attempt),)


def _decoder(resource: Resource[T]) -> Callable[[bytes], T]:
    decode: Any = decode_pod if resource.type is Pod else msgspec.json.Decoder(resource.type).decode
    made: Callable[[bytes], T] = decode
    return made


def _stored(entry: Entry) -> Stored:
    view = Stored.of(entry.key, entry.uid, entry.revision, entry.data)
    if view.mentions_owners or view.mentions_deletion:
        _METADATA.decode(view.data)  # what may be decided on must be readable
    return view


def _metadata(entry: Entry) -> Meta:
    """What is known of an object that could not be decoded."""
    try:
        return _METADATA.decode(entry.data).metadata
    except (ValueError, RecursionError):
        key = entry.key
        return Meta(key.name, entry.uid, key.namespace, str(entry.revision))
