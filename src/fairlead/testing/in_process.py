"""A server on a loop in a thread of this process: started, stopped, crashed and started again on what it kept.

Made by `planes.py`. It is the Server of `runtime/server/serving.py` with its listener, verbs, store and controllers;
only what `fairlead serve` does to its process is left out. Without a data directory the journal is in memory, and
outlives the server for as long as this object.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import uvloop

from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials import identity
from fairlead.runtime.credentials.identity import Identity
from fairlead.runtime.data.directory import open_data_directory
from fairlead.runtime.server.serving import Server
from fairlead.runtime.server.settings import ServeSettings
from fairlead.store.contract import Journal
from fairlead.store.memory import MemoryJournal
from fairlead.testing import material
from fairlead.testing.unkind import Door

T = TypeVar("T")

_START_SECONDS = 30.0
_STOP_SECONDS = 30.0
# What clients leave open (they pool connections) need not hold up a test's end.
_FAREWELL_SECONDS = 0.05
_ARRIVAL_SECONDS = 0.5


class InProcess:
    """`directory` is where identity and kubeconfigs are; `kept`: and the store, as `fairlead serve` keeps it."""

    def __init__(
        self,
        settings: ServeSettings,
        roles: Mapping[str, str],
        kept: bool,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._wall_clock = wall_clock
        self._roles = roles
        self._kept = kept
        self._memory = MemoryJournal()
        self._identity: Identity | None = None
        self._closing = contextlib.ExitStack()
        self.secrets: Mapping[str, str] = {}  # tokens, by user
        self.door = Door()

    @property
    def port(self) -> int:
        return self._settings.port

    def start(self) -> None:
        """Returns when clients can come; raises what kept it from starting."""
        with contextlib.ExitStack() as undoing:
            journal, known = self._open(undoing)
            clock = Clock(self._wall_clock)
            self._server = Server(self._settings, journal, known, around=self.door.around, clock=clock)
            self._ready = threading.Event()
            self._failure: BaseException | None = None
            self._thread = threading.Thread(target=self._run, name="fairlead", daemon=True)
            self._thread.start()
            undoing.callback(self._give_up)  # first of all, whatever happens: an interrupt, too
            if not self._ready.wait(_START_SECONDS):
                raise TimeoutError(f"the plane did not start within {_START_SECONDS:.0f} s")
            if self._failure is not None:
                raise self._failure
            self._closing = undoing.pop_all()

    def stop(self) -> None:
        """As SIGTERM would. Raises what ended the server before, if something did."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._ended()

    def crash(self) -> None:
        """As a kill would: nobody is told, and what was not durable is lost."""
        self._loop.call_soon_threadsafe(self._die)
        self._ended()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the server's loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_STOP_SECONDS)

    async def drop_watches(self) -> None:
        self._server.listener.cut_streams()

    async def expire_history(self) -> None:
        await self._server.driver.forget_history()
        self._server.watches.expire()

    # In the caller's thread

    def _open(self, undoing: contextlib.ExitStack) -> tuple[Journal, Identity]:
        settings = self._settings
        if not self._kept:
            if self._identity is None:
                light = material.make(settings.data_dir, self._roles)
                light.lead_to(settings.listen, settings.port, time.time())
                self._identity, self.secrets = light, light.secrets
            return self._memory, self._identity
        directory = undoing.enter_context(open_data_directory(settings.data_dir))
        known = identity.ensure(settings.data_dir, settings.listen, settings.port, time.time())
        if not self.secrets:
            self.secrets = material.admit(known, self._roles)
        journal = directory.journal()
        undoing.callback(journal.close)
        return journal, known

    def _ended(self) -> None:
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            raise TimeoutError(f"the plane did not stop within {_STOP_SECONDS:.0f} s")
        self._closing.close()
        if self._failure is not None:
            raise self._failure

    def _give_up(self) -> None:
        """No server is left, however far it came. Nothing if it has ended by itself."""
        with contextlib.suppress(RuntimeError, AttributeError):  # its loop is closed, or not there yet
            self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join(_STOP_SECONDS)

    # In the server's thread

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the start must hear of it
            self._failure = error
        if hasattr(self._server, "driver"):  # it may have failed before
            self._server.driver.abandon()
            self._server.driver.join()
        self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._serving = asyncio.ensure_future(self._server.serve(self._stopped, self._reached))
        with contextlib.suppress(asyncio.CancelledError):  # that was a crash
            await self._serving
        await self._arrived()

    async def _arrived(self) -> None:
        """A loop cannot end with handshakes under way: the listener has ended them, which takes a turn or two."""
        deadline = self._loop.time() + _ARRIVAL_SECONDS
        while True:
            await asyncio.sleep(0.002)
            listener = getattr(self._server, "listener", None)
            if listener is None or not listener.arriving or self._loop.time() > deadline:
                return

    def _reached(self, port: int) -> None:
        self._settings = replace(self._settings, port=port)
        self._server.listener.farewell_seconds = _FAREWELL_SECONDS
        self._ready.set()

    def _die(self) -> None:
        self._server.fall()
        self._serving.cancel()
