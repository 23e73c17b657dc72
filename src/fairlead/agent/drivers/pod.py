"""One pod of this machine: what the driver does for it, one thing after the other.

    instruction ──> queue ──> PodDriver ──> directories.py, contact.py
    supervisor's line, its end ──┘ └──> tell: Saw, Closed, Failed, Probed

Made and owned by `process.py`. Before it says that a supervisor is gone, it has made sure that nothing of the pod
runs any more: strays are found by their environment and their cgroup, and killed.
"""

from __future__ import annotations

import asyncio
import os
import pwd
from collections import deque
from pathlib import Path
from typing import Any

from fairlead.agent.contract import (
    Close,
    Closed,
    ContainerRun,
    Failed,
    Open,
    Refresh,
    Sandbox,
    Saw,
    Start,
    Stop,
)
from fairlead.agent.drivers import limits, procfs
from fairlead.agent.drivers import state as states
from fairlead.agent.drivers.contact import Contact
from fairlead.agent.drivers.directories import PodDirectory, PodIdentity
from fairlead.agent.drivers.sandboxes import explain, listed, sandbox
from fairlead.agent.drivers.supervisor_link import SupervisorLink, reap, supervisor_runs
from fairlead.agent.drivers.this_machine import ThisMachine

QueuedInstruction = Open | Start | Stop | Refresh | Close
#: bound: processes | instructions that wait for one pod | the next one fails
WAITING_MAX = 256  # instructions for one pod
CLEAN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # nothing of the agent's own
NO_GROUP = 65534
_UNKILLABLE_SECONDS = 5.0


class _Gone:
    """A supervisor closed its connection, or does not answer (`hangs`)."""

    def __init__(self, link: SupervisorLink, hangs: bool) -> None:
        self.link = link
        self.hangs = hangs


class PodDriver:
    def __init__(self, machine: ThisMachine, uid: str) -> None:
        self.uid = uid
        self.directory = PodDirectory(machine.parent, uid)
        self.deadline = 0.0  # of the agent's clock
        self.closed = False
        self._machine = machine
        self._clock = machine.clock
        self._tell = machine.tell
        self._identity: PodIdentity | None = None
        self.contact = Contact(machine, uid, self._saw, self._gone)
        self._waiting: deque[QueuedInstruction | _Gone] = deque()
        self._more = asyncio.Event()
        self._work = asyncio.create_task(self._serve(), name=f"pod {uid}")

    # Told by the driver

    def put(self, instruction: QueuedInstruction) -> None:
        if len(self._waiting) >= WAITING_MAX:
            self._fail(instruction, f"{WAITING_MAX} instructions already wait for this pod")
            return
        self._waiting.append(instruction)
        self._more.set()

    def extend(self, deadline: float) -> None:
        """Does not wait for what else is under way."""
        self.deadline = max(self.deadline, deadline)
        self.contact.extend(self.deadline)

    def lift_deadline(self) -> None:
        self.contact.lift_deadline()

    async def leave(self) -> None:
        """The driver ends; the supervisor goes on."""
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)
        await self.contact.let_go()

    async def attach(self) -> bool:
        """Find the supervisor that runs already. False if there is none that answers."""
        return await self.contact.find(self.directory)

    def take_down(self) -> None:
        """After nothing of it runs any more: how it ended. Blocks for a moment."""
        if not self.directory.exists and self.contact.state is None:
            return
        try:
            directory = self.directory.open()
        except OSError:
            directory = -1  # it was removed, or something else lies in its place
        try:
            state = states.load(directory) or self.contact.state or states.new_state(0.0)
            reap(state["pid"])
            if states.mark_lost(state):
                try:
                    states.save(directory, state)
                except OSError:
                    pass  # the same is found out at the next start
            self.contact.state = state
        finally:
            if directory >= 0:
                os.close(directory)

    def runs(self, container: str, attempt: int) -> bool:
        """Whether this run may still print."""
        state = self.contact.state
        records = state["containers"] if state is not None and self.contact.link is not None else ()
        return any(
            each["name"] == container and each["attempt"] == attempt and each["ended"] is None
            for each in records
        )

    def running(self) -> list[str]:
        """Containers that run now."""
        state = self.contact.state
        records = state["containers"] if state is not None and self.contact.link is not None else ()
        return [each["name"] for each in records if each["ended"] is None]

    def sandbox(self) -> Sandbox:
        if self._identity is None:
            self._identity = self.directory.identity()
        machine, contact = self._machine, self.contact
        return sandbox(self._identity, contact.state, contact.link is not None, machine.boot, machine.offset)

    # One thing after the other

    async def _serve(self) -> None:
        while not self.closed:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            instruction = self._waiting.popleft()
            try:
                await self._carry_out(instruction)
            except (OSError, ValueError) as error:
                self._fail(instruction, explain(error, self.directory.path))
            except Exception as error:  # noqa: BLE001  a defect in one pod must not end the others: it is told
                self._fail(instruction, f"defect in the process driver: {error!r}")

    async def _carry_out(self, instruction: QueuedInstruction | _Gone) -> None:
        if self.contact.replaced and not isinstance(instruction, _Gone):
            raise ValueError("another agent has taken over this pod: only one may run on a node's directory")
        if not self.directory.exists and isinstance(instruction, Start | Stop | Refresh):
            if self._identity is None:
                raise ValueError("the pod is not open on this machine")
            if self.contact.link is None or not isinstance(instruction, Stop):
                await self._abandon()
                return
        match instruction:
            case Open():
                await self._open(instruction)
            case Start():
                await self._start(instruction.run)
            case Stop():
                if self.contact.link is None:
                    self._saw()
                grace, first = instruction.grace_seconds, instruction.first
                self.contact.send(
                    {"do": "stop", "container": instruction.container, "grace": grace, "first": first}
                )
            case Refresh():
                await asyncio.to_thread(self.directory.refresh, instruction.volumes)
            case Close():
                await self._close()
            case _Gone():
                await self._lost(instruction)

    async def _open(self, wanted: Open) -> None:
        if wanted.deadline is not None:
            self.deadline = max(self.deadline, wanted.deadline)
        made = not self.directory.exists
        if self.contact.link is not None or (
            not made and supervisor_runs(self.directory) and await self.attach()
        ):
            self._saw()
            return
        if made:
            machine = self._machine
            if wanted.ran_before and (left := await machine.sweeper.left_of(self.uid)):
                raise ValueError(f"processes {listed(left)} cannot be killed: see what they wait for")
            await asyncio.to_thread(self.directory.remove)
            await asyncio.to_thread(self.directory.make, wanted, machine.cgroups, machine.isolation.mounts)
        elif self.contact.state is not None and self.contact.state["fenced"]:
            raise ValueError(
                "its deadline passed and it was killed: it must be closed, nothing is started in it again"
            )
        try:
            bounded = wanted.deadline is not None
            await self.contact.start(self.directory, self.deadline if bounded else None)
        except (OSError, ValueError):
            if made:
                await asyncio.to_thread(self.directory.remove)
            raise
        self.extend(self.deadline)
        self._saw()

    async def _start(self, run: ContainerRun) -> None:
        if self.contact.link is None:
            self._saw()
            return
        root = await asyncio.to_thread(self.directory.root, run)
        self.contact.send(
            {
                "do": "start",
                "groups": limits.directories(self._machine.cgroups_of(self.uid), self.uid, run.name),
                "run": {
                    "name": run.name,
                    "attempt": run.attempt,
                    "argv": run.argv,
                    "environment": list(self._environment(run, root).items()),
                    "working_directory": run.working_directory,
                    "root": str(root.absolute()),
                    "user": run.user,
                    "group": run.group if run.group is not None else _group_of(run.user),
                    "supplementary": self._supplementary(run),
                    "escalates": run.escalates,
                    "capabilities": run.capabilities,
                    "private": self._private(run),
                    "pids_max": limits.PIDS_MAX,
                    "cpu_millis": run.cpu_millis,
                    "memory_bytes": run.memory_bytes,
                    "log": self.directory.log_directory(run.name),
                },
            }
        )

    def _private(self, run: ContainerRun) -> dict[str, Any] | None:
        """What it sees of the machine's files; None: all that its user may see."""
        if not self.directory.identity().private_mounts:
            return None
        mounts = [(each.volume, each.path, each.sub_path, each.read_only) for each in run.mounts]
        return {
            "hide": self._machine.hidden,
            "mounts": mounts,
            "read_only_root": run.read_only_root,
            "separate": self._separate(run),
        }

    def _separate(self, run: ContainerRun) -> bool:
        """In a user namespace, where root makes it for another user. Setuid programs would be of little use there."""
        isolation = self._machine.isolation
        return isolation.users and isolation.processes and bool(run.user) and not run.escalates

    def _supplementary(self, run: ContainerRun) -> list[int]:
        """Besides its own: those it asked for, and those by which it reaches its volumes."""
        identity = self.directory.identity()
        reaching = [each for each in (identity.group, identity.fs_group) if each is not None]
        return sorted({*run.groups, *reaching})

    def _environment(self, run: ContainerRun, root: Path) -> dict[str, str]:
        identity = self.directory.identity()
        return {
            "PATH": CLEAN_PATH,
            "HOME": str(root.absolute()),
            "TMPDIR": str(root.absolute() / "tmp"),
            "HOSTNAME": identity.name,
            "POD_IP": identity.address,
            **dict(run.environment),
            procfs.ROOT_TAG: str(root.absolute()),
            procfs.POD_TAG: self.uid,
            procfs.CONTAINER_TAG: run.name,
            procfs.ATTEMPT_TAG: str(run.attempt),
        }

    async def _close(self) -> None:
        if self.contact.link is not None:
            await self.contact.end()
        left = await self._settle()
        if left:
            raise ValueError(f"processes {listed(left)} cannot be killed: see what they wait for")
        cgroups = self._machine.cgroups_of(self.uid)
        await asyncio.to_thread(self.directory.remove)
        limits.remove_pod(cgroups, self.uid)
        self.closed = True
        self._tell(Closed(self.uid, self._clock()))

    async def _abandon(self) -> None:
        """Somebody has removed its directory under it: nothing can be started there, so it has to be opened anew."""
        if self.contact.link is not None:
            await self.contact.end()
        left = await self._settle()
        if left:
            raise ValueError(f"processes {listed(left)} cannot be killed: see what they wait for")
        await asyncio.to_thread(self.directory.remove)
        self._saw()

    async def _lost(self, gone: _Gone) -> None:
        if self.contact.link is not gone.link:
            return
        await self.contact.let_go()
        if self.contact.replaced:
            return
        if not gone.hangs and supervisor_runs(self.directory) and await self.attach():
            self._saw()
            return
        while left := await self._settle():
            message = f"its supervisor is gone, and processes {listed(left)} cannot be killed: see what they wait for"
            self._tell(Failed(self.uid, "Stop", message, self._clock()))
            await asyncio.sleep(_UNKILLABLE_SECONDS)
        self._saw()

    async def _settle(self) -> set[int]:
        """Make sure that nothing of it runs any more, and take down how it ended. Returns what cannot be killed."""
        left = await self._machine.sweeper.left_of(self.uid)
        if not left:
            await asyncio.to_thread(self.take_down)
        return left

    def _gone(self, link: SupervisorLink, hangs: bool) -> None:
        """Before all that waits: it was meant for a supervisor that is no more."""
        self._waiting.appendleft(_Gone(link, hangs))
        self._more.set()

    # What it tells

    def _saw(self) -> None:
        self._tell(Saw(self.sandbox(), self._clock()))

    def _fail(self, instruction: object, message: str) -> None:
        what = type(instruction).__name__ if not isinstance(instruction, _Gone) else "Stop"
        self._tell(Failed(self.uid, what, message, self._clock()))


def _group_of(user: int | None) -> int | None:
    """Of a process that names none: never the machine's group 0, which may read what others may not. None: as it is,
    where the agent cannot switch."""
    if os.geteuid() != 0:
        return None
    try:
        group = pwd.getpwuid(user or 0).pw_gid
    except KeyError:
        group = 0  # a user that the machine does not know
    return group or NO_GROUP
