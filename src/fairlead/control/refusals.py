"""The refusals that one controller's keys have met: what is not tried again for now, and what is told instead.

    refused            the effect's sort (create pods, say) is held back for the key, for the time of a back-off
    decided meanwhile  the decision goes on up to the first effect of that sort; where nothing is left the Decider's
                       `refused` says what to report
    over               the back-off ends; what it waits for eases (`refusal_waits.py`); its own object asks for
                       something else; or it has nothing of that sort to do any more

Used by `controller.py`; pure. A refusal that nobody but the object itself can lift is stuck: no time brings the next
attempt, though another wake-up may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import structs

from fairlead.control.complaints import try_call
from fairlead.control.health import Health
from fairlead.control.turn import Turn
from fairlead.decision.contract import NOTHING, Decision, Reading, Refusal, Stuck, Verdict, Waiting
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create, Effect
from fairlead.decision.retry import WAIT_BACKOFF_SECONDS, WAITING
from fairlead.model.key import Key
from fairlead.model.views import Pod, Stored, View
from fairlead.model.waiting import REFUSED, waiting_reason


class Wait(msgspec.Struct, frozen=True):
    """A key's last refusal. Until then nothing of its sort is tried for it, unless something eases."""

    refusal: Refusal
    until: float
    is_retried: bool  # then; if not, only a change brings the next attempt

    def withholds(self, effect: Effect) -> bool:
        refused = self.refusal.effect
        return type(effect) is type(refused) and effect.resource == refused.resource

    def told(self) -> Wait:
        """For the record of a held decision. What a create would have made is left out: it is long, and nobody asks."""
        effect = self.refusal.effect
        if not isinstance(effect, Create):
            return self
        brief = structs.replace(effect, body={}, premises=())
        return structs.replace(self, refusal=structs.replace(self.refusal, effect=brief))

    def verdict(self) -> Verdict:
        refusal = self.refusal
        if not self.is_retried:
            return Stuck(REFUSED, refusal.message)
        return Waiting(waiting_reason(refusal.lifted_by), f"{refusal.message} (attempt {refusal.attempt})")


def withhold(decision: Decision, wait: Wait) -> Decision | None:
    """The decision up to the first effect that the API would refuse again; None if it has no such effect."""
    for place, effect in enumerate(decision.effects):
        if wait.withholds(effect):
            notes = tuple(note for note in decision.events if note.after < place)
            return structs.replace(decision, effects=decision.effects[:place], events=notes)
    return None


def hold_back(decision: Decision, wait: Wait, report: Callable[[], Decision], now: float) -> Decision | None:
    """What of a decision goes on while the rest would be refused again; None: all of it. `report`: what the Decider has
    for the object's readers."""
    rest = withhold(decision, wait) if now < wait.until else None
    if rest is None:
        return None
    if not rest.effects:
        told = report()
        # What is told whenever it is decided was told when the refusal came.
        notes = tuple(note for note in told.events if note.after >= 0)
        rest = structs.replace(rest, effects=told.effects, events=notes)
    again = [at for at in (rest.again_at, wait.until if wait.is_retried else 0.0) if at]
    return structs.replace(rest, verdict=wait.verdict(), again_at=min(again, default=0.0))


class Refusals:
    """`complain`: what a Decider raised, and at what."""

    def __init__(self, decider: Decider, health: Health, complain: Callable[[str, Exception], None]) -> None:
        self._name = decider.name
        self._refused = decider.refused
        self._waits: dict[Key, Wait] = {}
        self._shared = health.waits
        self._complain = complain

    def __contains__(self, key: Key) -> bool:
        return key in self._waits

    def add(self, turn: Turn, is_retried: bool, now: float, chance: float) -> tuple[Verdict, float]:
        """What the record says, and when the key has its next turn."""
        key, effect = turn.key, turn.effect
        assert effect is not None
        known = self._waits.get(key)
        if turn.is_held and known is not None:  # even the report is refused
            return Stuck(REFUSED, turn.trouble), max(known.until, now + WAIT_BACKOFF_SECONDS)
        attempt = known.refusal.attempt + 1 if known is not None else 1
        refusal = Refusal(effect, turn.trouble, turn.lifted_by, attempt)
        wait = Wait(refusal, now + WAITING.delay(attempt, chance), is_retried)
        if self._shared.add((self._name, key), turn.lifted_by, turn.changes):
            self._waits[key] = wait
        else:
            self._waits.pop(key, None)
        return wait.verdict(), now

    def end(self, key: Key) -> None:
        self._waits.pop(key, None)
        self._shared.remove((self._name, key))

    def clear(self) -> None:
        for key in tuple(self._waits):
            self.end(key)

    def held_back(self, decision: Decision, view: Reading, key: Key, now: float) -> Decision | None:
        """What of a decision goes on while the rest would be refused again; None: all of it."""
        return hold_back(decision, self._waits[key], lambda: self.report(view, key, now), now)

    def held_by(self, key: Key) -> Wait | None:
        """What a key is held back by: all that `hold_back` needs besides the decision, for the record."""
        return self._waits.get(key)

    def report(self, view: Reading, key: Key, now: float) -> Decision:
        """What the Decider has for the object's readers."""
        if self._refused is None:
            return NOTHING
        decision = try_call(self._refused, view, key, self._waits[key].refusal, now)
        if isinstance(decision, Exception):
            self._complain("telling of a refusal", decision)
            return NOTHING
        return decision


def is_own_change(key: Key, resource: str, before: View | None, after: View | None) -> bool:
    """Whether somebody changed what the key's own object asks for, or released a pod of it, whose replacement gets its
    quota: a refusal of before may not be one any more."""
    if isinstance(after, Pod):
        return after.released and not (isinstance(before, Pod) and before.released)
    if resource != key.resource or before is None or after is None:
        return resource == key.resource
    if isinstance(before, Stored) or isinstance(after, Stored):
        return True
    was: Any = before
    now: Any = after
    return not now.metadata.generation or was.metadata.generation != now.metadata.generation
