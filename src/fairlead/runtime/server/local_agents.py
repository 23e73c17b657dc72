"""Starts the agent processes of local nodes. Light, so that `fairlead up` can start them before all else.

An agent takes as long to load as the server does: both load side by side. The agent then waits on its standard input
for the one thing it cannot know yet, where the server is; if the server never comes up, the input ends, and so does it.
`local_nodes.py` keeps them running.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairlead.core import quantity
from fairlead.runtime.node import machine_facts
from fairlead.runtime.server.settings import ServeSettings

_PODS_UMASK = 0o022
_SAID_BYTES = 4096


@dataclass(frozen=True, slots=True)
class LocalNode:
    name: str
    zone: str
    directory: Path

    @property
    def token_file(self) -> Path:
        return self.directory / "token"


class LocalAgent:
    """One process. It does nothing until it is told where the server is."""

    def __init__(self, arguments: list[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # A session of its own: Ctrl-C at the terminal is for the server, which then ends its agents in order.
        self.process = subprocess.Popen(
            arguments,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
            umask=_PODS_UMASK,
        )

    def tell(self, server: str) -> None:
        """Where the server is. One that has ended already is noticed elsewhere."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(server.encode() + b"\n")
            self.process.stdin.close()

    def last_words(self) -> str:
        size = os.fstat(self._said.fileno()).st_size
        text = os.pread(self._said.fileno(), _SAID_BYTES, max(0, size - _SAID_BYTES))
        lines = text.decode(errors="replace").splitlines()
        return lines[-1].removeprefix("fairlead: ") if lines else ""

    def forget(self) -> None:
        self._said.close()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()


def name_nodes(settings: ServeSettings) -> tuple[LocalNode, ...]:
    """`local-1` and so on, dealt out to the zones in turn."""
    directory, zones = settings.data_dir.absolute() / "nodes", settings.zones
    names = [f"local-{number}" for number in range(1, settings.nodes + 1)]
    return tuple(
        LocalNode(name, zones[index % len(zones)] if zones else "", directory / name)
        for index, name in enumerate(names)
    )


def start(settings: ServeSettings, node: LocalNode) -> LocalAgent:
    cpu, memory = share_machine(settings.nodes)
    authority = settings.data_dir.absolute() / "identity" / "ca.crt"
    return LocalAgent(
        [
            # -P: a file of the directory it is started in must not stand in for a module
            *(sys.executable, "-P", "-m", "fairlead.cli.main", "agent", "--server", "-"),
            *("--ca-file", str(authority), "--token-file", str(node.token_file)),
            *("--name", node.name, "--data-dir", str(node.directory)),
            *("--hide", str(settings.data_dir.absolute())),
            *(("--zone", node.zone) if node.zone else ()),
            *("--cpu", cpu, "--memory", memory, "--stop-pods"),
            *("--lease-seconds", str(settings.lease_seconds)),
            *("--renew-seconds", f"{settings.renew_seconds:g}"),
            *(("--otlp-endpoint", settings.traces.base) if settings.traces is not None else ()),
        ]
    )


def start_all(settings: ServeSettings) -> dict[str, LocalAgent]:
    return {node.name: start(settings, node) for node in name_nodes(settings)}


def share_machine(count: int) -> tuple[str, str]:
    """What each of so many nodes on this machine offers: all its processors, which pods share by turns, so that a pod
    that asks for a whole one fits; and its part of the memory, which they cannot share."""
    memory = quantity.value(machine_facts.memory()) // count // 1024
    return machine_facts.cpus(), f"{memory}Ki"
