"""Own writes first (laws.md 5): who wrote waits until the mirrors show it; after a conflict, until they show who won.

    write_of, winner_of    what has to be shown after an effect that happened, and after a conflict
    wrote -> shows         it is remembered until the mirrors show it
    park -> unpark         whoever may not go on before all of its writes are shown; and whoever made something that
                           came and went between two lists, of which no change tells

A turn (`turn.py`) asks the first two after each answer. `controller.py` keeps the writes of its keys here, and begins
no turn of one before they are shown; `binding_flights.py` keeps those of its flights. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from fairlead.cache.mirror import Mirror
from fairlead.decision.effects import Create, Effect
from fairlead.model.key import Key
from fairlead.port.outcome import Conflict

W = TypeVar("W", bound=Hashable)  # who waits for writes to be shown


class Write(msgspec.Struct, frozen=True, gc=False):
    """A write, most often our own, that the mirror must show before the key is decided again."""

    key: Key
    revision: int  # the version to be seen, or a later one
    creates: bool  # absent means not seen yet; otherwise absent means gone, and so seen


def write_of(effect: Effect, revision: int) -> Write:
    """An effect that happened. `revision`: of what came of it; 0: not told, so it is the next one or later."""
    return Write(effect.key, revision or getattr(effect, "revision", 0) + 1, isinstance(effect, Create))


def winner_of(conflict: Conflict, key: Key) -> Write | None:
    """The version that won over a write about `key`, or over what that rested on: on a view without it the same would
    be decided again."""
    if not conflict.revision:
        return None
    return Write(Key(*conflict.premise.split("/")) if conflict.premise else key, conflict.revision, False)


def is_shown(mirrors: Mapping[str, Mirror[Any]], write: Write) -> bool:
    mirror = mirrors.get(write.key.resource)
    if mirror is None:
        return True
    current = mirror.revision_of(write.key)
    if current:
        # A mirror that is past a write and shows an older version read it from a store that lost the write.
        return current >= write.revision or mirror.passed(write.revision)
    return mirror.passed(write.revision) if write.creates else True


class OwnWrites(Generic[W]):
    """`seen` tells whether the mirrors show a write, `lacks` whether they show no object of this key."""

    def __init__(
        self, seen: Callable[[Write], bool], lacks: Callable[[Key], bool] = lambda key: False
    ) -> None:
        self._seen, self._lacks = seen, lacks
        self.unseen: OrderedDict[W, list[Write]] = OrderedDict()  # the oldest first
        self.parked: dict[W, None] = {}
        self._bereft: dict[W, None] = {}  # who made what is not there any more

    def forget(self) -> None:
        """What was written is of a former time as leader."""
        self.unseen.clear()
        self.parked.clear()
        self._bereft.clear()

    def wrote(self, who: W, writes: Sequence[Write]) -> None:
        if writes:
            self.unseen.setdefault(who, []).extend(writes)

    def shows(self, who: W) -> bool:
        """Whether the mirrors show all that was written for it."""
        writes = self.unseen.get(who)
        if not writes:
            return True
        left = [write for write in writes if not self._seen(write)]
        if any(write.creates and write not in left and self._lacks(write.key) for write in writes):
            self._bereft[who] = None
        if left:
            self.unseen[who] = left
            return False
        del self.unseen[who]
        return True

    def park(self, who: W) -> None:
        self.parked[who] = None

    def unpark(self) -> list[W]:
        """Those whose writes are all shown by now. Writes of those who do not wait are forgotten when they are shown,
        or they would be remembered for ever; if what was made has gone meanwhile, they are among those that go on."""
        if not self.unseen and not self.parked:
            return []
        found = [who for who in self.parked if self.shows(who)]
        for who in found:
            del self.parked[who]
        while self.unseen and self.shows(next(iter(self.unseen))):
            pass
        if self._bereft:
            found += [who for who in self._bereft if who not in found and who not in self.parked]
            self._bereft.clear()
        return found
