"""Says in the status of overrides that no plane leads. Decided in `reconcile/overrides/unled.py`.

Made by `serving.py`; looks every few seconds, beside the API and like any client of it. Costs nothing without
overrides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from fairlead.api.sound_reader import sound_entries
from fairlead.control.requests import request_of
from fairlead.model.key import Key
from fairlead.model.marks import PLANE_LEASE, PLANE_NAMESPACE
from fairlead.model.views import LEASES, OVERRIDES, Lease, SchedulerOverride
from fairlead.reconcile.overrides.unled import LeaderWatch, unled
from fairlead.runtime.server.host import ServingHost

log = logging.getLogger("fairlead.unled")

#: bound: plane | whether a plane leads is looked at, for overrides, every | -
UNLED_LOOK_SECONDS = 2.0
_override = msgspec.json.Decoder(SchedulerOverride).decode
_lease = msgspec.json.Decoder(Lease).decode
_LEASE_SECONDS = 15  # where there is no Lease yet that tells


class Unled:
    def __init__(self, host: ServingHost, clock: Callable[[], float], lease: str = PLANE_LEASE) -> None:
        """`lease`: whose holder leads the controllers."""
        self._host, self._clock, self._lease = host, clock, lease
        self._leader = LeaderWatch()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(UNLED_LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("overrides could not be told that no plane leads")

    async def look(self) -> None:
        read, now = self._host.api.desk.read, self._clock()
        key = Key(LEASES.name, PLANE_NAMESPACE, self._lease)
        entry = None if key in read.damaged else read.get(key)
        silent = self._leader.silent_seconds(entry.revision if entry is not None else 0, now)
        found = [_override(each.data) for each in sound_entries(read, OVERRIDES.name)]
        if not found:
            return
        lease = _lease(entry.data) if entry is not None else None
        lasts = lease.spec.lease_duration_seconds if lease is not None else 0
        for effect in unled(found, silent, lasts or _LEASE_SECONDS, now):
            reply = await self._host.call(request_of(effect))
            if reply.status >= 400 and reply.status not in (404, 409):
                log.warning(
                    "override %s could not be told that no plane leads (%d)", effect.name, reply.status
                )
            elif reply.status < 400:
                log.warning(
                    "no plane leads, or it has not heard: nothing acts on override %s/%s",
                    effect.namespace,
                    effect.name,
                )
