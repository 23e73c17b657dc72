"""The process driver: pods as processes of this machine, each under a supervisor that outlives the agent.

    runtime/node/driver.py ──instruction──> ProcessDriver ──> PodDriver (`pod.py`), one per pod on this machine
                           <──── tell ─────

Instructions for one pod are carried out one after the other, those for different pods side by side; a new deadline
overtakes them all. `logs`, `usage` and `limits` are for the node's own endpoint and status. Clock: the agent's,
seconds since the epoch as boot time plus a fixed offset.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from fairlead.agent.contract import (
    Close,
    Closed,
    Extend,
    Failed,
    Found,
    Isolation,
    LiftDeadline,
    Open,
    PodEvent,
    PodInstruction,
    Probe,
    Probed,
    Refresh,
    Start,
    Stop,
)
from fairlead.agent.drivers import limits, logs, procfs
from fairlead.agent.drivers.directories import remove_directory, tidy
from fairlead.agent.drivers.isolating import find_isolation
from fairlead.agent.drivers.pod import PodDriver
from fairlead.agent.drivers.probing import look
from fairlead.agent.drivers.sandboxes import listed
from fairlead.agent.drivers.this_machine import ThisMachine
from fairlead.agent.drivers.usage import Usage, usage

#: bound: processes | supervisors asked at a time at a start | they wait
ATTACHING_MAX = 32  # supervisors asked at a time when the agent starts
#: bound: processes | probes over the network at a time | they wait
PROBES_MAX = 256  # at a time, over the network


class ProcessDriver:
    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float],
        tell: Callable[[PodEvent], None],
        isolation: Isolation | None = None,
        hidden: tuple[Path, ...] = (),
    ) -> None:
        """`isolation`: what keeps pods apart here; None: it finds out. `hidden`: what pods do not see besides its
        directory, where they have files of their own."""
        self._directory = directory.absolute()  # mounts are links to what is in there
        self._isolation = isolation
        self._hidden = hidden
        self._clock = clock
        self._tell = tell
        self._pods: dict[str, PodDriver] = {}
        self._probes: set[asyncio.Task[None]] = set()
        self._probing = asyncio.Semaphore(PROBES_MAX)
        self._deadline = 0.0

    @property
    def limits(self) -> str:
        """What holds pods to their limits on this machine, for people."""
        return limits.describe(self._machine.cgroups)

    async def start(self) -> Found:
        """Find what runs. OSError if the directory cannot be used."""
        parent = self._directory / "pods"
        for path in (self._directory, parent):
            path.mkdir(mode=0o711, parents=True, exist_ok=True)
        if self._isolation is None:
            self._isolation = await asyncio.to_thread(find_isolation)
        hidden = (self._directory, *self._hidden)
        self._machine = ThisMachine(parent, self._clock, self._heard, self._isolation, hidden)
        whole, damaged = await asyncio.to_thread(tidy, parent)
        if damaged and not await asyncio.to_thread(self._machine.strays, damaged):
            for uid in damaged:
                await asyncio.to_thread(remove_directory, parent, uid)
        await asyncio.to_thread(self._machine.end_forgotten, frozenset(whole))
        for uid in whole:
            self._pods[uid] = PodDriver(self._machine, uid)
        attaching = asyncio.Semaphore(ATTACHING_MAX)

        async def attach(pod: PodDriver) -> bool:
            async with attaching:
                return await pod.attach()

        pods = list(self._pods.values())
        lost = [
            pod
            for pod, found in zip(pods, await asyncio.gather(*map(attach, pods)), strict=True)
            if not found
        ]
        if lost:
            await self._settle(lost)
        return Found(tuple(pod.sandbox() for pod in self._pods.values()), self._clock())

    async def _settle(self, lost: list[PodDriver]) -> None:
        """Nothing of a pod without a supervisor runs when it is reported."""
        uids = [pod.uid for pod in lost]
        while left := await asyncio.to_thread(self._machine.strays, uids):
            for uid, pids in left.items():
                message = f"its supervisor is gone, and processes {listed(pids)} cannot be killed"
                self._tell(Failed(uid, "Stop", message, self._clock()))
        for pod in lost:
            await asyncio.to_thread(pod.take_down)

    def carry_out(self, instruction: PodInstruction) -> None:
        """Returns at once; what comes of it is told."""
        if isinstance(instruction, Extend):
            self._deadline = max(self._deadline, instruction.deadline)
            for pod in self._pods.values():
                pod.extend(self._deadline)
        elif isinstance(instruction, LiftDeadline):
            if instruction.uid in self._pods:
                self._pods[instruction.uid].lift_deadline()
        elif isinstance(instruction, Probe):
            self._probe(instruction)
        else:
            self._give(instruction)

    def _give(self, instruction: Open | Start | Stop | Refresh | Close) -> None:
        uid, what = instruction.uid, type(instruction).__name__
        pod = self._pods.get(uid)
        if pod is None and isinstance(instruction, Stop | Close):
            self._tell(Closed(uid, self._clock()))
            return
        try:
            if pod is None and not isinstance(instruction, Open):
                raise ValueError("the pod is not open on this machine")
            if pod is None:
                pod = self._pods[uid] = PodDriver(self._machine, uid)
                pod.deadline = self._deadline
        except ValueError as error:
            self._tell(Failed(uid, what, str(error), self._clock()))
            return
        pod.put(instruction)

    def _heard(self, event: PodEvent) -> None:
        if isinstance(event, Closed):
            del self._pods[event.uid]
        self._tell(event)

    def _probe(self, probe: Probe) -> None:
        if "exec" in probe.action:
            pod = self._pods.get(probe.uid)
            if pod is None:
                self._tell(Probed(probe.number, False, "the pod is not open on this machine", self._clock()))
            else:
                pod.contact.probe(probe)
            return
        task = asyncio.create_task(self._look(probe), name=f"probe {probe.number}")
        self._probes.add(task)
        task.add_done_callback(self._probes.discard)

    async def _look(self, probe: Probe) -> None:
        async with self._probing:
            good, message = await look(probe.action, probe.timeout_seconds)
        self._tell(Probed(probe.number, good, message, self._clock()))

    def logs(self, uid: str, container: str, wanted: logs.LogOptions) -> AsyncIterator[bytes]:
        """What a container printed, in pieces. LookupError if there is nothing to read."""
        pod = self._pods.get(uid)
        if pod is None or not pod.directory.exists:
            raise LookupError(f"pod {uid} is not on this machine")
        directory = pod.directory.log_directory(container)
        return logs.read(
            lambda: pod.directory.open(directory), wanted, lambda attempt: pod.runs(container, attempt)
        )

    async def usage(self) -> dict[str, dict[str, Usage]]:
        """What every container that runs uses now, by the uid of its pod."""
        return await asyncio.to_thread(self._usage, {uid: pod.running() for uid, pod in self._pods.items()})

    def _usage(self, running: dict[str, list[str]]) -> dict[str, dict[str, Usage]]:
        tagged = procfs.find_tagged() if self._machine.cgroups is None else {}
        used: dict[str, dict[str, Usage]] = {}
        for uid, names in running.items():
            for name in names:
                groups = limits.directories(self._machine.cgroups_of(uid), uid, name)
                pids = limits.members(groups) or {
                    pid
                    for pid in tagged.get(uid, ())
                    if procfs.environment_value(pid, procfs.CONTAINER_TAG) == name
                }
                used.setdefault(uid, {})[name] = usage(groups, pids)
        return used

    async def close(self) -> None:
        """Leaves the supervisors running."""
        for task in self._probes:
            task.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)
        await asyncio.gather(*(pod.leave() for pod in self._pods.values()))
        self._pods.clear()
