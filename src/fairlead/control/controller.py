"""One Decider at work: its queue, the turns under way, and the writes that its view does not show yet.

Part of the plane (`plane.py`), which tells it of changes and answers and carries its instructions on. Pure: time and
chance arrive with the events. Never two turns of one key; never a turn on a view older than the key's own writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fairlead.control.breaker import Breaker
from fairlead.control.instructions import Call, Instruction, Record
from fairlead.control.record import record_of
from fairlead.control.turn import Next, Turn, Write
from fairlead.decision.contract import Decider, Decision, Reading, Stuck
from fairlead.decision.effects import RETRY
from fairlead.model.views import View
from fairlead.port.outcome import Outcome, Refused, Unknown
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

LOOK_LATER_SECONDS = 1.0
_MISSED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """`turns_max`: how many keys are worked on at once. `turn_seconds`: how long effects of one decision are begun;
    shorter than a lease, so that no decision outlives the leadership it was made in."""

    turns_max: int = 16
    turn_seconds: float = 5.0


class Controller:
    def __init__(
        self,
        decider: Decider,
        queue: WorkQueue[Key],
        breaker: Breaker,
        new_call: Callable[[], int],
        seen: Callable[[Write], bool],
        view: Callable[[], Reading],
        settings: ControllerSettings | None = None,
    ) -> None:
        """`seen` tells whether the mirrors show a write of ours; `new_call` numbers the plane's calls; `view` is what
        a turn reads."""
        self.decider = decider
        self.queue = queue
        self.settings = settings or ControllerSettings()
        self._breaker = breaker
        self._new_call = new_call
        self._seen = seen
        self._view = view
        self._turns: dict[int, Turn] = {}  # by the call that is under way
        self._looks_due: list[tuple[float, Turn]] = []
        self._unseen: dict[Key, list[Write]] = {}
        self._parked: dict[Key, None] = {}  # popped while their writes were unseen
        self._attempts: dict[Key, int] = {}
        self.stirred = True  # something happened that may allow a turn: `step` is worth a call
        self.due_at = 0.0  # when it is worth one anyhow, as of the last; 0: only when stirred
        self.decided = self.stuck = self.conflicts = self.unknown = 0  # plain counts for metrics

    # What the plane tells it

    def observe(self, resource: str, before: View | None, after: View | None, now: float) -> None:
        for key in self.decider.keys(resource, before, after):
            self.queue.add(key, now)
            self.stirred = True
        # Whose selector matches an object that names no owner only a look at the others tells.
        adopters: Callable[..., Iterable[Key]] | None = getattr(self.decider, "adopters", None)
        if adopters is not None:
            for key in adopters(self._view(), resource, before, after):
                self.queue.add(key, now)
                self.stirred = True

    def caught_up(self, now: float) -> None:
        """The mirrors moved: keys that waited for their own writes may go on."""
        for key in list(self._parked):
            if self._sees_own_writes(key):
                del self._parked[key]
                self.queue.add(key, now)
                self.stirred = True

    def step(self, now: float) -> Iterator[Instruction]:
        """Begin as many turns as there is room for."""
        for due in [item for item in self._looks_due if item[0] <= now]:
            self._looks_due.remove(due)
            yield self._call(due[1])
        if self._breaker.is_open(now):
            return
        while self.has_room:
            popped = self.queue.pop(now)
            if popped is None:
                return
            key = popped.key
            if not self._sees_own_writes(key):
                self._parked[key] = None
                self.queue.done(key, now)
                continue
            yield from self._begin(key, now)

    def answered(self, call: int, outcome: Outcome, now: float, chance: float) -> Iterator[Instruction]:
        self.stirred = True
        turn = self._turns.pop(call)
        if isinstance(outcome, Unknown) or (isinstance(outcome, Refused) and outcome.retry == "later"):
            self._breaker.failed(now)
            self.unknown += isinstance(outcome, Unknown)
        else:
            self._breaker.succeeded()
        following = turn.answered(outcome)
        if following is Next.EFFECT and now - turn.began > self.settings.turn_seconds:
            self._cut_short(turn, now)
        elif following in (Next.EFFECT, Next.LOOK):
            yield self._call(turn)
        elif following is Next.LOOK_LATER:
            self._looks_due.append((now + LOOK_LATER_SECONDS * (0.5 + chance), turn))
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
        return not self._turns and not self._looks_due and not self._parked

    # Turns

    def _begin(self, key: Key, now: float) -> Iterator[Instruction]:
        view = self._view()
        decision = self.decider.decide(view, key, now)
        self.decided += 1
        missed = view.missed()
        if missed:
            # Decided without knowing all: what is not understood must not be taken for what is not there.
            names = ", ".join("/".join(each) for each in missed[:_MISSED_SHOWN])
            decision = Decision(Stuck("Unreadable", f"not carried out, because {names} could not be read"))
        turn = Turn(key, decision, now)
        if decision.effects:
            yield self._call(turn)
        else:
            yield from self._end(turn, Next.FINISH, now, 0.0)
        yield Record(record_of(self.decider.name, turn, view, now))

    def _call(self, turn: Turn) -> Call:
        call = self._new_call()
        self._turns[call] = turn
        return Call(call, self.decider.name, turn.request())

    def _cut_short(self, turn: Turn, now: float) -> None:
        """What was decided is too old to be acted on any further, perhaps of a former time as leader: decide again."""
        if turn.writes:
            self._unseen.setdefault(turn.key, []).extend(turn.writes)
        self.queue.add(turn.key, now)
        self.queue.done(turn.key, now)

    def _end(self, turn: Turn, following: Next, now: float, chance: float) -> Iterator[Instruction]:
        key, queue = turn.key, self.queue
        if turn.writes:
            self._unseen.setdefault(key, []).extend(turn.writes)
        if following is Next.FINISH:
            self._attempts.pop(key, None)
            queue.forget(key)
            if turn.decision.again_at:
                queue.add_at(key, now, turn.decision.again_at)
            queue.done(key, now)
            return
        if following is Next.AGAIN:
            self.conflicts += 1
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        effect = turn.effect
        exhausted = effect is not None and attempt >= RETRY[type(effect)].attempts_max
        if following is Next.STUCK or (exhausted and following is not Next.AGAIN):
            self.stuck += 1
            self._attempts.pop(key, None)
            verdict = Stuck("EffectRefused", turn.trouble)
            yield Record(record_of(self.decider.name, turn, None, now, verdict))
            told = self._refusal(turn, now)
            if told is not None:
                yield self._call(told)  # the key stays in progress until it is told
                return
        else:
            queue.retry(key, now, chance, RETRY[type(effect)] if effect is not None else None)
        queue.done(key, now)

    def _refusal(self, turn: Turn, now: float) -> Turn | None:
        """The turn in which a Decider tells the object's readers that it was refused, if it has something to say.

        A refusal of that turn is final: it has no further one.
        """
        tell: Callable[..., Decision] | None = getattr(self.decider, "refused", None)
        if tell is None or turn.tells or turn.effect is None:
            return None
        decision = tell(self._view(), turn.key, turn.effect, turn.trouble, now)
        return Turn(turn.key, decision, now, tells=True) if decision.effects else None

    def _sees_own_writes(self, key: Key) -> bool:
        writes = self._unseen.get(key)
        if not writes:
            return True
        left = [write for write in writes if not self._seen(write)]
        if left:
            self._unseen[key] = left
            return False
        del self._unseen[key]
        return True
