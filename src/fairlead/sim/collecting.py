"""Garbage and namespaces in virtual time: what `runtime/collector.py` does beside the API, with the same decisions.

Lives and dies with the server; a new life starts from what is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.api.users import MASTERS, User
from fairlead.model.catalog import CATALOG
from fairlead.port.request import Reply, Request
from fairlead.reconcile import garbage, namespace
from fairlead.reconcile.ownership import OwnerIndex, is_deleting
from fairlead.store.contract import DELETED, Change, Key

if TYPE_CHECKING:
    from fairlead.sim.server import Server

COLLECTOR = User("system:fairlead", groups=(MASTERS,))
_RETRY_MS = 1000


class Collecting:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._index = OwnerIndex(CATALOG)
        self._keys: dict[Key, None] = {}
        self._ending: set[str] = set()
        self._asking: list[Request] = []  # of the key being looked at, still to be sent
        self._looking_at: Key | None = None
        self._all_taken = True
        self._is_due = False

    def learn_all(self) -> None:
        for kind in CATALOG:
            for entry in self._server.store.list(kind.resource):
                if self._index.learn(entry):
                    self._wake(entry.key)

    def observe(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            for key in self._index.observe(change):
                self._wake(key)
            key = change.entry.key
            if change.type == DELETED and key.namespace in self._ending:
                self._wake(Key(namespace.NAMESPACES, "", key.namespace))

    def _wake(self, key: Key) -> None:
        self._keys[key] = None
        if not self._is_due and self._looking_at is None:
            self._is_due = True
            self._server.later(1, self._work)

    def _work(self) -> None:
        """Look at keys until one has something to be asked for; the answers come one after the other."""
        self._is_due = False
        while self._keys and self._looking_at is None:
            key = next(iter(self._keys))
            del self._keys[key]
            requests = self._requests(key)
            if requests:
                self._looking_at, self._asking, self._all_taken = key, requests, True
                self._ask()

    def _requests(self, key: Key) -> list[Request]:
        read = self._server.store
        requests = garbage.decide(read, self._index, CATALOG, key)
        if key.resource == namespace.NAMESPACES:
            entry = read.get(key)
            if entry is None:
                self._ending.discard(key.name)
            elif is_deleting(entry):
                self._ending.add(key.name)
                requests += namespace.decide(read, CATALOG, key.name)
        return requests

    def _ask(self) -> None:
        self._server.send(self._asking.pop(0), COLLECTOR, "collector", self._answered)

    def _answered(self, reply: Reply | None) -> None:
        if reply is None:
            return  # the server died, and this with it
        if reply.status >= 400:
            self._all_taken = False
        if self._asking:
            self._ask()
            return
        key, self._looking_at = self._looking_at, None
        assert key is not None
        if self._all_taken:
            self._wake(key)
        else:
            self._server.later(_RETRY_MS, lambda: self._wake(key))
        if self._keys and not self._is_due:
            self._is_due = True
            self._server.later(1, self._work)
