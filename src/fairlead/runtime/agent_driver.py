"""Drives one node's agent: joins the pure machine with the API server, real processes, the proxy, and time.

    remote.py ── mirrors, answers ──>            ── Ask ──────────────────────> remote.py
    drivers/process.py ── Saw ... ──>  Agent  ── Open, Start, Stop ... ──> drivers/process.py
    the loop ── time ─────────────────>            ── Serve ──────────────────> service_proxy.py

`agent_process.py` makes the parts and calls `start` and `stop`. Whatever is told is queued and handed over in one
turn of the loop: a part may tell something while it is being asked.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol

from fairlead.agent import contract
from fairlead.agent.machine import Agent
from fairlead.cache import events as mirrored
from fairlead.runtime.remote import Remote

log = logging.getLogger("fairlead.agent")

_EVENTS_PER_TURN = 256


class Processes(Protocol):
    """What a driver of pods can do; `agent/drivers/process.py` is one. It tells through what it was made with."""

    async def start(self) -> contract.Found: ...

    def carry_out(self, instruction: Any) -> None: ...

    async def close(self) -> None: ...


class AgentDriver:
    """`serve` is given the routes, `keep` what is to be on the machine for the next agent. `failed` hears of an error
    that leaves the agent in no known state."""

    def __init__(
        self,
        agent: Agent,
        remote: Remote,
        clock: Callable[[], float],
        serve: Callable[[contract.Serve], None],
        failed: Callable[[BaseException], None],
        keep: Callable[[contract.Keep], None] = lambda given: None,
    ) -> None:
        self.agent = agent
        self._remote = remote
        self._clock = clock
        self._serve = serve
        self._failed = failed
        self._keep = keep
        self._processes: Processes | None = None
        self._loop = asyncio.get_running_loop()
        self._chance = random.Random()
        self._told: deque[Any] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._attended: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._mirror_timers: dict[str, asyncio.TimerHandle] = {}
        self._extended: contract.Extend | None = None
        self._stopped = False

    async def start(self, processes: Processes, kept: Iterable[contract.Keep] = ()) -> None:
        """The server hears of us while we look what runs here: neither needs the other. `kept`: by the last agent."""
        self._processes = processes
        self._carry_out(self.agent.begin(self._clock(), self._chance.random(), kept))
        found = await processes.start()
        if self._extended is not None:  # renewed meanwhile: those that were just found have not heard it
            processes.carry_out(self._extended)
        self.tell(found)

    def leave(self) -> None:
        """End all pods; `agent.empty` says when none is left."""
        self._carry_out(self.agent.leave(self._clock()))

    async def stop(self) -> None:
        """Pods stay with their supervisors."""
        self._stopped = True
        for timer in (self._timer, *self._mirror_timers.values()):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._processes is not None:
            await self._processes.close()

    # Told

    def tell(self, event: Any) -> None:
        """Of the driver of pods: Found, Saw, Closed, Failed, Probed. And what this one finds out itself."""
        self._told.append(event)
        if len(self._told) == 1:
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        if self._stopped:
            return
        instructions: list[Any] = []
        for _ in range(min(_EVENTS_PER_TURN, len(self._told))):
            instructions += self._handled(self._told[0])
            if self._stopped:
                return
            self._told.popleft()
        if self._told:
            self._loop.call_soon(self._hand_over)
        self._carry_out(instructions)

    def _handled(self, event: Any) -> Iterable[Any]:
        agent = self.agent
        try:
            match event:
                case contract.Saw():
                    return agent.saw(event)
                case contract.Answered():
                    return agent.answered(event)
                case (resource, events):
                    return agent.mirror(resource, *events)
                case contract.Probed():
                    return agent.probed(event)
                case contract.Stirred():
                    return agent.stirred(event)
                case contract.Woke():
                    return agent.woke(event)
                case contract.Closed():
                    return agent.closed(event)
                case contract.Failed():
                    return agent.failed(event)
                case contract.Found():
                    return agent.found(event)
                case contract.Disk():
                    return agent.measured(event)
                case contract.Stepped():
                    return agent.stepped(event)
        except Exception as error:  # noqa: BLE001 - a machine that failed half-way must not be asked again
            self._stopped = True
            self._failed(error)
        return ()

    # Carrying out

    def _carry_out(self, instructions: Iterable[Any]) -> None:
        assert self._processes is not None
        for instruction in instructions:
            match instruction:
                case contract.Ask():
                    self._do(self._ask(instruction))
                case contract.Attend(resource, namespace, name):
                    self._disregard((resource, namespace, name))
                    self._attended[resource, namespace, name] = self._do(self._attend(instruction))
                case contract.Disregard(resource, namespace, name):
                    self._disregard((resource, namespace, name))
                case contract.WakeAt(at):
                    if self._timer is not None:
                        self._timer.cancel()
                    self._timer = self._loop.call_later(self._until(at), self._woke)
                case contract.MirrorWakeAt(resource, at):
                    self._wake_mirror(resource, at)
                case mirrored.ListAll(resource, attempt):
                    self._do(self._list(resource, attempt))
                case mirrored.Follow(resource, since, attempt):
                    self._do(self._follow(resource, since, attempt))
                case contract.Serve():
                    self._serve(instruction)
                case contract.Keep():
                    self._keep(instruction)
                case contract.Log(message):
                    log.warning("%s", message)
                case contract.Extend():
                    self._extended = instruction
                    self._processes.carry_out(instruction)
                case _:
                    self._processes.carry_out(instruction)

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._stopped:
            self._stopped = True
            self._failed(error)

    async def _ask(self, ask: contract.Ask) -> None:
        outcome = await self._remote.ask(ask.request)
        self.tell(contract.Answered(ask.call, outcome, self._clock()))

    async def _attend(self, given: contract.Attend) -> None:
        place = (given.resource, given.namespace, given.name)

        def tell(revision: int) -> None:
            self.tell(contract.Stirred(*place, revision, self._clock()))

        await self._remote.attend(*place, tell)
        tell(0)

    def _disregard(self, place: tuple[str, str, str]) -> None:
        task = self._attended.pop(place, None)
        if task is not None:
            task.cancel()

    async def _list(self, resource: str, attempt: int) -> None:
        kind, selector = self.agent.mirrors[resource].resource, self.agent.selectors.get(resource, "")
        self.tell((resource, (await self._remote.list_all(kind, selector, attempt),)))

    async def _follow(self, resource: str, since: int, attempt: int) -> None:
        kind, selector = self.agent.mirrors[resource].resource, self.agent.selectors.get(resource, "")
        told = partial(self._mirrored, resource)
        await self._remote.follow(kind, selector, since, attempt, told)

    def _mirrored(self, resource: str, events: Iterable[mirrored.Event]) -> None:
        told = tuple(events)
        if told:
            self.tell((resource, told))

    def _until(self, at: float) -> float:
        return max(0.0, at - self._clock())

    def _woke(self) -> None:
        self.tell(contract.Woke(self._clock(), self._chance.random()))

    def _wake_mirror(self, resource: str, at: float) -> None:
        if resource in self._mirror_timers:
            self._mirror_timers[resource].cancel()
        self._mirror_timers[resource] = self._loop.call_later(self._until(at), self._woke_mirror, resource)

    def _woke_mirror(self, resource: str) -> None:
        self.tell((resource, (mirrored.Woke(self._clock(), self._chance.random()),)))
