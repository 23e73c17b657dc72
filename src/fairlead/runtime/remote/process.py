"""The scheduler and the controllers beside an API server elsewhere, over HTTPS. Called by `fairlead control`.

    discovering.py   what the server can do, what it serves, and that nobody does this work there already
    Plane            the same as in `fairlead up`, with these Capabilities
    plane.py         drives it; decisions go to `runtime/data/decisions_file.py`
    shipping.py      sends them to the server's logs, where it is Fairlead's

Several may run at once: one leads, by a Lease of their own; the others keep their mirrors warm. SIGTERM and Ctrl-C end
it at once; nothing has to be put away, because all that counts is in the API.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from fairlead import __version__
from fairlead.api.admission.plane_conditions import PLANE
from fairlead.control.attempts import SCHEDULER
from fairlead.control.diagnosis import Check, diagnose
from fairlead.control.leadership import Leadership
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import collecting_deciders, scheduling_deciders, workload_deciders
from fairlead.core.errors import DataDirectoryBusy, OperatorError
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.marks import CONTROL_LEASE
from fairlead.model.served import Served
from fairlead.port.capabilities import Capabilities
from fairlead.port.request import Request
from fairlead.runtime import logs
from fairlead.runtime.chaos_faults import Striking
from fairlead.runtime.clock import Clock, follow_wall_clock
from fairlead.runtime.data.decisions_file import DecisionsFile
from fairlead.runtime.metrics.contract import MetricSample
from fairlead.runtime.metrics.listening import HOST, MetricsListener
from fairlead.runtime.metrics.mirrors import BUILD
from fairlead.runtime.metrics.plane import plane_samples
from fairlead.runtime.metrics.traces import trace_samples
from fairlead.runtime.private_files import make_private_directory, open_lock
from fairlead.runtime.remote import discovering
from fairlead.runtime.remote.api import ASK_SECONDS, Remote
from fairlead.runtime.remote.plane import RemotePlaneDriver
from fairlead.runtime.remote.reaching import address_of, tls_of
from fairlead.runtime.remote.settings import DEFAULT_SCHEDULER_NAME, ControlSettings
from fairlead.runtime.remote.shipping import Shipping
from fairlead.runtime.tracing.exporter import Exporter, started_exporter, tracer_of
from fairlead.wire.client import Broken, HttpClient, NotSent

log = logging.getLogger("fairlead.control")

LOCK = "control.lock"
# Whose its writes are, in the audit of the other side; only who is named so may say there that a pod was released.
USER = f"{PLANE}:control"
#: bound: plane | connections of `fairlead control` | they wait
CONTROL_CONNECTIONS_MAX = 32
# Without fences no request may outlast the margin in which the leader stops (`control/leadership.py`).
#: bound: plane | it waits for an answer where there are no fences | the outcome is unknown
UNFENCED_ASK_SECONDS = 5.0
_TRY_AGAIN_SECONDS = 2.0
_LOOK_SECONDS = 0.2
# Who may own a Reservation as far as a scheduler alone can tell; owners of other kinds are taken to be there.
_OWNERS = frozenset(
    {
        "pods",
        "replicasets.apps",
        "deployments.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
    }
)


def run(settings: ControlSettings) -> int:
    """Until told to leave. Returns the exit code."""
    lock = _hold(settings.data_dir)
    try:
        logs.set_up(settings.data_dir, settings.log_format)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_Process(settings).run())
    finally:
        os.close(lock)
    return 0


class _Process:
    def __init__(self, settings: ControlSettings) -> None:
        self._settings = settings
        self._clock = Clock()
        self._broken: BaseException | None = None
        self._user = ""  # "": who the kubeconfig says
        self._touching: set[asyncio.Task[None]] = set()
        self._names_controllers = False  # it may write in the name of each of its controllers, too

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._leaving = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leaving.set)
        connection = self._settings.connection
        address, prefix = address_of(connection.server, tls_of(connection), self._clock)
        client = HttpClient(address, CONTROL_CONNECTIONS_MAX)
        decisions = DecisionsFile(self._settings.data_dir)

        def remote(seconds: float, user: str = "") -> Remote:
            return Remote(
                client,
                prefix,
                lambda: connection.token,
                self._clock,
                seconds,
                self._noticed,
                agent="fairlead-control",
                impersonating=user,
            )

        exporter = started_exporter(self._settings.traces)
        tracer = tracer_of(exporter, self._settings.traces)
        found = await self._discover(remote(ASK_SECONDS), remote(ASK_SECONDS, USER))
        if found is not None:
            plane = self._plane(found)
            asked = remote(ASK_SECONDS if found.fencing else UNFENCED_ASK_SECONDS, self._user)
            own = self._settings.capabilities != "kubernetes"
            chaos = Striking(loop, CATALOG, self._clock, partial(self._touch, asked)) if own else None
            shipping = Shipping(plane, decisions, asked, self._clock, sends=own, chaos=chaos)
            driver = RemotePlaneDriver(
                plane,
                asked,
                self._clock,
                self._failed,
                shipping.record,
                tracer,
                names_controllers=self._names_controllers,
                chaos=chaos,
            )
            margin = plane.leadership.settings.margin_seconds
            for line in discovering.describe(
                found, plane.mirrors, margin, f"{PLANE}:CONTROLLER" if self._names_controllers else self._user
            ):
                _say(line)
            driver.start()
            sending = asyncio.create_task(shipping.run())
            striking = asyncio.create_task(chaos.run()) if chaos is not None else None
            telling = await self._tell_metrics(driver, exporter)
            following = asyncio.create_task(follow_wall_clock(self._clock, driver.stepped))
            await self._watch_over(plane)
            following.cancel()
            if striking is not None:
                striking.cancel()
            if telling is not None:
                await telling.close()
            await driver.stop()
            await shipping.end(sending)
        client.close()
        decisions.close()
        if exporter is not None:
            await asyncio.to_thread(exporter.stop)
        if isinstance(self._broken, OperatorError):
            raise self._broken
        if self._broken is not None:
            raise OperatorError(
                f"the plane cannot go on: this is a defect, described in {self._settings.data_dir / logs.FILE};"
                " start it again, another takes over meanwhile"
            ) from self._broken

    async def _discover(self, remote: Remote, named: Remote) -> Capabilities | None:
        """None: it was told to leave before the server answered. `named`: the same server, under our own name."""
        while not self._leaving.is_set():
            try:
                found = await discovering.capabilities(remote, self._settings.capabilities)
                await discovering.check_is_free(remote, self._settings, self._clock())
                self._user = USER if await discovering.is_taken_for(named, USER) else ""
                one = f"{PLANE}:{SCHEDULER}"
                self._names_controllers = bool(self._user) and await discovering.is_taken_for(named, one, one)
                if not self._settings.only_scheduler:
                    await discovering.ensure_policy(named if self._user else remote, found)
                return found
            except discovering.NotYet as error:
                _say(f"{error}; trying again")
            except (NotSent, Broken) as error:
                _say(f"{error}; trying again")
            await self._leaves_within(_TRY_AGAIN_SECONDS)
        return None

    async def _tell_metrics(
        self, driver: RemotePlaneDriver, exporter: Exporter | None
    ) -> MetricsListener | None:
        if self._settings.metrics_port is None:
            return None
        began, plane = self._clock(), driver.plane

        def checks() -> tuple[Check, ...]:
            return diagnose(plane, driver.lags(), self._clock(), began)

        def samples() -> Iterator[MetricSample]:
            yield BUILD.sample(1, __version__)
            yield from plane_samples(plane, driver.lags(), checks(), self._clock())
            yield from trace_samples(exporter)

        telling = MetricsListener(samples, checks)
        port = await telling.listen(self._settings.metrics_port)
        _say(f"metrics at http://{HOST}:{port}/metrics")
        return telling

    def _plane(self, found: Capabilities) -> Plane:
        settings = self._settings
        name = CONTROL_LEASE
        if settings.scheduler_name != DEFAULT_SCHEDULER_NAME:
            name = f"{CONTROL_LEASE}-{settings.scheduler_name}"
        if settings.only_scheduler:
            owners = Catalog(kind for kind in CATALOG if kind.resource in _OWNERS)
            deciders = scheduling_deciders(owners)
        else:
            deciders = workload_deciders(fence=f"{name}-fence")
            if not found.collects:
                kinds = Served(kind for kind in CATALOG if kind.resource not in found.lacks)
                deciders = (*collecting_deciders(kinds), *deciders)
        served = [each for each in deciders if each.reads[0].name not in found.lacks]
        return Plane(
            settings.identity,
            served,
            Placer,
            found,
            lambda new_call: Leadership(settings.identity, new_call, None, found.fencing, name),
            version=__version__,
            scheduler_name=settings.scheduler_name,
        )

    async def _watch_over(self, plane: Plane) -> None:
        """Until told to leave; says when this plane comes to lead and when it stops."""
        led: bool | None = None
        while not self._leaving.is_set():
            leads = plane.leadership.may_act(self._clock()) and plane.synced
            if leads != led and (leads or led is not None or plane.synced):
                led = leads
                _say(f"{self._settings.identity} {'leads' if leads else 'stands by'}")
            await self._leaves_within(_LOOK_SECONDS)

    def _touch(self, remote: Remote, request: Request) -> None:
        """What somebody else writes when an experiment wants a race."""
        task = asyncio.create_task(_nothing_of(remote.ask(request)))
        self._touching.add(task)
        task.add_done_callback(self._touching.discard)

    async def _leaves_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._leaving.wait()
        except TimeoutError:
            return

    def _noticed(self, trouble: str) -> None:
        if trouble:
            log.warning("%s; trying again", trouble)

    def _failed(self, error: BaseException) -> None:
        log.error("the plane failed", exc_info=error)
        self._broken = error
        self._leaving.set()


def _hold(directory: Path) -> int:
    """The directory is this process' alone, for as long as it lives."""
    make_private_directory(directory)
    descriptor = open_lock(directory / LOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DataDirectoryBusy(
            f"another `fairlead control` works in {directory}: stop it, or choose another --data-dir"
        ) from None
    return descriptor


async def _nothing_of(asking: Coroutine[Any, Any, object]) -> None:
    await asking


def _say(line: str) -> None:
    print(f"fairlead: {line}", file=sys.stderr, flush=True)
