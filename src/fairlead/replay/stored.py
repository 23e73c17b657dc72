"""Histories as `past.py` wants them: one resource from the revision that is needed on.

Of a store, where one is at hand: a server that is asked to explain, tests. Of an artifact that was captured elsewhere.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.replay.artifact import Artifact
from fairlead.replay.past import NotKept, PastChange, ResourceHistory
from fairlead.store.contract import ADDED, DELETED, Compacted, Entry, FutureRevision, Reader

_CHANGES = 1_000


def read_history(reader: Reader, resource: str, start: int) -> ResourceHistory:
    """NotKept, in words, if the store has forgotten it."""
    try:
        entries = tuple(reader.list_at(resource, "", start))
        end, changes, after = reader.revision, list[PastChange](), start
        while more := reader.changes_after(after, resource, _CHANGES):
            changes += (PastChange(each.type, each.entry) for each in more)
            after = more[-1].entry.revision
    except Compacted as error:
        raise NotKept(f"{resource} at revision {start}: {error}") from None
    except FutureRevision:
        raise NotKept(f"revision {start} of {resource} is not in this store") from None
    return ResourceHistory(start, entries, changes, max(end, after))


class CapturedHistory:
    """The same of an artifact."""

    def __init__(self, artifact: Artifact) -> None:
        entries: dict[str, list[Entry]] = {}
        changes: dict[str, list[PastChange]] = {}
        for each in artifact.objects:
            entry = Entry(Key(*each.key), each.uid, each.revision, bytes(each.value))
            entries.setdefault(entry.key.resource, []).append(entry)
        for change in artifact.changes:
            entry = Entry(Key(*change.key), change.uid, change.revision, bytes(change.value))
            changes.setdefault(entry.key.resource, []).append(PastChange(change.change_type, entry))
        self._versions: dict[tuple[Key, int], PastChange] | None = None  # made when one is asked for
        self._found = {
            name: ResourceHistory(
                start, tuple(entries.get(name, ())), changes.get(name, ()), artifact.head.ends[name]
            )
            for name, start in artifact.head.starts.items()
        }

    def of(self, resource: str) -> ResourceHistory:
        try:
            return self._found[resource]
        except KeyError:
            raise NotKept(f"nothing of {resource} was captured") from None

    def without(self, key: Key) -> None:
        """As if this object had never been there."""
        found = self._found.get(key.resource)
        if found is not None:
            self._found[key.resource] = found._replace(
                entries=tuple(each for each in found.entries if each.key != key),
                changes=[each for each in found.changes if each.entry.key != key],
            )

    def keys(self, resource: str) -> list[Key]:
        """Of all objects of it that were there at one time."""
        found = self._found.get(resource)
        versions = (*found.entries, *(each.entry for each in found.changes)) if found is not None else ()
        return sorted({each.key for each in versions})

    def version(self, key: Key, revision: int) -> PastChange | None:
        """An object at a revision of its own."""
        if self._versions is None:
            self._versions = {}
            for history in self._found.values():
                for entry in history.entries:
                    self._versions[entry.key, entry.revision] = PastChange(ADDED, entry)
                for change in history.changes:
                    self._versions[change.entry.key, change.entry.revision] = change
        return self._versions.get((key, revision))

    def entries_at(self, resource: str, revision: int) -> tuple[Entry, ...]:
        """All objects of it as they were then. NotKept, in words, if that is not at hand."""
        history = self.of(resource)
        if not history.start <= revision <= history.end:
            raise NotKept(f"{resource} is at hand from revision {history.start} to {history.end} only")
        found = {each.key: each for each in history.entries}
        for change in history.changes:
            if change.entry.revision > revision:
                break
            if change.change_type == DELETED:
                found.pop(change.entry.key, None)
            else:
                found[change.entry.key] = change.entry
        return tuple(found[key] for key in sorted(found))
