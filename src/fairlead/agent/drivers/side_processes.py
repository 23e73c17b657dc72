"""Processes that run beside a container's own: exec probes and preStop hooks, each with an end in sight.

They get the container's environment, directory, user and limits. `supervising.py` starts and reaps them; what a probe
prints is kept up to a bound and told with its result. Standard library only.
"""

from __future__ import annotations

import os
import select

from fairlead.agent.drivers.containers import READ_BYTES, SupervisedContainer
from fairlead.agent.drivers.launching import launch
from fairlead.agent.drivers.lean_stdlib import from_json

#: bound: processes | exec probes and hooks of one pod at a time | the probe fails, the hook is left out
SIDE_PROCESSES_MAX = 16  # of one pod at a time
#: bound: processes | output of a probe that is kept | cut
OUTPUT_BYTES_MAX = 4 * 1024
HOOK = -1


class SideProcess:
    def __init__(
        self, container: SupervisedContainer, argv: list[str], until: float, number: int, poll: select.poll
    ) -> None:
        """`number` of a probe, HOOK for a hook. OSError if it cannot be started."""
        self.container = container
        self.until = until
        self.number = number
        self.timed_out = False
        self._argv = argv
        self._poll = poll
        self._printed = bytearray()
        self._output, writing = os.pipe2(os.O_CLOEXEC)
        try:
            self.pid, self._told = launch(
                container.run, argv, container.groups, writing, writing, beside=container.main
            )
        except OSError:
            os.close(self._output)
            raise
        finally:
            os.close(writing)
        os.set_blocking(self._output, False)
        poll.register(self._output, select.POLLIN)

    def handle(self, fd: int) -> bool:
        if fd != self._output:
            return False
        if not self._read():
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = -1
        return True

    def _read(self) -> bool:
        try:
            data = os.read(self._output, READ_BYTES)
        except BlockingIOError:
            return True
        self._printed += data[: OUTPUT_BYTES_MAX - len(self._printed)]
        return bool(data)

    def result(self, status: int) -> tuple[bool, str]:
        """After it was reaped: whether it went well, and what it said."""
        if self._output >= 0:
            self._read()
            self._poll.unregister(self._output)
            os.close(self._output)
        try:
            refused = os.read(self._told, 8192)
        except BlockingIOError:
            refused = b""
        os.close(self._told)
        printed = self._printed.decode("utf-8", "replace").strip()
        if refused:
            return False, str(from_json(refused.decode())["message"])
        if self.timed_out:
            return False, f"command {' '.join(self._argv)!r} timed out" + (f": {printed}" if printed else "")
        return status == 0, printed
