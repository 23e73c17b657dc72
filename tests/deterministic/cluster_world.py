"""A whole small cluster on the deterministic loop: server with its plane, two agents with their drivers, supervisors.

    Deployment ──HTTP──> Server, PlaneDriver ──> Pods ──HTTP──> AgentDriver ──> ProcessDriver ──> Supervisors ──> Kernel

All of it is production's. In the middle the server is killed and started again on its journal, and an agent too; the
Deployment comes up and stays up, its containers run once each, and are all gone when it is scaled to nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.agent.contract import NodeSettings
from fairlead.agent.drivers.process import ProcessDriver
from fairlead.agent.machine import Agent
from fairlead.core import codec
from fairlead.model.marks import DRIVER, HOSTNAME
from fairlead.port.outcome import Done
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.node.driver import AgentDriver
from tests.deterministic.kernel import Kernel, KernelFaults
from tests.deterministic.loop import PROCESS, START, DeterministicLoop
from tests.deterministic.network import Network, NetworkFaults
from tests.deterministic.process_world import BARE
from tests.deterministic.server import ServerProcess, chance_for_entropy, remote

REPLICAS = 3
FAULTS = NetworkFaults(cut=0.1, half_closed=0.05, slow=0.05)
_DEPLOYMENTS = ("apps", "v1", "deployments", "default")
_PATIENCE_SECONDS = 300.0


@dataclass(slots=True)
class Outcome:
    problems: list[str] = field(default_factory=list)
    launches: list[tuple[str, str, str]] = field(default_factory=list)
    failed: list[BaseException] = field(default_factory=list)
    came_up_after: float = 0.0
    digest: str = ""


class Node:
    """An agent as `runtime/node/process.py` joins it, without signals, endpoint and proxy."""

    def __init__(self, loop: DeterministicLoop, name: str, directory: Path, outcome: Outcome) -> None:
        self.name, self._loop, self._directory, self._outcome = name, loop, directory, outcome
        self._life = 0

    async def start(self) -> None:
        """As a process of its own: what it begins, and the threads that it starts, are its."""
        await asyncio.create_task(self._start())

    async def _start(self) -> None:
        PROCESS.set(self.name)
        self._life += 1
        settings = NodeSettings(
            name=self.name,
            labels={HOSTNAME: self.name, DRIVER: "process"},
            boot=f"{self.name}-{self._life}",
            user=os.geteuid(),
            isolation=BARE,
        )
        self._client, api = remote(self._loop)
        wall, failed = self._loop.wall, self._outcome.failed.append
        self.driver = AgentDriver(Agent(settings), api, wall, lambda routes: None, failed)
        await self.driver.start(ProcessDriver(self._directory, wall, self.driver.tell, BARE))

    async def stop(self) -> None:
        """The pods stay with their supervisors."""
        await self.driver.stop()
        self._client.close()


async def cluster_world(loop: DeterministicLoop, directory: Path, faults: NetworkFaults = FAULTS) -> Outcome:
    outcome, kernel = Outcome(), Kernel(loop, KernelFaults())
    with chance_for_entropy(loop), kernel.installed():
        network = Network(loop)
        server = ServerProcess(network, controllers=True)
        await server.start()
        network.faults = faults
        nodes = [Node(loop, name, directory / name, outcome) for name in ("node-a", "node-b")]
        for node in nodes:
            await node.start()
        trouble = asyncio.create_task(_trouble(loop, server, kernel, nodes[0]))
        client, api = remote(loop)
        await _insist(api, Request("create", *_DEPLOYMENTS, body=codec.encode(_deployment())))
        await trouble
        network.heal()
        await _until(
            loop, outcome, lambda: _ready(server) == REPLICAS and _run(kernel) == REPLICAS, "it comes up"
        )
        outcome.came_up_after = loop.time() - START
        await _insist(api, _scaled(0))
        await _until(loop, outcome, lambda: not _pods(server) and _run(kernel) == 0, "all of it goes")
        outcome.digest = loop.digest
        for node in nodes:
            await node.stop()
        client.close()
        await server.stop()
    outcome.launches = kernel.launches
    outcome.problems += [
        f"launched twice: {each}" for each in kernel.launches if kernel.launches.count(each) > 1
    ]
    outcome.problems += [f"a driver failed: {error!r}" for error in outcome.failed]
    return outcome


async def _trouble(loop: DeterministicLoop, server: ServerProcess, kernel: Kernel, node: Node) -> None:
    """Server and agent are killed at moments of their own, and come back."""
    chance = loop.chance.stream("trouble")
    await asyncio.sleep(chance.choose(6000) / 1000)
    await server.crash()
    await asyncio.sleep(chance.choose(3000) / 1000)
    await server.start()
    await asyncio.sleep(chance.choose(4000) / 1000)
    kernel.agent_died(node.name)
    await node.stop()
    await asyncio.sleep(chance.choose(3000) / 1000)
    await node.start()


async def _insist(api: Any, request: Request) -> None:
    """As people do: until the server has taken it."""
    while True:
        outcome = await api.ask(request)
        if isinstance(outcome, Done) or getattr(outcome, "reason", "") == "AlreadyExists":
            return
        await asyncio.sleep(0.5)


async def _until(loop: DeterministicLoop, outcome: Outcome, holds: Callable[[], bool], what: str) -> None:
    deadline = loop.time() + _PATIENCE_SECONDS
    while not holds():
        if loop.time() > deadline:
            outcome.problems.append(f"it does not happen that {what}")
            return
        await asyncio.sleep(0.5)


def _pods(server: ServerProcess) -> list[Any]:
    return [codec.decode(entry.data) for entry in server.store.list("pods")]


def _ready(server: ServerProcess) -> int:
    conditions = [pod.get("status", {}).get("conditions") or [] for pod in _pods(server)]
    return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in each) for each in conditions)


def _run(kernel: Kernel) -> int:
    return sum(1 for each in kernel._living() if each.tag[1])


def _deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": "web:1",
        "command": ["web"],
        "resources": {"requests": {"cpu": "100m"}},
    }
    pod = {"containers": [container], "terminationGracePeriodSeconds": 2}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": REPLICAS, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }  # fmt: skip


def _scaled(replicas: int) -> Request:
    body = codec.encode({"spec": {"replicas": replicas}})
    return Request("patch", *_DEPLOYMENTS, "web", body=body, content_type=MERGE_PATCH)
