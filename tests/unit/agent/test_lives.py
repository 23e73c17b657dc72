"""The table of a pod's Life in the machine's docstring is what the machine does: no more, and no less."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from fairlead.agent import machine
from fairlead.agent.life import Life
from fairlead.agent.machine import Agent
from fairlead.cache import events as mirrored
from tests.property.test_agent import ACTS, NAMES, Judge, act

Step = tuple[str, str, str]
COLUMNS = ("pod", "gone", "Saw", "Failed", "Closed", "other")


class Watched(Agent):
    """Writes down what became of each pod at each event."""

    steps: set[Step]

    def _note(self, kind: str, about: str, happens: Any, *arguments: Any) -> Any:
        before = {uid: (work.life, work.gone) for uid, work in self.works.items()}
        made = happens(*arguments)
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

    def mirror(self, resource: str, *events: mirrored.Event) -> Any:
        kind = "pods" if resource == "pods" else "other"
        self._changed_now: set[str] = set()
        return self._note(kind, "", super().mirror, resource, *events)

    def _pod_changed(self, change: mirrored.Changed) -> tuple[str, ...]:
        touched = super()._pod_changed(change)
        self._changed_now.update(touched)
        return touched

    def saw(self, event: Any) -> Any:
        return self._note("Saw", event.sandbox.uid, super().saw, event)

    def failed(self, event: Any) -> Any:
        return self._note("Failed", event.uid, super().failed, event)

    def closed(self, event: Any) -> Any:
        return self._note("Closed", event.uid, super().closed, event)

    def found(self, event: Any) -> Any:
        return self._note("other", "", super().found, event)

    def probed(self, event: Any) -> Any:
        return self._note("other", "", super().probed, event)

    def answered(self, event: Any) -> Any:
        return self._note("other", "", super().answered, event)

    def woke(self, event: Any) -> Any:
        return self._note("other", "", super().woke, event)

    def leave(self, now: float) -> Any:
        return self._note("other", "", super().leave, now)


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

        start = room.start_agent
        room.start_agent = lambda start=start, watched=watched: (start(), watched())  # type: ignore[method-assign]
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
                    room.take(room.agent.leave(room.now))
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
