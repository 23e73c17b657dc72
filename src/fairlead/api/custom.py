"""Serves what CustomResourceDefinitions define, from the moment that they are committed.

Whoever publishes commits (runtime, simulator) hands them to `observe` before any client gets its answer, so that one
who made a definition finds its kinds at once; `learn` reads what a store has when a server starts. A definition that
cannot be served (another one of the same moment was first to have its names) is left out and told in what is returned.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api.objects import tree
from fairlead.core import codec
from fairlead.model.custom.definition import (
    DEFINITIONS,
    ESTABLISHED,
    decode_brief,
    is_true,
    names_of,
    spec_bytes,
)
from fairlead.model.custom.kinds import DefinedKinds, made_of
from fairlead.model.fields import FieldTables
from fairlead.model.served import Served
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in


class CustomKinds:
    """One per server, beside its Desk."""

    heeds = frozenset({DEFINITIONS})

    __slots__ = ("_catalog", "_known", "_made", "_tables", "changed")

    def __init__(self, catalog: Served, tables: FieldTables) -> None:
        self._catalog = catalog
        self._tables = tables
        self._known: dict[str, str] = {}  # definition -> digest of what its kinds follow from
        self._made: dict[str, DefinedKinds] = {}
        # Resources that were served, and are so no longer or otherwise, since the last `observe`: a definition has
        # the name of its resource.
        self.changed: set[str] = set()

    def learn(self, read: Reader) -> list[str]:
        """What is there as a server starts, the oldest first: they had their names first."""
        entries = sorted(read.list(DEFINITIONS), key=lambda entry: entry.revision)
        return [trouble for entry in entries for trouble in self._take(entry)]

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        self.changed = set()
        for change in changes:
            if change.entry.key.resource != DEFINITIONS:
                continue
            if change.type == DELETED:
                self._withdraw(change.entry.key.name)
            else:
                troubles += self._take(change.entry)
        return troubles

    def _take(self, entry: Entry) -> list[str]:
        name = entry.key.name
        if is_stand_in(entry.data):
            self._withdraw(name)
            return [f"the kinds of {name} cannot be served: it is damaged in the store"]
        outer = decode_brief(entry.data)
        if not is_true(outer, ESTABLISHED):
            self._withdraw(name)
            return []
        mark = codec.digest(codec.encode(names_of(outer)) + spec_bytes(entry.data))
        if self._known.get(name) == mark:
            return []
        before = self._made.get(name)
        try:
            made = made_of(tree(entry), entry.revision, self._tables, before)
            self._catalog.serve(name, made.kinds)
        except (ValueError, KeyError, RecursionError) as error:
            self._withdraw(name)
            return [f"the kinds of {name} cannot be served: {error}"]
        if name in self._known:
            self.changed.add(name)
        if before is not None:
            self._tables.drop(each.name for each in before.types)
        self._tables.add(made.types)
        self._made[name] = made
        self._known[name] = mark
        return []

    def _withdraw(self, name: str) -> None:
        if self._known.pop(name, None) is not None:
            self.changed.add(name)
            self._catalog.withdraw(name)
            self._tables.drop(each.name for each in self._made.pop(name).types)
