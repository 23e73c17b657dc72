"""All chance of a run, in streams: a choice is named by what it is about, who makes it, and how many were made before.

    chance = Chance(seed)                        every choice follows from the seed and its own name
    chance = Chance.replay(choices)              what was chosen before, at the same names; calm everywhere else
    chance = Chance(seed, forced=..., bend=...)  drawn from the seed, but for what is forced or bent

    delays = chance.stream("watch.delay", "plane-0 pods")    choose(n) -> 0..n-1
    lags = chance.faults("watch_lag", "plane-0 pods")        happens(p) -> bool, pick(weights) -> which
    lag = chance.details("watch.lag", lags)                  choose(n), about the fault that has just fired

0 is the calmest answer everywhere: no fault, the shortest delay, first in, first out. Because a choice is found by its
name and not by its place among all choices, one can be taken away or changed and the others stay what they were: what
is drawn follows from the seed and the name alone. Replaying an edited run, planning faults and shrinking stand on that.
A fault that cannot happen draws nothing and is counted all the same, so that names do not depend on probabilities, and
a detail of a fault has the fault's number, so that it does not depend on the faults before. When faults are over
(`end_faults`), none fires any more, forced or not: whoever judges how a run ends may rely on it. Everything in `sim/`
that a world's file does not decide is drawn here, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_UNIT = 1 << 20  # chances are drawn in this many steps: exact as floats, short when written down
_ORDER = "order"
_NOT_YET = -1


class Choice(NamedTuple):
    """One choice that was made; `fault` tells it from a delay or an order."""

    label: str
    actor: str
    nth: int  # of this label and actor
    n: int
    value: int
    fault: bool = False

    @property
    def name(self) -> ChoiceName:
        return self.label, self.actor, self.nth


ChoiceName = tuple[str, str, int]


class FaultPlace(NamedTuple):
    """Where a fault was drawn, or could have been."""

    label: str
    actor: str
    nth: int
    values: tuple[int, ...]  # those of its answers that are faults which the world has
    step: int  # of the trail, the last one before


# What a search makes of a delay or an order, not of a fault: (label, actor, nth, n, drawn) -> value.
Bend = Callable[[str, str, int, int, int], int]
_NOTHING: Mapping[int, int] = {}


class Stream:
    """Choices of one label and actor, one after the other."""

    __slots__ = ("_bend", "_calm", "_forced", "_log", "_seed", "_start", "actor", "label", "nth")

    def __init__(self, chance: Chance, label: str, actor: str) -> None:
        self.label, self.actor = label, actor
        self.nth = 0
        self._log, self._calm, self._bend = chance.choices, chance.calm, chance.bend
        self._forced = chance.forced_in(label, actor) if chance.is_forced else _NOTHING
        self._seed = chance.seed
        self._start = _NOT_YET  # most streams are never drawn from

    def choose(self, n: int) -> int:
        """One of 0..n-1; 0 is the calmest."""
        nth = self.nth
        self.nth = nth + 1
        forced = self._forced.get(nth) if self._forced else None
        if forced is not None:
            value = forced if forced < n else 0
        elif self._calm:
            value = 0
        else:
            start = self._start
            if start == _NOT_YET:
                start = self._start = _begin(self._seed, self.label, self.actor)
            z = (start + (nth + 1) * _GAMMA) & _MASK  # as `_draw` has it, without a call for each choice
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            value = (z ^ (z >> 31)) % n
            if self._bend is not None:
                value = self._bend(self.label, self.actor, nth, n, value)
        self._log.append((self.label, self.actor, nth, n, value, False))
        return value

    def pin(self, value: int, ahead: int = 0) -> None:
        """Force the choice that comes after `ahead` more of this stream. A run that replays choices has this one among
        them already, if it was not taken away."""
        if not self._calm:
            self._forced = {self.nth + ahead: value, **self._forced}

    def unit(self) -> float:
        """0 <= unit < 1."""
        return self.choose(_UNIT) / _UNIT

    def _draw(self, nth: int) -> int:
        """The nth of this stream, whether those before it were drawn or not."""
        start = self._start
        if start == _NOT_YET:
            start = self._start = _begin(self._seed, self.label, self.actor)
        z = (start + (nth + 1) * _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)


class FaultStream(Stream):
    """Whether something goes wrong, again and again."""

    __slots__ = ("_chance",)

    def __init__(self, chance: Chance, label: str, actor: str) -> None:
        super().__init__(chance, label, actor)
        self._chance = chance

    def happens(self, probability: float) -> bool:
        """Whether this fault fires now; counted under its label if it does."""
        chance = self._chance
        if not self._forced:  # as it is in most runs
            if chance.over:
                return False
            if probability <= 0.0:  # most cannot
                self.nth += 1
                return False
            if chance.places is None and not self._calm:
                nth = self.nth
                self.nth = nth + 1
                fires = (self._draw(nth) % _UNIT + 0.5) / _UNIT < probability  # as `_weigh` has it
                self._log.append((self.label, self.actor, nth, 2, int(fires), True))
                if fires:
                    chance.count(self.label, self.actor)
                return fires
        if not self._decide(probability, 2):
            return False
        chance.count(self.label, self.actor)
        return True

    def pick(self, weights: tuple[tuple[str, float], ...]) -> str:
        """Which of several faults fires now, each with its own probability; "" if none does."""
        if self._chance.over:
            return ""
        value = self._decide(sum([weight for _, weight in weights]), 1 + len(weights), weights)
        if not value:
            return ""
        name = weights[value - 1][0]
        self._chance.count(name, self.actor)
        return name

    def _decide(self, probability: float, n: int, weights: tuple[tuple[str, float], ...] = ()) -> int:
        chance = self._chance
        if chance.over:
            return 0
        nth = self.nth
        self.nth = nth + 1
        if chance.places is not None and probability > 0.0:
            values = tuple(at for at, (_, weight) in enumerate(weights, start=1) if weight) or (1,)
            chance.places.append(FaultPlace(self.label, self.actor, nth, values, chance.step()))
        forced = self._forced.get(nth) if self._forced else None
        if forced is not None:
            value = forced if forced < n else 0
        elif probability <= 0.0:
            return 0
        else:
            value = 0 if self._calm else self._weigh(nth, probability, weights)
        self._log.append((self.label, self.actor, nth, n, value, True))
        return value

    def _weigh(self, nth: int, probability: float, weights: tuple[tuple[str, float], ...]) -> int:
        drawn = (self._draw(nth) % _UNIT + 0.5) / _UNIT  # never 0: what is unlikely enough does not happen
        if drawn >= probability:
            return 0
        for position, (_, weight) in enumerate(weights, start=1):
            drawn -= weight
            if drawn < 0.0:
                return position
        return max(1, len(weights))


class DetailStream(Stream):
    """How a fault goes that has just fired: numbered as that fault is among its kind. Not bent, as faults are not."""

    __slots__ = ("_of",)

    def __init__(self, chance: Chance, label: str, actor: str, of: FaultStream) -> None:
        super().__init__(chance, label, actor)
        self._of, self._bend = of, None

    def choose(self, n: int) -> int:
        self.nth = self._of.nth - 1
        return super().choose(n)


class Chance:
    __slots__ = (
        "_details",
        "_faults",
        "_forced",
        "_order",
        "_order_forced",
        "_order_ms",
        "_streams",
        "bend",
        "calm",
        "choices",
        "fired",
        "is_forced",
        "on_fault",
        "over",
        "places",
        "seed",
        "step",
    )  # fmt: skip

    def __init__(
        self,
        seed: int,
        forced: Mapping[ChoiceName, int] | None = None,
        bend: Bend | None = None,
        calm: bool = False,
        notes_places: bool = False,
    ) -> None:
        """`calm`: what is not forced is 0. `notes_places`: remembers where a fault was drawn or could have been, which
        changes nothing else."""
        self.seed, self.bend, self.calm = seed, bend, calm
        self.places: list[FaultPlace] | None = [] if notes_places else None
        self.step: Callable[[], int] = _no_step  # the last of the trail, if there is one
        self.over = False
        self.choices: list[tuple[str, str, int, int, int, bool]] = []
        self.fired: dict[str, int] = {}  # fault -> how often
        self.on_fault: Callable[[str, str], None] | None = None  # told of each that fires: what, and where
        self._streams: dict[tuple[str, str], Stream] = {}
        self._faults: dict[tuple[str, str], FaultStream] = {}
        self._details: dict[tuple[str, str], DetailStream] = {}
        self._forced: dict[tuple[str, str], dict[int, int]] = {}
        for (label, actor, nth), value in (forced or {}).items():
            self._forced.setdefault((label, actor), {})[nth] = value
        self.is_forced = bool(self._forced)
        self._order = Stream(self, _ORDER, "")
        self._order_ms = -1
        self._order_forced = any(label == _ORDER for label, _ in self._forced)

    @classmethod
    def replay(cls, choices: Iterable[Choice | tuple[str, str, int, int, int, bool]]) -> Chance:
        return cls(0, {(each[0], each[1], each[2]): each[4] for each in choices if each[4]}, calm=True)

    def stream(self, label: str, actor: str = "") -> Stream:
        found = self._streams.get((label, actor))
        if found is None:
            found = self._streams[label, actor] = Stream(self, label, actor)
        return found

    def faults(self, label: str, actor: str = "") -> FaultStream:
        found = self._faults.get((label, actor))
        if found is None:
            found = self._faults[label, actor] = FaultStream(self, label, actor)
        return found

    def details(self, label: str, of: FaultStream, actor: str | None = None) -> DetailStream:
        """What is still to be drawn about a fault that fires; `actor`: if it is not the fault's own."""
        named = (label, of.actor if actor is None else actor)
        found = self._details.get(named)
        if found is None:
            found = self._details[named] = DetailStream(self, *named, of)
        return found

    def forced_in(self, label: str, actor: str) -> Mapping[int, int]:
        return self._forced.get((label, actor), _NOTHING)

    def order(self, ms: int, n: int) -> int:
        """Which of `n` events that are due at this instant runs next: named by the instant, so that what happens at
        one does not move what happens at another."""
        order = self._order
        if ms != self._order_ms:
            self._order_ms = ms
            order.actor, order.nth = str(ms), 0
            order._start = (self.seed * 0xD1342543DE82EF95 + ms * 0x2545F4914F6CDD1D) & _MASK
            if self._order_forced:
                order._forced = self.forced_in(_ORDER, order.actor)
        return order.choose(n)

    def end_faults(self) -> None:
        """From now on everything goes as it should."""
        self.over = True

    def forget_streams(self) -> None:
        """Nothing is drawn any more; what was chosen stays known."""
        for streams in (self._streams, self._faults, self._details):
            streams.clear()
        self.on_fault, self.step = None, _no_step

    def count(self, fault: str, actor: str = "") -> None:
        """It fires now, drawn here or scripted by a scenario."""
        self.fired[fault] = self.fired.get(fault, 0) + 1
        if self.on_fault is not None:
            self.on_fault(fault, actor)


def _no_step() -> int:
    return -1


def _begin(seed: int, label: str, actor: str) -> int:
    return int.from_bytes(blake2b(f"{seed}\0{label}\0{actor}".encode(), digest_size=8).digest(), "big")
