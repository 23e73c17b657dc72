"""One container in the supervisor: its newest run from the fork to the record of its end.

    idle ──begin──> starting ──its command took over──> running ──main process exits──> ending ──nothing left──> idle
                       └────────────── it could not ─────────────────────────────────────^

A run ends as one in a real container does: with its main process. What that left behind is killed, at once or, if it
was asked to stop, when its grace is over; only when nothing of it runs any more is the end recorded. `supervising.py`
decides when. Standard library only.
"""

from __future__ import annotations

import os
import select

from fairlead.agent.drivers import limits
from fairlead.agent.drivers.launching import NOT_STARTED, launch
from fairlead.agent.drivers.lean_stdlib import from_json
from fairlead.agent.drivers.log_files import STDERR, STDOUT, LogWriter, forget_old

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

READ_BYTES = 65536
_DRAIN_READS_MAX = 64  # more than the largest pipe holds


class SupervisedContainer:
    def __init__(self, record: Json, poll: select.poll) -> None:
        self.record = record  # its entry in the state
        self.main = 0  # pid, until it is reaped
        self.session = 0
        self.run: Json = {}
        self.groups: dict[str, str] = {}
        self.stopping = False
        self.kill_at: float | None = None
        self.killed = False
        self.fenced = False
        self._poll = poll
        self._exit: int | None = None
        self._refused: Json | None = None
        self._told = -1
        self._streams: dict[int, bytes] = {}
        self._log: LogWriter | None = None
        self._oom_kills = 0

    @property
    def running(self) -> bool:
        return self.main > 0 or self._exit is not None

    @property
    def ending(self) -> bool:
        return self._exit is not None

    @property
    def condemned(self) -> bool:
        """All that is left of it is to be killed: its grace is over, or its main process ended unasked."""
        return self.killed or (self.ending and not self.stopping)

    def begin(self, run: Json, groups: dict[str, str], now: float) -> None:
        """Start it. The attempt must have been written down before."""
        self.run, self.groups = run, groups
        self.stopping = self.killed = self.fenced = False
        self.kill_at = self._refused = self._exit = None
        try:
            limits.make(groups, run["cpu_millis"], run["memory_bytes"], run.get("pids_max", 0))
        except OSError:
            self.groups = {}  # the kernel takes no more of them: better limited by rlimits than not started
        self._oom_kills = limits.oom_kills(self.groups)
        try:
            forget_old(run["log"], run["attempt"])
        except OSError:
            pass  # a disk that is ill does not keep a pod from running
        self._log = LogWriter(run["log"], run["attempt"])
        pipes: list[int] = []
        try:
            for _ in (STDOUT, STDERR):
                pipes += os.pipe2(os.O_CLOEXEC)
            self.main, self._told = launch(run, run["argv"], self.groups, pipes[1], pipes[3])
        except OSError as error:
            for fd in pipes:
                os.close(fd)
            reason = f"{error.strerror}: this node has too many processes or open files"
            self.refuse(f"cannot start a process: {reason}", now)
            return
        self.session = self.main
        for stream, reading, writing in ((STDOUT, pipes[0], pipes[1]), (STDERR, pipes[2], pipes[3])):
            os.close(writing)
            os.set_blocking(reading, False)
            self._streams[reading] = stream
            self._poll.register(reading, select.POLLIN)
        self._poll.register(self._told, select.POLLIN)

    def refuse(self, message: str, now: float) -> None:
        """No process of it was started."""
        self._refused = {"message": message, "exit_code": NOT_STARTED}
        self._finish(now)

    def handle(self, fd: int) -> bool | None:
        """None: the event was not for it. True: its state changed."""
        if fd == self._told:
            return self._learn()
        if fd in self._streams:
            self._pump(fd)
            return False
        return None

    def exited(self, status: int) -> None:
        """The main process was reaped."""
        if self._told >= 0:
            self._learn()
        self.main = 0
        self._exit = os.waitstatus_to_exitcode(status)

    def end(self, now: float) -> None:
        """Its main process is gone and nothing else of it is left."""
        self._finish(now)

    def _learn(self) -> bool:
        """From the pipe of the launch: closed without a word, the command runs."""
        try:
            said = os.read(self._told, 8192)
        except BlockingIOError:
            return False
        self._poll.unregister(self._told)
        os.close(self._told)
        self._told = -1
        if said:
            self._refused = from_json(said.decode())
            return False
        self.record["pid"] = self.main
        return True

    def _pump(self, fd: int) -> bool:
        """False when there is nothing more to read now."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if data and self._log is not None:
            self._log.write(self._streams[fd], data)
            return True
        self._poll.unregister(fd)
        os.close(fd)
        del self._streams[fd]
        return False

    def _finish(self, now: float) -> None:
        for fd in list(self._streams):
            for _ in range(_DRAIN_READS_MAX):
                if not self._pump(fd):
                    break
            if fd in self._streams:
                self._poll.unregister(fd)
                os.close(fd)
                del self._streams[fd]
        if self._log is not None:
            self._log.close()
            self.record["lost_bytes"] = self._log.lost_bytes
            self._log = None
        code = self._exit if self._exit is not None else NOT_STARTED
        reason, message = self._reason(code)
        if self._refused is not None:
            code = self._refused["exit_code"]
        self.record["ended"] = {
            "attempt": self.record["attempt"],
            "exit_code": code if code >= 0 else 128 - code,
            "signal": max(-code, 0),
            "reason": reason,
            "message": message,
            "started": self.record["started"],
            "finished": now,
        }
        self.record["pid"] = 0
        self._exit = None
        self.stopping = False
        self.kill_at = None

    def _reason(self, code: int) -> tuple[str, str]:
        if self._refused is not None:
            return "StartError", str(self._refused["message"])
        if self.fenced:
            return "DeadlineExceeded", (
                "at most one of this pod may run, and its node could not renew its lease in time: it was ended before "
                "it could be replaced elsewhere"
            )
        if code != 0 and limits.oom_kills(self.groups) > self._oom_kills:
            return "OOMKilled", f"it used more memory than its limit of {self.run['memory_bytes']} bytes"
        return ("Completed" if code == 0 else "Error"), ""
