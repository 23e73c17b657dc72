"""What deciding is: what a Decider is given, and what it returns. Read this first; `decider.py` has the whole record.

    decide(view, key, now) -> Decision

is pure: the same view, key and instant give the same Decision, to the last byte. It looks at current state and
never at what woke it (laws.md 1). The Decision is data: a verdict for people and records, the effects to carry out,
and when to look again. What the control loop does with it:

    Settled          the key is forgotten until something changes
    Waiting          the key comes back at `again_at`, or when something it reads changes
    Stuck            nobody can go on without a change of the object itself; shown, not retried

Effects of one Decision have one intent and are carried out in order; the first that is refused ends the turn and
the key is decided again. What another object may lift is waited for: until that changes, or the back-off is over, the
effects from the refused one on are left out of the key's decisions, and where none is left `refused` says what to
report instead. So what must not wait for a create comes before it.

At most `EFFECTS_MAX` of them: a Decider that has more to do does the rest in its next turn, which comes by itself
because the effects change what it reads.

A Decider never sees a state older than its own writes: the loop waits until the view has them (laws.md 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from fairlead.decision.effects import Effect
from fairlead.model.key import Key
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import Json, Resource, View

#: bound: plane | effects of one decision | the rest is for the next turn
EFFECTS_MAX = 32

T = TypeVar("T", bound=View)


class Settled(msgspec.Struct, frozen=True, tag=True):
    """As it should be."""


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """On its way; `reason` is UpperCamel, `message` a sentence for people."""

    reason: str
    message: str = ""


class Stuck(msgspec.Struct, frozen=True, tag=True):
    """Terminal until the object changes."""

    reason: str
    message: str


Verdict = Settled | Waiting | Stuck
SETTLED = Settled()


class Regarding(msgspec.Struct, frozen=True, gc=False):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    field_path: str = ""


class EventNote(msgspec.Struct, frozen=True, gc=False):
    """Something for people to read beside the object (`kubectl describe`). Best effort: nothing is decided on it.

    A settled state has none. One that stays true from turn to turn names its `occasion` and is told once for it.
    """

    regarding: Regarding
    type: str  # Normal, Warning
    reason: str  # UpperCamel
    message: str
    after: int = (
        -1
    )  # the effect, by its place in the decision, whose success this tells; -1: told when decided
    occasion: str = ""


class Decision(msgspec.Struct, frozen=True):
    verdict: Verdict = SETTLED
    effects: tuple[Effect, ...] = ()
    again_at: float = 0.0  # seconds since the epoch; 0: only when something changes
    events: tuple[EventNote, ...] = ()
    inputs: tuple[Json, ...] = ()  # values it rests on that no history has, for the record
    rest_until: float = 0.0  # whatever changes: another decision before this could do nothing
    is_final: bool = (
        False  # its effects are the last: deciding on what they make of the object would give none
    )


NOTHING = Decision()


def in_batches(effects: Iterable[Effect | None], now: float) -> Decision:
    """As many of these effects as one turn may have. For the rest the key comes back at once."""
    due = [each for each in effects if each is not None]
    return Decision(effects=tuple(due[:EFFECTS_MAX]), again_at=now if len(due) > EFFECTS_MAX else 0.0)


class Refusal(msgspec.Struct, frozen=True):
    """What the API says to an effect. `lifted_by`: the objects that must change first (`port/outcome.py`); without
    any, only the object itself or a person can."""

    effect: Effect
    message: str
    lifted_by: tuple[str, ...] = ()
    attempt: int = 1


class Sighting(NamedTuple):
    """When the present version of an object was first seen, and for how long since then nothing newer was, of the
    time in which it could have been."""

    at: float
    silent_seconds: float


class Silent(NamedTuple):
    """`next_seconds`: how soon another may join them; 0 if there is no other."""

    names: Mapping[str, Sighting]
    next_seconds: float


class FirstTurn(NamedTuple):
    """What a controller first made of an override, in this term: a decision, or the trouble for which it made none."""

    decision: str = ""  # its id
    about: str = ""  # the object that it was about
    trouble: str = ""


class Reading(Protocol):
    """The read-only view a Decider gets. Whatever is asked through it is remembered with its revision."""

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None: ...

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        """In (namespace, name) order; namespace "" means all."""
        ...

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]:
        """Those with an ownerReference to this uid, in name order. `namespace`: the owner's, in which its dependents
        are as well; "": it is in none, or nobody knows."""
        ...

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]:
        """Those in a namespace ("": all) with matching labels, in (namespace, name) order. A selector may be given
        as it stands in a spec: {} selects all, None nothing."""
        ...

    def on_node(self, node: str) -> Sequence[View]:
        """Pods bound to a node, in (namespace, name) order."""
        ...

    def sighting(self, resource: Resource[T], namespace: str, name: str) -> Sighting | None:
        """Of a resource that the Decider names in `dated`."""
        ...

    def silent(self, resource: Resource[T], namespace: str, seconds: float) -> Silent:
        """Those of a namespace of whom nothing new was seen for so long; of a resource in `dated`."""
        ...

    def wall(self, at: float) -> float:
        """What the wall clock shows at an instant of the plane's time, such as `now` or when an object was made. The
        plane's time is never set; the wall clock may be. Only for what people want done when clocks show a time."""
        ...

    def shows(self, resource: Resource[T], revision: int) -> bool:
        """Whether all that had happened to a resource by this revision is in the view. Where it is not known, the plane
        finds out: decide again after a while."""
        ...

    def deleting_since(self, resource: Resource[T], key: Key) -> int:
        """The first version of an object that was seen being deleted; 0: none was."""
        ...

    def first_turns(self, uid: str) -> Mapping[str, FirstTurn]:
        """Of the override with this uid, by controller; who is not in it has had nothing to decide under it."""
        ...

    def missed(self) -> Sequence[Key]:
        """What would have been read but could not be understood: such a decision is not carried out."""
        ...
