"""A machine with a process driver on it, for tests with real processes and no API server.

Tests call a pod "a"; its uid is unique on this computer, because processes are found by it and tests run side by side.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fairlead.agent.contract import (
    Close,
    Closed,
    ContainerRun,
    ContainerState,
    Failed,
    Found,
    Open,
    Probed,
    Sandbox,
    Saw,
    Start,
    Volume,
)
from fairlead.agent.drivers import procfs
from fairlead.agent.drivers.logs import LogOptions
from fairlead.agent.drivers.process import ProcessDriver
from tests.e2e.testimony import is_locked

WITNESS = Path(__file__).parent / "witness.py"
BOUND_SECONDS = 120.0
_OFFSET = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) + _OFFSET


class Machine:
    """One data directory; drivers come and go."""

    def __init__(self, directory: Path, same_pods: Machine | None = None) -> None:
        """`same_pods`: uids are those of another one."""
        self.directory = directory
        self._unique: str = secrets.token_hex(6) if same_pods is None else same_pods._unique
        self.opened: set[str] = set()
        self.events: list[Any] = []
        self.when_told: Callable[[Any], None] = lambda event: None
        self.driver: ProcessDriver | None = None

    async def __aenter__(self) -> Machine:
        await self.come()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.driver is None:
            await self.come()
        try:
            for name in self.opened:
                self.do(Close(name))
            await self.until(
                lambda: all(self.is_closed(name) for name in self.opened), "everything is closed"
            )
        finally:
            await self.go()
            # So that a test that fails leaves nothing behind.
            procfs.end_strays(map(self.uid, self.opened), lambda uid: ())

    def uid(self, pod: str) -> str:
        return f"{pod}-{self._unique}"

    def pod(self, pod: str) -> Path:
        return self.directory / "pods" / self.uid(pod)

    async def come(self) -> Found:
        self.driver = ProcessDriver(self.directory, clock, self._tell)
        found = await self.driver.start()
        self.events.append(found)
        return found

    async def go(self) -> None:
        if self.driver is not None:
            await self.driver.close()
            self.driver = None

    def _tell(self, event: Any) -> None:
        self.events.append(event)
        self.when_told(event)

    def do(self, instruction: Any) -> None:
        assert self.driver is not None
        if hasattr(instruction, "uid"):
            instruction = msgspec.structs.replace(instruction, uid=self.uid(instruction.uid))
        self.driver.carry_out(instruction)

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        end = time.monotonic() + BOUND_SECONDS
        while not (result := condition()):
            assert time.monotonic() < end, f"not seen: {what}; the last events: {self.events[-3:]}"
            await asyncio.sleep(0.01)
        return result

    # Shorthands

    async def open(self, uid: str, *volumes: Volume, deadline: float | None = None, **more: Any) -> Sandbox:
        self.opened.add(uid)
        before = len(self.events)
        self.do(
            Open(
                uid=uid,
                namespace="default",
                name=f"pod-{uid}",
                address="127.128.0.1",
                volumes=volumes,
                deadline=clock() + 600 if deadline is None else deadline,
                **more,
            )
        )
        await self.until(
            lambda: any(
                isinstance(event, Saw) and event.sandbox.uid == self.uid(uid)
                for event in self.events[before:]
            ),
            "opened",
        )
        return self.sandbox(uid)

    def start(self, uid: str, *argv: str, attempt: int = 0, name: str = "main", **more: Any) -> None:
        self.do(Start(uid, ContainerRun(name, attempt, argv, more.pop("environment", ()), **more)))

    async def witness(
        self, uid: str, file: Path, *options: str, attempt: int = 0, **more: Any
    ) -> ContainerState:
        """Start one and wait until it runs in earnest."""
        starts = lines(file).count("start main")
        self.start(
            uid, sys.executable, "-I", "-S", str(WITNESS), str(file), *options, attempt=attempt, **more
        )
        wanted = 3 if "children" in options else 1
        total = sum(1 for line in lines(file) if line.startswith("start"))
        await self.until(lambda: lines(file).count("start main") > starts, "its start")
        await self.until(
            lambda: sum(1 for line in lines(file) if line.startswith("start")) >= total + wanted,
            "all its starts",
        )
        return await self.running(uid, attempt, more.get("name", "main"))

    async def running(self, uid: str, attempt: int = 0, name: str = "main") -> ContainerState:
        def look() -> ContainerState | None:
            state = self.container(uid, name)
            return state if state and state.attempt == attempt and state.pid and state.ended is None else None

        state: ContainerState = await self.until(look, f"run {attempt} of {name} running")
        return state

    async def ended(self, uid: str, attempt: int = 0, name: str = "main") -> Any:
        def look() -> Any:
            state = self.container(uid, name)
            return state.ended if state and state.attempt == attempt else None

        return await self.until(look, f"the end of run {attempt} of {name}")

    def sandbox(self, uid: str) -> Sandbox:
        for event in reversed(self.events):
            if isinstance(event, Saw) and event.sandbox.uid == self.uid(uid):
                return event.sandbox
            if isinstance(event, Found):
                return next(each for each in event.sandboxes if each.uid == self.uid(uid))
        raise AssertionError(f"nothing was ever told of {uid}")

    def container(self, uid: str, name: str = "main") -> ContainerState | None:
        return next((each for each in self.sandbox(uid).containers if each.name == name), None)

    def is_closed(self, uid: str) -> bool:
        return any(isinstance(event, Closed) and event.uid == self.uid(uid) for event in self.events)

    def failures(self, what: str) -> list[Failed]:
        return [event for event in self.events if isinstance(event, Failed) and event.what == what]

    async def probed(self, number: int) -> Probed:
        await self.until(lambda: self._probed(number), f"probe {number}")
        (answer,) = self._probed(number)
        return answer

    def _probed(self, number: int) -> list[Probed]:
        return [event for event in self.events if isinstance(event, Probed) and event.number == number]

    async def log(self, uid: str, name: str = "main", **wanted: Any) -> str:
        assert self.driver is not None
        return b"".join(
            [piece async for piece in self.driver.logs(self.uid(uid), name, LogOptions(**wanted))]
        ).decode()

    def supervisor(self, uid: str) -> int:
        """Its pid, from /proc: the process of the pod that belongs to no container."""
        pids = procfs.find_tagged().get(self.uid(uid), ())
        (pid,) = [pid for pid in pids if not procfs.environment_value(pid, procfs.CONTAINER_TAG)]
        return pid


def lines(file: Path) -> list[str]:
    """What witnesses wrote, without their pids."""
    return [line.rpartition(" ")[0] for line in file.read_text().splitlines()] if file.exists() else []


def nobody_left(file: Path) -> bool:
    """Nobody holds a lock, and nobody who ever started is alive; and nobody ran twice."""
    assert not [line for line in lines(file) if line.startswith("twice")]
    if any(map(is_locked, file.parent.glob(f"{file.name}.*"))):
        return False
    pids = [
        int(line.rpartition(" ")[2]) for line in file.read_text().splitlines() if line.startswith("start")
    ]
    return not any(str(WITNESS).encode() in command_line(pid) for pid in pids)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
