"""Runs the garbage collector and the namespace controller over a plane until neither asks for anything more.

Like the runtime's collector, but at once and in order: published changes wake keys, each is decided on durable state
and asked of the API. `restless` is what still had something to ask when the bound was reached.
"""

from __future__ import annotations

from fairlead.model.catalog import CATALOG
from fairlead.port.request import Reply, Request
from fairlead.reconcile import garbage, namespace
from fairlead.reconcile.ownership import OwnerIndex
from fairlead.store.contract import Key
from tests.inprocess import InProcess

_TURNS_MAX = 5000


class Collecting:
    """Begins to watch when it is made."""

    def __init__(self, plane: InProcess) -> None:
        self.plane = plane
        self.index = OwnerIndex(CATALOG)
        self.asked: list[Request] = []
        self._seen = len(plane.published)
        self._keys: dict[Key, None] = {}
        for kind in CATALOG:
            for entry in plane.store.list(kind.resource):
                if self.index.learn(entry):
                    self._keys[entry.key] = None

    def settle(self) -> None:
        """Until quiescence; fails if there is none."""
        for _ in range(_TURNS_MAX):
            self._take_in()
            if not self._keys:
                return
            key = next(iter(self._keys))
            del self._keys[key]
            requests = self._decide(key)
            for request in requests:
                reply = self.plane.send(request)
                assert isinstance(reply, Reply)
                assert reply.status in (200, 404, 409), reply.body
            self.asked += requests
            if requests:
                self._keys[key] = None
        raise AssertionError(f"no end to it: {list(self._keys)[:5]} still ask")

    def everything(self) -> list[Request]:
        """What would be asked if all keys were looked at again."""
        return [
            request
            for kind in CATALOG
            for entry in self.plane.store.list(kind.resource)
            for request in self._decide(entry.key)
        ]

    def _decide(self, key: Key) -> list[Request]:
        requests = garbage.decide(self.plane.store, self.index, CATALOG, key)
        if key.resource == "namespaces":
            requests += namespace.decide(self.plane.store, CATALOG, key.name)
        return requests

    def _take_in(self) -> None:
        changes = self.plane.published[self._seen :]
        self._seen += len(changes)
        for change in changes:
            for key in self.index.observe(change):
                self._keys[key] = None
            space = Key("namespaces", "", change.entry.key.namespace)
            if self.plane.store.get(space) is not None:
                self._keys[space] = None
