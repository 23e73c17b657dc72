"""The supervisor's loop: one per pod, it owns the pod's processes, writes down how they end, and kills them in time.

    agent_socket ──message──┐                            ┌── start, stop, exec, end
    SIGCHLD ────────────────┼──> Supervisor (one thread) ┼── state.json, the agent
    boot-time timer ────────┘                            └── kill everything: the deadline passed (fenced)

It depends on no agent: without one it goes on for ever, or until the deadline that the last one gave it. The deadline
is looked at before anything else, each time it wakes. A pod whose directory was removed ends: no agent could find it.
Every (container, attempt) is started at most once: the attempt is in state.json before the fork. Standard library only;
started by `supervisor.py`.
"""

from __future__ import annotations

import os
import select

from fairlead.agent.drivers import procfs
from fairlead.agent.drivers import state as states
from fairlead.agent.drivers.agent_socket import AgentSocket
from fairlead.agent.drivers.belonging import below, members
from fairlead.agent.drivers.containers import SupervisedContainer
from fairlead.agent.drivers.files_beneath import HERE
from fairlead.agent.drivers.launching import adopt_orphans, boottime_timer, set_timer
from fairlead.agent.drivers.lean_stdlib import signal
from fairlead.agent.drivers.side_processes import HOOK, SIDE_PROCESSES_MAX, SideProcess
from fairlead.agent.drivers.state import boottime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

#: bound: processes | killed processes are looked for every | -
LOOK_AGAIN_SECONDS = 0.02  # while killed processes are still there
#: bound: processes | a state that could not be written is tried again every | -
SAVE_AGAIN_SECONDS = 5.0
#: bound: processes | between two looks of a supervisor whether its directory is there |
#:        a pod whose directory was removed ends
LOOK_AT_DIRECTORY_SECONDS = 10.0  # whether it is still there
_FULL = (28, 122)  # ENOSPC, EDQUOT; the module that names them costs more than they do
#: bound: processes | grace of a pod whose supervisor gets SIGTERM | SIGKILL
TERMINATED_GRACE_SECONDS = 10.0  # when the supervisor itself is asked to end, as at a shutdown of the machine


class Supervisor:
    def __init__(self, deadline: float, first: int) -> None:
        """In the pod's directory. `first`: the connection of the agent that started it."""
        self.state = states.load(HERE) or states.new_state(deadline)
        states.mark_lost(self.state)
        fresh = states.new_state(deadline)
        self.state.update({key: fresh[key] for key in ("walls", "boot", "offset", "deadline")})
        self.state["pid"] = os.getpid()
        self._poll = select.poll()
        self._containers = {
            record["name"]: SupervisedContainer(record, self._poll) for record in self.state["containers"]
        }
        self._sides: list[SideProcess] = []
        self._leaving = False  # as soon as nothing runs
        self._asked_to_leave = False
        self._forgotten = False  # the agent removes the directory: what is not saved yet need not be
        self._killing = self.state["fenced"]  # all there is
        self._unsaved = True
        self._save_at = 0.0
        self._directory_at = 0.0  # when to look at it again
        adopt_orphans()
        self._timer = boottime_timer()
        self._woken, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._ask_to_leave())
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)
        self._poll.register(self._timer, select.POLLIN)
        self._poll.register(self._woken, select.POLLIN)
        self._agent = AgentSocket(self._poll, self._hear, lambda: self.state, first)

    def run(self) -> None:
        while self.turn():
            for fd, events in self._poll.poll():
                self.handle(fd, events)

    def turn(self) -> bool:
        """All that is due now, and the timer for what is due next. False when nothing is left to do, ever."""
        now = boottime()
        self._look(now)
        self._save(now)
        self._agent.flush()
        if self._done():
            self._agent.close()
            return False
        set_timer(self._timer, self._due(now))
        return True

    def handle(self, fd: int, events: int) -> None:
        if fd in (self._timer, self._woken):
            try:
                os.read(fd, 4096)
            except BlockingIOError:
                pass  # the timer was set anew meanwhile
            return
        if self._agent.handle(fd, events):
            return
        for container in self._containers.values():
            changed = container.handle(fd)
            if changed:
                self._changed()
            if changed is not None:
                return
        for side in self._sides:
            if side.handle(fd):
                return

    # What the agent asks

    def _hear(self, message: Json) -> None:
        what = message.get("do")
        try:
            if what == "extend":
                self._extend(message["until"])
            elif what == "start":
                self._start(message["run"], message["groups"])
            elif what == "stop":
                self._stop(message["container"], message["grace"], message["first"])
            elif what == "exec":
                self._exec(message["number"], message["container"], message["argv"], message["timeout"])
            elif what == "end":
                self._leaving = self._killing = self._forgotten = True
            else:
                raise ValueError("this supervisor does not know how")
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            # An agent of another version must not be able to end the pod by a message.
            self._agent.tell({"failed": {"what": str(what).capitalize(), "message": f"{what}: {error!r}"}})

    def _extend(self, until: float) -> None:
        if boottime() < self.state["deadline"]:
            self.state["deadline"] = max(self.state["deadline"], float(until))
        self._agent.tell({"heard": until})

    def _start(self, run: Json, groups: dict[str, str]) -> None:
        now = boottime()
        name, attempt = run["name"], run["attempt"]
        container = self._containers.get(name)
        if (
            self._killing
            or self._leaving
            or now >= self.state["deadline"]
            or (container is not None and attempt <= container.record["attempt"])
        ):
            self._agent.tell_state()  # which says why
            return
        if container is not None and container.running:
            message = f"run {container.record['attempt']} of container {name} has not ended yet"
            self._agent.tell({"failed": {"what": "Start", "message": message}})
            return
        record: Json = {
            "name": name,
            "attempt": attempt,
            "started": now,
            "pid": 0,
            "ended": None,
            "previous": None,
        }
        before = list(self.state["containers"])
        if container is not None:
            record["previous"] = container.record["ended"]
            self.state["containers"][before.index(container.record)] = record
        else:
            self.state["containers"].append(record)
        try:
            states.save(HERE, self.state)
        except OSError as error:
            self.state["containers"] = before
            fix = "free space on that disk" if error.errno in _FULL else "see that the agent can write there"
            message = f"cannot write {states.FILE} of the pod: {error.strerror}: {fix}"
            self._agent.tell({"failed": {"what": "Start", "message": message}})
            return
        if container is None:
            container = self._containers[name] = SupervisedContainer(record, self._poll)
        container.record = record
        try:
            container.begin(run, groups, now)
        except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
            container.refuse(f"cannot start it: {error!r}", now)
        if record["ended"] is not None:
            self._changed()

    def _stop(self, name: str, grace: float, first: list[str]) -> None:
        self._agent.tell_state()
        now = boottime()
        for container in self._running():
            if name not in ("", container.record["name"]):
                continue
            until = now + max(grace, 0.0)
            container.kill_at = until if container.kill_at is None else min(container.kill_at, until)
            if container.stopping or grace <= 0:
                continue
            container.stopping = True
            if not (first and self._begin_side(container, first, until, HOOK)):
                self._signal(container, signal.SIGTERM)

    def _exec(self, number: int, name: str, argv: list[str], timeout: float) -> None:
        container = self._containers.get(name)
        if container is None or not container.main or container.record["pid"] == 0:
            self._answer(number, False, f"container {name} is not running")
        elif not self._begin_side(container, argv, boottime() + timeout, number):
            self._answer(number, False, "too many probes at a time, or no more processes on this node")

    def _begin_side(self, container: SupervisedContainer, argv: list[str], until: float, number: int) -> bool:
        if len(self._sides) >= SIDE_PROCESSES_MAX or not container.record["pid"]:
            return False  # too many; or the container has not begun to run, and has nothing to be run beside
        try:
            self._sides.append(SideProcess(container, argv, until, number, self._poll))
        except OSError:
            return False
        return True

    def _answer(self, number: int, good: bool, message: str) -> None:
        if number != HOOK:
            self._agent.tell({"probed": {"number": number, "good": good, "message": message}})

    # What time and processes do

    def _look(self, now: float) -> None:
        if now >= self.state["deadline"] and not self._killing:
            self.state["fenced"] = self._killing = True
            for container in self._running():
                container.fenced = not container.ending
            procfs.kill(procfs.descendants(os.getpid()), signal.SIGKILL)
            self._changed()
        if now >= self._directory_at:
            self._directory_at = now + LOOK_AT_DIRECTORY_SECONDS
            if os.stat(".").st_nlink == 0:
                self._leaving = self._killing = self._forgotten = True
        if self._asked_to_leave and not self._leaving:
            self._leaving = True
            self._stop("", TERMINATED_GRACE_SECONDS, [])
        self._reap()
        for side in self._sides:
            if now >= side.until and not side.timed_out:
                side.timed_out = True
            if side.timed_out:
                procfs.kill(below(side.pid), signal.SIGKILL)
        for container in self._running():
            if container.kill_at is not None and now >= container.kill_at:
                container.kill_at, container.killed = None, True
        if self._killing or any(each.ending or each.condemned for each in self._running()):
            self._kill_and_end(now)

    def _kill_and_end(self, now: float) -> None:
        found = members(self._containers, self._sides)
        if self._killing:
            procfs.kill((pid for pids in found.values() for pid in pids), signal.SIGKILL)
        for container in self._running():
            left = found.get(container.record["name"], set())
            if container.condemned:
                procfs.kill(left, signal.SIGKILL)
            if container.ending and not left and not any(side.container is container for side in self._sides):
                container.end(now)
                self._changed()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for container in self._containers.values():
                if container.main == pid:
                    container.exited(status)
            for side in [each for each in self._sides if each.pid == pid]:
                self._sides.remove(side)
                good, message = side.result(status)
                self._answer(side.number, good, message)
                if side.number == HOOK and side.container.main and side.container.stopping:
                    self._signal(side.container, signal.SIGTERM)

    def _signal(self, container: SupervisedContainer, number: int) -> None:
        sides = {pid for side in self._sides for pid in below(side.pid)}
        procfs.kill(
            members(self._containers, self._sides).get(container.record["name"], set()) - sides, number
        )

    def _running(self) -> list[SupervisedContainer]:
        return [each for each in self._containers.values() if each.running]

    def _ask_to_leave(self) -> None:
        """In a signal handler, so anything may be under way."""
        self._asked_to_leave = True

    # What is kept and told

    def _changed(self) -> None:
        self._unsaved = True
        self._save_at = 0.0
        self._agent.tell_state()

    def _save(self, now: float) -> None:
        if not self._unsaved or now < self._save_at:
            return
        try:
            states.save(HERE, self.state)
            self._unsaved = False
        except OSError:
            self._save_at = now + SAVE_AGAIN_SECONDS
            # On a disk that is full it stays for as long as it alone knows how its pod ended; not in a directory that
            # somebody has removed under it.
            self._forgotten = self._forgotten or os.stat(".").st_nlink == 0

    def _done(self) -> bool:
        if not (self._leaving or self._killing) or self._running() or self._sides:
            return False
        if self._unsaved and not self._forgotten:
            return False
        return not procfs.descendants(os.getpid())

    def _due(self, now: float) -> float:
        moments = [side.until for side in self._sides if not side.timed_out]
        moments += [each.kill_at for each in self._running() if each.kill_at is not None]
        if not self._killing:
            moments += [self.state["deadline"], self._directory_at]
        # What was asked to stop and has its grace says by SIGCHLD that it is gone; what was killed is looked for.
        killing = self._killing and (self._running() or not self._unsaved)
        condemned = any(each.condemned for each in self._running())
        if killing or condemned or any(side.timed_out for side in self._sides):
            moments.append(now + LOOK_AGAIN_SECONDS)
        if self._unsaved:
            moments.append(self._save_at)
        return min(moments, default=now + SAVE_AGAIN_SECONDS)
