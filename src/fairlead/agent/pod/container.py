"""What is known of one container of a pod: its newest run, the run before, when it may run again.

Kept by `worker.py`, one per container of the spec; `status.py` reads it. Attempts only ever grow: the next one is
above all that was seen, asked for, or told in the pod's status before this agent began.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.agent.contract import ContainerEnded, ContainerState
from fairlead.agent.pace import Pace
from fairlead.agent.pod.probes import Probes
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.core.times import time_or_zero
from fairlead.model.views import Json

KILLED = 137
LOST_REASON = "ContainerStatusUnknown"
LOST_MESSAGE = "The container could not be located when the pod was terminated"


class Runs:
    def __init__(self, name: str) -> None:
        self.name = name
        self.newest: ContainerState | None = None
        self.previous: ContainerEnded | None = None
        self.asked = -1  # the newest attempt this agent asked for
        self.expected = False  # and nothing has been seen of it yet
        self.done_before = -1  # runs up to this attempt no longer count as done: what they made is lost
        self.probes: Probes | None = None
        self.stop_by = 0.0  # it was asked to stop, and is killed then; 0: it was not
        self.kill_grace: float | None = None  # a probe wants it ended, with this grace
        self.trouble: tuple[str, str] | None = None  # why it cannot be started: reason and message
        self._probed_attempt = -1
        self._delay = 0.0
        self._delayed = -1  # the attempt whose end has been counted

    # What is known

    @property
    def attempt(self) -> int:
        return self.newest.attempt if self.newest is not None else -1

    @property
    def next_attempt(self) -> int:
        return max(self.attempt, self.asked) + 1

    @property
    def running(self) -> bool:
        return self.newest is not None and self.newest.ended is None

    @property
    def ended(self) -> ContainerEnded | None:
        return self.newest.ended if self.newest is not None else None

    @property
    def may_run(self) -> bool:
        return self.running or self.expected

    @property
    def succeeded(self) -> bool:
        ended = self.ended
        return ended is not None and ended.exit_code == 0 and ended.attempt > self.done_before

    @property
    def started(self) -> bool:
        return self.running and self.probes is not None and self.probes.started

    @property
    def ready(self) -> bool:
        return self.running and self.probes is not None and self.probes.ready

    # What is seen

    def see(self, state: ContainerState) -> None:
        """Levels: an older run than the known one says nothing."""
        if state.attempt < self.attempt:
            return
        if self.newest is not None and state.attempt > self.attempt:
            self.previous = self.newest.ended
        self.newest = state
        self.previous = state.previous or self.previous
        self.expected = self.expected and state.attempt < self.asked
        if state.ended is not None:
            self.probes, self.stop_by, self.kill_grace = None, 0.0, None

    def lost(self, now: float, reason: str, message: str) -> None:
        """Nothing of it runs any more and nobody saw how it ended. What was asked for and never seen may have run:
        its number is not used again."""
        self.expected = False
        state = self.newest
        if state is not None and state.ended is None:
            end = _killed(state.attempt, reason, message, state.started_at, now)
            self.see(structs.replace(state, name=self.name, pid=0, ended=end))

    def remember(self, told: Json, now: float) -> None:
        """From the pod's status, when this machine knows nothing of it: what ran there is gone."""
        state = told.get("state") or {}
        attempt = int(told.get("restartCount") or 0)
        last = (told.get("lastState") or {}).get("terminated")
        if state.get("terminated"):
            end = _ended(attempt, state["terminated"])
        elif state.get("running"):
            since = time_or_zero(state["running"].get("startedAt"))
            end = _killed(attempt, LOST_REASON, LOST_MESSAGE, since, now)
        elif last:
            end, last = _ended(attempt, last), None
        else:
            return
        before = _ended(attempt - 1, last) if last else None
        self.see(
            ContainerState(
                name=self.name, attempt=attempt, started_at=end.started_at, pid=0, ended=end, previous=before
            )
        )
        self.done_before = attempt

    def remember_previous(self, told: Json) -> None:
        """The run before this one, where its supervisor was another and only the status knows it."""
        last = (told.get("lastState") or {}).get("terminated")
        if last:
            self.previous = _ended(self.attempt - 1, last)

    # When it may run again

    def restart_at(self, pace: Pace) -> float:
        """When an ended container may be started again: at once the first time, then later and later."""
        ended = self.ended
        if ended is None:
            return 0.0
        if self._delayed != ended.attempt:
            self._delayed = ended.attempt
            if ended.finished_at - ended.started_at >= pace.crash_reset_seconds:
                self._delay = 0.0
        return ended.finished_at + self._delay

    @property
    def delay(self) -> float:
        return self._delay

    def asks(self, pace: Pace) -> None:
        """It is being started."""
        if self.newest is not None:
            self._delay = min(self._delay * 2 or pace.crash_seconds, pace.crash_max_seconds)
        self.asked, self.expected = self.next_attempt, True
        self.trouble, self.stop_by, self.kill_grace = None, 0.0, None

    def refused(self) -> None:
        """The start it was asked for did not happen: the same attempt is asked for again."""
        if self.expected:
            self.asked, self.expected = self.asked - 1, False

    def watch_over(self, container: BoundContainer, pod: BoundPod) -> None:
        """See that the present run has its probes; a new run has new ones."""
        state = self.newest
        if state is None or state.ended is not None:
            return
        if self.probes is None or self._probed_attempt != state.attempt:
            told = pod.told_of(self.name)
            same = told.get("containerID") == container_id(pod.metadata.uid, self.name, state.attempt)
            was_started, was_ready = same and bool(told.get("started")), same and bool(told.get("ready"))
            self.probes = Probes(container, state.started_at, was_started, was_ready)
            self._probed_attempt = state.attempt


def container_id(uid: str, name: str, attempt: int) -> str:
    return f"process://{uid}/{name}/{attempt}"


def _killed(attempt: int, reason: str, message: str, started_at: float, now: float) -> ContainerEnded:
    return ContainerEnded(attempt, KILLED, 0, reason, message, started_at, now)


def _ended(attempt: int, told: Json) -> ContainerEnded:
    return ContainerEnded(
        attempt=max(0, attempt),
        exit_code=int(told.get("exitCode") or 0),
        signal=int(told.get("signal") or 0),
        reason=told.get("reason") or "",
        message=told.get("message") or "",
        started_at=time_or_zero(told.get("startedAt")),
        finished_at=time_or_zero(told.get("finishedAt")),
    )
