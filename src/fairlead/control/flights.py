"""Bindings under way: what was decided for a pod, from its request to the moment when the mirror shows it.

What an answer to a Bind means:

    Done      it is so; the pod stays assumed until the mirror shows it (law 5)
    Unknown   look. Bound: it is so. Not bound: the same node again, because the first request may still arrive. If the
              node is suspected by now it is only looked at further, and given up when nothing can arrive any more
    Conflict  look. Bound: it is so, by whomever. Not bound: as Refused
    Refused   it cannot be so: the assumption is dropped, and the pod is tried again after a back-off

What follows from a refusal (its condition, then the evictions) goes the same way, one after the other. Used by
`placing.py`, which decides; both work on the same snapshot and the same queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.cache.mirror import Mirror
from fairlead.control.attempts import Reads, failure_record, retrying
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Instruction, Record
from fairlead.control.requests import request_of
from fairlead.control.tally import ERROR, SCHEDULED, UNSCHEDULABLE, Tally
from fairlead.control.turn import Next, Turn, Write
from fairlead.core import codec
from fairlead.decision.contract import EventNote
from fairlead.decision.effects import Bind, Effect
from fairlead.model.key import Key
from fairlead.model.marks import SUSPECT, UNREACHABLE
from fairlead.model.views import NODES, PODS, Pod
from fairlead.port.outcome import Conflict, Done, Outcome
from fairlead.schedule.snapshot import Snapshot
from fairlead.schedule.waiting import Taken, WaitingPods

_DOUBTS = frozenset({SUSPECT, UNREACHABLE})
LOOKS_PER_REPORT = 2  # of a binding that nobody answers, every so many are told
_ARRIVES_SECONDS = 30.0  # a request that nobody answered is not carried out later than this


@dataclass(slots=True)
class Flight:
    """What is under way for a pod: its binding, or what follows from its refusal."""

    turn: Turn
    taken: Taken
    binds: bool
    refused_by: frozenset[str] = frozenset()
    wakes_on: frozenset[str] = frozenset()
    was_conflict: bool = False  # it is not bound by us, and the look is to tell whether by another
    is_undone: bool = False  # not all of it was carried out

    @property
    def pod(self) -> Pod:
        return self.taken.pod

    @property
    def uid(self) -> str:
        return self.taken.pod.metadata.uid


class Flights:
    """`tell`: an Event; `read`: the revisions that a record of now names."""

    def __init__(
        self,
        name: str,
        health: Health,
        new_call: Callable[[], int],
        mirrors: Mapping[str, Mirror[Any]],
        tell: Callable[[EventNote, float], None],
        read: Callable[[], Reads],
    ) -> None:
        self.tally = Tally()
        self.conflicts = self.unknown = 0  # plain counts
        self._name, self._health, self._new_call, self._mirrors = name, health, new_call, mirrors
        self._tell, self._read = tell, read
        self._calls: dict[int, Flight] = {}
        self._later: list[tuple[float, Flight]] = []  # looks and second tries that are postponed
        self._unseen: list[Flight] = []  # done, and the mirror does not show it yet

    def begin(self, snapshot: Snapshot, waiting: WaitingPods) -> None:
        """Work on these; what is under way is of a former time, and forgotten."""
        self.snapshot, self.waiting = snapshot, waiting
        self._calls.clear()
        self._later.clear()
        self._unseen.clear()

    # What is known

    def of(self, call: int) -> Flight | None:
        return self._calls.get(call)

    def __len__(self) -> int:
        """Pods whose binding, or whose refusal, is being told."""
        return len(self._calls) + len(self._later)

    @property
    def idle(self) -> bool:
        return not self._calls and not self._later and not self._unseen

    def turns(self) -> Iterator[Turn]:
        for flight in (*self._calls.values(), *(flight for _, flight in self._later)):
            yield flight.turn

    def times(self) -> list[float]:
        """When something that was postponed is due."""
        return [at for at, _ in self._later]

    # Requests and their answers

    def answered(self, call: int, outcome: Outcome, now: float, chance: float) -> Iterator[Instruction]:
        self._health.heard(outcome, now)
        flight = self._calls.pop(call, None)
        if flight is None:
            return  # of a former time as leader
        turn = flight.turn
        looked = turn.looking
        if isinstance(outcome, Conflict) and not looked:
            flight.was_conflict = turn.looking = True
            then = Next.LOOK
        else:
            then = turn.answered(outcome)
        if then is Next.FINISH:
            self._finished(flight, outcome, looked, now)
        elif then is Next.EFFECT and looked:
            self._undo(flight)
        elif then is Next.EFFECT:
            self.tell_after(turn, turn.position - 1, now)
            yield self.send(flight)
        elif then is Next.LOOK and self._health.budget.take(now):
            yield self.send(flight)
        elif then in (Next.LOOK, Next.LOOK_LATER) or (looked and self._may_still_arrive(flight, now)):
            # After a look that found nothing it is the same again: the same node, the same victim. Not where nothing
            # is to be placed any more: there it is looked whether the first request has arrived.
            doubtful = self._is_doubtful(turn.effect)
            turn.looking |= doubtful
            self.unknown += 1
            times = 2 ** min(turn.looks, 4) if doubtful else 1
            seconds = self._health.settings.loop.look_again_seconds * times
            self._later.append((now + seconds * (0.5 + chance), flight))
            if flight.binds and looked and turn.looks % LOOKS_PER_REPORT == 0:
                yield Record(failure_record(turn, flight.taken, self._read(), now))
                yield from self._report_retry(flight, "no answer came, and it is not bound", turn.looks, now)
        elif looked and not flight.binds and isinstance(outcome, Done):
            assert turn.effect is not None
            turn.writes.append(Write(turn.effect.key, outcome.revision, False))
            self._undo(flight)
        else:
            self._failed(flight, now, chance)
            yield Record(failure_record(turn, flight.taken, self._read(), now))
            if flight.binds:
                yield from self._report_retry(flight, turn.trouble, flight.taken.attempts, now)

    def _report_retry(self, flight: Flight, why: str, attempt: int, now: float) -> Iterator[Instruction]:
        """Told in the pod's condition and an Event. Nobody waits for the answer: the next attempt tells it anew."""
        effect = flight.turn.decision.effects[0]
        assert isinstance(effect, Bind)
        pod = self._mirrors[PODS.name].index.get(flight.turn.key)
        if not isinstance(pod, Pod) or pod.metadata.uid != flight.uid or pod.spec.node_name:
            return
        report, note = retrying(pod, attempt, f"binding to {effect.node} is tried again: {why}", now)
        self._tell(note, now)
        if report is not None:
            yield Call(self._new_call(), self._name, request_of(report))

    def _finished(self, flight: Flight, outcome: Outcome, looked: bool, now: float) -> None:
        turn = flight.turn
        if not flight.binds:
            self.tell_after(turn, turn.position - 1, now)
            flight.is_undone |= looked
            self._unseen.append(flight)
            return
        effect = turn.decision.effects[0]
        assert isinstance(effect, Bind)
        node = _bound_to(outcome, flight.uid)
        self.tally.ended(SCHEDULED if node in ("", effect.node) else ERROR, flight.taken, turn.began, now)
        if node in ("", effect.node):
            self.tell_after(turn, 0, now)
        elif flight.uid == getattr(self.snapshot.assumed.get(turn.key), "uid", ""):
            self.snapshot.assume(flight.pod, node)  # another was faster, with another node

    def _may_still_arrive(self, flight: Flight, now: float) -> bool:
        """A request that nobody answered; but for a binding to a node that is gone."""
        effect = flight.turn.effect
        if isinstance(effect, Bind) and effect.node not in self.snapshot.nodes.slot:
            return False
        if self._is_doubtful(effect) and now >= flight.turn.began + _ARRIVES_SECONDS:
            return False
        return not flight.was_conflict

    def _is_doubtful(self, effect: Effect | None) -> bool:
        """A binding to a node that is not heard of."""
        if not isinstance(effect, Bind):
            return False
        node = self._mirrors[NODES.name].index.get(Key(NODES.name, "", effect.node))
        return node is not None and any(taint.get("key") in _DOUBTS for taint in node.spec.taints)

    def _failed(self, flight: Flight, now: float, chance: float) -> None:
        """It did not happen and will not."""
        turn = flight.turn
        self.conflicts += 1
        self.tally.ended(ERROR, flight.taken, turn.began, now)
        is_claimed = turn.position > 0 or bool(flight.pod.status.nominated_node_name)
        if flight.binds or not is_claimed:
            self.snapshot.forget(turn.key, flight.uid)
            self.waiting.caused("pods.deleted", now)  # what was assumed there is free again
        self.waiting.put_back(turn.key, flight.uid, now, chance)

    def _undo(self, flight: Flight) -> None:
        """What is there is not what was decided on: it is decided anew when the mirror shows it."""
        flight.is_undone = True
        self._unseen.append(flight)

    def settle(self, flight: Flight, now: float) -> None:
        key = flight.turn.key
        result = ERROR if flight.is_undone else UNSCHEDULABLE
        self.tally.ended(result, flight.taken, flight.turn.began, now)
        if flight.is_undone:
            self.waiting.put_back(key, flight.uid, now, 0.5)
        else:
            self.waiting.refused(key, flight.uid, flight.refused_by, flight.wakes_on, now, 0.5)

    def release_seen(self, now: float) -> None:
        """Refused pods may be tried again once the mirror shows all that was written for them."""
        if self._unseen:
            seen = [flight for flight in self._unseen if all(map(self._seen, flight.turn.writes))]
            for flight in seen:
                self._unseen.remove(flight)
                self.settle(flight, now)

    def _seen(self, write: Write) -> bool:
        """Also what is not there any more is seen, and what the store has lost."""
        mirror = self._mirrors[write.key.resource]
        current = mirror.revision_of(write.key)
        return not current or current >= write.revision or mirror.passed(write.revision)

    def send(self, flight: Flight) -> Call:
        call = self._new_call()
        self._calls[call] = flight
        return Call(call, self._name, flight.turn.request())

    def send_due(self, now: float) -> Iterator[Instruction]:
        health = self._health
        for due in [item for item in self._later if item[0] <= now]:
            self._later.remove(due)
            flight = due[1]
            if not flight.turn.looking and health.breaker.is_open(now):
                self._later.append((health.breaker.open_until, flight))
            elif health.budget.take(now):
                yield self.send(flight)
            else:
                self._later.append((health.budget.ready_at(now), flight))

    def tell_after(self, turn: Turn, place: int, now: float) -> None:
        for note in turn.decision.events:
            if note.after == place:
                self._tell(note, now)


def _bound_to(outcome: Outcome, uid: str) -> str:
    """The node that a look found this pod on; "" where it tells none."""
    if not isinstance(outcome, Done) or not outcome.body:
        return ""
    found = codec.decode(outcome.body)
    if found.get("kind") != PODS.kind or found["metadata"].get("uid") != uid:
        return ""
    return str(found["spec"].get("nodeName", ""))
