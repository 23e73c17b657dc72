"""The present: every durable object, by key for gets and in (namespace, name) order for lists.

Held by `durable.py`, changed only by it. Order is restored when a list is asked for, by bisection for a few
changes and by one sort for many; the tuple a list hands out is shared until the next change of that
namespace, so that lists cost nothing extra and a caller that pages through one never sees it change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from fairlead.model.key import Key
from fairlead.store.contract import Entry

_NEWS_SINGLY_MAX = 32  # more changes than this are merged by one sort
_NEWS_MAX = 256  # beyond this and a quarter of the objects, order is restored even if nobody lists


class _Space:
    """One namespace of one resource. `_names` and `_entries` are parallel and sorted by name, but for what
    changed since the last look: that waits in `_news` (None: removed), so that a write shifts no lists."""

    __slots__ = ("_entries", "_names", "_news", "_snapshot", "live")

    def __init__(self) -> None:
        self.live = 0  # objects; counted by who puts and removes
        self._names: list[str] = []
        self._entries: list[Entry] = []
        self._news: dict[str, Entry | None] = {}
        self._snapshot: tuple[Entry, ...] | None = ()

    def set(self, name: str, entry: Entry | None) -> None:
        news = self._news
        news[name] = entry
        self._snapshot = None
        if len(news) > _NEWS_MAX + len(self._names) // 4:
            self._settle()

    def all(self) -> tuple[Entry, ...]:
        snapshot = self._snapshot
        if snapshot is None:
            self._settle()
            snapshot = self._snapshot = tuple(self._entries)
        return snapshot

    def _settle(self) -> None:
        news, self._news = self._news, {}
        if len(news) <= _NEWS_SINGLY_MAX:
            for name, entry in news.items():
                self._settle_one(name, entry)
            return
        merged: dict[str, Entry | None] = dict(zip(self._names, self._entries, strict=True))
        merged.update(news)
        self._names = sorted([name for name, entry in merged.items() if entry is not None])
        self._entries = [entry for name in self._names if (entry := merged[name]) is not None]

    def _settle_one(self, name: str, entry: Entry | None) -> None:
        names, entries = self._names, self._entries
        index = bisect_left(names, name)
        known = index < len(names) and names[index] == name
        if entry is None:
            if known:
                del names[index]
                del entries[index]
        elif known:
            entries[index] = entry
        else:
            names.insert(index, name)
            entries.insert(index, entry)


class _Table:
    """One resource: its namespaces."""

    __slots__ = ("snapshot", "spaces")

    def __init__(self) -> None:
        self.spaces: dict[str, _Space] = {}
        self.snapshot: tuple[Entry, ...] | None = None

    def all(self) -> tuple[Entry, ...]:
        snapshot = self.snapshot
        if snapshot is None:
            parts = [self.spaces[name].all() for name in sorted(self.spaces)]
            if len(parts) == 1:
                snapshot = parts[0]
            else:
                snapshot = tuple([entry for entries in parts for entry in entries])
            self.snapshot = snapshot
        return snapshot


class Objects:
    """Current objects of all resources. `get` is the dict's own, and stays valid: nothing is asked as often."""

    __slots__ = ("_entries", "_tables", "get")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[Key, Entry] = {}  # the same dict for ever
        self._tables: dict[str, _Table] = {}
        self.get = self._entries.get
        self.reload(entries)

    def reload(self, entries: Iterable[Entry]) -> None:
        """These, and no others."""
        self._entries.clear()
        self._tables.clear()
        for entry in sorted(entries, key=lambda entry: entry.key):
            self.put(entry)

    def put(self, entry: Entry) -> None:
        key = entry.key
        is_new = key not in self._entries
        self._entries[key] = entry
        resource, namespace, name = key
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _Table()
        space = table.spaces.get(namespace)
        if space is None:
            space = table.spaces[namespace] = _Space()
        space.set(name, entry)
        space.live += is_new
        table.snapshot = None

    def remove(self, key: Key) -> None:
        del self._entries[key]
        table = self._tables[key.resource]
        space = table.spaces[key.namespace]
        space.set(key.name, None)
        space.live -= 1
        table.snapshot = None
        if not space.live:  # namespaces and custom kinds come and go: nothing is kept of those that are gone
            del table.spaces[key.namespace]
            if not table.spaces:
                del self._tables[key.resource]

    def list(self, resource: str, namespace: str = "") -> tuple[Entry, ...]:
        table = self._tables.get(resource)
        if table is None:
            return ()
        if not namespace:
            return table.all()
        space = table.spaces.get(namespace)
        return () if space is None else space.all()

    def __len__(self) -> int:
        return len(self._entries)
