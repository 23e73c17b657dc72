"""Bindings under way: what was decided for a pod, from its request to the moment when the mirror shows it.

What an answer to a Bind means:

    Done      it is so; the pod stays assumed until the mirror shows it (laws.md 5)
    Unknown   look. Bound: it is so. Not bound: the same node again, because the first request may still arrive. If the
              node is suspected by now it is only looked at further, and given up when nothing can arrive any more
    Conflict  look. Bound: it is so, by whomever. Not bound: as Refused
    Refused   it cannot be so: the assumption is dropped, and the pod is tried again after a back-off

Bindings that were decided together go as one request, and are one transaction. Of one that is not in it nothing is
known but that: it is asked for alone, and so are all if the whole was refused. If nobody knows what became of it, each
is looked at.

What follows from a refusal (its condition, then the evictions) goes the same way, one after the other. Used by
`placing.py`, which decides; both work on the same snapshot and the same queue. Calls and postponed looks are in
`underway.py`, writes that are not shown yet in `own_writes.py`, as those of controllers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.cache.mirror import Mirror
from fairlead.control.attempts import Reads, mark_retrying, outcome_record
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Outbox, Record
from fairlead.control.own_writes import OwnWrites, Write, is_shown
from fairlead.control.placement_tally import ERROR, SCHEDULED, UNSCHEDULABLE, PlacementTally
from fairlead.control.record import CONFLICT, LOOKED_UP, REFUSED, UNKNOWN
from fairlead.control.requests import bindings_of, request_of
from fairlead.control.turn import Next, Turn
from fairlead.control.underway import Underway
from fairlead.core import codec
from fairlead.decision.contract import EventNote
from fairlead.decision.effects import Bind, Effect
from fairlead.model.key import Key
from fairlead.model.marks import SUSPECT, UNREACHABLE
from fairlead.model.views import NODES, PODS, Pod
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.schedule.snapshot import Snapshot
from fairlead.schedule.waiting import TakenPod, WaitingPods
from fairlead.store.contract import OPERATIONS_MAX

_DONE = Done()
_DOUBTS = frozenset({SUSPECT, UNREACHABLE})
#: bound: plane | looks after an unanswered binding for each report | told
LOOKS_PER_REPORT = 2  # of a binding that nobody answers, every so many are told
_ARRIVES_SECONDS = 30.0  # a request that nobody answered is not carried out later than this


class Flight(msgspec.Struct, eq=False):
    """What is under way for a pod: its binding, or what follows from its refusal."""

    turn: Turn
    taken: TakenPod
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
        tell: Callable[[EventNote, float, str], None],
        read: Callable[[], Reads],
    ) -> None:
        self.tally = PlacementTally()
        self.conflicts = self.unknown = 0  # plain counts
        self._name, self._health, self._new_call, self._mirrors = name, health, new_call, mirrors
        self._tell, self._read = tell, read
        self.underway = Underway[Flight](name, health, new_call)
        self.own_writes = OwnWrites[Flight](lambda write: is_shown(mirrors, write))

    def begin(self, snapshot: Snapshot, waiting: WaitingPods) -> None:
        """Work on these; what is under way is of a former time, and forgotten."""
        self.snapshot, self.waiting = snapshot, waiting
        self.underway.forget()
        self.own_writes.forget()

    @property
    def idle(self) -> bool:
        return self.underway.idle and not self.own_writes.parked

    # Requests and their answers

    def answered(self, call: int, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        together = self.underway.answered(call, outcome, now)
        if len(together) == 1:
            self._answered(together[0], outcome, now, chance, out)
            return
        made = outcome.each if isinstance(outcome, Done) else ()
        for place, flight in enumerate(together):
            if isinstance(outcome, Unknown):
                self._answered(flight, outcome, now, chance, out)
            elif place < len(made) and made[place]:
                self._answered(flight, _DONE, now, chance, out)
            elif isinstance(outcome, Refused) and outcome.retry == "later":
                self.underway.postpone(flight, now, chance)
            else:
                self.send(flight, out)

    def _answered(self, flight: Flight, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        turn = flight.turn
        looked = turn.looking
        if isinstance(outcome, Conflict) and not looked:
            flight.was_conflict = turn.looking = True
            then = Next.LOOK
        else:
            then = turn.answered(outcome)
        if then is Next.FINISH:
            if looked:
                out.append(Record(outcome_record(turn, flight.taken, LOOKED_UP, self._read(), now)))
            self._finished(flight, outcome, looked, now)
        elif then is Next.EFFECT and looked:
            self._undo(flight)
        elif then is Next.EFFECT:
            self.tell_after(turn, turn.position - 1, now)
            self.send(flight, out)
        elif then is Next.LOOK and self._health.budget.take(now):
            self.send(flight, out)
        elif then in (Next.LOOK, Next.LOOK_LATER) or (looked and self._may_still_arrive(flight, now)):
            # After a look that found nothing it is the same again: the same node, the same victim. Not where nothing
            # is to be placed any more: there it is looked whether the first request has arrived.
            doubtful = self._is_doubtful(turn.effect)
            turn.looking |= doubtful
            self.unknown += 1
            self.underway.postpone(flight, now, chance, 2 ** min(turn.looks, 4) if doubtful else 1)
            if flight.binds and looked and turn.looks % LOOKS_PER_REPORT == 0:
                out.append(Record(outcome_record(turn, flight.taken, UNKNOWN, self._read(), now)))
                self._report_retry(flight, "no answer came, and it is not bound", turn.looks, now, out)
        elif looked and not flight.binds and isinstance(outcome, Done):
            assert turn.effect is not None
            turn.writes.append(Write(turn.effect.key, outcome.revision, False))
            self._undo(flight)
        else:
            self._failed(flight, now, chance)
            became = CONFLICT if flight.was_conflict else REFUSED
            out.append(Record(outcome_record(turn, flight.taken, became, self._read(), now)))
            if flight.binds:
                self._report_retry(flight, turn.trouble, flight.taken.attempts, now, out)

    def _report_retry(self, flight: Flight, why: str, attempt: int, now: float, out: Outbox) -> None:
        """Told in the pod's condition and an Event. Nobody waits for the answer: the next attempt tells it anew."""
        effect = flight.turn.decision.effects[0]
        assert isinstance(effect, Bind)
        pod = self._mirrors[PODS.name].index.get(flight.turn.key)
        if not isinstance(pod, Pod) or pod.metadata.uid != flight.uid or pod.spec.node_name:
            return
        report, note = mark_retrying(pod, attempt, f"binding to {effect.node} is tried again: {why}", now)
        self._tell(note, now, flight.turn.id)
        if report is not None:
            out.append(Call(self._new_call(), self._name, request_of(report), flight.turn.id))

    def _finished(self, flight: Flight, outcome: Outcome, looked: bool, now: float) -> None:
        turn = flight.turn
        if not flight.binds:
            self.tell_after(turn, turn.position - 1, now)
            flight.is_undone |= looked
            self._park(flight)
            return
        effect = turn.decision.effects[0]
        assert isinstance(effect, Bind)
        node = "" if outcome is _DONE else _bound_to(outcome, flight.uid)
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
        self._park(flight)

    def _park(self, flight: Flight) -> None:
        self.own_writes.wrote(flight, flight.turn.writes)
        self.own_writes.park(flight)

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
        for flight in self.own_writes.unpark():
            self.settle(flight, now)

    def send(self, flight: Flight, out: Outbox) -> None:
        self.underway.send((flight,), flight.turn.request(), out, flight.turn.id)

    def send_together(self, flights: Sequence[Flight], out: Outbox) -> None:
        """Bindings that ask for nothing but a node."""
        for first in range(0, len(flights), OPERATIONS_MAX):
            some = flights[first : first + OPERATIONS_MAX]
            if len(some) == 1:
                self.send(some[0], out)
            else:
                decided = [(flight.turn.effect, flight.turn.id) for flight in some]
                self.underway.send(tuple(some), bindings_of(decided), out)

    def send_due(self, now: float, out: Outbox) -> None:
        breaker = self._health.breaker
        for flight in self.underway.due(now):
            if not flight.turn.looking and breaker.is_open(now):
                self.underway.put_off(flight, breaker.open_until)
            elif self.underway.is_paid(flight, now):
                self.send(flight, out)

    def tell_after(self, turn: Turn, place: int, now: float) -> None:
        for note in turn.decision.events:
            if note.after == place:
                self._tell(note, now, turn.id)


def _bound_to(outcome: Outcome, uid: str) -> str:
    """The node that a look found this pod on; "" where it tells none."""
    if not isinstance(outcome, Done) or not outcome.body:
        return ""
    found = codec.decode(outcome.body)
    if found.get("kind") != PODS.kind or found["metadata"].get("uid") != uid:
        return ""
    return str(found["spec"].get("nodeName", ""))
