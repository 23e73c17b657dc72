"""Runs the two controllers that deletion needs, `reconcile/garbage` and `reconcile/namespace`, beside the API.

Published changes wake keys; one task works through them, each decided on durable state and asked of the API like
any client's request. What fails is looked at again after a while, so that nothing is left half deleted.
"""

from __future__ import annotations

import asyncio
import logging

from fairlead.port.request import Request
from fairlead.reconcile import garbage, namespace
from fairlead.reconcile.ownership import OwnerIndex, is_deleting
from fairlead.runtime.host import ServingHost
from fairlead.store.contract import DELETED, Change, Key

log = logging.getLogger("fairlead.collector")

RETRY_SECONDS = 1.0


class Collector:
    """Fed by `observe`, worked by `run`."""

    def __init__(self, host: ServingHost) -> None:
        self._host = host
        self._catalog = host.api.desk.catalog
        self._index = OwnerIndex(self._catalog)
        self._keys: dict[Key, None] = {}
        self._woken = asyncio.Event()
        self._ending: set[str] = set()  # namespaces that are being deleted

    def learn_all(self) -> None:
        """Start from what is stored: whatever was left undone is found again."""
        read = self._host.api.desk.read
        for kind in self._catalog:
            for entry in read.list(kind.resource):
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
        self._woken.set()

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._keys:
                key = next(iter(self._keys))
                del self._keys[key]
                try:
                    await self._look(key)
                except Exception:
                    # One object that cannot be dealt with must not end the collection of all others.
                    log.exception("%s %s could not be looked at", key.resource, key.name)
                    self._look_later(key)

    async def _look(self, key: Key) -> None:
        read = self._host.api.desk.read
        requests = garbage.decide(read, self._index, self._catalog, key)
        if key.resource == namespace.NAMESPACES:
            entry = read.get(key)
            if entry is None:
                self._ending.discard(key.name)
            elif is_deleting(entry):
                self._ending.add(key.name)
                requests += namespace.decide(read, self._catalog, key.name)
        if requests and not await self._ask(requests):
            self._look_later(key)
        elif requests:
            self._wake(key)

    def _look_later(self, key: Key) -> None:
        asyncio.get_running_loop().call_later(RETRY_SECONDS, self._wake, key)

    async def _ask(self, requests: list[Request]) -> bool:
        """True if all were taken. A conflict or a missing object only means that there is a newer state to look at."""
        taken = True
        for request in requests:
            reply = await self._host.call(request)
            if reply.status >= 400:
                taken = False
                if reply.status not in (404, 409):
                    log.warning(
                        "%s of %s %s was refused (%d)",
                        request.verb,
                        request.resource,
                        request.name,
                        reply.status,
                    )
        return taken
