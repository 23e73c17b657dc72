"""Planned search: patterns that have broken many controllers, put where a run without faults writes and is told.

crash after a write           the plane dies as a write leaves; whoever comes next does not see it for a while
an answer that is not heard   the write is done, or is refused, and who made it neither hears nor sees what came of it
freeze a view, and use it     a watch of a process shows nothing new for a while, and the process acts in the meantime
hide a transition             a watch is late and is then listed anew: a thing has come and gone, or has changed twice

A run is parted into stretches in which as much is done, and an attempt puts the same pattern into each of them, while
the planes see everything, one kind, or nothing late throughout: what a plane survives does not spare it the next. Every
other attempt kills, mostly as a write leaves: in all stretches, or from a later one on, by turns, because after a death
nothing is where the run without faults had it. Places that differ in controller, verb or kind come first, those of
writes that only report how things are after them, then those that differ in number only. Which of a write's two ends is
heard of first is turned round from attempt to attempt as well. Some dozens of attempts are planned on one run, with
seeds of their own where the world is the same for all, then the run of another seed is planned on, with other views
late first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, cycle, islice

from fairlead.sim.chance import Bend
from fairlead.sim.search.contract import Plays, SearchAttempt, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, of_every_plane, single_faults
from fairlead.sim.world import Run

_RUNS = 64  # clean runs to plan on, one after the other
_ATTEMPTS_MAX = 48  # that are planned on one of them
_STRETCHES = 4
_FOR_A_WHILE = 3  # deliveries: a write that is under way for long is brought by a later one

Plan = tuple[str, Forced]
Pattern = Callable[[list[FaultPoint], Sequence[FaultPoint]], Iterator[Plan]]


@dataclass(frozen=True, slots=True)
class OrderBend:
    """All answers come late and all deliveries at once, or the other way round."""

    late: str

    def __call__(self, label: str, actor: str, nth: int, n: int, drawn: int) -> int:
        if label not in ("call.delay", "watch.delay"):
            return drawn
        return n - 1 if label == self.late else 0


_BENDS: tuple[Bend | None, ...] = (None, OrderBend("call.delay"), OrderBend("watch.delay"))


class PlannedSearch:
    name = "planned"

    def __init__(self, runner: Plays, seed: int) -> None:
        self._runner, self._seed = runner, seed
        self._plans = self._all()

    def propose(self) -> SearchAttempt | None:
        return next(self._plans, None)

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        """Nothing: what it tries follows from the run without faults."""

    def _all(self) -> Iterator[SearchAttempt]:
        seed = self._seed
        for asked in range(_RUNS):
            world = self._runner.at(seed)
            faults = unlikely(world.faults)
            _, points = clean_run(self._runner, seed)
            yield SearchAttempt(seed, faults=faults, told="no fault")
            apart = 1 if world is self._runner else 0  # else another seed is another world
            at = seed
            for number, (told, forced) in enumerate(islice(plans(points, asked), _ATTEMPTS_MAX)):
                at += apart
                yield SearchAttempt(at, forced, _BENDS[number % len(_BENDS)], faults, told)
            seed = at + 1


def plans(points: Sequence[FaultPoint], asked: int = 0) -> Iterator[Plan]:
    """One pattern after the other, in every stretch, while views are late throughout. In every other attempt nothing
    dies: who dies forgets what it had got wrong. Those begin with everything late, and those that kill with nothing; a
    run that is asked later begins with another view, so that the same place meets others that are late."""
    gentle, harsh = (_parted(points, patterns) for patterns in (_GENTLE, _HARSH))
    late = [*_late_views(points), ("", ())]
    late.insert(0, ("all late", tuple(choice for _, choices in late for choice in choices)))
    for turn in count():
        number, kills = divmod(turn, 2)
        spared = number // 2 % _STRETCHES if kills else _STRETCHES  # nobody dies before this stretch
        chosen = [late[(number - kills + asked) % len(late)]]
        for found in (*gentle[:spared], *harsh[spared:]):
            if found:
                chosen.append(next(found[number % len(found)]))
        forced = of_every_plane((choice for _, choices in chosen for choice in choices), points)
        yield "; ".join(told for told, _ in chosen if told), forced


def _late_views(points: Sequence[FaultPoint]) -> Iterator[Plan]:
    """Of planes, a kind at a time: those of which most is told first."""
    views: dict[str, list[FaultPoint]] = {}
    for each in points:
        if each.label == "watch_lag" and each.of_plane and not each.tells:
            views.setdefault(each.what, []).append(each)
    for what, found in sorted(views.items(), key=lambda view: -len(view[1])):
        yield f"{what} late", tuple(choice for each in found for choice in single_faults(each)[0][1])


def stretches(points: Sequence[FaultPoint]) -> list[list[FaultPoint]]:
    """As much is done in one as in another. By time most of a small world would be in the first, since it comes to rest
    long before faults end."""
    acting = [each.position for each in points if not each.tells]
    begins = [acting[len(acting) * number // _STRETCHES] for number in range(1, _STRETCHES)] if acting else []
    found: list[list[FaultPoint]] = [[] for _ in range(_STRETCHES)]
    for each in points:
        found[bisect_right(begins, each.position)].append(each)
    return found


def _parted(points: Sequence[FaultPoint], patterns: Sequence[Pattern]) -> list[list[Iterator[Plan]]]:
    """By stretch, for each pattern what is to be tried, over and over; one that is named again goes on."""
    parted: list[list[Iterator[Plan]]] = []
    for here in stretches(points):
        planned = {pattern: list(pattern(here, points)) for pattern in patterns}
        tried = {pattern: cycle(each) for pattern, each in planned.items() if each}
        parted.append([tried[pattern] for pattern in patterns if pattern in tried])
    return parted


def by_turns(points: list[FaultPoint]) -> Iterator[FaultPoint]:
    """The first of each kind, then the others, so that what comes one after the other is far apart; what reports comes
    after what acts, and what only tells comes last."""
    telling = [each for each in points if each.tells]
    reporting = [each for each in points if each.reports and not each.tells]
    acting = [each for each in points if not (each.tells or each.reports)]
    for group in (acting, reporting, telling):
        first = {f"{each.label} {each.what}": each for each in reversed(group)}
        yield from first.values()
        yield from (each for each in _far_apart(group) if first[f"{each.label} {each.what}"] is not each)


def _far_apart(points: list[FaultPoint]) -> Iterator[FaultPoint]:
    """In the order of their numbers' binary digits, read backwards."""
    digits = max(len(points) - 1, 1).bit_length()
    for number in range(1 << digits):
        if (place := int(f"{number:0{digits}b}"[::-1], 2)) < len(points):
            yield points[place]


def _crashes(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    """And whoever comes next does not see what was written, or its author does not when it is back."""
    writes = [each for each in here if each.label in ("crash_at_write", "agent_crash_at_write")]
    for which in (0, 1):  # when it has left, then before it does
        for write in by_turns(writes):
            told, forced = single_faults(write)[which]
            unseen = _views(write, points, own=False)
            yield _together(f"{told}: {write.actor} {write.nth}", forced, unseen[:1])


def _unheard(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    """What became of the write; nor is it seen."""
    places = list(by_turns([each for each in here if each.label == "call" and each.writes]))
    kinds = len({each.what for each in places})
    tries = [(write, 0) for write in places[:kinds]]  # the worst at each kind, then anything anywhere
    most = max((len(single_faults(each)) for each in places), default=0)
    tries += [(write, turn + number) for turn in range(1, most) for number, write in enumerate(places)]
    for write, which in tries:
        faults = single_faults(write)
        told, forced = faults[which % len(faults)]
        unseen = _views(write, points, own=True)
        yield _together(f"{told}: {write.actor} {write.nth}", forced, unseen)


def _frozen(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    for point in by_turns([each for each in here if each.label == "watch_lag"]):
        yield _together("", (), [point])


def _hidden(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    """A view is late, and then it is listed anew: it shows what came of things, and not how."""
    anew = {(each.actor, each.nth): each for each in points if each.label == "watch_expired"}
    for view in by_turns([each for each in here if each.label == "watch_lag"]):
        if (point := anew.get((view.actor, view.nth))) is not None:
            yield _together(f"watch expired: {point.actor} {point.nth}", single_faults(point)[0][1], [view])


def _misled(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    """A view goes on from elsewhere: from before, from an older list, or after a while."""
    labels = (
        "watch_broken",
        "watch_repeated",
        "list_lost",
        "list_stale",
        "list_reordered",
        "queue_reordered",
    )
    for point in by_turns([each for each in here if each.label in labels]):
        yield f"{point.label.replace('_', ' ')}: {point.actor} {point.nth}", single_faults(point)[0][1]


def _incidents(here: list[FaultPoint], points: Sequence[FaultPoint]) -> Iterator[Plan]:
    at = [each for each in here if each.label == "incident"]
    faults = [[(f"{told} at {each.nth}", forced) for told, forced in single_faults(each)] for each in at]
    for turn in range(max(map(len, faults), default=0)):
        for number, each in enumerate(faults):
            yield each[(turn + number) % len(each)]


def _views(write: FaultPoint, points: Sequence[FaultPoint], own: bool) -> list[FaultPoint]:
    """The next deliveries of what this write changes: to who made it, or to another, for a while."""
    resource = write.what.rpartition(" ")[2].partition("/")[0]
    first = next(
        (
            each
            for each in points[write.position :]
            if each.label == "watch_lag"
            and each.what.partition(".")[0] == resource
            and (each.process == write.process) is own
        ),
        None,
    )
    return [replace(first, nth=first.nth + more) for more in range(_FOR_A_WHILE)] if first else []


def _together(told: str, forced: Forced, frozen: Sequence[FaultPoint]) -> Plan:
    words = [told] if told else []
    if frozen:
        words.append(f"view frozen: {frozen[0].actor} {frozen[0].nth}")
    for view in frozen:
        forced = (*forced, *single_faults(view)[0][1])
    return "; ".join(words), forced


_GENTLE: tuple[Pattern, ...] = (_unheard, _frozen, _hidden, _misled)
_HARSH: tuple[Pattern, ...] = (_crashes, _incidents, _crashes, _unheard, _incidents, _hidden)
