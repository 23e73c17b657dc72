"""What joins a node's machine with its surroundings: order of events, deadlines, and the end after a failure.

The machine is the real one; the processes only remember what they were asked, and the server is away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.agent import contract
from fairlead.agent.contract import AgentEvent, Extend, Found, NodeSettings, Sandbox, Saw
from fairlead.agent.machine import Agent
from fairlead.port.driving import ListAll
from fairlead.runtime.node.driver import AgentDriver
from fairlead.runtime.remote.api import Remote
from fairlead.wire.client import Address, HttpClient

NOW = 1000.0


class Processes:
    """Starts when it is let; tells at once whatever `answer` makes of an instruction."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.may_start = asyncio.Event()
        self.closed = False

    async def start(self) -> Found:
        await self.may_start.wait()
        return Found((), NOW)

    def carry_out(self, instruction: Any) -> None:
        self.asked.append(instruction)

    async def close(self) -> None:
        self.closed = True


class Clumsy(Agent):
    """Stumbles over a sandbox named so."""

    seen: list[str]

    def handle(self, event: AgentEvent) -> tuple[Any, ...]:
        if not isinstance(event, Saw):
            return super().handle(event)
        self.seen.append(event.sandbox.name)
        if event.sandbox.name == "stone":
            raise LookupError("stumbled")
        return ()


def made(
    failed: Callable[[BaseException], None] = lambda error: None,
) -> tuple[AgentDriver, Clumsy, HttpClient]:
    agent = Clumsy(NodeSettings("n1"))
    agent.seen = []
    client = HttpClient(Address("127.0.0.1", 1, None))
    remote = Remote(client, "", lambda: "", lambda: NOW)
    return AgentDriver(agent, remote, lambda: NOW, lambda given: None, failed), agent, client


async def turns() -> None:
    """Many turns of the loop, however long they take."""
    for _ in range(200):
        await asyncio.sleep(0)


def saw(name: str) -> Saw:
    return Saw(Sandbox("u", "default", name), NOW)


def test_a_machine_that_failed_is_asked_nothing_more_and_that_is_said_once() -> None:
    async def run() -> None:
        errors: list[BaseException] = []
        driver, agent, client = made(errors.append)
        processes = Processes()
        processes.may_start.set()
        await driver.start(processes)
        for name in ("a", "stone", "b"):
            driver.tell(saw(name))
        await turns()
        driver.tell(saw("c"))
        await turns()
        assert agent.seen == ["a", "stone"]
        assert [str(error) for error in errors] == ["stumbled"]
        await driver.stop()
        assert processes.closed
        client.close()

    asyncio.run(run())


def test_a_deadline_that_came_while_pods_were_looked_for_is_told_to_those_found() -> None:
    async def run() -> None:
        driver, _, client = made()
        processes = Processes()
        starting = asyncio.create_task(driver.start(processes))
        await turns()
        driver._carry_out((Extend(NOW + 30),))
        processes.may_start.set()
        await starting
        assert processes.asked[:2] == [Extend(NOW + 30), Extend(NOW + 30)]
        await driver.stop()
        client.close()

    asyncio.run(run())


def test_the_server_is_asked_before_the_machine_has_been_looked_over() -> None:
    async def run() -> None:
        driver, agent, client = made()
        lists: list[ListAll] = []
        handle = agent.handle

        def watched(event: AgentEvent) -> tuple[Any, ...]:
            instructions = handle(event)
            lists.extend(each for each in instructions if isinstance(each, ListAll))
            return instructions

        agent.handle = watched  # type: ignore[method-assign]
        processes = Processes()
        starting = asyncio.create_task(driver.start(processes))
        await turns()
        assert {each.resource_name for each in lists} == set(agent.mirrors)
        opened = [each for each in processes.asked if isinstance(each, contract.Open | contract.Close)]
        assert opened == []
        processes.may_start.set()
        await starting
        await driver.stop()
        client.close()

    asyncio.run(run())
