"""The nodes that `fairlead up --nodes N` has beside the server: one agent process each, kept running.

    DATA/nodes/NAME/token          the node's own token; its digest is in the token table
    DATA/nodes/NAME/agent.lock     held by the agent that works for the node
    DATA/nodes/NAME/fairlead.log   what the agent says
    DATA/nodes/NAME/pods/          its pods

Owned by `serving.py`. An agent that dies is started again after a back-off; its pods go on meanwhile. One that outlived
the server before is found by its lock, asked to leave its pods to their supervisors, and replaced by one that knows
this server: never are there two. Stopping ends agents and pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fairlead.core.errors import OperatorError
from fairlead.runtime.credentials.token_file import TokenFile, new_token
from fairlead.runtime.node import certificate as node_certificate
from fairlead.runtime.node import locks as node_locks
from fairlead.runtime.private_files import make_private_directory, read_private, write_private
from fairlead.runtime.server import local_agents
from fairlead.runtime.server.local_agents import LocalAgent, LocalNode
from fairlead.runtime.server.settings import ServeSettings

log = logging.getLogger("fairlead.nodes")

#: bound: plane | `fairlead up` waits for its agents | killed
AGENT_STOP_SECONDS = 10.0
#: bound: plane | an agent that ends is started again within | doubling from a fifth of a second; less with short leases
RESTART_SECONDS_MAX = 10.0
_RESTART_SECONDS = 0.2
_STEADY_SECONDS = 60.0  # an agent that ran so long has recovered: the back-off begins anew
_TAKEOVER_SECONDS = 5.0
_LOOK_SECONDS = 0.02


class RestartBackoff:
    """How long an agent that ended rests. Pods of which at most one may run live by the lease, which nobody renews
    meanwhile: the time since its last renewal, a rest and the start of an agent fit into one lease."""

    def __init__(self, lease_seconds: float, renew_seconds: float) -> None:
        self._most = min(RESTART_SECONDS_MAX, (lease_seconds - renew_seconds) / 3)
        self._next = _RESTART_SECONDS

    def after(self, ran_seconds: float) -> float:
        if ran_seconds > _STEADY_SECONDS:
            self._next = _RESTART_SECONDS
        rest = min(self._next, self._most)
        self._next = rest * 2
        return rest


class LocalNodes:
    def __init__(
        self,
        settings: ServeSettings,
        tokens: TokenFile,
        waiting: dict[str, LocalAgent],
        clock: Callable[[], float],
    ) -> None:
        """`waiting`: agents that were started before the server and wait to be told where it is."""
        self._settings = settings
        self._nodes = local_agents.name_nodes(settings)
        self._tokens = tokens
        self._clock = clock
        self._waiting = waiting
        self._tasks: list[asyncio.Task[None]] = []
        self._running: dict[str, LocalAgent] = dict(waiting)
        self._stopping = False

    def start(self, server: str) -> None:
        """Returns at once; the agents come up beside the server."""
        for node in self._nodes:
            self._ensure_token(node)
            self._tasks.append(asyncio.create_task(self._keep(node, server)))
        self._tasks.append(asyncio.create_task(self._end_others()))

    async def stop(self) -> None:
        """End agents and their pods; those that do not end in time are killed, and supervisors end their pods."""
        self._stopping = True
        processes = [agent.process for agent in self._running.values()]
        for process in processes:
            process.terminate()  # does nothing to one that has ended
        if processes:
            ending = [asyncio.create_task(_end_of(process)) for process in processes]
            await asyncio.wait(ending, timeout=AGENT_STOP_SECONDS)
            for process in processes:
                process.kill()
            await asyncio.gather(*ending)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for agent in self._running.values():
            agent.forget()

    def _ensure_token(self, node: LocalNode) -> None:
        """The node's token as it was, if the table still knows it; otherwise a new one. And its certificate."""
        make_private_directory(node.directory)
        kept = (read_private(node.token_file) or b"").decode(errors="replace").strip()
        user = self._tokens.tokens().user_of(kept) if kept else None
        if user is None or user.node_name != node.name:
            token = new_token()
            self._tokens.admit(token, "node", node.name, self._clock())
            write_private(node.token_file, token.encode() + b"\n")
        node_certificate.ensure(node.directory, "127.0.0.1", self._clock())

    async def _keep(self, node: LocalNode, server: str) -> None:
        backoff = RestartBackoff(self._settings.lease_seconds, self._settings.renew_seconds)
        while not self._stopping:
            await _take_over(node.directory, signal.SIGHUP)
            began = time.monotonic()
            agent = self._waiting.pop(node.name, None) or local_agents.start(self._settings, node)
            self._running[node.name] = agent
            agent.tell(server)
            code = await _end_of(agent.process)
            if self._stopping:
                return
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            words = agent.last_words() if code > 0 else ""
            log.warning(
                "the agent of node %s ended (%s%s), its pods go on; starting it again (its log: %s)",
                node.name,
                how,
                f": {words}" if words else "",
                node.directory / "fairlead.log",
            )
            agent.forget()
            await asyncio.sleep(backoff.after(time.monotonic() - began))
            with contextlib.suppress(OSError, OperatorError):  # what is wrong there the agent itself will say
                self._ensure_token(node)  # somebody may have removed the node's directory

    async def _end_others(self) -> None:
        """Agents of nodes that were asked for before, and are no longer."""
        wanted = {node.name for node in self._nodes}
        directory = self._settings.data_dir / "nodes"
        if directory.is_dir():
            for found in sorted(directory.iterdir()):
                if found.name not in wanted:
                    await _take_over(found, signal.SIGTERM)


async def _end_of(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, negative for a signal."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # no such call here, or it has ended and been asked for already
        while process.poll() is None:
            await asyncio.sleep(_LOOK_SECONDS)
        return process.wait()
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
        return process.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _take_over(directory: Path, number: signal.Signals) -> None:
    """Until no agent holds this directory. One that does not hear is killed, which costs its pods nothing."""
    deadline = time.monotonic() + _TAKEOVER_SECONDS
    asked = 0
    while (pid := node_locks.holder(directory)) is not None:
        if pid and pid != asked:
            _signal(pid, number)
            asked = pid
        elif pid and time.monotonic() > deadline:
            _signal(pid, signal.SIGKILL)
        await asyncio.sleep(_LOOK_SECONDS)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it ended by itself
    except PermissionError:
        log.warning("an agent (process %d) runs as another user: stop it there", pid)
