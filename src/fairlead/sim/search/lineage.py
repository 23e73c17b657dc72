"""Lineage-driven search: from what made a good outcome happen to the smallest sets of faults that would prevent it.

A run without faults is asked backwards: for each object, which calls and deliveries led to its last change? Each of
them is something whose loss might prevent that change: one is taken away. If the plane found another way, the new run
is asked in the same manner, and what that way rests on is taken away as well, up to `faults_max` faults. Messages near
the outcome are tried first, and outcomes by turns.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from fairlead.model.views import LEASES
from fairlead.port.request import READ_VERBS
from fairlead.sim.chance import ChoiceName
from fairlead.sim.search.contract import Attempt, Plays, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, single_faults
from fairlead.sim.trail import Trail, TrailStep
from fairlead.sim.world import Run

_WAITING_MAX = 4_000
_RUNS = 64


class LineageSearch:
    name = "lineage"

    def __init__(self, runner: Plays, seed: int, faults_max: int = 3) -> None:
        self._runner, self._seed, self._faults_max = runner, seed, faults_max
        self._faults = unlikely(runner.faults)
        self._waiting: deque[Attempt] = deque()
        self._tried: set[Forced] = set()
        self._ends_at = seed + _RUNS

    def propose(self) -> Attempt | None:
        if not self._waiting:
            if self._seed >= self._ends_at:
                return None
            run, _ = clean_run(self._runner, self._seed)
            self._waiting.append(Attempt(self._seed, faults=self._faults, told="no fault", watched=True))
            self._tried.clear()
            self._extend(self._seed, (), "", run)
            self._seed += 1
        return self._waiting.popleft()

    def learn(self, attempt: Attempt, run: Run) -> None:
        faults = sum(choice[0][0] in _LABELS for choice in attempt.forced)
        if run.violation is None and attempt.forced and faults < self._faults_max:
            self._extend(attempt.seed, attempt.forced, attempt.told, run)

    def _extend(self, seed: int, forced: Forced, told: str, run: Run) -> None:
        if run.trail is None or len(self._waiting) > _WAITING_MAX:
            return
        for point in supports(run.trail):
            for word, choices in single_faults(point):
                wanted = tuple(sorted({*forced, *choices}))
                if wanted in self._tried or any(name == choices[0][0] for name, _ in forced):
                    continue
                self._tried.add(wanted)
                said = "; ".join(filter(None, (told, f"{word}: {point.actor} {point.nth}")))
                self._waiting.append(Attempt(seed, wanted, faults=self._faults, told=said, watched=True))


_LABELS = ("call", "crash_at_write", "watch_lag", "watch_broken")


def supports(trail: Trail) -> Iterator[FaultPoint]:
    """The messages that last changes rest on: nearest first, outcomes by turns, each once."""
    names = _messages(trail)
    chains: list[list[ChoiceName]] = []
    for number in _outcomes(trail):
        chain = [name for step in reversed(trail.chain(number)) for name in names.get(step.number, ())]
        if chain:
            chains.append(chain)
    seen: set[ChoiceName] = set()
    for depth in range(max(map(len, chains), default=0)):
        for chain in chains:
            if depth < len(chain) and chain[depth] not in seen:
                seen.add(chain[depth])
                label, actor, nth = chain[depth]
                yield FaultPoint(0, label, actor, nth, 2)


def _outcomes(trail: Trail) -> list[int]:
    """The steps of the last change of each object, but for leases."""
    last: dict[str, int] = {}
    for step in trail:
        if step.kind == "calm":
            break
        if step.kind == "committed":
            key = step.text.partition(" ")[2].rpartition(" by ")[0]
            if LEASES.name not in key:
                last[key] = step.number
    return sorted(last.values(), reverse=True)


def _messages(trail: Trail) -> dict[int, tuple[ChoiceName, ...]]:
    """By step, what the choices about it are called: a call has a fate and may be the last, a delivery may lag."""
    found: dict[int, tuple[ChoiceName, ...]] = {}
    made: Counter[tuple[str, str]] = Counter()
    for step in trail:
        names = _of_call(step) if step.kind == "call" else _of_delivery(step) if step.kind == "told" else ()
        if names:
            found[step.number] = tuple((label, actor, made[label, actor]) for label, actor in names)
            made.update(names)
    return found


def _of_call(step: TrailStep) -> tuple[tuple[str, str], ...]:
    _, controller, verb, plural, address = step.text.split(" ")
    below = address.rpartition("/")[2]
    actor = f"{step.actor} {controller} {verb} {plural}" + (f"/{below}" if below else "")
    return (("call", actor),) if verb in READ_VERBS else (("crash_at_write", actor), ("call", actor))


def _of_delivery(step: TrailStep) -> tuple[tuple[str, str], ...]:
    resource, kind, _ = step.text.split(" ", 2)
    actor = f"{step.actor} {resource}"
    return (("watch_lag", actor), ("watch_broken", actor)) if kind == "Framed" else ()
