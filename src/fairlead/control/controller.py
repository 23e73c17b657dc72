"""One Decider at work: its queue, the turns under way, and the writes that its view does not show yet.

Part of the plane (`plane.py`), which tells it of changes and answers and carries its instructions on. Pure: time and
chance arrive with the events. Never two turns of one key; never a turn on a view older than the key's own writes.

A Decider that raises is a fault of the program: its key's turn ends `DeciderFailed`, is retried a few times and then
rests until something changes; the error is reported once, and all other keys go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

from fairlead.cache.view import MirrorView
from fairlead.control.complaints import Complaints, one_line, tried
from fairlead.control.gathering import Gathering
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Instruction, Record, Report
from fairlead.control.own_writes import OwnWrites
from fairlead.control.record import record_of
from fairlead.control.refusals import Refusals, is_own_change
from fairlead.control.settings import Settings
from fairlead.control.turn import Next, Turn, Write
from fairlead.control.unread import waits
from fairlead.control.urgency import urgency
from fairlead.control.writes import told
from fairlead.decision.contract import Decider, Decision, EventNote, Reading, Stuck, Verdict, Waiting
from fairlead.decision.effects import Change
from fairlead.decision.heeds import ALWAYS, Heeds
from fairlead.model.views import Stored, View
from fairlead.port.outcome import Done, Outcome, Unknown
from fairlead.queue.heat import Quarantined
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

_SEVERAL = Key("", "", "")  # the cause of a turn to which more than one object led


class Controller:
    def __init__(
        self,
        decider: Decider,
        queue: WorkQueue[Key],
        health: Health,
        new_call: Callable[[], int],
        seen: Callable[[Write], bool],
        view: Callable[[], MirrorView],
        tell: Callable[[str, EventNote, float], None] | None = None,
    ) -> None:
        """`seen` tells whether the mirrors show a write of ours; `new_call` numbers the plane's calls; `view` is what
        a turn reads; `tell` takes what a decision has for people to read."""
        self.decider = decider
        self.component: str = getattr(decider, "component", f"{decider.name}-controller")
        self._adopters: Callable[..., Iterable[Key]] | None = getattr(decider, "adopters", None)
        heeds: Heeds = getattr(decider, "heeds", ())
        adopts: Heeds = getattr(decider, "adopts", ())
        self._heeds = dict(heeds)
        self._adopts = {**self._heeds, **dict(adopts)}
        self._tell = tell
        self.queue = queue
        self.settings = health.settings.controller(decider.name)
        self._health = health
        self._new_call = new_call
        self._view = view
        self._turns: dict[int, Turn] = {}  # by the call that is under way
        self._looks_due: list[tuple[float, Turn]] = []
        self._own_writes = OwnWrites(seen)
        self._parked: dict[Key, None] = {}  # popped while their writes were unseen
        self._attempts: dict[Key, int] = {}
        self._held: dict[Key, None] = {}  # in progress, waiting for the budget of retries
        self._released: list[Key] = []  # no longer
        self._raised: dict[Key, int] = {}  # turns in a row that ended with an error of the Decider
        self._causes: dict[Key, Key] = {}  # of the turns to come
        self._by_wall: dict[Key, None] = {}  # whose last decision asked for the wall clock
        self.refusals = Refusals(decider, health, self._complain)
        self._complaints = Complaints(decider.name)
        self._gathering = Gathering(())
        self.stirred = True  # something happened that may allow a turn: `step` is worth a call
        self.due_at = 0.0  # when it is worth one anyhow, as of the last; 0: only when stirred
        # Plain counts for metrics.
        self.decided = self.stuck = self.conflicts = self.unknown = self.raised = 0

    # What the plane tells it

    def apply(self, settings: Settings, now: float) -> None:
        """Work with these from now on."""
        self.settings = settings.controller(self.decider.name)
        self.queue.apply(settings.queue(self.decider.name), now)
        self.stirred = True

    def observe(self, resource: str, before: View | None, after: View | None, now: float) -> None:
        for key in self.guarded(self.decider.keys, resource, before, after):
            self._add(key, resource, before, after, now)

    def observe_adoptable(
        self, view: Reading, resource: str, before: View | None, after: View | None, now: float
    ) -> None:
        """Whose selector matches an object that names no owner only a look at the others tells."""
        assert self._adopters is not None
        for key in self.guarded(self._adopters, view, resource, before, after):
            self._add(key, resource, before, after, now)

    def _add(self, key: Key, resource: str, before: View | None, after: View | None, now: float) -> None:
        """A change gives this key a turn, which remembers whose change that was."""
        if key in self.refusals and is_own_change(key, resource, before, after):
            self.refusals.end(key)
        self.queue.add_at(key, now, now + self._gathering.seconds, urgency(key, before, after))
        self.stirred = True
        changed: Any = after if after is not None else before
        if isinstance(changed, Stored):
            cause = changed.key
        else:
            cause = Key(resource, changed.metadata.namespace, changed.metadata.name)
        if self._causes.setdefault(key, cause) != cause:
            self._causes[key] = _SEVERAL

    def gather(self, objects: Sized) -> None:
        """Each of its looks is at all of these: the more there are, the more changes one look is to answer."""
        self._gathering = Gathering(objects)

    def heeds(self, resource: str, facts: int) -> bool:
        """Whether its `keys` may name something for a change of which these are the facts."""
        heeded = self._heeds.get(resource, ALWAYS)
        return heeded == ALWAYS or bool(heeded & facts)

    def adopts(self, resource: str, facts: int) -> bool:
        """Whether its `adopters` may."""
        heeded = self._adopts.get(resource, ALWAYS)
        return self._adopters is not None and (heeded == ALWAYS or bool(heeded & facts))

    def keys(self, resource: str, before: View | None, after: View | None) -> Sequence[Key]:
        """What the Decider says; nothing if it raises."""
        return self.guarded(self.decider.keys, resource, before, after)

    def initial_keys(self) -> Sequence[Key]:
        """Keys that nothing in the world wakes."""
        return self.guarded(getattr(self.decider, "initial_keys", tuple))

    def release(self, key: Key) -> None:
        """The budget of retries pays for this one now."""
        del self._held[key]
        self._released.append(key)
        self.stirred = True

    def ease(self, key: Key, now: float) -> None:
        """What this key waited for may refuse it no more."""
        self.refusals.end(key)
        self.queue.add(key, now)
        self.stirred = True

    def lead(self) -> None:
        """Everything is decided anew: who was refused in a former time as leader is tried again."""
        self.refusals.clear()

    def caught_up(self, now: float) -> None:
        """The mirrors moved: keys that waited for their own writes may go on."""
        for key in list(self._parked):
            if self._own_writes.are_seen(key):
                del self._parked[key]
                self.queue.add(key, now)
                self.stirred = True
        self._own_writes.settle()

    def stepped(self, now: float) -> None:
        """The wall clock was set: what was decided by it is decided again."""
        for key in self._by_wall:
            self.queue.add(key, now)
            self.stirred = True

    def step(self, now: float) -> Iterator[Instruction]:
        """Begin as many turns as there is room for."""
        yield from self._take_reports()
        yield from self._look(now)
        if self._health.breaker.is_open(now):
            return
        while self.has_room:
            if self._released:
                yield from self._begin(self._released.pop(0), now)
                continue
            popped = self.queue.pop(now)
            if popped is None:
                return
            key = popped.key
            if not self._own_writes.are_seen(key):
                self._parked[key] = None
                self.queue.done(key, now)
            elif key in self._attempts and not self._health.budget.take_or_wait(
                (self.decider.name, key), now
            ):
                self._held[key] = None
            else:
                yield from self._begin(key, now)

    def answered(self, call: int, outcome: Outcome, now: float, chance: float) -> Iterator[Instruction]:
        self.stirred = True
        turn = self._turns.pop(call)
        self._health.heard(outcome, now)
        self.unknown += isinstance(outcome, Unknown)
        position, effect, sent = turn.position, turn.effect, not turn.looking
        following = turn.answered(outcome)
        if sent and isinstance(outcome, Done) and isinstance(effect, Change):
            yield from self._wrote(turn, effect, now)
        if turn.position > position:
            self._tell_notes(turn.decision, position, now)
        if following is Next.EFFECT and now - turn.began > self.settings.turn_seconds:
            self._cut_short(turn, now)
        elif following is Next.EFFECT or (
            following in (Next.LOOK, Next.SAME) and self._health.budget.take(now)
        ):
            yield from self._send(turn, now)
        elif following in (Next.LOOK, Next.LOOK_LATER, Next.SAME):
            wait = self._health.settings.loop.look_again_seconds
            self._looks_due.append((now + wait * (0.5 + chance), turn))
        else:
            yield from self._end(turn, following, now, chance)

    @property
    def next_at(self) -> float:
        """When the earliest postponed look is due; 0 if there is none."""
        return min((at for at, _ in self._looks_due), default=0.0)

    def turns(self) -> Iterator[Turn]:
        """Those under way, postponed looks included."""
        yield from self._turns.values()
        for _, turn in self._looks_due:
            yield turn

    @property
    def has_room(self) -> bool:
        return len(self._turns) + len(self._looks_due) < self.settings.turns_max

    @property
    def idle(self) -> bool:
        waits = self._looks_due or self._parked or self._held or self._released
        return not self._turns and not waits

    # Turns

    def _begin(self, key: Key, now: float) -> Iterator[Instruction]:
        view = self._view()
        self.decided += 1
        cause = self._causes.pop(key, None)
        decision = tried(self.decider.decide, view, key, now)
        if isinstance(decision, Exception):
            yield from self._failed(Turn(key, Decision(), now), decision, now)
            return
        self._by_wall.pop(key, None)
        if view.walls:
            self._by_wall[key] = None
        missed = view.missed()
        if missed:
            decision = waits(self.decider, view, key, missed, now)
        held = self.refusals.held_back(decision, view, key, now) if key in self.refusals else None
        decision = held or decision
        self._tell_notes(decision, -1, now)
        turn = Turn(
            key, decision, now, is_held=held is not None, changes=self._health.waits.changes, cause=cause
        )
        if decision.effects:
            yield from self._send(turn, now)
        else:
            yield from self._end(turn, Next.FINISH, now, 0.0)
        yield self._record(turn, now, view)

    def _tell_notes(self, decision: Decision, after: int, now: float) -> None:
        """What there is to tell when it is decided (-1), or when this effect has succeeded."""
        if decision.events and self._tell is not None:
            for note in decision.events:
                if note.after == after:
                    self._tell(self.component, note, now)

    def _send(self, turn: Turn, now: float) -> Iterator[Instruction]:
        request = tried(turn.request)
        if isinstance(request, Exception):  # an effect that cannot be put into words
            yield from self._failed(turn, request, now)
            return
        call = self._new_call()
        self._turns[call] = turn
        yield Call(call, self.decider.name, request)

    def _look(self, now: float) -> Iterator[Instruction]:
        """The looks that are due, as far as the budget of retries goes."""
        for due in [item for item in self._looks_due if item[0] <= now]:
            self._looks_due.remove(due)
            if self._health.budget.take(now):
                yield from self._send(due[1], now)
            else:
                self._looks_due.append((self._health.budget.ready_at(now), due[1]))

    def _record(
        self, turn: Turn, now: float, view: Reading | None = None, verdict: Verdict | None = None
    ) -> Record:
        revision = self._health.settings.revision
        return Record(record_of(self.decider.name, turn, view, now, verdict, revision))

    def _cut_short(self, turn: Turn, now: float) -> None:
        """What was decided is too old to be acted on any further, perhaps of a former time as leader: decide again."""
        self._own_writes.add(turn.key, turn.writes)
        self.queue.add(turn.key, now)
        self.queue.done(turn.key, now)

    def _end(self, turn: Turn, following: Next, now: float, chance: float) -> Iterator[Instruction]:
        key, queue = turn.key, self.queue
        if self._raised:
            self._raised.pop(key, None)
        self._own_writes.add(key, turn.writes)
        if following is Next.FINISH:
            self._attempts.pop(key, None)
            queue.forget(key)
            if not turn.is_held and key in self.refusals:
                self.refusals.end(key)
            if turn.decision.again_at:
                queue.add_at(key, now, turn.decision.again_at)
            if turn.is_open:
                queue.add_at(key, now, now)
            queue.done(key, now)
            return
        if following is Next.AGAIN:
            self.conflicts += 1
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        effect = turn.effect
        assert effect is not None  # the one that did not happen
        policy = self._health.settings.retries[type(effect)]
        exhausted = following is Next.LATER and attempt >= policy.attempts_max
        if exhausted or following in (Next.WAIT, Next.STUCK):
            self._attempts.pop(key, None)
            yield from self._refused(turn, following is not Next.STUCK, now, chance)
        else:
            queue.retry(key, now, chance, policy)
        queue.done(key, now)

    def _refused(self, turn: Turn, is_retried: bool, now: float, chance: float) -> Iterator[Instruction]:
        """Nothing of this sort is tried again for a while. What the object's readers are to know is told at once, in
        a turn that sees what was done before the refusal."""
        key = turn.key
        self.stuck += not is_retried
        verdict, at = self.refusals.add(turn, is_retried, now, chance)
        yield self._record(turn, now, verdict=verdict)
        if not turn.is_held and key in self.refusals:
            self._tell_notes(self.refusals.report(self._view(), key, now), -1, now)
        self.queue.add_at(key, now, at)

    # What goes wrong

    def _failed(self, turn: Turn, error: Exception, now: float) -> Iterator[Instruction]:
        """The Decider raised: this turn ends here."""
        key = turn.key
        self._own_writes.add(key, turn.writes)
        yield self._record(turn, now, verdict=Stuck("DeciderFailed", one_line(error)))
        self._complain("/".join(part for part in key if part), error)
        yield from self._take_reports()
        tries = self._raised.get(key, 0) + 1
        if tries < self._health.settings.loop.raised_attempts_max:
            self._raised[key] = tries
            self.queue.retry(key, now, 0.5)
        else:
            self._raised.pop(key, None)
            self.stuck += 1
        self.queue.done(key, now)

    def guarded(self, ask: Callable[..., Iterable[Key]], *arguments: object) -> Sequence[Key]:
        """The keys a Decider names; none if it raises, which the next resync finds out again."""
        try:
            return tuple(ask(*arguments))
        except Exception as error:  # noqa: BLE001 - like `tried`, but asked for every change
            self._complain("naming keys", error)
            return ()

    def _complain(self, what: str, error: Exception) -> None:
        self.raised += 1
        self._complaints.about(what, error)
        self.stirred = True

    def _wrote(self, turn: Turn, effect: Change, now: float) -> Iterator[Instruction]:
        """Look out for a write loop; slow it down. Who follows others that go up and down, as the counts of a rollout
        do, writes the same again and again for good reason: only what led back to itself is a loop."""
        if turn.cause is not None and turn.cause != effect.key:
            return
        found = self._health.writes.wrote(self.decider.name, effect, now)
        if found is None:
            return
        loop, is_new = found
        self.queue.quarantine(turn.key, now, loop.writes)
        if is_new:
            yield self._record(turn, now, verdict=Waiting("WriteLoop", told(loop)))
            yield Report(self.decider.name, told(loop))

    def _take_reports(self) -> Iterator[Report]:
        yield from self._complaints.take()
        for hot in self.queue.take_reports():
            if isinstance(hot, Quarantined):
                name = "/".join(part for part in hot.key if part)
                text = f"{self.decider.name} looked at {name} {hot.turns} times within a window; it is slowed down"
                yield Report(self.decider.name, text)
