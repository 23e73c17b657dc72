"""Heartbeats of many hollow nodes: whose Lease is due when, the request for it, and how late it was acknowledged.

A machine driven by `runtime/node/hollow.py`. One of N nodes is due every `renew_seconds / N`, always in the same
order: whatever happens, they never come all at once. A process that is behind sends the newest renewal of each node and
skips those that a later one has overtaken (`missed`). A failed renewal is not repeated before the node's next turn, but
for the one question whether the Lease is there: 409 to a create and 404 to a patch are tried again at once, the other
way.

Lateness is counted from when a renewal was due until its acknowledgement arrived, so waiting for a free connection, for
this process to get the processor, and for the server all count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.agent.hollow.script import silent_until
from fairlead.agent.lease import lease_request
from fairlead.decision.contract import NOTHING
from fairlead.decision.decider import Decider
from fairlead.model.views import NODES, Json, Node
from fairlead.port.outcome import Conflict, Done, Outcome, Refused
from fairlead.port.request import Request


class Beat(NamedTuple):
    name: str
    due: float
    again: bool = False


class Beats:
    """`node_of` tells the Node by its name, None if there is none: then nothing is renewed."""

    def __init__(
        self,
        names: Sequence[str],
        renew_seconds: float,
        lease_seconds: int,
        node_of: Callable[[str], Node | None],
        began: float,
    ) -> None:
        self._names = tuple(names)
        self._gap = renew_seconds / len(self._names)
        self._lease_seconds = lease_seconds
        self._node_of = node_of
        self._began = began
        self._turn = 0  # how many turns have passed; the next is that of node `turn` modulo N
        self._again: list[Beat] = []
        self._under_way: set[str] = set()
        self._exists: set[str] = set()  # leases, as far as known; wrong guesses are told by 409 and 404
        self.trouble = ""  # of the last renewal that failed
        self._clear()

    @property
    def next_at(self) -> float:
        """When there is something to take."""
        return 0.0 if self._again else self._due(self._turn)

    @property
    def leases(self) -> int:
        """Of how many nodes one is known to exist."""
        return len(self._exists)

    def take(self, now: float, room: int) -> list[tuple[Beat, Request]]:
        """The renewals that are due, at most so many; each is to be answered."""
        taken: list[tuple[Beat, Request]] = []
        while self._again and len(taken) < room:
            self._begin(self._again.pop(0), now, taken)
        newest = math.floor((now - self._began) / self._gap)
        overtaken = newest - len(self._names) + 1
        if self._turn < overtaken:
            self.missed += overtaken - self._turn
            self._turn = overtaken
        while self._turn <= newest and len(taken) < room:
            name, due = self._names[self._turn % len(self._names)], self._due(self._turn)
            self._turn += 1
            if name in self._under_way:
                self.missed += 1
            else:
                self._begin(Beat(name, due), now, taken)
        return taken

    def answered(self, beat: Beat, outcome: Outcome, now: float) -> None:
        name = beat.name
        self._under_way.discard(name)
        if isinstance(outcome, Done):
            self._exists.add(name)
            self._late.append(now - beat.due)
            return
        guessed_wrong = False
        if name in self._exists:
            if isinstance(outcome, Refused) and outcome.status == 404:
                self._exists.remove(name)
                guessed_wrong = True
        elif isinstance(outcome, Conflict):
            self._exists.add(name)
            guessed_wrong = True
        if guessed_wrong and not beat.again:
            self._again.append(Beat(name, beat.due, again=True))
        else:
            self.failed += 1
            self.trouble = outcome.message

    def report(self) -> Json:
        """What happened since the last report."""
        late = sorted(self._late)
        told = {
            "renewals": len(late),
            "failed": self.failed,
            "missed": self.missed,
            "silent": self.silent,
            "late_ms": {
                name: _at(late, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
            },
        }
        self._clear()
        return told

    def _begin(self, beat: Beat, now: float, taken: list[tuple[Beat, Request]]) -> None:
        node = self._node_of(beat.name)
        if node is None:
            return
        if silent_until(node, now):
            self.silent += 1
            return
        self._under_way.add(beat.name)
        exists = beat.name in self._exists
        request = lease_request(beat.name, self._lease_seconds, now, exists, node.metadata.uid)
        taken.append((beat, request))

    def _due(self, turn: int) -> float:
        return self._began + turn * self._gap

    def _clear(self) -> None:
        self.failed = self.missed = self.silent = 0
        self._late: list[float] = []


def onlooker() -> Decider:
    """A Decider that decides nothing: where somebody else plays the nodes, and only their heartbeats are sent here."""
    return Decider(name="hollow-heartbeats", reads=(NODES,), wakes=(), decide=lambda view, key, now: NOTHING)


def _at(ordered: list[float], share: float) -> float:
    """In milliseconds; 0 of none."""
    if not ordered:
        return 0.0
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1)
