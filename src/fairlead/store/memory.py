"""A journal that keeps everything in memory: for tests, the simulator and planes that need not survive.

Implements `Journal` with plain data, and follows the same rule of retention as `sqlite.py`. What it holds is
"durable" as long as the object lives: opening a new Store on it is a restart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice

from fairlead.model.key import Key
from fairlead.store.contract import (
    DELETED,
    Batch,
    CommittedChange,
    Damaged,
    Entry,
    Lost,
    Note,
    Recovered,
    Retention,
)
from fairlead.store.damage import head_of, stand_in
from fairlead.store.retention import KeptChange, moved_floor, retention_of


class MemoryJournal:
    def __init__(self, notes_max: int = 100_000) -> None:
        self._log: dict[int, tuple[CommittedChange, float]] = {}  # by revision, rising
        self._objects: dict[Key, Entry] = {}
        self._revision = 0
        self._floors: dict[str, int] = {}
        self._swept: dict[str, int] = {}
        self._notes: dict[str, list[tuple[int, float, Note]]] = {}
        self._notes_max = notes_max
        self._damaged: dict[Key, Damaged] = {}
        self._lost: tuple[Lost, ...] = ()

    def recover(self) -> Recovered:
        at = next((at for _, at in reversed(self._log.values())), 0.0)
        shown = {**self._objects, **{key: each.entry for key, each in self._damaged.items()}}
        entries = tuple([shown[key] for key in sorted(shown)])
        damaged = tuple(self._damaged.values())
        return Recovered(
            revision=self._revision,
            entries=entries,
            floors=dict(self._floors),
            now=at,
            damaged=damaged,
            lost=self._lost,
        )

    def rot(self, key: Key, now: float = 0.0) -> None:
        """What is stored of an object decays. It is found when the journal is read again."""
        entry = self._objects[key]
        why = "its bytes are not those that were written"
        standing = stand_in(key, entry.revision, entry.uid, why, head_of(entry.data))
        self._damaged[key] = Damaged(standing, why, now)

    def lose(self, after: int, until: int, now: float = 0.0) -> None:
        """Changes after a revision are gone; numbering goes on from `until`. Found when the journal is read again."""
        for revision in [each for each in reversed(self._log) if each > after]:
            change, _ = self._log.pop(revision)
            self._objects.pop(change.entry.key, None)
            if change.before is not None and change.before.revision <= after:
                self._objects[change.entry.key] = change.before
        self._revision = until
        self._lost = (*self._lost, Lost(after, until, "the newest changes are gone", now))

    def append(self, batch: Batch) -> None:
        for change in batch.changes:
            entry = change.entry
            self._log[entry.revision] = (change, batch.now)
            self._revision = entry.revision
            self._damaged.pop(entry.key, None)
            if change.type == DELETED:
                del self._objects[entry.key]
            else:
                self._objects[entry.key] = entry
        for note in batch.notes:
            lines = self._notes.setdefault(note.stream, [])
            lines.append((lines[-1][0] + 1 if lines else 1, batch.now, note))
            del lines[: -self._notes_max]

    def compact(self, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
        left = budget
        for resource, floor in self._floors.items():
            left -= self._sweep(resource, floor, left)
        for resource in sorted({change.entry.key.resource for change, _ in self._log.values()}):
            floor = self._floors.get(resource, 0)
            kept = [
                KeptChange(revision, at, len(change.entry.data))
                for revision, (change, at) in self._log.items()
                if revision > floor and change.entry.key.resource == resource
            ]
            total = sum(change.size for change in kept)
            rule = retention_of(resource, retention)
            self._floors[resource], _ = moved_floor(floor, total, kept[:budget], now, rule)
        return dict(self._floors)

    def _sweep(self, resource: str, floor: int, budget: int) -> int:
        swept = self._swept.get(resource, 0)
        walked = [
            change
            for change, _ in self._log.values()
            if swept < change.entry.revision <= floor and change.entry.key.resource == resource
        ][: max(budget, 0)]
        for change in walked:
            self._log.pop(change.entry.previous, None)
            if change.type == DELETED:
                del self._log[change.entry.revision]
            self._swept[resource] = change.entry.revision
        return len(walked)

    def versions(self, revisions: Iterable[int]) -> dict[int, Entry]:
        log = self._log
        return {revision: log[revision][0].entry for revision in revisions if revision in log}

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        changes = (change for change in self._after(revision) if resource in ("", change.entry.key.resource))
        return list(islice(changes, limit))

    def first_changes_after(self, revision: int, resource: str) -> dict[Key, int]:
        first: dict[Key, int] = {}
        for change in self._after(revision):
            if change.entry.key.resource == resource:
                first.setdefault(change.entry.key, change.entry.previous)
        return first

    def written_after(self, revision: int) -> tuple[int, float] | None:
        later = min((each for each in self._log if each > revision), default=0)
        return (later, self._log[later][1]) if later else None

    def first_change_after(self, revision: int, key: Key) -> int | None:
        return next((c.entry.previous for c in self._after(revision) if c.entry.key == key), None)

    def notes(self, stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        lines = self._notes.get(stream, [])
        start = max(0, after - lines[0][0] + 1) if lines else 0  # their numbers have no gaps
        return lines[start : start + limit]

    def notes_before(self, stream: str, before: int, limit: int) -> list[tuple[int, float, Note]]:
        lines = self._notes.get(stream, [])
        end = min(len(lines), max(0, before - lines[0][0])) if lines and before else len(lines)
        return lines[max(0, end - limit) : end]

    def close(self) -> None:
        """Nothing to let go of."""

    def _after(self, revision: int) -> list[CommittedChange]:
        revisions = list(self._log)
        start = bisect_right(revisions, revision)
        return [self._log[number][0] for number in revisions[start:]]
