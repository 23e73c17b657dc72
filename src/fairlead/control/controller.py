"""One Decider at work: its queue, and the turns under way (`underway.py`) with what their answers lead to.

Part of the plane (`plane.py`), which tells it of changes and answers and carries its instructions on. Pure: time and
chance arrive with the events. Never two turns of one key; never a turn on a view older than the key's own writes.

A Decider that raises is a fault of the program: its key's turn ends `DeciderFailed`, is retried a few times and then
rests until something changes; the error is reported once, and all other keys go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

from fairlead.cache.view import MirrorView
from fairlead.control.complaints import Complaints, one_line, try_call
from fairlead.control.gathering import Gathering
from fairlead.control.health import Health
from fairlead.control.instructions import AskProgress, Outbox, Report
from fairlead.control.needless import Needless
from fairlead.control.own_writes import OwnWrites, Write
from fairlead.control.record import (
    CONFLICT,
    LOOKED_UP,
    LOOP,
    RAISED,
    REFUSED,
    UNKNOWN,
    Deciding,
    outcome_of,
    records_of,
)
from fairlead.control.refusals import Refusals, is_own_change
from fairlead.control.resyncing import keys_of_all
from fairlead.control.settings import Settings
from fairlead.control.turn import Next, Turn
from fairlead.control.underway import Underway
from fairlead.control.unread import wait_until_readable
from fairlead.control.urgency import urgency
from fairlead.control.write_loops import describe_loop
from fairlead.decision.contract import Decision, EventNote, Stuck, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Change
from fairlead.model.key import Key
from fairlead.model.views import View
from fairlead.port.outcome import Done, Outcome, Unknown
from fairlead.queue.work import WorkQueue

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
        tell: Callable[[str, EventNote, float, str], None] | None = None,
    ) -> None:
        """`seen` tells whether the mirrors show a write of ours; `new_call` numbers the plane's calls; `view` is what
        a turn reads; `tell` takes what a decision has for people to read."""
        self.decider = decider
        self._tell = tell
        self.queue = queue
        self.settings = health.settings.controller(decider.name)
        self._health = health
        self._view = view
        self.underway = Underway[Turn](decider.name, health, new_call)
        self.own_writes = OwnWrites[Key](seen, lambda key: view().lacks(key))
        self._attempts: dict[Key, int] = {}
        # In progress, waiting for the budget of retries, with the seconds that it waited in the queue; no longer.
        self._held: dict[Key, float] = {}
        self._released: list[tuple[Key, float]] = []
        self._raised: dict[Key, int] = {}  # turns in a row that ended with an error of the Decider
        self._causes: dict[Key, Key] = {}  # of the turns to come
        self._wanted: dict[Key, None] = {}  # whose turns are to come in any case
        self.unshown: dict[Key, dict[str, None]] = {}  # what mirrors must show before they are decided again
        self._by_wall: dict[Key, None] = {}  # whose last decision asked for the wall clock
        self.refusals = Refusals(decider, health, self._complain)
        self._complaints = Complaints(decider.name)
        self._gathering = Gathering(())
        self.needless = Needless(lambda key: view().revision_of(key))
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

    def observe(self, wake: Wake[Any], event: WatchEvent[Any], now: float) -> None:
        """A change gives the keys that a wake names a turn, which remembers whose change that was."""
        cause, before, after = event.key, event.before, event.after
        try:
            found = wake.keys(event)
            if not found:  # as it is most often
                return
            keys = tuple(found)
        except Exception as error:  # noqa: BLE001 - like `try_call`, but asked for every change
            self._complain("naming keys", error)
            return
        for key in keys:
            if key in self.refusals and is_own_change(key, cause.resource, before, after):
                self.refusals.end(key)
            at = self.needless.earliest(key, now + self._gathering.seconds)
            self.queue.add_at(key, now, at, urgency(key, before, after))
            self.stirred = True
            if self._causes.setdefault(key, cause) != cause:
                self._causes[key] = _SEVERAL

    def gather(self, objects: Sized) -> None:
        """Each of its looks is at all of these: the more there are, the more changes one look is to answer."""
        self._gathering = Gathering(objects)

    def release(self, key: Key) -> None:
        """The budget of retries pays for this one now."""
        self._released.append((key, self._held.pop(key)))
        self.stirred = True

    def ease(self, key: Key, now: float) -> None:
        """What this key waited for may refuse it no more."""
        self.refusals.end(key)
        self._want(key, now)

    def lead(self) -> None:
        """Everything is decided anew: who was refused in a former time as leader is tried again."""
        self.refusals.clear()
        self.needless.forget()

    def caught_up(self, resource: str, now: float) -> None:
        """A mirror moved: keys that waited for their own writes, or for it, may go on."""
        for key in self.own_writes.unpark():
            self.queue.add(key, now)
            self.stirred = True
        for key in [key for key, left in self.unshown.items() if resource in left] if self.unshown else ():
            left = self.unshown[key]
            del left[resource]
            if not left:
                del self.unshown[key]
                self._want(key, now)

    def stepped(self, now: float) -> None:
        """The wall clock was set: what was decided by it is decided again."""
        for key in self._by_wall:
            self._want(key, now)

    def resync(self, keys: Sequence[Key], now: float, spread: float) -> None:
        """Each of these is looked at within so many seconds, whatever is known of it."""
        self._wanted.update(dict.fromkeys(keys))
        self.queue.resync(keys, now, spread)

    def resync_all(self, view: MirrorView, objects: Iterable[View], now: float, spread: float) -> None:
        """The keys it has of its own, and those that these objects of its kind lead to."""
        self.resync(self.decider.initial_keys, now, spread)
        self.resync(keys_of_all(self.decider, view, objects, self._complain), now, spread)

    def _want(self, key: Key, now: float) -> None:
        """This one is looked at, whatever changed."""
        self._wanted[key] = None
        self.queue.add(key, now)
        self.stirred = True

    def step(self, now: float, out: Outbox) -> None:
        """Begin as many turns as there is room for."""
        self._take_reports(out)
        self._look(now, out)
        while self.underway.may_begin(self.settings.turns_max, now):
            if self._released:
                key, waited = self._released.pop(0)
                self._begin(key, now, out, waited)
                continue
            popped = self.queue.pop(now)
            if popped is None:
                return
            key = popped.key
            if not self.own_writes.shows(key):
                self.own_writes.park(key)
                self.queue.done(key, now)
            elif key not in self._wanted and self.needless.is_own(key, self._causes.get(key)):
                self._leave_out(key, now)
            elif key in self._attempts and not self._health.budget.take_or_wait(
                (self.decider.name, key), now
            ):
                self._held[key] = popped.waited_seconds
            else:
                self._begin(key, now, out, popped.waited_seconds)

    def answered(self, call: int, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        self.stirred = True
        (turn,) = self.underway.answered(call, outcome, now)
        self.unknown += isinstance(outcome, Unknown)
        position, effect, sent = turn.position, turn.effect, not turn.looking
        following = turn.answered(outcome)
        met = self._health.answered
        met[following] = met.get(following, 0) + 1
        if sent and isinstance(outcome, Done) and isinstance(effect, Change):
            self._wrote(turn, effect, now, out)
        if turn.position > position:
            self._tell_notes(turn, position, now)
        if sent and isinstance(outcome, Unknown):
            out.append(outcome_of(self._deciding, turn, UNKNOWN, now))
        if following is Next.EFFECT and now - turn.began > self.settings.turn_seconds:
            self._cut_short(turn, now)
        elif following is Next.EFFECT or (
            following in (Next.LOOK, Next.SAME) and self._health.budget.take(now)
        ):
            self._send(turn, now, out)
        elif following in (Next.LOOK, Next.LOOK_LATER, Next.SAME):
            self.underway.postpone(turn, now, chance)
        else:
            self._end(turn, following, now, chance, out)

    def next_at(self, now: float) -> float:
        """When there is something to do without being stirred; 0: only then."""
        return self.underway.next_at(self.settings.turns_max, self.queue.next_ready_at, now)

    @property
    def idle(self) -> bool:
        return self.underway.idle and not (self.own_writes.parked or self._held or self._released)

    # Turns

    def _leave_out(self, key: Key, now: float) -> None:
        """All that happened is what the last turn wrote."""
        del self._causes[key]
        again_at = self.needless.leave_out(key)
        if again_at:
            self.queue.add_at(key, now, again_at)
        self.queue.done(key, now)

    def _begin(self, key: Key, now: float, out: Outbox, waited: float) -> None:
        view = self._view()
        self.decided += 1
        cause = self._causes.pop(key, None)
        self.needless.began(key)
        self._wanted.pop(key, None)
        self.unshown.pop(key, None)
        decision = try_call(self.decider.decide, view, key, now)
        if isinstance(decision, Exception):
            self._failed(Turn(key, Decision(), now, id=self._health.term.next_id()), decision, now, out)
            return
        self._by_wall.pop(key, None)
        if view.walls:
            self._by_wall[key] = None
        if view.unshown:
            self.unshown[key] = dict.fromkeys(view.unshown)
            for resource, revision in view.unshown.items():
                out.append(AskProgress(resource, revision))
        missed = view.missed()
        if missed:
            decision = wait_until_readable(self.decider, view, key, missed, now)
        wait = self.refusals.held_by(key)
        held = self.refusals.held_back(decision, view, key, now) if wait is not None else None
        decision = held or decision
        turn = Turn(
            key,
            decision,
            now,
            is_held=held is not None,
            changes=self._health.waits.changes,
            cause=cause,
            id=self._health.term.next_id(),
            waited=waited,
        )
        refusal = wait if held is not None else None
        for record in records_of(self._deciding, turn, view, now, self._health, refusal):
            out.append(record)
        if self._health.first_turns.awaits(self.decider.name):
            self._health.first_turns.decided(self.decider.name, key, view.metadata_of(key), turn.id)
        self._tell_notes(turn, -1, now)
        if decision.effects:
            self._send(turn, now, out)
        else:
            self._end(turn, Next.FINISH, now, 0.0, out)

    @property
    def _deciding(self) -> Deciding:
        return Deciding(self.decider.name, self._health.settings.revision)

    def _tell_notes(self, turn: Turn, after: int, now: float, told: Decision | None = None) -> None:
        """What there is to tell when it is decided (-1), or when this effect has succeeded."""
        if self._tell is not None:
            for note in (told or turn.decision).events:
                if note.after == after:
                    self._tell(f"{self.decider.name}-controller", note, now, turn.id)

    def _send(self, turn: Turn, now: float, out: Outbox) -> None:
        request = try_call(turn.request)
        if isinstance(request, Exception):  # an effect that cannot be put into words
            self._failed(turn, request, now, out)
            return
        self.underway.send((turn,), request, out, turn.id)

    def _look(self, now: float, out: Outbox) -> None:
        """The looks that are due, as far as the budget of retries goes."""
        for turn in self.underway.due(now):
            if self.underway.is_paid(turn, now):
                self._send(turn, now, out)

    def _cut_short(self, turn: Turn, now: float) -> None:
        """What was decided is too old to be acted on any further, perhaps of a former time as leader: decide again."""
        self.own_writes.wrote(turn.key, turn.writes)
        self.queue.add(turn.key, now)
        self.queue.done(turn.key, now)

    def _end(self, turn: Turn, following: Next, now: float, chance: float, out: Outbox) -> None:
        key, queue = turn.key, self.queue
        if self._raised:
            self._raised.pop(key, None)
        self.own_writes.wrote(key, turn.writes)
        if following is Next.FINISH:
            if turn.looks:
                out.append(outcome_of(self._deciding, turn, LOOKED_UP, now))
            self._attempts.pop(key, None)
            queue.forget(key)
            if not turn.is_held and key in self.refusals:
                self.refusals.end(key)
            if turn.decision.again_at:
                queue.add_at(key, now, turn.decision.again_at)
            if turn.is_open:
                queue.add_at(key, now, now)
            self.needless.finished(turn, now)
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
            self._refused(turn, following is not Next.STUCK, now, chance, out)
        else:
            became = CONFLICT if following is Next.AGAIN else REFUSED
            out.append(outcome_of(self._deciding, turn, became, now))
            queue.retry(key, now, chance, policy)
        queue.done(key, now)

    def _refused(self, turn: Turn, is_retried: bool, now: float, chance: float, out: Outbox) -> None:
        """Nothing of this sort is tried again for a while. What the object's readers are to know is told at once, in
        a turn that sees what was done before the refusal."""
        key = turn.key
        self.stuck += not is_retried
        verdict, at = self.refusals.add(turn, is_retried, now, chance)
        out.append(outcome_of(self._deciding, turn, REFUSED, now, verdict))
        if not turn.is_held and key in self.refusals:
            self._tell_notes(turn, -1, now, self.refusals.report(self._view(), key, now))
        self.queue.add_at(key, now, at)

    # What goes wrong

    def _failed(self, turn: Turn, error: Exception, now: float, out: Outbox) -> None:
        """The Decider raised: this turn ends here."""
        key = turn.key
        meta = self._view().metadata_of(key)
        self._health.first_turns.failed(self.decider.name, key, meta, one_line(error))
        self.own_writes.wrote(key, turn.writes)
        out.append(outcome_of(self._deciding, turn, RAISED, now, Stuck("DeciderFailed", one_line(error))))
        self._complain("/".join(part for part in key if part), error)
        self._take_reports(out)
        tries = self._raised.get(key, 0) + 1
        if tries < self._health.settings.loop.raised_attempts_max:
            self._raised[key] = tries
            self.queue.retry(key, now, 0.5)
        else:
            self._raised.pop(key, None)
            self.stuck += 1
        self.queue.done(key, now)

    def _complain(self, what: str, error: Exception) -> None:
        self.raised += 1
        self._complaints.about(what, error)
        self.stirred = True

    def _wrote(self, turn: Turn, effect: Change, now: float, out: Outbox) -> None:
        """Look out for a write loop; slow it down. A controller that follows others up and down, as the counts of a
        rollout do, writes the same again and again for good reason: only a write that led back to itself is a loop."""
        if turn.cause is not None and turn.cause != effect.key:
            return
        if (found := self._health.writes.wrote(self.decider.name, effect, now)) is None:
            return
        loop, is_new = found
        self.queue.quarantine(turn.key, now, loop.writes)
        if is_new:
            out.append(outcome_of(self._deciding, turn, LOOP, now, Waiting("WriteLoop", describe_loop(loop))))
            out.append(Report(self.decider.name, describe_loop(loop)))

    def _take_reports(self, out: Outbox) -> None:
        for report in self._complaints.take(self.queue.take_reports()):
            out.append(report)
