"""The server's own proxy of Services, beside local nodes: their addresses answer even while agents are replaced.

Fed by `serving.py` with every change. Agents of the same machine find the addresses taken and leave
them to this one; when the server is gone they take them over (`runtime/node/service_proxy.py`). Like them it judges the
end of weights of zones by its own clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import msgspec

from fairlead.agent.services import routes, weights_held
from fairlead.model.key import Key
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES, EndpointSlice, Service
from fairlead.runtime.node.service_proxy import ServiceProxy
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

log = logging.getLogger("fairlead.proxy")

_TOGETHER_SECONDS = 0.02  # a rollout changes many endpoints: they are taken over at once


class ServerRoutes:
    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]) -> None:
        self._loop, self._clock = loop, clock
        self.proxy = ServiceProxy(loop, partial(log.warning, "%s"), mention=partial(log.info, "%s"))
        self._services: dict[Key, Service] = {}
        self._slices: dict[Key, EndpointSlice] = {}
        self._service = msgspec.json.Decoder(Service).decode
        self._slice = msgspec.json.Decoder(EndpointSlice).decode
        self._timer: asyncio.TimerHandle | None = None
        self._weights_timer: asyncio.TimerHandle | None = None

    def learn_all(self, store: Reader) -> None:
        for resource in (SERVICES.name, ENDPOINT_SLICES.name):
            for entry in store.list(resource):
                self._hold(entry)
        self._serve()

    def observe(self, changes: tuple[CommittedChange, ...]) -> None:
        touched = False
        for change in changes:
            key = change.entry.key
            if key.resource not in (SERVICES.name, ENDPOINT_SLICES.name):
                continue
            touched = True
            if change.type == DELETED:
                self._services.pop(key, None)
                self._slices.pop(key, None)
            else:
                self._hold(change.entry)
        if touched and self._timer is None:
            self._timer = self._loop.call_later(_TOGETHER_SECONDS, self._serve)

    def stop(self) -> None:
        for timer in (self._timer, self._weights_timer):
            if timer is not None:
                timer.cancel()
        self.proxy.close()

    def _hold(self, entry: Entry) -> None:
        try:
            if is_stand_in(entry.data):
                raise ValueError("it is damaged in the store")
            if entry.key.resource == SERVICES.name:
                self._services[entry.key] = self._service(entry.data)
            else:
                self._slices[entry.key] = self._slice(entry.data)
        except ValueError as error:
            log.warning("%s %s has no routes: it cannot be read (%s)", *entry.key[::2], error)

    def _serve(self) -> None:
        self._timer = None
        if self._weights_timer is not None:
            self._weights_timer.cancel()
            self._weights_timer = None
        now, slices = self._clock(), self._slices.values()
        self.proxy.serve(routes(self._services.values(), slices, now))
        end = weights_held(slices, now).until
        if end:
            self._weights_timer = self._loop.call_later(end - now, self._serve)
