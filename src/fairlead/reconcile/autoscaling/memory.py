"""What an autoscaler must not forget: recent recommendations, and its own recent changes of the number of replicas.

Kept as text in an annotation of the autoscaler itself (docs/adr/0029), so that a new leader knows it, and cannot take
pods away at once because it has heard of no higher recommendation. Used by `decider.py` and `pace.py`. Pure.

Of recommendations only those are kept that a window can still turn to: for the highest, those that no later one
exceeds; likewise for the lowest. The newest has no end: it holds until another takes its place, also over the time in
which nobody looked. So nothing is written while a recommendation stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fairlead.core import codec

MEMORY = "autoscaling.fairlead.dev/memory"
#: bound: plane | recommendations and changes of an autoscaler that are remembered, each | the oldest two become one
REMEMBERED_MAX = 64
_OPEN = math.inf


class Recommendation(NamedTuple):
    replicas: int
    until: float = _OPEN  # when another took its place


class Rescaling(NamedTuple):
    """A change of the number of replicas, as it was decided on."""

    at: float
    before: int
    after: int


class ScalingMemory(NamedTuple):
    """`highest` falls and `lowest` rises from entry to entry; `rescalings` are in order of time."""

    highest: tuple[Recommendation, ...] = ()
    lowest: tuple[Recommendation, ...] = ()
    rescalings: tuple[Rescaling, ...] = ()


class _Text(msgspec.Struct, omit_defaults=True):
    high: list[tuple[int, int | None]] = []
    low: list[tuple[int, int | None]] = []
    scaled: list[tuple[int, int, int]] = []


def read_memory(text: str) -> ScalingMemory:
    """What cannot be read counts as forgotten."""
    try:
        found = msgspec.json.decode(text, type=_Text)
    except msgspec.MsgspecError:
        return ScalingMemory()
    return ScalingMemory(
        tuple(Recommendation(n, _OPEN if until is None else until) for n, until in found.high),
        tuple(Recommendation(n, _OPEN if until is None else until) for n, until in found.low),
        tuple(Rescaling(*each) for each in found.scaled),
    )


def write_memory(memory: ScalingMemory) -> str:
    """Ends are rounded up: a window is never shorter than it should be."""

    def runs(given: tuple[Recommendation, ...]) -> list[tuple[int, int | None]]:
        return [(each.replicas, None if each.until == _OPEN else math.ceil(each.until)) for each in given]

    scaled = [(math.ceil(each.at), each.before, each.after) for each in memory.rescalings]
    return codec.encode(_Text(runs(memory.highest), runs(memory.lowest), scaled)).decode()


def recommend(
    memory: ScalingMemory, replicas: int, now: float, down_seconds: float, up_seconds: float
) -> ScalingMemory:
    """With this recommendation, made now. Without a window nothing is kept of its direction."""
    highest = _joined(memory.highest, replicas, now, down_seconds, lambda old: old > replicas, max)
    lowest = _joined(memory.lowest, replicas, now, up_seconds, lambda old: old < replicas, min)
    return memory._replace(highest=highest, lowest=lowest)


def _joined(
    known: tuple[Recommendation, ...],
    replicas: int,
    now: float,
    window: float,
    still_counts: Callable[[int], bool],
    careful: Callable[[int, int], int],
) -> tuple[Recommendation, ...]:
    if window <= 0:
        return ()
    if known and known[-1].replicas == replicas:
        return known
    ended = [each._replace(until=min(each.until, now)) for each in known]
    kept = [each for each in ended if still_counts(each.replicas) and each.until > now - window]
    while len(kept) >= REMEMBERED_MAX:
        first, second = kept[:2]
        kept[:2] = [Recommendation(careful(first.replicas, second.replicas), second.until)]
    return (*kept, Recommendation(replicas))


def highest_since(memory: ScalingMemory, since: float, otherwise: int) -> int:
    return max((each.replicas for each in memory.highest if each.until > since), default=otherwise)


def lowest_since(memory: ScalingMemory, since: float, otherwise: int) -> int:
    return min((each.replicas for each in memory.lowest if each.until > since), default=otherwise)


def carried_out(memory: ScalingMemory, replicas: int) -> ScalingMemory:
    """Without a last change that was not made: the target has the number that it should have left."""
    if memory.rescalings and memory.rescalings[-1].before == replicas:
        return memory._replace(rescalings=memory.rescalings[:-1])
    return memory


def remember_rescaling(memory: ScalingMemory, rescaling: Rescaling, period_seconds: float) -> ScalingMemory:
    """With this change, without those that no policy looks back to."""
    since = rescaling.at - period_seconds
    kept = [each for each in memory.rescalings if each.at > since]
    while len(kept) >= REMEMBERED_MAX:
        first, second = kept[:2]
        kept[:2] = [Rescaling(second.at, first.before, second.after)]
    return memory._replace(rescalings=(*kept, rescaling))
