"""The table of a pod's Life in the machine's docstring is what the machine does: no more, and no less."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairlead.agent import contract as c
from fairlead.agent import machine
from fairlead.agent.machine import Agent
from fairlead.agent.pod.life import Life
from fairlead.cache.events import Changed, Mirrored
from fairlead.port.driving import Woke
from tests.property.test_agent import ACTS, NAMES, Judge, act

Step = tuple[str, str, str]
COLUMNS = ("pod", "gone", "Saw", "Failed", "Closed", "other")


class Watched(Agent):
    """Writes down what became of each pod at each event."""

    steps: set[Step]

    def handle(self, event: c.AgentEvent) -> tuple[c.AgentInstruction, ...]:
        kind, about = "other", ""
        match event:
            case Mirrored("pods") | Woke(timer="pods"):
                kind = "pods"
            case c.Saw(sandbox):
                kind, about = "Saw", sandbox.uid
            case c.Failed(uid) | c.Closed(uid):
                kind, about = type(event).__name__, uid
        self._changed_now: set[str] = set()
        before = {uid: (work.life, work.gone) for uid, work in self.works.items()}
        made = super().handle(event)
        for uid, (life, gone) in before.items():
            work = self.works.get(uid)
            after = work.life if work is not None else Life.GONE
            column = kind if uid == about else "other"
            if kind == "pods":
                if work is None or work.gone:
                    column = "gone" if not gone else "other"
                else:
                    column = "pod" if uid in self._changed_now else "other"
            self.steps.add((life.name, column, after.name))
        return made

    def _pod_changed(self, change: Changed) -> tuple[str, ...]:
        touched = super()._pod_changed(change)
        self._changed_now.update(touched)
        return touched


# Seeds that had met every step together when this was written: as long as that holds, the search is short.
_FIRST = (5, 16, 135, 36, 298, 23, 30, 56, 75, 352)


def written() -> set[Step]:
    lines = [line.strip() for line in (machine.__doc__ or "").splitlines() if line.strip().startswith("|")]
    head = [cell.strip() for cell in lines[0].strip("|").split("|")][1:]
    assert tuple(head) == COLUMNS
    found = set()
    for line in lines[2:]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        for column, cell in zip(COLUMNS, cells, strict=True):
            found |= {(name, column, life) for life in cell.split() if life != "-"}
    return found


def seen(seeds: Iterable[int]) -> Iterator[set[Step]]:
    """Many lives, with everything that the property test does to them, drivers that refuse, and agents that leave."""
    for seed in seeds:
        chance = random.Random(seed)
        judge = Judge()
        room = judge.room
        steps: set[Step] = set()

        def watched(room: Any = room, steps: set[Step] = steps) -> None:
            room.agent.__class__ = Watched
            room.agent.steps = steps

        def start_watched(
            start: Callable[[], None] = room.start_agent, watch: Callable[[], None] = watched
        ) -> None:
            start()
            watch()

        room.start_agent = start_watched  # type: ignore[method-assign]
        watched()
        room.begin()
        for _ in range(chance.randint(40, 140)):
            what = chance.choice((*ACTS, "refuse", "leave"))
            if what == "refuse":
                room.machine.refuse = chance.choice(
                    ({}, {}, {"Open": "no"}, {"Start": "no"}, {"Stop": "no"}, {"Close": "no"})
                )
            elif what == "leave":
                if chance.random() < 0.1:
                    room.tell(c.ShutdownRequested(room.now))
            else:
                act(judge, what, chance.randrange(30))
            judge.check()
        room.machine.refuse = {}
        for name in NAMES:
            room.delete(name)
        room.pass_time(300.0, looks=True)
        assert room.agent.works == {}
        assert room.machine.sandboxes == {}
        yield steps


def test_the_table_is_what_happens_and_all_that_happens() -> None:
    table = written()
    missing = {(life, column, after) for life, column, after in table if life != after}
    for steps in seen([*_FIRST, *range(400)]):
        assert sorted(steps - table) == []
        missing -= steps
        if not missing:
            break
    assert sorted(missing) == []
