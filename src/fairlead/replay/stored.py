"""The store's history as `past.py` wants it: one resource from the revision that is needed on.

Used where a store is at hand: by a server that is asked to explain or to capture, and by tests.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.replay.past import NotKept, PastChange, ResourceHistory
from fairlead.store.contract import Compacted, FutureRevision, Reader

_CHANGES = 1_000


class StoredHistory:
    """`starts`: from which revision on each resource is needed; what is not named is not at hand."""

    def __init__(self, reader: Reader, starts: Mapping[str, int]) -> None:
        self._reader = reader
        self._starts = starts
        self._found: dict[str, ResourceHistory] = {}

    def of(self, resource: str) -> ResourceHistory:
        found = self._found.get(resource)
        if found is None:
            if resource not in self._starts:
                raise NotKept(f"nothing of {resource} is at hand")
            found = self._found[resource] = read_history(self._reader, resource, self._starts[resource])
        return found


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
