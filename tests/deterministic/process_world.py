"""The process driver and its supervisors on a simulated machine: pods that come and go while everything may die.

`agent/drivers/process.py`, `pod.py`, `contact.py`, `supervisor_link.py`, `supervising.py` and `containers.py` are
production's, on real directories and sockets; `kernel.py` is below them. `Carer` stands where the agent would: it asks
again after a failure, and believes what it is told. What it is told is compared with the kernel at that instant.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.agent import contract as c
from fairlead.agent.drivers.process import ProcessDriver
from tests.deterministic.kernel import Kernel, KernelFaults
from tests.deterministic.loop import DeterministicLoop

FAULTS = KernelFaults(no_process=0.08, no_command=0.06, deaf=0.2, forks=0.3, stuck=0.06)
PODS = 3
_PATIENCE_SECONDS = 90.0
_SLACK_SECONDS = 0.2
BARE = c.Isolation(
    mounts=False, users=False, processes=False, pids=False, user=os.geteuid(), group=os.getegid()
)


@dataclass(slots=True)
class Account:
    problems: list[str] = field(default_factory=list)
    launches: list[tuple[str, str, str]] = field(default_factory=list)
    events: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    digest: str = ""


class Carer:
    """One agent's life after the other, and what it was told of each pod."""

    def __init__(self, loop: DeterministicLoop, kernel: Kernel, directory: Path, account: Account) -> None:
        self.loop, self.kernel, self.account = loop, kernel, account
        self._directory = directory
        self.seen: dict[str, c.Sandbox | None] = {}  # None: closed
        self.failures: dict[str, list[c.Failed]] = {}
        self.probed: list[int] = []
        self._changed = asyncio.Event()
        self._up = False

    def ask(self, instruction: c.PodInstruction) -> None:
        """Nothing is asked of a driver before it has said what it found (`agent/contract.py`)."""
        if self._up:
            self.driver.carry_out(instruction)

    async def start(self) -> None:
        self.driver = ProcessDriver(self._directory, self.loop.wall, self._told, BARE)
        found = await self.driver.start()
        here = {sandbox.uid for sandbox in found.sandboxes}
        for sandbox in found.sandboxes:
            self._saw(sandbox)
        for uid in [each for each in self.seen if each not in here]:
            self.seen[uid] = None
        self._up = True

    async def crash(self) -> None:
        """As a kill: what is under way is not finished, and nobody says goodbye."""
        self._up = False
        self.kernel.agent_died()
        await self.driver.close()

    def _told(self, event: c.PodEvent) -> None:
        name = type(event).__name__
        self.account.events[name] = self.account.events.get(name, 0) + 1
        self.loop.note(name, _plain(event))
        match event:
            case c.Saw(sandbox):
                self._saw(sandbox)
            case c.Closed(uid):
                self.seen[uid] = None
                self._check(not self.kernel.alive(uid), f"{uid} is closed, and {self.kernel.alive(uid)} run")
                self._check(
                    not (self._directory / "pods" / uid).exists(), f"{uid} is closed, and its files are there"
                )
            case c.Failed(uid):
                self.failures.setdefault(uid, []).append(event)
            case c.Probed(number):
                self._check(number not in self.probed, f"probe {number} was answered twice")
                self.probed.append(number)
        self._changed.set()

    def _saw(self, sandbox: c.Sandbox) -> None:
        self.seen[sandbox.uid] = sandbox
        left = self.kernel.alive(sandbox.uid)
        self._check(sandbox.alive or not left, f"{sandbox.uid} is said to be gone, and {left} run")
        for each in sandbox.containers:
            told = (
                each.ended is not None or (sandbox.uid, each.name, str(each.attempt)) in self.kernel.launches
            )
            self._check(told or each.pid == 0, f"{sandbox.uid} is said to run what was never launched")

    def _check(self, holds: bool, problem: str) -> None:
        if not holds:
            self.account.problems.append(problem)

    async def until(self, holds: Callable[[], Any], what: str) -> bool:
        deadline = self.loop.time() + _PATIENCE_SECONDS
        while not holds():
            if self.loop.time() > deadline:
                self.account.problems.append(f"never came: {what}")
                return False
            self._changed.clear()
            with_timeout = asyncio.wait_for(self._changed.wait(), 1.0)
            await asyncio.gather(with_timeout, return_exceptions=True)
        return True


async def process_world(loop: DeterministicLoop, directory: Path, faults: KernelFaults = FAULTS) -> Account:
    account, kernel = Account(), Kernel(loop, faults)
    with kernel.installed():
        carer = Carer(loop, kernel, directory, account)
        await carer.start()
        troubling = asyncio.create_task(_trouble(loop, carer))
        await asyncio.gather(*[_pod(loop, carer, f"pod-{number}") for number in range(PODS)])
        troubling.cancel()
        await asyncio.gather(troubling, return_exceptions=True)
        await carer.driver.close()
    account.launches = kernel.launches
    again = {each for each in account.launches if account.launches.count(each) > 1}
    account.problems += [f"{each} was launched more than once" for each in sorted(again)]
    account.digest, account.faults = loop.digest, dict(loop.chance.fired)
    return account


async def _pod(loop: DeterministicLoop, carer: Carer, uid: str) -> None:
    """Opened, two containers started, restarted as they end, probed, stopped, closed: each asked until it is so."""
    chance = loop.chance.stream("pod", uid)
    bounded = chance.choose(3) == 2
    deadline = loop.wall() + 12.0 if bounded else None
    attempts = {"main": 0, "side": 0}
    until = loop.time() + 5.0 + chance.choose(20)
    while loop.time() < until:
        sandbox = carer.seen.get(uid)
        if sandbox is None or not sandbox.alive:
            if sandbox is not None and sandbox.fenced:
                break
            carer.ask(c.Open(uid, "default", uid, "127.1.0.1", (), deadline))
        else:
            _start_what_ended(carer, uid, sandbox, attempts)
            if chance.choose(3) == 0:
                number = 1 + len(carer.probed) + 1000 * chance.choose(1000)
                carer.ask(c.Probe(number, uid, "main", {"exec": {"command": ["true"]}}, 1.0))
        await asyncio.sleep(0.3 + chance.choose(900) / 1000)
        if bounded and loop.wall() > (deadline or 0.0) + _SLACK_SECONDS:
            left = carer.kernel.alive(uid)
            stuck = {pid for pid in left if carer.kernel.processes[pid].unkillable}
            if left - stuck:
                carer.account.problems.append(f"the deadline of {uid} is over, and {left} run")
            break
    if chance.choose(2):
        carer.ask(c.Stop(uid, "", float(chance.choose(3)), ()))
        await asyncio.sleep(chance.choose(2000) / 1000)

    def closed() -> bool:
        if carer.seen.get(uid) is not None or uid not in carer.seen:
            carer.ask(c.Close(uid))
        return uid in carer.seen and carer.seen[uid] is None

    await carer.until(closed, f"{uid} is closed; last: {carer.failures.get(uid, [])[-1:]}")


def _start_what_ended(carer: Carer, uid: str, sandbox: c.Sandbox, attempts: dict[str, int]) -> None:
    for name in attempts:
        state = next((each for each in sandbox.containers if each.name == name), None)
        if state is None or state.ended is not None:
            attempt = 0 if state is None else state.attempt + 1
            run = c.ContainerRun(name=name, attempt=attempt, argv=("sleep", "1"), environment=())
            carer.ask(c.Start(uid, run))


async def _trouble(loop: DeterministicLoop, carer: Carer) -> None:
    """Containers end, supervisors are killed, the agent dies and another takes its place."""
    chance, kernel = loop.chance.stream("trouble"), carer.kernel
    while True:
        await asyncio.sleep(0.2 + chance.choose(1500) / 1000)
        living = sorted(each.pid for each in kernel._living() if each.tag[1])
        match chance.choose(4):
            case 0 if living:
                kernel.exit(living[chance.choose(len(living))], chance.choose(3))
            case 1 if kernel.supervisors:
                loop.chance.count("supervisor.killed")
                kernel.kill(
                    sorted(kernel.supervisors)[chance.choose(len(kernel.supervisors))], signal.SIGKILL
                )
            case 2:
                loop.chance.count("agent.killed")
                await carer.crash()
                await asyncio.sleep(chance.choose(1000) / 1000)
                await carer.start()


def _plain(event: Any) -> str:
    """Without what differs between two machines."""
    sandbox = getattr(event, "sandbox", None)
    if sandbox is None:
        return f"{getattr(event, 'uid', '')} {getattr(event, 'what', '')}"
    runs = [(each.name, each.attempt, each.ended.reason if each.ended else "") for each in sandbox.containers]
    return f"{sandbox.uid} {sandbox.alive} {sandbox.fenced} {runs}"
