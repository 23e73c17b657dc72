"""Takes away Events that have expired, beside the API and like any client of it. Decided in `reconcile/event_expiry`.

Looks every few seconds and removes a few at a time, so that other requests find their turn in between; goes on at once
where more have expired than one look finds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairlead.model.key import Key
from fairlead.reconcile.event_expiry import EVENTS, EventExpiry, EventsKept, Involved
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import DELETED, CommittedChange

log = logging.getLogger("fairlead.expirer")

#: bound: plane | expired Events are looked for every | -
EXPIRE_EVERY_SECONDS = 5.0
#: bound: plane | expired Events removed at once | the rest later
EXPIRED_AT_ONCE_MAX = 250
_TOGETHER = 25  # these share commits; one after the other they would fall behind where each takes its time
_LOOKS = 8


class EventExpirer:
    """Fed by `observe`, worked by `run`."""

    def __init__(self, host: ServingHost, kept: EventsKept, clock: Callable[[], float]) -> None:
        self._host = host
        self._clock = clock
        self._expiry = EventExpiry(kept, self._lives)

    def learn_all(self) -> None:
        self._expiry.learn(self._host.api.desk.read.list(EVENTS))

    def observe(self, changes: tuple[CommittedChange, ...]) -> None:
        now = self._clock()
        for change in changes:
            if change.type == DELETED or change.entry.key.resource == EVENTS:  # it heeds nothing else
                self._expiry.observe(change, now)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_EVERY_SECONDS)
            for _ in range(_LOOKS):  # as many come as went: where more came, it must not fall behind for ever
                if not await self.remove_due():
                    break

    def _lives(self, involved: Involved) -> bool:
        """Whether the very object is there that an Event is about. Some name nodes by their names instead of uids."""
        group, _, version = involved.api_version.rpartition("/")
        desk = self._host.api.desk
        kind = desk.catalog.find_kind(group, version, involved.kind)
        if kind is None:
            return False
        found = desk.read.get(
            Key(kind.resource, involved.namespace if kind.namespaced else "", involved.name)
        )
        return found is not None and involved.uid in (found.uid, involved.name, "")

    async def remove_due(self) -> bool:
        """Remove what has expired, within bounds. Whether there may be more."""
        due = self._expiry.due(self._clock(), EXPIRED_AT_ONCE_MAX)
        for first in range(0, len(due), _TOGETHER):
            some = due[first : first + _TOGETHER]
            for reply in await asyncio.gather(*(self._host.call(request) for request in some)):
                if reply.status >= 400 and reply.status not in (404, 409):
                    log.warning("an expired event could not be removed (%d)", reply.status)
                    return False
        return len(due) == EXPIRED_AT_ONCE_MAX
