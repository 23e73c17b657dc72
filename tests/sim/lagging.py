"""A plane against the real API whose watches can be held back, for stories in which what a mirror shows is late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.api.access.users import User
from fairlead.decision.decider import Decider
from fairlead.port.request import Request
from tests.inprocess import ADMIN, InProcess
from tests.unit.control.driving import Driver, Lose

Json = dict[str, Any]


class Lagging(Driver):
    """Keeps back what the watches of some resources would tell."""

    def __init__(
        self,
        api: InProcess,
        lose: Lose | None = None,
        identity: str = "test",
        deciders: Sequence[Decider] | None = None,
        user: User = ADMIN,
    ) -> None:
        self.held: set[str] = set()
        super().__init__(api, lose, deciders, identity, user=user)

    def _deliver(self) -> bool:
        held = {name: self._follows.pop(name) for name in self.held & self._follows.keys()}
        try:
            return super()._deliver()
        finally:
            self._follows.update(held)

    def bindings(self) -> list[Request]:
        return [each for each in self.sent if each.subresource == "binding"]

    def records_of(self, pod: str) -> list[Json]:
        """With what the batch of an attempt had read, which stands before it."""
        batches = {(each["time"], each["batch"]): each["reads"] for each in self.records if "assumed" in each}
        found = [each for each in self.records if each.get("object") == f"pods/default/{pod}"]
        shared = [batches.get((each["time"], each.get("batch"))) for each in found]
        return [
            {"reads": reads, **each} if reads else each for reads, each in zip(shared, found, strict=True)
        ]
