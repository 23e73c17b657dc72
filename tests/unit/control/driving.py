"""A plane driven in one thread and virtual time against the real API, over a network that can lose things."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.api.access.users import User
from fairlead.cache.events import Framed, Listed, Marked, Mirrored
from fairlead.control.instructions import (
    Answers,
    AskProgress,
    Call,
    Forget,
    PlaneEvent,
    Record,
    Replied,
    Report,
)
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.port.driving import ListAll, Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Unknown, outcome_of
from fairlead.port.request import READ_VERBS, Reply, Request
from fairlead.runtime.clock import ClockStep
from tests.inprocess import ADMIN, InProcess

# What the network does to a write: "" nothing, "request" loses it on the way, "reply" loses its answer.
Lose = Callable[[Request], str]


class Driver:
    """Carries out instructions at once, in virtual time; `lose` says which answers never arrive."""

    expects_errors = False

    def __init__(
        self,
        api: InProcess,
        lose: Lose | None = None,
        deciders: Sequence[Decider] | None = None,
        identity: str = "test",
        capabilities: Capabilities = FAIRLEAD,
        user: User = ADMIN,
    ) -> None:
        """`user`: whom its requests come from."""
        self.api = api
        self.user = user
        self.lose = lose or (lambda request: "")
        chosen = deciders if deciders is not None else (*default_deciders(), hollow_decider("node-", 2))
        self.plane = Plane(identity, chosen, Placer if deciders is None else None, capabilities)
        self.now = api.now
        self.stopped = False  # the process died: it hears and does nothing any more
        self.wake_at = 0.0
        self.records: list[dict[str, Any]] = []
        self.streams: list[str] = []  # to which log each of the records went
        self.reports: list[Report] = []
        self.sent: list[Request] = []
        self.lost: list[Request] = []
        self._todo: list[Any] = []
        self._follows: dict[str, tuple[Any, int]] = {}
        self.tell(Started(self.now, 0.5))

    def tell(self, event: PlaneEvent) -> None:
        for instruction in self.plane.handle(event):
            if isinstance(instruction, Call):
                self._todo.append(instruction)
            elif isinstance(instruction, WakeAt):
                assert not instruction.timer, "a mirror had trouble"
                self.wake_at = instruction.at
            elif isinstance(instruction, Record):
                self.records.append(json.loads(instruction.body))
                self.streams.append(instruction.stream)
            elif isinstance(instruction, Report):
                self.reports.append(instruction)
                if instruction.error is not None and not self.expects_errors:
                    raise instruction.error
            elif isinstance(instruction, Forget):
                self.api.hub.unsubscribe(self._follows.pop(instruction.resource)[0])
            else:
                self._todo.append(instruction)

    def _do(self, instruction: Any) -> None:
        now = self.now
        if isinstance(instruction, Call):
            request = instruction.request
            self.api.now = now
            self.sent.append(request)
            lost = self.lose(request) if request.verb not in READ_VERBS else ""
            if lost:
                self.lost.append(request)
            outcome: Any = Unknown("no answer")
            if lost != "request":
                reply = self.api.send(request, self.user)
                assert isinstance(reply, Reply)
                if not lost:
                    outcome = outcome_of(reply)
            self.tell(Answers((Replied(instruction.call, outcome, now, 0.5),)))
        elif isinstance(instruction, ListAll):
            name = instruction.resource_name
            entries = tuple(self.api.store.list(name))
            listed = Listed(self.api.store.revision, entries, now, instruction.attempt)
            self.tell(Mirrored(name, (listed,)))
        elif isinstance(instruction, AskProgress):
            subscription, attempt = self._follows[instruction.resource]
            self._deliver()
            marked = Marked(self.api.hub.progress(subscription), now, attempt)
            self.tell(Mirrored(instruction.resource, (marked,)))
        else:
            subscription = self.api.hub.subscribe(
                instruction.resource_name, "", None, instruction.since_revision
            )
            self._follows[instruction.resource_name] = (subscription, instruction.attempt)

    def _deliver(self) -> bool:
        found = False
        for name, (subscription, attempt) in list(self._follows.items()):
            for change in self.api.hub.take(subscription):
                found = True
                self.tell(Mirrored(name, (Framed(change.type, change.entry, self.now, attempt),)))
        return found

    def step_wall_clock(self, seconds: float) -> None:
        step = ClockStep(self.now, seconds, seconds)
        self.tell(Stepped(seconds, str(step), self.now))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(100_000):
            if self.stopped:
                break
            if self._todo:
                self._do(self._todo.pop(0))
            elif not self._deliver():
                if not self.wake_at or self.wake_at > end:
                    break
                self.now = max(self.now, self.wake_at)
                self.tell(Woke(self.now, 0.5))
        else:
            raise AssertionError("it does not come to rest")
        self.now = end

    def live_pods(self) -> list[dict[str, Any]]:
        pods = self.api.get("/api/v1/namespaces/default/pods")[1]["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
