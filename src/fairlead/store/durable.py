"""Durable state and its history: the read half of the store machine, what the API and the watches see.

`machine.py` applies each batch here when it is durable and not before. Reads of the past undo the present:
from the window in memory where it reaches back far enough, from the journal otherwise. May not write to the
journal, and never returns what the journal holds beyond `revision` (an append not yet reported).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.model.key import Key
from fairlead.store.contract import (
    DELETED,
    CommittedChange,
    Compacted,
    Entry,
    FutureRevision,
    JournalReader,
    Recovered,
)
from fairlead.store.objects import Objects
from fairlead.store.window import Window


class Durable:
    """Implements the `Reader` protocol."""

    def __init__(
        self, recovered: Recovered, journal: JournalReader, window_changes_max: int, window_bytes_max: int
    ) -> None:
        self.revision = recovered.revision
        self.objects = Objects(recovered.entries)  # the same for ever: readers hold it
        self._loaded = recovered.revision  # windows know nothing up to here
        self._floors = dict(recovered.floors)
        self.damaged = {each.entry.key: each for each in recovered.damaged}
        self.lost = recovered.lost
        self._windows: dict[str, Window] = {}
        self._journal = journal
        self._window_changes_max = window_changes_max
        self._window_bytes_max = window_bytes_max

    # What the machine does

    def apply(self, changes: Sequence[CommittedChange]) -> None:
        """These changes are durable. They follow the present without a gap."""
        objects, windows = self.objects, self._windows
        for change in changes:
            entry = change.entry
            resource = entry.key.resource
            if change.type == DELETED:
                objects.remove(entry.key)
                if self.damaged:
                    self.damaged.pop(entry.key, None)
            else:
                objects.put(entry)
            window = windows.get(resource)
            if window is None:
                window = Window(self._loaded, self._window_changes_max, self._window_bytes_max)
                windows[resource] = window
            window.add(change)
        if changes:
            self.revision = changes[-1].entry.revision

    def reload(self, recovered: Recovered) -> None:
        """Take the journal's word for the present. The windows stay: they hold only what is durable."""
        self.objects.reload(recovered.entries)
        self.revision = recovered.revision
        self.damaged = {each.entry.key: each for each in recovered.damaged}
        self.lost = recovered.lost
        self.move_floors(recovered.floors)

    def move_floors(self, floors: Mapping[str, int]) -> None:
        """Floors only rise. What a window holds below one is out of reach, and goes; so does a window with nothing in
        it, as a custom kind that is gone leaves: what it knew began above all that can still be asked for."""
        for resource, floor in floors.items():
            if floor > self._floors.get(resource, 0):
                self._floors[resource] = floor
                window = self._windows.get(resource)
                if window is not None and window.forget(floor):
                    del self._windows[resource]

    # Reader

    def get(self, key: Key) -> Entry | None:
        return self.objects.get(key)

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        return self.objects.list(resource, namespace)

    def floor(self, resource: str) -> int:
        """The oldest revision that can be read; of all resources if ""."""
        if resource:
            return self._floors.get(resource, 0)
        return max(self._floors.values(), default=0)

    def get_at(self, key: Key, revision: int) -> Entry | None:
        self._check(key.resource, revision)
        current = self.objects.get(key)
        if revision == self.revision or (current is not None and current.revision <= revision):
            return current
        if self._window_reaches(key.resource, revision):
            window = self._windows.get(key.resource)
            change = window.first_after(revision, key) if window else None
            return current if change is None else change.before
        previous = self._journal.first_change_after(revision, key)
        if previous is None:
            return current
        return self._kept(revision, key.resource, {key: previous})[key]

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        self._check(resource, revision)
        present = self.objects.list(resource, namespace)
        if revision == self.revision:
            return present
        past = self._past(resource, revision)
        if namespace:
            past = {key: entry for key, entry in past.items() if key.namespace == namespace}
        if not past:
            return present
        entries = [entry for entry in present if entry.key not in past]
        entries.extend(entry for entry in past.values() if entry is not None)
        entries.sort(key=lambda entry: entry.key)
        return tuple(entries)

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        """Up to `limit` durable changes of one resource (all if "") after a revision, oldest first."""
        self._check(resource, revision)
        if revision == self.revision:
            return ()
        if resource and self._window_reaches(resource, revision):
            window = self._windows.get(resource)
            return window.after(revision, limit) if window else ()
        changes = self._journal.changes_after(revision, resource, limit)
        return [change for change in changes if change.entry.revision <= self.revision]

    def _check(self, resource: str, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        floor = self.floor(resource)
        if revision < floor:
            raise Compacted(revision, floor)
        for lost in self.lost:
            lost.check(revision)

    def _window_reaches(self, resource: str, revision: int) -> bool:
        window = self._windows.get(resource)
        return revision >= (self._loaded if window is None else window.start)

    def _past(self, resource: str, revision: int) -> dict[Key, Entry | None]:
        """For each key that changed after a revision: what was there at that revision."""
        if self._window_reaches(resource, revision):
            window = self._windows.get(resource)
            return window.undo(revision) if window else {}
        return self._kept(revision, resource, self._journal.first_changes_after(revision, resource))

    def _kept(self, revision: int, resource: str, previous: dict[Key, int]) -> dict[Key, Entry | None]:
        """The versions with these revisions; 0 is None. One that is missing means the floor has passed it."""
        versions = self._journal.versions([number for number in previous.values() if number])
        past: dict[Key, Entry | None] = {}
        for key, number in previous.items():
            if number and number not in versions:
                raise Compacted(revision, self.floor(resource))
            past[key] = versions[number] if number else None
        return past
