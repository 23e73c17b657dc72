"""A simulated machine under one node: supervisors that outlive the agent, and the processes that they own.

    AgentProcess ── instruction ──> SimulatedMachine ──> Supervisor of a pod ──> processes ──> RunLog
                 <──── tell ──────

Carries out what `agent/drivers/process.py` carries out, in virtual time: instructions for one pod one after the other,
for different pods side by side, each after a delay that is drawn; a new deadline overtakes them all. A supervisor
starts each (container, attempt) once, and kills everything when its deadline passes, if it has one, whether an agent is
there or not. What it wrote down is on disk: it stays over a loss of power, processes do not. A machine whose
`deadlines` are off is of an older or another kind: its supervisors accept none.

What a process does is in its arguments:

    serve                    runs for ever, ends soon after SIGTERM
    stubborn                 runs for ever and ignores SIGTERM
    work SECONDS [CODE]      ends by itself after so long, with this exit code (0)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fairlead.agent.contract import (
    Close,
    Closed,
    ContainerEnded,
    ContainerRun,
    ContainerState,
    Extend,
    Failed,
    Found,
    Keep,
    LiftDeadline,
    Open,
    PodEvent,
    PodInstruction,
    Probe,
    Probed,
    Refresh,
    Sandbox,
    Saw,
    Start,
    Stop,
)
from fairlead.sim.chance import Chance, Stream
from fairlead.sim.digest import Digest
from fairlead.sim.processes.runs import CLOSED, DEADLINE, EXITED, LOST, POWER, STOPPED, ProcessRun, RunLog
from fairlead.sim.processes.supervisors import MachineContainer, MachineSupervisor
from fairlead.sim.time import Timeline

_DELAYS_MS = 40  # of an instruction, and of what is told
_TERM_MS = 300  # within which a willing process ends
_TERM, _KILL = 15, 9

TellAgent = Callable[[Callable[[float], PodEvent]], None]  # how to make the event, given the agent's instant
_OfPod = Open | Start | Stop | Refresh | Close


class SimulatedMachine:
    def __init__(
        self, node: str, timeline: Timeline, chance: Chance, digest: Digest, log: RunLog, name: str = ""
    ) -> None:
        """`name`: of the machine, if two have nodes of one name."""
        self.node = node
        self.powered = True
        self.failing = 0.0  # how likely an instruction fails
        self.deadlines = True  # its supervisors accept deadlines
        self._timeline, self._digest, self._log = timeline, digest, log
        name = self._name = name or node
        self._find_delay, self._sent = chance.stream("driver.find", name), chance.stream("driver.sent", name)
        self._probe_delay = chance.stream("probe.delay", name)
        self._fails = chance.faults("driver_failed", name)
        self._victim = chance.stream("crash.process", name)
        self._chance = chance
        self._delays: dict[tuple[str, str], Stream] = {}
        self.kept: dict[tuple[str, str, str], Keep] = {}  # on its disk
        self._pods: dict[str, MachineSupervisor] = {}
        self._tell: TellAgent | None = None
        self._agent = 0  # which one is attached
        self._found = False
        self._skew_ms = 0
        self._deadline_ms = 0
        self._pending: dict[int, _OfPod] = {}  # handed over, not carried out yet
        self._number = 0
        self._free_at: dict[str, int] = {}  # when the next instruction for a pod may be carried out
        self._hushed_until = 0
        self._told_at: dict[str, int] = {}  # what is told of a pod arrives in this order

    # The agent comes and goes

    def attach(self, tell: TellAgent, skew_ms: int) -> None:
        """`skew_ms`: how far the agent's clock is ahead. What is here is told after a while."""
        self._agent += 1
        self._tell, self._skew_ms, self._found = tell, skew_ms, False
        self._deadline_ms = 0
        self._timeline.after(1 + self._find_delay.choose(400), self._find, self._agent)

    def detach(self) -> None:
        """The agent died. What it had handed over was sent, or was not."""
        self._tell = None
        self._agent += 1
        pending, self._pending = self._pending, {}
        for instruction in pending.values():
            if self._sent.choose(2):
                self._do(instruction)

    def _find(self, agent: int) -> None:
        if agent != self._agent or self._tell is None:
            return
        self._found = True
        sandboxes = tuple(self._sandbox(pod) for pod in self._pods.values())
        self._digest.add(b"machine", self._name, f"found {len(sandboxes)}")
        self._tell(partial(Found, sandboxes))

    def lose_power(self) -> None:
        self._digest.add(b"machine", self._name, "loses power")
        self.powered = False
        self._pending = {}
        self._tell = None
        self._agent += 1
        for pod in self._pods.values():
            pod.alive = False
            for each in pod.containers.values():
                if each.running:
                    self._log.ended(each.run, self._timeline.ms, POWER)

    def restore(self) -> None:
        """Processes that nobody saw end are lost."""
        self._digest.add(b"machine", self._name, "has power")
        self.powered = True
        for pod in self._pods.values():
            self._mark_lost(pod)

    def crash_one(self) -> bool:
        """One of its processes ends by itself, badly. False if none runs."""
        running = [
            (pod, each) for pod in self._pods.values() for each in pod.containers.values() if each.running
        ]
        if not self.powered or not running:
            return False
        pod, container = running[self._victim.choose(len(running))]
        self._finish(container, 1, 0, "Error", EXITED)
        self._show(pod)
        return True

    def hush(self, ms: int) -> None:
        """Nothing is told of its processes for so long: what the agent says of them is what was before."""
        self._hushed_until = self._timeline.ms + ms

    # What it is asked

    def carry_out(self, instruction: PodInstruction) -> None:
        if isinstance(instruction, Extend):
            self._extend(instruction)
        elif isinstance(instruction, LiftDeadline):
            self._lift(instruction.uid)
        elif isinstance(instruction, Probe):
            delay = 1 + self._probe_delay.choose(_DELAYS_MS)
            self._timeline.after(delay, self._probe, self._agent, instruction)
        else:
            self._number += 1
            self._pending[self._number] = instruction
            delay = 1 + self._delay("driver.delay", instruction.uid).choose(_DELAYS_MS)
            at = max(self._timeline.ms + delay, self._free_at.get(instruction.uid, 0) + 1)
            self._free_at[instruction.uid] = at
            self._timeline.at(at, self._due, self._number)

    def keep(self, given: Keep) -> None:
        place = (given.resource, given.namespace, given.name)
        if given.data is None:
            self.kept.pop(place, None)
        else:
            self.kept[place] = given

    def _extend(self, extend: Extend) -> None:
        if not self._found:
            return  # said again when the agent knows what is here
        until = self._true_ms(extend.deadline)
        self._deadline_ms = max(self._deadline_ms, until)
        for pod in self._pods.values():
            if pod.deadline_ms is not None and self._timeline.ms < pod.deadline_ms:
                pod.deadline_ms = max(pod.deadline_ms, until)

    def _lift(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is not None and pod.alive:
            pod.deadline_ms = None
            self._show(pod)

    def _probe(self, agent: int, probe: Probe) -> None:
        pod = self._pods.get(probe.uid)
        container = pod.containers.get(probe.container) if pod is not None and pod.alive else None
        good = container is not None and container.running
        if agent == self._agent and self._tell is not None:
            self._tell(partial(Probed, probe.number, good, "" if good else "nobody answers"))

    def _due(self, number: int) -> None:
        instruction = self._pending.pop(number, None)
        if instruction is None:
            return
        if self._fails.happens(self.failing):
            what = type(instruction).__name__
            self._told(instruction.uid, partial(Failed, instruction.uid, what, "no space left on device"))
            return
        self._do(instruction)

    def _do(self, instruction: _OfPod) -> None:
        self._digest.add(b"machine", self._name, f"{type(instruction).__name__} {instruction.uid}")
        if isinstance(instruction, Open):
            self._open(instruction)
            return
        pod = self._pods.get(instruction.uid)
        if isinstance(instruction, Close):
            self._close(instruction.uid, pod)
        elif pod is None or not pod.alive:
            if pod is not None:
                self._show(pod)
            else:
                what = type(instruction).__name__
                self._told(instruction.uid, partial(Failed, instruction.uid, what, "the pod is not open"))
        elif isinstance(instruction, Start):
            self._start(pod, instruction.run)
        elif isinstance(instruction, Stop):
            self._stop(pod, instruction)

    def _open(self, ask: Open) -> None:
        pod = self._pods.get(ask.uid)
        if pod is None:
            pod = self._pods[ask.uid] = MachineSupervisor(
                ask.uid, ask.namespace, ask.name, ask.address, alive=False
            )
        if not pod.alive and not pod.fenced:
            self._mark_lost(pod)
            pod.alive = True
            pod.deadline_ms = None
            if ask.deadline is not None and self.deadlines:
                pod.deadline_ms = max(self._true_ms(ask.deadline), self._deadline_ms)
                self._timeline.at(pod.deadline_ms, self._look, pod)
        self._show(pod)

    def _start(self, pod: MachineSupervisor, run: ContainerRun) -> None:
        before = pod.containers.get(run.name)
        over = pod.deadline_ms is not None and self._timeline.ms >= pod.deadline_ms
        if over or (before is not None and run.attempt <= before.attempt):
            self._show(pod)  # which says why
            return
        if before is not None and before.running:
            self._told(pod.uid, partial(Failed, pod.uid, "Start", "the run before has not ended yet"))
            return
        ms = self._timeline.ms
        made = ProcessRun(
            uid=pod.uid,
            namespace=pod.namespace,
            name=pod.name,
            container=run.name,
            attempt=run.attempt,
            node=self.node,
            since_ms=ms,
        )
        container = MachineContainer(run.name, run.attempt, ms, run.argv, made, previous=before)
        if before is not None:
            before.previous = None
        pod.containers[run.name] = container
        self._digest.add(b"process", self._name, f"begins {made}")
        self._log.began(made)
        if run.argv[0] == "work":
            code = int(run.argv[2]) if len(run.argv) > 2 else 0
            seconds = float(run.argv[1])
            self._timeline.after(int(seconds * 1000), self._exit, pod, container, code, 0, EXITED)
        self._show(pod)

    def _stop(self, pod: MachineSupervisor, stop: Stop) -> None:
        ms = self._timeline.ms
        for each in pod.containers.values():
            if not each.running or stop.container not in ("", each.name):
                continue
            until = ms + int(max(stop.grace_seconds, 0.0) * 1000)
            if each.kill_at is None or until < each.kill_at:
                each.kill_at = until
                self._timeline.at(until, self._kill, pod, each)
            if not each.stopping and stop.grace_seconds > 0:
                each.stopping = True
                if each.argv[0] != "stubborn":
                    delay = 1 + self._delay("term", pod.uid).choose(_TERM_MS)
                    self._timeline.after(delay, self._exit, pod, each, 128 + _TERM, _TERM, STOPPED)
        self._show(pod)

    def _close(self, uid: str, pod: MachineSupervisor | None) -> None:
        if pod is not None:
            for each in pod.containers.values():
                if each.running:
                    self._finish(each, 128 + _KILL, _KILL, "Error", CLOSED)
            pod.alive = False
            del self._pods[uid]
        self._told(uid, partial(Closed, uid))

    # What time and processes do

    def _look(self, pod: MachineSupervisor) -> None:
        """Its deadline has come, or was moved meanwhile."""
        if not pod.alive or pod is not self._pods.get(pod.uid) or pod.deadline_ms is None:
            return
        if self._timeline.ms < pod.deadline_ms:
            self._timeline.at(pod.deadline_ms, self._look, pod)
            return
        self._digest.add(b"machine", self._name, f"fences {pod.uid}")
        pod.fenced, pod.alive = True, False
        for each in pod.containers.values():
            if each.running:
                self._finish(each, 128 + _KILL, _KILL, "DeadlineExceeded", DEADLINE)
        self._show(pod)

    def _kill(self, pod: MachineSupervisor, container: MachineContainer) -> None:
        if container.kill_at is not None and self._timeline.ms >= container.kill_at:
            self._exit(pod, container, 128 + _KILL, _KILL, STOPPED)

    def _exit(
        self, pod: MachineSupervisor, container: MachineContainer, code: int, signal: int, cause: str
    ) -> None:
        if container.running and pod.alive and pod is self._pods.get(pod.uid):
            self._finish(container, code, signal, "Error" if code else "Completed", cause)
            self._show(pod)

    def _finish(self, container: MachineContainer, code: int, signal: int, reason: str, cause: str) -> None:
        container.ended = (code, signal, reason, self._timeline.ms)
        if container.run.until_ms is None:
            self._digest.add(b"process", self._name, f"ends {container.run} {code}")
            self._log.ended(container.run, self._timeline.ms, cause)

    def _mark_lost(self, pod: MachineSupervisor) -> None:
        for each in pod.containers.values():
            if each.running:
                self._finish(each, 128 + _KILL, _KILL, "SupervisorLost", LOST)

    def _delay(self, label: str, uid: str) -> Stream:
        """Each pod draws delays of its own. Its uid is of this run only: pods are told apart by when they came."""
        found = self._delays.get((label, uid))
        if found is None:
            number = sum(each == label for each, _ in self._delays)
            found = self._delays[label, uid] = self._chance.stream(label, f"{self._name} pod {number}")
        return found

    # What is told

    def _show(self, pod: MachineSupervisor) -> None:
        self._told(pod.uid, partial(Saw, self._sandbox(pod)))

    def _told(self, uid: str, make: Callable[[float], PodEvent]) -> None:
        if self._tell is None or not self._found:
            return
        delay = 1 + self._delay("driver.told", uid).choose(_DELAYS_MS)
        at = max(self._timeline.ms + delay, self._hushed_until, self._told_at.get(uid, 0) + 1)
        self._told_at[uid] = at
        self._timeline.at(at, self._deliver, self._agent, make)

    def _deliver(self, agent: int, make: Callable[[float], PodEvent]) -> None:
        if agent == self._agent and self._tell is not None:
            self._tell(make)

    def _sandbox(self, pod: MachineSupervisor) -> Sandbox:
        states = tuple(self._state(each) for each in pod.containers.values())
        return Sandbox(
            pod.uid, pod.namespace, pod.name, pod.address, states, alive=pod.alive, fenced=pod.fenced,
            deadline=None if pod.deadline_ms is None else self._agents_time(pod.deadline_ms),
        )  # fmt: skip

    def _state(self, container: MachineContainer) -> ContainerState:
        previous = container.previous
        return ContainerState(
            name=container.name,
            attempt=container.attempt,
            started_at=self._agents_time(container.started_ms),
            pid=1 if container.running else 0,
            ended=self._ended(container),
            previous=self._ended(previous) if previous is not None else None,
        )

    def _ended(self, container: MachineContainer) -> ContainerEnded | None:
        if container.ended is None:
            return None
        code, signal, reason, ms = container.ended
        return ContainerEnded(
            attempt=container.attempt, exit_code=code, signal=signal, reason=reason, message="",
            started_at=self._agents_time(container.started_ms), finished_at=self._agents_time(ms),
        )  # fmt: skip

    def _agents_time(self, ms: int) -> float:
        return self._timeline.epoch + (ms + self._skew_ms) / 1000

    def _true_ms(self, at: float) -> int:
        return int((at - self._timeline.epoch) * 1000) - self._skew_ms
