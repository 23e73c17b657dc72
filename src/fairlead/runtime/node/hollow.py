"""One process that plays thousands of nodes against a server over HTTPS. Called by `fairlead agent --hollow N`.

    plane of one Decider (`agent/hollow/`)     registers the nodes, makes their pods run   a set of kept connections
    heartbeats (`agent/hollow/beats.py`)       renews their leases, evenly spread          another: they wait for no pod

Every `report_seconds`, and at SIGUSR1, a line on standard output says how many leases were renewed since the last and
how late. SIGTERM and Ctrl-C end it at once: it leaves nodes that fall silent, as if they had lost their power.
"""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import signal
import sys
from collections.abc import Callable

import uvloop

from fairlead.agent.hollow.beats import Beat, Beats, onlooker
from fairlead.agent.hollow.decider import ALLOCATABLE, hollow_decider
from fairlead.control.no_leadership import Alone
from fairlead.control.plane import Plane
from fairlead.core.errors import OperatorError
from fairlead.decision.decider import Decider
from fairlead.model.marks import DRIVER
from fairlead.model.views import NODES, Json, Node
from fairlead.port.request import Request
from fairlead.runtime.clock import Clock, ClockStep, follow_wall_clock
from fairlead.runtime.node.settings import HollowSettings
from fairlead.runtime.remote.api import ASK_SECONDS, Remote
from fairlead.runtime.remote.plane import RemotePlaneDriver
from fairlead.runtime.remote.reaching import TokenFromFile, address_of, tls_of
from fairlead.wire.client import Address, HttpClient

# Renewals under way at once, and so connections for them.
#: bound: plane | connections for the heartbeats of hollow nodes | they wait
HOLLOW_CONNECTIONS_MAX = 64
_SYNC_SECONDS = 0.05


def run(settings: HollowSettings) -> int:
    """Until told to leave. Returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="fairlead: %(message)s")
    clock = Clock()
    address, prefix = address_of(settings.connection.server, tls_of(settings.connection), clock)
    token: Callable[[], str] = lambda: settings.connection.token  # noqa: E731 - one of two
    if settings.token_file is not None:
        token = TokenFromFile(settings.token_file)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_Process(settings, clock).run(address, prefix, token))
    return 0


class _Process:
    def __init__(self, settings: HollowSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._broken: BaseException | None = None
        decider: Decider = onlooker()
        if not settings.heartbeats_only:
            labels = {DRIVER: "hollow", **settings.labels}
            offered = {**ALLOCATABLE, **settings.capacity}
            decider = hollow_decider(settings.name_prefix, settings.nodes, offered, labels)
        self._plane = Plane(settings.name_prefix, (decider,), leading=lambda _: Alone(settings.name_prefix))
        self._under_way: set[asyncio.Task[None]] = set()
        self._reported_at = 0.0
        self._cpu = _cpu_seconds()

    async def run(self, address: Address, prefix: str, token: Callable[[], str]) -> None:
        loop = asyncio.get_running_loop()
        self._leaving, self._room = asyncio.Event(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leaving.set)
        loop.add_signal_handler(signal.SIGUSR1, self._tell)
        played, renewed = HttpClient(address), HttpClient(address, HOLLOW_CONNECTIONS_MAX)
        ask_seconds = min(ASK_SECONDS, max(1.0, self._settings.renew_seconds))
        nodes = Remote(played, prefix, token, self._clock, ASK_SECONDS, self._noticed)
        self._leases = Remote(renewed, prefix, token, self._clock, ask_seconds, urgent=frozenset())
        driver = RemotePlaneDriver(self._plane, nodes, self._clock, self._failed)
        driver.start()
        working = [
            loop.create_task(self._renew()),
            loop.create_task(self._report()),
            loop.create_task(follow_wall_clock(self._clock, self._stepped)),
        ]
        for each in working:
            each.add_done_callback(self._ended)
        await self._leaving.wait()
        for each in (*working, *self._under_way):
            each.cancel()
        await asyncio.gather(*working, *self._under_way, return_exceptions=True)
        await driver.stop()
        for client in (played, renewed):
            client.close()
        if self._broken is not None:
            raise OperatorError(
                f"the hollow nodes cannot go on: this is a defect ({self._broken!r}); start them again"
            ) from self._broken

    # Heartbeats

    async def _renew(self) -> None:
        while not self._plane.synced:
            await asyncio.sleep(_SYNC_SECONDS)
        settings = self._settings
        names = [f"{settings.name_prefix}{number}" for number in range(settings.nodes)]
        beats = Beats(names, settings.renew_seconds, settings.lease_seconds, self._node, self._clock())
        self._beats: Beats = beats
        self._reported_at = self._clock()
        while True:
            for beat, request in beats.take(self._clock(), HOLLOW_CONNECTIONS_MAX - len(self._under_way)):
                task = asyncio.create_task(self._send(beat, request))
                self._under_way.add(task)
                task.add_done_callback(self._sent)
            self._room.clear()
            wait = beats.next_at - self._clock()
            if len(self._under_way) >= HOLLOW_CONNECTIONS_MAX:
                await self._room.wait()
            elif wait > 0:
                await asyncio.sleep(wait)

    async def _send(self, beat: Beat, request: Request) -> None:
        self._beats.answered(beat, await self._leases.ask(request), self._clock())

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._room.set()
        self._ended(task)

    def _node(self, name: str) -> Node | None:
        found = self._plane.mirrors[NODES.name].index.get((NODES.name, "", name))
        return found if isinstance(found, Node) else None

    # Telling

    async def _report(self) -> None:
        seconds = self._settings.report_seconds
        while True:
            await asyncio.sleep(seconds)
            self._tell()

    def _told(self) -> Json:
        now, cpu = self._clock(), _cpu_seconds()
        took = now - self._reported_at
        told: Json = {"nodes": self._settings.nodes, "leases": self._beats.leases, "seconds": round(took, 3)}
        told |= self._beats.report()
        told["renewals_per_second"] = round(told["renewals"] / took, 1)
        told["clock_steps"] = self._clock.steps
        told["cpu_share"] = round((cpu - self._cpu) / took, 3)
        if self._beats.trouble:
            told["trouble"] = self._beats.trouble
            self._beats.trouble = ""
        self._reported_at, self._cpu = now, cpu
        return told

    def _tell(self) -> None:
        if not self._reported_at:
            return  # it has not begun
        told = self._told()
        if self._settings.as_json:
            print(json.dumps(told), flush=True)
            return
        late = told["late_ms"]
        line = (
            f"{told['leases']} of {told['nodes']} nodes have leases, {told['renewals_per_second']:g} renewals/s, late"
            f" p50 {late['p50']:g} ms, p99 {late['p99']:g} ms, max {late['max']:g} ms"
        )
        line += "".join(f", {told[name]} {name}" for name in ("failed", "missed", "silent") if told[name])
        print(line + (f" ({told['trouble']})" if "trouble" in told else ""), flush=True)

    def _noticed(self, trouble: str) -> None:
        if trouble:
            print(f"fairlead: {trouble}; trying again", file=sys.stderr, flush=True)

    def _stepped(self, step: ClockStep) -> None:
        """Nothing here is due by the wall clock; leases go on by the steady one."""
        print(f"fairlead: {step}; leases and times go on by the steady clock", file=sys.stderr, flush=True)

    # What goes wrong

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        self._broken = self._broken or error
        self._leaving.set()


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
