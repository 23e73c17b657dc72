"""What a controller, or the scheduler, has under way: calls that are not answered, and looks that are postponed.

    send -> answered     the answer is for all who are under way by that call; breaker and budget hear of it
    postpone -> due      a look, or a second try, is due after a while, and when the budget of retries pays for it

`controller.py` keeps its turns here, `binding_flights.py` its bindings. Both ask here whether anything more may begin.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from fairlead.control.health import Health
from fairlead.control.instructions import Call, Outbox
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request

T = TypeVar("T")  # what is under way


class Underway(Generic[T]):
    """`new_call` numbers the plane's calls."""

    def __init__(self, name: str, health: Health, new_call: Callable[[], int]) -> None:
        self._name, self._health, self._new_call = name, health, new_call
        self.calls: dict[int, tuple[T, ...]] = {}
        self._called = 0  # how many are under way by a call
        self._due: list[tuple[float, T]] = []

    def __len__(self) -> int:
        return self._called + len(self._due)

    def __iter__(self) -> Iterator[T]:
        """All that is under way, postponed looks last."""
        called = (each for together in self.calls.values() for each in together)
        return iter((*called, *(each for _, each in self._due)))

    @property
    def idle(self) -> bool:
        return not self.calls and not self._due

    def forget(self) -> None:
        """What is under way is of a former time as leader."""
        self.calls.clear()
        self._called = 0
        self._due.clear()

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
