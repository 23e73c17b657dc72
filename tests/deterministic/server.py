"""A whole server of production (`runtime/server/serving.py`) on the deterministic loop, reached by the network in memory.

Below it are what only a machine can give: the listening socket and TLS (connections arrive from `network.py` as if both
had gone well), the writer's thread (its jobs are done and told at drawn moments), the system's entropy and chance (drawn).
The journal outlives a crash, as a disk does.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fairlead.runtime import driving
from fairlead.runtime.clock import Clock
from fairlead.runtime.remote import api as remote_api
from fairlead.runtime.remote.api import Remote
from fairlead.runtime.server import host as hosts
from fairlead.runtime.server import serving
from fairlead.runtime.server.settings import ServeSettings
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.store.contract import CommittedChange, Journal
from fairlead.store.memory import MemoryJournal
from fairlead.testing.material import LightIdentity, make
from fairlead.wire.client import HttpClient
from fairlead.wire.client_protocol import Address
from tests.deterministic.loop import DeterministicLoop
from tests.deterministic.network import Network

HOST, PORT = "127.0.0.1", 7443
_DISK_MS = 15
_AUTHORITY = Path(__file__).with_name("authority.pem")


class _Jobs:
    """The writer's queue and its thread in one: a job at a time, done at one moment and told at a later one."""

    def __init__(self, driver: StoreDriver, loop: DeterministicLoop) -> None:
        self._driver, self._loop = driver, loop
        self._waiting: deque[Callable[[], Any] | None] = deque()
        self._busy = False
        self._delay = loop.chance.stream("disk")

    def put(self, job: Callable[[], Any] | None) -> None:
        self._waiting.append(job)
        self._go_on()

    def empty(self) -> bool:
        return not self._waiting

    def get_nowait(self) -> Callable[[], Any] | None:
        return self._waiting.popleft()

    def _go_on(self) -> None:
        if not self._busy and self._waiting:
            self._busy = True
            self._loop.call_later(self._delay.choose(_DISK_MS) / 1000, self._do)

    def _do(self) -> None:
        job = self._waiting.popleft() if self._waiting else None
        if job is None:
            return  # the thread has ended
        event = job()
        self._loop.call_later(self._delay.choose(_DISK_MS) / 1000, self._told, event)

    def _told(self, event: Any) -> None:
        self._busy = False
        if event is not None:
            self._driver._tell(self._driver._happened, event)
        self._go_on()


class _NoThread:
    ident = None

    def start(self) -> None:
        return None

    def join(self, timeout: float | None = None) -> None:
        return None


class SteppedStoreDriver(StoreDriver):
    def __init__(self, loop: Any, *given: Any, **named: Any) -> None:
        super().__init__(loop, *given, **named)
        self._jobs = _Jobs(self, loop)  # type: ignore[assignment]
        self._thread = _NoThread()  # type: ignore[assignment]


class SimulatedServer(serving.Server):
    """`served` hears of every change, once it is durable and before anybody else does."""

    def __init__(
        self, network: Network, settings: ServeSettings, journal: Journal, clock: Clock, port: int,
        served: Callable[[tuple[CommittedChange, ...]], None],
    ) -> None:  # fmt: skip
        super().__init__(settings, journal, known(), clock=clock)
        self._network, self._port, self._served = network, port, served

    async def _listen(self, listener: Any) -> int:
        self._network.serve(HOST, self._port, listener._arrive)
        listener._sweep = self._network.loop.call_later(10.0, listener._sweep_idle)
        return self._port

    def _publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self._served(changes)
        super()._publish(changes)
        assert not self._hearing.failed


class ServerProcess:
    """A server that can be killed and started again on what it kept."""

    def __init__(
        self, network: Network, controllers: bool = False, journal: Journal | None = None, port: int = PORT,
        served: Callable[[tuple[CommittedChange, ...]], None] = lambda changes: None,
    ) -> None:  # fmt: skip
        self.network, self.loop, self.port = network, network.loop, port
        self.journal = journal or MemoryJournal()
        self.settings = ServeSettings(
            data_dir=Path("/nonexistent"),
            listen=HOST,
            port=port,
            controllers=controllers,
            banner=False,
            publishes_authority=controllers,
        )
        self.changes: list[CommittedChange] = []
        self.served = served
        self.up = False

    @property
    def store(self) -> Any:
        return self._server.store

    @property
    def plane(self) -> Any:
        return self._server._planes.plane

    async def start(self) -> None:
        clock = Clock(self.loop.wall, self.loop.time)
        self._server = SimulatedServer(
            self.network, self.settings, self.journal, clock, self.port, self._heard
        )
        self._stopped, ready = asyncio.Event(), asyncio.Event()
        self._serving = asyncio.create_task(self._server.serve(self._stopped, lambda port: ready.set()))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([self._serving, waiting], return_when=asyncio.FIRST_COMPLETED)
        if not ready.is_set():
            await self._serving
        self.up = True

    async def crash(self) -> None:
        """As a kill does: connections are cut, what the writer has not begun is lost."""
        self.up = False
        self.network.close(HOST, self.port)
        self._server.fall()
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)

    async def stop(self) -> None:
        self.up = False
        self.network.close(HOST, self.port)
        self._stopped.set()
        await self._serving

    def _heard(self, changes: tuple[CommittedChange, ...]) -> None:
        self.changes += changes
        for change in changes:
            self.loop.note(change.type, change.entry.key, change.entry.revision, change.entry.data)
        self.served(changes)


@cache
def known() -> LightIdentity:
    """Tokens and certificates, made once. The authority, which is published, is the same in every process."""
    made = make(Path(tempfile.mkdtemp(prefix="fairlead-known-")), {"node": "node"})
    made.ca_certificate.write_bytes(_AUTHORITY.read_bytes())
    return made


def remote(loop: DeterministicLoop, port: int = PORT, **options: Any) -> tuple[HttpClient, Remote]:
    client = HttpClient(Address(HOST, port, None))
    token = known().secrets["admin"]
    return client, Remote(client, "", lambda: token, loop.wall, **options)


class _Drawn:
    """Stands in for `random` and `os.urandom` where production asks the system."""

    def __init__(self, loop: DeterministicLoop) -> None:
        self._stream = loop.chance.stream("entropy")

    def Random(self) -> _Drawn:  # noqa: N802 - as `random` has it
        return self

    def random(self) -> float:
        return self._stream.unit()

    def urandom(self, size: int) -> bytes:
        """Eight bytes are drawn for each block: what is asked for is long, and only has to differ."""
        block = b"".join(self._stream.choose(256).to_bytes(1, "big") for _ in range(8))
        counted = (block + number.to_bytes(8, "big") for number in range(-(-size // 16)))
        return b"".join(counted)[:size]


@contextmanager
def chance_for_entropy(loop: DeterministicLoop) -> Iterator[None]:
    drawn = _Drawn(loop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driving, "random", drawn)
        patch.setattr(remote_api, "random", drawn)
        patch.setattr(hosts, "os", drawn)
        patch.setattr(serving, "StoreDriver", SteppedStoreDriver)
        yield
