"""What a controller, or the scheduler, has under way: calls, postponed looks, and writes that no mirror shows yet.

    send -> answered     the answer is for all who are under way by that call; breaker and budget hear of it
    postpone -> due      a look, or a second try, is due after a while, and when the budget of retries pays for it
    wrote -> shows       a write is remembered until the mirrors show it (laws.md 5)
    park -> unpark       whoever may not go on before all of its writes are shown; and whoever made something that came
                         and went between two lists, of which no change tells

`controller.py` keeps its turns here, `binding_flights.py` its bindings. Both ask here whether anything more may begin.
Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from fairlead.cache.mirror import Mirror
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Outbox
from fairlead.control.turn import Write
from fairlead.model.key import Key
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request

T = TypeVar("T")  # what is under way
W = TypeVar("W", bound=Hashable)  # who waits for writes to be shown


class Underway(Generic[T, W]):
    """`seen` tells whether the mirrors show a write, `lacks` whether they show no object of this key; `new_call`
    numbers the plane's calls."""

    def __init__(
        self,
        name: str,
        health: Health,
        new_call: Callable[[], int],
        seen: Callable[[Write], bool],
        lacks: Callable[[Key], bool] = lambda key: False,
    ) -> None:
        self._name, self._health, self._new_call, self._seen, self._lacks = (
            name,
            health,
            new_call,
            seen,
            lacks,
        )
        self.calls: dict[int, tuple[T, ...]] = {}
        self._called = 0  # how many are under way by a call
        self._due: list[tuple[float, T]] = []
        self.unseen: OrderedDict[W, list[Write]] = OrderedDict()  # the oldest first
        self.parked: dict[W, None] = {}
        self._bereft: dict[W, None] = {}  # who made what is not there any more

    def __len__(self) -> int:
        return self._called + len(self._due)

    def __iter__(self) -> Iterator[T]:
        """All that is under way, postponed looks last."""
        called = (each for together in self.calls.values() for each in together)
        return iter((*called, *(each for _, each in self._due)))

    @property
    def idle(self) -> bool:
        return not self.calls and not self._due and not self.parked

    def forget(self) -> None:
        """What is under way is of a former time as leader."""
        self.calls.clear()
        self._called = 0
        self._due.clear()
        self.unseen.clear()
        self.parked.clear()
        self._bereft.clear()

    def may_begin(self, most: int, now: float) -> bool:
        return self._called + len(self._due) < most and not self._health.breaker.is_open(now)

    def next_at(self, most: int, ready_at: Callable[[float], float | None], now: float) -> float:
        """When a look is due, or what is `ready_at` some time may begin; 0: nothing is."""
        soonest = min([at for at, _ in self._due]) if self._due else 0.0
        if self._health.breaker.is_open(now):
            at = self._health.breaker.open_until
        else:
            at = (ready_at(now) or 0.0) if self._called + len(self._due) < most else 0.0
        return min(at, soonest) if at and soonest else at or soonest

    # Calls

    def send(self, together: tuple[T, ...], request: Request, out: Outbox, decision: str = "") -> None:
        """`decision`: the one that the request carries out; of several, each binding names its own."""
        call = self._new_call()
        self.calls[call] = together
        self._called += len(together)
        out.append(Call(call, self._name, request, decision))

    def answered(self, call: int, outcome: Outcome, now: float) -> tuple[T, ...]:
        """Who sent it; nobody: it was forgotten, as the scheduler does when it comes to lead."""
        self._health.record_outcome(outcome, now)
        together = self.calls.pop(call, ())
        self._called -= len(together)
        return together

    # Looks and second tries that are postponed

    def postpone(self, each: T, now: float, chance: float, times: int = 1) -> None:
        """By so many times what is usual."""
        seconds = self._health.settings.loop.look_again_seconds * times
        self.put_off(each, now + seconds * (0.5 + chance))

    def put_off(self, each: T, at: float) -> None:
        self._due.append((at, each))

    def due(self, now: float) -> Iterator[T]:
        """Each is postponed no longer: the caller sends it or puts it off."""
        for item in [item for item in self._due if item[0] <= now] if self._due else ():
            self._due.remove(item)
            yield item[1]

    def is_paid(self, each: T, now: float) -> bool:
        """The budget of retries pays for this one; if not it is put off until there is a retry to spend."""
        if self._health.budget.take(now):
            return True
        self.put_off(each, self._health.budget.ready_at(now))
        return False

    # Writes

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


def is_shown(mirrors: Mapping[str, Mirror[Any]], write: Write) -> bool:
    mirror = mirrors.get(write.key.resource)
    if mirror is None:
        return True
    current = mirror.revision_of(write.key)
    if current:
        # A mirror that is past a write and shows an older version read it from a store that lost the write.
        return current >= write.revision or mirror.passed(write.revision)
    return mirror.passed(write.revision) if write.creates else True
