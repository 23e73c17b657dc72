"""One pod on this node: what is known of it, and what is told of it to the API.

`agent/machine.py` keeps one PodWorker per uid, tells it what is seen, and calls `step`, which compares and asks; the
table of its Life is there. Everything is a level: a step that is repeated asks for nothing twice. How it comes to run
is in `run.py`, why and how it ends in `ending.py`, what is said of it in `status.py`, and how in `writes.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.agent.contract import Ask, Close, Sandbox, Stop, Volume
from fairlead.agent.notes import NORMAL, WARNING
from fairlead.agent.pace import Retry
from fairlead.agent.pod.at_most_one import Word, deadline_of
from fairlead.agent.pod.container import Runs
from fairlead.agent.pod.ending import (
    DEADLINE,
    DELETED,
    GONE,
    LEAVING,
    Termination,
    decide_termination,
    plan_stops,
)
from fairlead.agent.pod.life import Life
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.pod.status import NodeStanding, difference, status_of
from fairlead.agent.pod.unheeded import warn_of_unheeded
from fairlead.agent.pod.writes import Writes
from fairlead.agent.references import named_by
from fairlead.agent.views import BoundPod
from fairlead.model.at_most_one import is_at_most_one

_NAMESAKE = "ContainerCreating", "what ran here under this name, of another uid, has not ended yet"
_LOST = "SupervisorLost", "the supervisor of the pod was lost, and everything that it ran"
_EXCEEDED = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
_OUTDATED = (
    "it was started by an older agent, and keeps what that put around it, restarts included: less than the labels of "
    "this node say it isolates. Delete the pod to have it made anew"
)


class PodWorker:
    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.life = Life.WAITING
        self.view: BoundPod | None = None  # the newest that was seen
        self.gone = False  # the API has no such object any more
        self.sandbox: Sandbox | None = None
        self.opened = False  # there is, or may be, something of it on the machine
        self.runs: dict[str, Runs] = {}
        self.ending: Termination | None = None
        self.giving_way: Termination | None = None  # to another agent of this node, which runs it
        self.writes = Writes()
        self.word = Word()
        self.retry = Retry()  # of what the driver could not do
        self.open_asked_at = self.close_asked_at = self.lift_asked_at = 0.0
        self.waiting = ("", "")  # why nothing is started: reason and message
        self.volumes: tuple[Volume, ...] = ()  # as the sandbox has them
        self.volumes_of: tuple[str, int] | None = None  # the versions they were made of
        self.due = 0.0  # when to step again without an event; 0: never
        self.wants_write = False  # there is something to write, and no room for it now
        # Nothing can be started in its sandbox again: it goes once all is told of it, or cannot be told.
        self.reopens = False
        self._adopted = False

    # What is known

    @property
    def name(self) -> tuple[str, str]:
        """Its namespace and name, as the machine has them or the API."""
        of = self.sandbox or (self.view.metadata if self.view is not None else None)
        return (of.namespace, of.name) if of is not None else ("", "")

    @property
    def usable(self) -> bool:
        """Containers can run in its sandbox."""
        return self.sandbox is not None and self.sandbox.alive and not self.sandbox.fenced

    @property
    def runs_nothing(self) -> bool:
        """Surely."""
        if self.sandbox is None or not self.usable:
            return True
        if any(each.may_run for each in self.runs.values()):
            return False
        return all(each.ended is not None for each in self.sandbox.containers)

    @property
    def _is_back(self) -> bool:
        """It was ended because no object was seen, as in a list that was older than the pod, and there is one: what is
        to become of it is decided anew."""
        ended = self.ending is not None and self.ending.cause == GONE and not self.opened
        return ended and self.view is not None and not self.gone

    @property
    def left_behind(self) -> bool:
        """The agent leaves, nothing runs, and what happened could not be told: it stays for the next agent."""
        leaving = self.ending is not None and self.ending.cause == LEAVING
        return leaving and self.runs_nothing and self.writes.retry.failures > 0

    def wake(self, at: float) -> None:
        if at:
            self.due = min(self.due or at, at)

    def note(self, means: Means, container: str, kind: str, reason: str, message: str, now: float) -> None:
        if self.view is not None:
            means.notes.tell(self.view, container, kind, reason, message, now)

    # What is told

    def see_pod(self, view: BoundPod) -> None:
        self.view, self.gone = view, False
        for container in view.all_containers:
            self.runs.setdefault(container.name, Runs(container.name))
        if self.sandbox is not None:
            self._see_containers(self.sandbox)

    def see_sandbox(self, sandbox: Sandbox, means: Means, now: float) -> None:
        self.sandbox, self.opened = sandbox, True
        means.addresses.hold(self.uid, sandbox.address)
        before = {name: each.attempt for name, each in self.runs.items()}
        self._see_containers(sandbox)
        for name, each in self.runs.items():
            if each.attempt > before[name] and each.attempt == each.asked:
                self._note_start(name, each, means, now)
        if not self.usable:
            for each in self.runs.values():
                each.lost(now, *_LOST)
            if self.life is Life.UP:
                self.life = Life.WAITING
        elif self.life is Life.OPENING:
            self.life = Life.UP
            self.waiting = ("", "")
            self.retry.succeeded()

    def failed(self, what: str, message: str, means: Means, now: float) -> None:
        """An instruction could not be carried out: after a rest a step asks again."""
        self.retry.failed(now, means.pace, means.chance)
        words = message[: means.pace.message_max]
        if what == "Open" and self.life is Life.OPENING:
            self.life = Life.WAITING
            self.waiting = ("ContainerCreating", f"failed to create the pod's sandbox: {words}")
            self.note(means, "", WARNING, "FailedCreatePodSandBox", words, now)
        elif what == "Start":
            for name, each in self.runs.items():
                if each.expected:
                    each.refused()
                    each.trouble = ("RunContainerError", words)
                    self.note(means, name, WARNING, "Failed", f"Error: {words}", now)
        elif what == "Stop":
            for each in self.runs.values():
                each.stop_by = 0.0
            if self.ending is not None:
                self.ending.whole_asked_by = 0.0
        elif what == "Refresh":
            self.volumes, self.volumes_of = (), None
        elif what == "Close":
            self.close_asked_at = 0.0

    def closed(self, now: float) -> None:
        """What its containers made is gone with the directory: init containers have to run again."""
        self.sandbox, self.opened, self.close_asked_at = None, False, 0.0
        for each in self.runs.values():
            each.lost(now, *_LOST)
            each.done_before = each.attempt
        if self.gone or self.view is None:
            self.life = Life.GONE
        else:
            self.life = Life.WAITING if self.ending is None else Life.OVER

    def probed(self, container: str, number: int, good: bool, message: str, means: Means, now: float) -> None:
        own, view = self.runs.get(container), self.view
        if own is None or own.probes is None or view is None or self.ending is not None:
            return
        verdict = own.probes.probed(number, good, message)
        if verdict is None:
            return
        words = f"{verdict.kind} probe failed: {message[: means.pace.message_max]}"
        self.note(means, container, WARNING, "Unhealthy", words, now)
        if verdict.ends and own.kill_grace is None and own.running:
            grace = verdict.grace_seconds
            own.kill_grace = float(view.spec.termination_grace_period_seconds if grace is None else grace)
            words = f"Container {container} failed {verdict.kind.lower()} probe, will be restarted"
            self.note(means, container, NORMAL, "Killing", words, now)

    def _see_containers(self, sandbox: Sandbox) -> None:
        for state in sandbox.containers:
            own = self.runs.get(state.name)
            if own is not None:
                own.see(state)

    def _note_start(self, name: str, own: Runs, means: Means, now: float) -> None:
        if own.ended is not None and own.ended.reason == "StartError":
            self.note(means, name, WARNING, "Failed", f"Error: {own.ended.message}", now)
        else:
            self.note(means, name, NORMAL, "Started", f"Started container {name}", now)
        if own.attempt == 0 and self.view is not None:
            for reason, message in warn_of_unheeded(self.view, name):
                self.note(means, name, WARNING, reason, message, now)

    # What follows

    def prepare(self, means: Means, now: float) -> bool:
        """Whether anything may be decided: the machine and the pods of this node must be known."""
        self.due, self.wants_write, self.reopens, self.giving_way = 0.0, False, False, None
        if not means.found or (self.view is None and not means.knows_absence_of(self.uid)):
            return False
        if not self._adopted and self.view is not None:
            self._adopted = True
            self._adopt(self.view, means, now)
        if self._is_back:
            self.ending, self.life = None, Life.WAITING
        self.ending = decide_termination(self.ending, self.view, self.gone, means, now)
        return True

    def _adopt(self, view: BoundPod, means: Means, now: float) -> None:
        """What the status tells of runs that this machine does not know is history: they are lost."""
        for container in view.all_containers:
            own, told = self.runs[container.name], view.told_of(container.name)
            if own.newest is None or int(told.get("restartCount") or 0) > own.attempt:
                own.remember(told, now)
            elif own.previous is None and int(told.get("restartCount") or 0) == own.attempt:
                own.remember_previous(told)
        means.library.lend(self.uid, named_by(view), now)
        means.tokens.lend(view, now)
        if self.life is Life.WAITING and self.usable:
            self.life = Life.UP
        if self.sandbox is not None and self.sandbox.alive and self.sandbox.outdated:
            self.note(means, "", WARNING, "OlderIsolation", _OUTDATED, now)

    def awaits_namesake(self, others: Iterable[PodWorker]) -> bool:
        """One of which at most one may run is opened when what ran here under its name is gone: the pod before it may
        have been deleted without a grace while no agent was there to end it."""
        if self.opened or self.view is None or not is_at_most_one(self.view.metadata):
            return False
        is_there = any(each.opened and each is not self and each.name == self.name for each in others)
        if is_there:
            self.waiting = _NAMESAKE
        return is_there

    def end(self, end: Termination, means: Means, now: float) -> list[Stop | Close]:
        if not self.runs_nothing:
            self.life = Life.STOPPING
            if self.retry.waits(now):
                self.wake(self.retry.at)
                return []
            made, again_at = plan_stops(self.uid, self.view, self.runs, end, means, now)
            for stop in made:
                words = f"Stopping container {stop.container}"
                self.note(means, stop.container, NORMAL, "Killing", words, now)
            self.wake(again_at)
            return list(made)
        if end.cause != GONE:
            self.life = Life.OVER
            return []
        if self.opened:
            return self.close(means, now)
        self.life = Life.GONE
        return []

    def give_way(self, means: Means, now: float) -> list[Stop | Close]:
        """Another agent of this node runs it: end what runs here, with a grace, and tell nothing of it."""
        self.due = 0.0
        if self.runs_nothing or self.life is Life.CLOSING:
            return self.close(means, now)
        if self.giving_way is None:
            self.giving_way = Termination(LEAVING, now, now + means.pace.orphan_grace_seconds)
        made, again_at = plan_stops(self.uid, self.view, self.runs, self.giving_way, means, now)
        self.wake(again_at)
        return list(made)

    def close(self, means: Means, now: float) -> list[Stop | Close]:
        self.life = Life.CLOSING
        asked_at = self.close_asked_at
        again_at = asked_at + means.pace.ask_again_seconds if asked_at else self.retry.at
        if now < again_at:
            self.wake(again_at)
            return []
        self.close_asked_at = now
        self.wake(now + means.pace.ask_again_seconds)
        return [Close(self.uid)]

    def write(self, means: Means, now: float) -> list[Ask | Stop | Close]:
        """Say what is not said yet; then, if that was the last word, take the object or the sandbox away."""
        view, writes = self.view, self.writes
        if view is None or self.gone or self.life in (Life.CLOSING, Life.GONE):
            return []
        patch = (
            {}
            if view.finished and not self.opened
            else difference(self._status(view, means, now), view.status)
        )
        if patch and not (writes.stuck and (view.deleted or self.reopens)):
            if writes.free(means, now) and not writes.contradicts_again(view, patch, means):
                return [writes.status(view, patch, means)]
            return self._later(now)
        if self.reopens and writes.settled(means):
            return list(self.close(means, now))
        if self.life is not Life.OVER or self.ending is None:
            return []
        held = view.metadata.deletion_grace_period_seconds  # 0: whatever holds it is not this node
        if self.ending.cause == DELETED and held and not writes.removed:
            if writes.free(means, now):
                return [writes.removal(view, means)]
            return self._later(now)
        if means.leaving and self.opened and writes.settled(means):
            return list(self.close(means, now))
        return []

    def _later(self, now: float) -> list[Ask | Stop | Close]:
        self.wants_write = True
        if self.writes.retry.waits(now):
            self.wake(self.writes.retry.at)
        return []

    def _status(self, view: BoundPod, means: Means, now: float) -> dict[str, object]:
        end = self.ending
        over = self.life is Life.OVER and (end is None or end.for_good)
        reason, message = _EXCEEDED if over and end is not None and end.cause == DEADLINE else ("", "")
        address = self.sandbox.address if self.sandbox is not None else means.addresses.of(self.uid)
        if self.sandbox is not None and (self.sandbox.deadline or 0.0) > max(now, means.deadline):
            self.wake(self.sandbox.deadline or 0.0)  # then a shorter deadline can be told
        standing = NodeStanding(
            address=address or str(view.status.get("podIP") or ""), host_address=means.host_address,
            sandbox=self.usable and not over, over=over, runs=self.runs, reason=reason, message=message,
            waiting=self.waiting, deadline=deadline_of(view, self.sandbox, means),
        )  # fmt: skip
        return status_of(view, standing, now)
