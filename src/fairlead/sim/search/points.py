"""Where faults can be put in a run without faults, and which: what planned, lineage-driven and exhaustive search share.

A run that notes everything (`Chance.notes_all`) lists every place at which a fault could have been drawn, in the order
of time. `single_faults` makes of such a place what can go wrong there, as choices to force.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.port.request import READ_VERBS
from fairlead.sim.calls import FATES
from fairlead.sim.chance import Chance, ChoiceName
from fairlead.sim.search.contract import Plays, unlikely
from fairlead.sim.world import Run

Forced = tuple[tuple[ChoiceName, int], ...]
_OF_WRITES = ("call", "crash_at_write", "crash_after_write")
_LAG_MAX, _LATE_MAX = 11_999, 4_999  # milliseconds: as late as `network.py` lets them be


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """One place, and its position among all of them."""

    position: int
    label: str
    actor: str
    nth: int
    n: int

    @property
    def name(self) -> ChoiceName:
        return self.label, self.actor, self.nth

    @property
    def process(self) -> str:
        return self.actor.partition(" ")[0]

    @property
    def what(self) -> str:
        """The kind of place: the actor without its process."""
        return self.actor.partition(" ")[2]

    @property
    def writes(self) -> bool:
        words = self.actor.split(" ")
        return (
            self.label in ("call", "crash_at_write", "crash_after_write")
            and len(words) > 2
            and words[2] not in READ_VERBS
        )


def clean_run(runner: Plays, seed: int) -> tuple[Run, tuple[FaultPoint, ...]]:
    """A run without faults of the code under test, and every place at which it could have met one."""
    chance = Chance(seed, notes_all=True)
    run = runner.play(chance, trail=True, faults=unlikely(runner.faults))
    faults = (each for each in chance.choices if each[5])
    return run, tuple(FaultPoint(at, each[0], each[1], each[2], each[3]) for at, each in enumerate(faults))


def single_faults(point: FaultPoint) -> tuple[tuple[str, Forced], ...]:
    """What can go wrong here: in words, and as choices."""
    name, actor = point.name, point.actor
    if point.label == "crash_at_write":
        after = ((name, 1), (("crash.sent", actor, 0), 1))
        return ("crash after the write", after), ("crash before the write", ((name, 1),))
    if point.label == "call" and point.writes:
        late = ((name, 1 + FATES.index("request_late")), (("call.late", actor, 0), _LATE_MAX))
        return (
            ("reply lost", ((name, 1 + FATES.index("reply_lost")),)),
            ("request late", late),
            ("request lost", ((name, 1 + FATES.index("request_lost")),)),
        )
    if point.label == "watch_lag":
        return (("view frozen", ((name, 1), (("watch.lag", actor, 0), _LAG_MAX))),)
    if point.label == "watch_broken":
        return (("watch broken", ((name, 1),)),)
    if point.label == "incident":
        return tuple((f"incident {value}", ((name, value),)) for value in range(1, point.n))
    if point.label == "call":
        return ()
    return ((point.label, ((name, 1),)),)
