"""One turn of one key: the page to read first.

    pop key -> own writes visible? -> view -> decide -> record -> effects, one after the other -> done

A Turn is what is under way for one key. It holds the effects still to be carried out and knows, for each answer,
what comes next:

    answer     of an effect                                     of a look
    Done       the next effect; the write is remembered          did it happen? then as Done,
               until the mirror shows it (`own_writes.py`)        else as Conflict; a create is sent
                                                                  once more: the first may still arrive
    Conflict   of a create: look whether it is there, and       -
               whose it is: a request may come twice; if it
               is not ours, and else: the turn ends, the key
               is decided again when the mirror shows the
               version that won
    Refused    the turn ends; later: the key is retried by       the turn ends, retried
               the effect's policy; where another object may
               lift it: the key waits for that
               (`refusal_waits.py`); else it is stuck until
               it changes itself
    Unknown    look: read the object before anything else        look again after a while
               happens to this key

Nothing is repeated blindly: a decision is made on state that includes all that this controller has written for the
key, and an effect is sent once per decision, but for a create that a look did not find. That one has a premise: while
this holds the decision is as good as new, and when it does not, neither request comes to anything any more.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from msgspec import structs

from fairlead.control.own_writes import Write, winner_of, write_of
from fairlead.control.refusal_waits import guess_lifters, policy_lifters
from fairlead.control.requests import look_at, request_of
from fairlead.core import codec
from fairlead.decision.contract import Decision
from fairlead.decision.effects import Change, ChangeStatus, Create, Delete, Effect
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import Request

_EXISTS = "AlreadyExists"  # somebody has the name; any other conflict of a create is about what it rests on


class Next(Enum):
    """What the controller does after an answer."""

    EFFECT = "carry out the next effect"
    LOOK = "read what became of the effect"
    LOOK_LATER = "read again after a while"
    SAME = "carry out the same effect once more"
    FINISH = "the turn is complete"
    AGAIN = "decide again on fresh state"
    LATER = "decide again after a back-off"
    WAIT = "decide again when another object changes, or after a while"
    STUCK = "nothing to be done until the object changes"


class Turn(msgspec.Struct):
    key: Key
    decision: Decision
    began: float
    position: int = 0  # of the effect under way
    looking: bool = False
    looks: int = 0
    conflict: Conflict | None = None  # what a create was answered, until somebody has looked
    writes: list[Write] = []
    trouble: str = ""  # why it did not finish, for the record
    is_held: bool = False  # what would be refused again is left out: it reports, and does what comes before
    changes: int = 0  # how often something had eased when it began (`refusal_waits.py`)
    lifted_by: tuple[str, ...] = ()  # by whom its refusal may be
    is_open: bool = False  # somebody changed the object, perhaps not we: only a new decision can tell
    cause: Key | None = None  # the one object whose change led to it; None: no change did
    id: str = ""  # of its decision (`term.py`)
    waited: float = 0.0  # seconds in the queue

    @property
    def effect(self) -> Effect | None:
        effects = self.decision.effects
        return effects[self.position] if self.position < len(effects) else None

    def request(self) -> Request:
        """What to send now: the effect, or the look after it."""
        effect = self.effect
        assert effect is not None
        return look_at(effect) if self.looking else request_of(effect)

    def answered(self, outcome: Outcome) -> Next:
        return self._looked(outcome) if self.looking else self._sent(outcome)

    def _sent(self, outcome: Outcome) -> Next:
        if isinstance(outcome, Done):
            after = self._advance(outcome.revision)
            if after is Next.EFFECT:
                self._rebind(self.writes[-1])
            return after
        if isinstance(outcome, Unknown) or (
            isinstance(outcome, Conflict) and isinstance(self.effect, Create)
        ):
            # It may be our own, whose answer was lost on us or on a former leader, or that came twice: then the first
            # was done, and what it rested on had changed when the second came.
            self.looking, self.conflict = True, outcome if isinstance(outcome, Conflict) else None
            return Next.LOOK
        return self._ended(outcome)

    def _looked(self, outcome: Outcome) -> Next:
        effect = self.effect
        assert effect is not None
        self.looks += 1
        if isinstance(outcome, Unknown) or (isinstance(outcome, Refused) and outcome.retry == "later"):
            return Next.LOOK_LATER
        if isinstance(outcome, Refused) and outcome.status != 404:
            return self._ended(outcome)
        found = codec.decode(outcome.body) if isinstance(outcome, Done) else None
        conflict, self.looking, self.conflict = self.conflict, False, None
        if effect.is_done(found):
            self.is_open |= isinstance(effect, Change)
            return self._advance(int(found["metadata"]["resourceVersion"]) if found else 0)
        if conflict is not None and conflict.reason != _EXISTS:
            return self._ended(conflict)
        self.trouble = f"{type(effect).__name__} {effect.name}: it had not happened"
        # What is under way to a name that nobody else will ask for can only be met by asking for it again.
        return Next.SAME if isinstance(effect, Create) and effect.premises else Next.AGAIN

    def _advance(self, revision: int) -> Next:
        effect = self.effect
        assert effect is not None
        self.writes.append(write_of(effect, revision))
        self.position += 1
        return Next.EFFECT if self.position < len(self.decision.effects) else Next.FINISH

    def _rebind(self, write: Write) -> None:
        """What was decided together with a write and follows it is bound to what came of that."""
        effects = self.decision.effects
        rest = tuple(rebase(effect, write) for effect in effects[self.position :])
        if rest != effects[self.position :]:
            self.decision = structs.replace(self.decision, effects=(*effects[: self.position], *rest))

    def _ended(self, outcome: Conflict | Refused) -> Next:
        effect = self.effect
        assert effect is not None
        self.trouble = f"{type(effect).__name__} {effect.name}: {outcome.reason}: {outcome.message}"
        if isinstance(outcome, Conflict):
            if (won := winner_of(outcome, effect.key)) is not None:
                self.writes.append(won)
            return Next.AGAIN
        if outcome.status == 404 and not isinstance(effect, Create):
            return Next.AGAIN  # it is gone: the mirror will show it
        if outcome.retry == "later":
            return Next.LATER
        if outcome.lifted_by or outcome.status in (403, 404):  # 404 of a create: its namespace is not there
            self.lifted_by = outcome.lifted_by or guess_lifters(effect.namespace, outcome)
        else:
            self.lifted_by = policy_lifters(outcome)
        return Next.WAIT if self.lifted_by else Next.STUCK


def rebase(effect: Effect, write: Write) -> Effect:
    if isinstance(effect, ChangeStatus | Delete) and effect.key == write.key:
        effect = structs.replace(effect, revision=write.revision)
    if isinstance(effect, Create | Change | Delete) and any(
        each.key == write.key for each in effect.premises
    ):
        after = Premise(write.key, write.revision)
        moved = tuple(after if each.key == write.key and not each.uid else each for each in effect.premises)
        effect = structs.replace(effect, premises=moved)
    return effect
