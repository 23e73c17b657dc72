"""Drives one node's agent: joins the pure machine with the API server, real processes, the proxy, and time.

    remote/api.py ── mirrors ... ───>            ── Ask ──────────────────────> remote/api.py
    drivers/process.py ── Saw ... ──>  Agent  ── Open, Start, Stop ... ──> drivers/process.py
    the loop ── time ─────────────────>            ── Serve ──────────────────> service_proxy.py

`process.py` makes the parts and calls `start` and `stop`. Events that a part tells while it is being asked are
handled after the one it was asked with (`runtime/driving.py`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, assert_never

from fairlead.agent import contract as c
from fairlead.agent.machine import Agent
from fairlead.cache.events import Mirrored, MirrorEvent
from fairlead.port.driving import Follow, ListAll, WakeAt
from fairlead.runtime.driving import Driver
from fairlead.runtime.remote.api import Remote
from fairlead.runtime.tracing.tracer import Tracer
from fairlead.wire.rated_log import RatedLog

log = logging.getLogger("fairlead.agent")

_HEARTBEATS = ("leases",)  # nobody looks for traces of them


class Processes(Protocol):
    """What a driver of pods can do; `agent/drivers/process.py` is one. It tells through what it was made with."""

    async def start(self) -> c.Found: ...

    def carry_out(self, instruction: c.PodInstruction) -> None: ...

    async def close(self) -> None: ...


class AgentDriver:
    """`serve` is given the routes, `keep` what is to be on the machine for the next agent. `failed` hears of an error
    that leaves the agent in no known state."""

    def __init__(
        self,
        agent: Agent,
        remote: Remote,
        clock: Callable[[], float],
        serve: Callable[[c.Serve], None],
        failed: Callable[[BaseException], None],
        keep: Callable[[c.Keep], None] = lambda given: None,
        tracer: Tracer | None = None,
    ) -> None:
        self.agent = agent
        self._tracer = tracer
        self._remote = remote
        self._clock = clock
        self._serve = serve
        self._keep = keep
        self._processes: Processes | None = None
        self._driver = Driver(asyncio.get_running_loop(), agent, self._carry_out, clock, failed)
        self._acts = RatedLog(log, "pods")
        self._attended: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._extended: c.Extend | None = None

    async def start(self, processes: Processes, kept: Iterable[c.Keep] = ()) -> None:
        """The server hears of us while we look what runs here: neither needs the other. `kept`: by the last agent."""
        self._processes = processes
        self.tell(c.Recalled(tuple(kept), self._clock()))
        self._driver.start()
        found = await processes.start()
        if self._extended is not None:  # renewed meanwhile: those that were just found have not heard it
            processes.carry_out(self._extended)
        self.tell(found)

    def leave(self) -> None:
        """End all pods; `agent.empty` says when none is left."""
        self.tell(c.ShutdownRequested(self._clock()))

    async def stop(self) -> None:
        """Pods stay with their supervisors."""
        await self._driver.stop()
        if self._processes is not None:
            await self._processes.close()

    def tell(self, event: c.AgentEvent) -> None:
        """Of the driver of pods: Found, Saw, Closed, Failed, Probed. And what this one finds out itself."""
        self._driver.tell(event)

    # Carrying out

    def _carry_out(self, instructions: tuple[c.AgentInstruction, ...]) -> None:
        assert self._processes is not None
        for instruction in instructions:
            match instruction:
                case c.Ask():
                    self._driver.do(self._ask(instruction))
                case c.Attend(resource, namespace, name):
                    self._disregard((resource, namespace, name))
                    self._attended[resource, namespace, name] = self._driver.do(self._attend(instruction))
                case c.Disregard(resource, namespace, name):
                    self._disregard((resource, namespace, name))
                case WakeAt():
                    self._driver.wake_at(instruction)
                case ListAll(resource, attempt):
                    self._driver.do(self._list(resource, attempt))
                case Follow(resource, since, attempt):
                    self._driver.do(self._follow(resource, since, attempt))
                case c.Serve():
                    self._serve(instruction)
                case c.Keep():
                    self._keep(instruction)
                case c.Log(message):
                    log.warning("%s", message)
                case c.Extend():
                    self._extended = instruction
                    self._processes.carry_out(instruction)
                case c.Open() | c.Start() | c.Stop() | c.Close():
                    self._tell_act(instruction)
                    self._processes.carry_out(instruction)
                case c.Refresh() | c.LiftDeadline() | c.Probe():
                    self._processes.carry_out(instruction)
                case _:
                    assert_never(instruction)

    def _tell_act(self, act: c.Open | c.Start | c.Stop | c.Close) -> None:
        """What is done to the processes of a pod, as a line of the log."""
        if not self._acts.has_room():
            return
        node, verb = self.agent.settings.name, type(act).__name__.lower()
        work = self.agent.works.get(act.uid)
        view = work.view if work is not None else None
        pod = f"pods/{view.metadata.namespace}/{view.metadata.name}" if view is not None else "pods"
        fields: dict[str, Any] = {"node": node, "uid": act.uid, "object": pod, "verb": verb}
        if isinstance(act, c.Start):
            fields |= {"container": act.run.name, "attempt": act.run.attempt}
        elif isinstance(act, c.Stop):
            fields |= {"container": act.container, "graceSeconds": act.grace_seconds}
        self._acts.write(f"node {node}: {verb} {pod}", fields)

    async def _ask(self, ask: c.Ask) -> None:
        tracer = self._tracer if ask.request.plural not in _HEARTBEATS else None
        if tracer is None:
            outcome = await self._remote.ask(ask.request)
        else:
            context, began = tracer.asking(), time.time_ns()
            outcome = await self._remote.ask(ask.request, context.traceparent)
            tracer.asked(context, ask.request, self.agent.settings.name, began, outcome)
        self.tell(c.Answered(ask.call, outcome, self._clock()))

    async def _attend(self, given: c.Attend) -> None:
        place = (given.resource, given.namespace, given.name)

        def tell(revision: int) -> None:
            self.tell(c.Stirred(*place, revision, self._clock()))

        await self._remote.attend(*place, tell)
        tell(0)

    def _disregard(self, place: tuple[str, str, str]) -> None:
        task = self._attended.pop(place, None)
        if task is not None:
            task.cancel()

    async def _list(self, resource: str, attempt: int) -> None:
        kind, selector = self.agent.mirrors[resource].resource, self.agent.selectors.get(resource, "")
        self._mirrored(resource, (await self._remote.list_all(kind, selector, attempt),))

    async def _follow(self, resource: str, since: int, attempt: int) -> None:
        kind, selector = self.agent.mirrors[resource].resource, self.agent.selectors.get(resource, "")
        await self._remote.follow(kind, selector, since, attempt, partial(self._mirrored, resource))

    def _mirrored(self, resource: str, events: Iterable[MirrorEvent]) -> None:
        mirrored = Mirrored(resource, tuple(events))
        if mirrored.events:
            self.tell(mirrored)
