"""The process of one node's agent, from its lock to its leaving. Called by `fairlead agent`.

Start: take the node's directory, find out what the machine is, find what already runs on it, register, go on. End:
SIGTERM and SIGINT leave the cluster's work as the settings say (`stop_pods`), SIGHUP leaves the pods to their
supervisors in any case, which is how `fairlead up` replaces an agent that outlived the one before it. Being killed
is no worse: supervisors go on, and the next agent finds them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from functools import partial

from fairlead.agent.contract import Isolation, Measured, NodeSettings
from fairlead.agent.drivers.isolating import find_isolation
from fairlead.agent.drivers.process import ProcessDriver
from fairlead.agent.machine import Agent
from fairlead.agent.pod.isolation import labels as isolation_labels
from fairlead.core.errors import DataDirectoryBusy, OperatorError
from fairlead.model.marks import DRIVER, HOSTNAME
from fairlead.port.driving import Stepped
from fairlead.runtime import logs
from fairlead.runtime.clock import Clock, ClockStep, follow_wall_clock
from fairlead.runtime.metrics.agent import agent_samples
from fairlead.runtime.node import locks as node_locks
from fairlead.runtime.node import machine_facts
from fairlead.runtime.node.driver import AgentDriver
from fairlead.runtime.node.endpoint import NodeEndpoint
from fairlead.runtime.node.kept_objects import KeptObjects
from fairlead.runtime.node.service_proxy import ServiceProxy
from fairlead.runtime.node.settings import AgentSettings
from fairlead.runtime.remote.api import ASK_SECONDS, Remote
from fairlead.runtime.remote.reaching import TokenFromFile, address_of, tls_of
from fairlead.runtime.tracing.exporter import started_exporter, tracer_of
from fairlead.wire.client import HttpClient

log = logging.getLogger("fairlead.agent")

_FENCE_MARGIN_SECONDS = 2.0
_SAY_AGAIN_SECONDS = 10.0
_EMPTY_SECONDS = 0.05
_LOOK_SECONDS = 5.0  # at its directory and the disk under it


def run(settings: AgentSettings) -> int:
    """Until told to leave. Returns the exit code."""
    lock = node_locks.hold(settings.data_dir, settings.name)
    try:
        logs.set_up(settings.data_dir, settings.log_format)
        clock = Clock()
        address, prefix = address_of(settings.connection.server, tls_of(settings.connection), clock)
        token: Callable[[], str] = lambda: settings.connection.token  # noqa: E731 - one of two
        if settings.token_file is not None:
            token = TokenFromFile(settings.token_file)
        asyncio.run(_Process(settings, lock, clock).run(lambda: HttpClient(address), prefix, token))
    finally:
        os.close(lock)
    return 0


class _Process:
    def __init__(self, settings: AgentSettings, lock: int, clock: Clock) -> None:
        self._settings = settings
        self._lock = lock
        self._clock = clock
        self._giving_up: asyncio.TimerHandle | None = None
        self._told_at = 0.0
        self._said_trouble = False
        self._broken: BaseException | None = None
        self._removed = False

    async def run(self, client_of: Callable[[], HttpClient], prefix: str, token: Callable[[], str]) -> None:
        settings, loop = self._settings, asyncio.get_running_loop()
        self._leaving = asyncio.Event()
        self._stop_pods = settings.stop_pods
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leaving.set)
        loop.add_signal_handler(signal.SIGHUP, self._leave_pods)
        client = client_of()
        ask_seconds = min(ASK_SECONDS, max(1.0, settings.renew_seconds))
        remote = Remote(client, prefix, token, self._clock, ask_seconds, self._noticed)
        endpoint = await self._endpoint()
        isolation = await asyncio.to_thread(find_isolation)
        agent = Agent(node_settings(settings, self._announced, isolation))
        proxy = ServiceProxy(
            loop,
            partial(log.warning, "node %s: %s", settings.name),
            mention=partial(log.info, "node %s: %s", settings.name),
        )
        kept = KeptObjects(
            settings.data_dir / "kept", lambda told: log.warning("node %s: %s", settings.name, told)
        )
        exporter = started_exporter(settings.traces)
        driver = AgentDriver(
            agent,
            remote,
            self._clock,
            lambda given: proxy.serve(given.routes),
            self._failed,
            kept.keep,
            tracer_of(exporter, settings.traces),
        )
        processes = ProcessDriver(settings.data_dir, self._clock, driver.tell, isolation, settings.hidden)
        await driver.start(processes, kept.load())
        if endpoint is not None:
            endpoint.serve(
                processes,
                lambda usage: driver.tell(Measured(usage, self._clock())),
                lambda: agent_samples(agent, proxy, self._clock()),
            )
        log.info(
            "node %s works for %s, limits by %s", settings.name, settings.connection.server, processes.limits
        )
        self._look_at_directory(driver)
        following = asyncio.create_task(follow_wall_clock(self._clock, partial(self._stepped, driver)))
        await self._leaving.wait()
        following.cancel()
        if self._broken is None and self._stop_pods and not self._removed:
            await self._end_pods(driver)
        if endpoint is not None:
            await endpoint.close()
        await driver.stop()
        await kept.close()
        proxy.close()
        client.close()
        if exporter is not None:
            await asyncio.to_thread(exporter.stop)
        if self._removed:
            raise DataDirectoryBusy(
                f"the agent of node {settings.name} leaves: its directory {settings.data_dir} was removed or replaced"
                " while it ran; start it again, it then ends what is left of the pods and starts them anew"
            )
        if self._broken is not None:
            raise OperatorError(
                f"the agent of node {settings.name} cannot go on: this is a defect, described in"
                f" {settings.data_dir / logs.FILE}; start it again, its pods go on meanwhile"
            ) from self._broken

    async def _endpoint(self) -> NodeEndpoint | None:
        """Where the plane can ask for logs and usage; None where the agent could not know that it is the plane."""
        settings = self._settings
        self._announced: dict[str, str] = {}
        if not settings.connection.ca:
            log.warning("node %s tells no logs and no usage: that needs --ca-file", settings.name)
            return None
        endpoint = NodeEndpoint(settings.connection.ca, self._clock)
        self._announced = await endpoint.listen(settings.address, settings.endpoint_port, settings.data_dir)
        return endpoint

    async def _end_pods(self, driver: AgentDriver) -> None:
        deadline = self._clock() + self._settings.stop_seconds
        driver.leave()
        while not driver.agent.empty and self._clock() < deadline:
            await asyncio.sleep(_EMPTY_SECONDS)
        if not driver.agent.empty:
            log.warning(
                "some pods of node %s have not ended in time: their supervisors end them", self._settings.name
            )

    def _leave_pods(self) -> None:
        self._stop_pods = False
        self._leaving.set()

    def _look_at_directory(self, driver: AgentDriver) -> None:
        """Without its lock a second agent may work there: the two would undo each other's writes for ever."""
        directory = self._settings.data_dir
        if not node_locks.is_held(directory, self._lock):
            self._removed = True
            self._leaving.set()
            return
        disk = machine_facts.disk(directory, self._clock())
        if disk is not None:
            driver.tell(disk)
        asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look_at_directory, driver)

    def _stepped(self, driver: AgentDriver, step: ClockStep) -> None:
        driver.tell(Stepped(step.ahead_seconds, f"node {self._settings.name}: {step}", self._clock()))

    def _failed(self, error: BaseException) -> None:
        log.error("the agent failed", exc_info=error)
        self._broken = error
        self._leaving.set()

    def _give_up(self) -> None:
        settings = self._settings
        log.warning("no server for %g s: node %s leaves", settings.leave_after_seconds, settings.name)
        self._leaving.set()

    def _noticed(self, trouble: str) -> None:
        """Say what stands between us and the server: at once, then now and then, and when it is over."""
        now = self._clock()
        if not trouble and self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        elif trouble and self._giving_up is None and self._settings.leave_after_seconds:
            loop = asyncio.get_running_loop()
            self._giving_up = loop.call_later(self._settings.leave_after_seconds, self._give_up)
        if trouble and now - self._told_at >= _SAY_AGAIN_SECONDS:
            self._told_at = now
            self._said_trouble = True
            log.warning("node %s: %s; trying again", self._settings.name, trouble)
        elif not trouble and self._said_trouble:
            self._said_trouble = False
            self._told_at = 0.0
            log.warning("node %s: %s answers again", self._settings.name, self._settings.connection.server)


def node_settings(
    settings: AgentSettings,
    annotations: dict[str, str] | None = None,
    isolation: Isolation | None = None,
) -> NodeSettings:
    info = machine_facts.node_info()
    capacity = {"cpu": machine_facts.cpus(), "memory": machine_facts.memory(), "pods": "110"}
    capacity |= settings.capacity
    labels = {
        HOSTNAME: settings.name,
        DRIVER: "process",
        "kubernetes.io/os": info["operatingSystem"],
        "kubernetes.io/arch": info["architecture"],
        **settings.labels,
        **(isolation_labels(isolation) if isolation is not None else {}),
    }
    return NodeSettings(
        name=settings.name,
        labels=labels,
        capacity=capacity,
        allocatable=capacity,
        annotations=annotations or {},
        info=info,
        lease_seconds=settings.lease_seconds,
        renew_seconds=settings.renew_seconds,
        fence_margin_seconds=min(_FENCE_MARGIN_SECONDS, settings.lease_seconds / 5),
        boot=os.urandom(8).hex(),
        instance=machine_facts.instance(settings.data_dir),
        place=f"{os.uname().nodename}, {settings.data_dir.resolve()}",
        user=os.geteuid(),
        isolation=isolation or Isolation(),
    )
