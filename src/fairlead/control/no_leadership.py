"""Leadership of a plane that needs none: what it does nobody else can do, so it asks nobody and always acts.

In place of `leadership.py` where a plane plays hollow nodes from a process of its own (`runtime/node/hollow.py`). Its
writes carry no fence: two such processes with the same names would play the same nodes, and conflicts would show it.
"""

from __future__ import annotations

from fairlead.control.leadership import Leadership, LeadershipEvent, LeadershipInstruction, LeadershipPhase


class Alone(Leadership):
    def __init__(self, identity: str) -> None:
        super().__init__(identity, lambda: 0)
        self.phase = LeadershipPhase.LEADING

    @property
    def next_at(self) -> float:
        return 0.0

    @property
    def fence(self) -> None:
        return None

    def may_act(self, now: float) -> bool:
        return True

    def handle(self, event: LeadershipEvent) -> tuple[LeadershipInstruction, ...]:
        return ()

    def answers(self, call: int) -> bool:
        return False
