"""What a change leads to, as data that people and other programs read: made by `preview.py`, shown by the CLI.

`as_json` is what `-o json` prints and what an override keeps of its own preview.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

REVERTS, REMAKES, REACTS = "reverts", "remakes", "reacts"


@dataclass(frozen=True, slots=True)
class Act:
    """What one controller does to objects of one kind and owner because of the change, all of it in one line.

    `seconds`: after the change, of the first; `last`: of the last.
    """

    seconds: float
    last: float
    by: str
    does: str  # creates, removes, deletes, binds, changes FIELDS
    kind: str  # plural
    namespace: str
    of: str  # the workload, or the object itself
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class FightTold:
    """A controller that an edit of yours meets. `seconds`: when it was seen to act; None: it is its rule to."""

    edit: str
    controller: str
    does: str
    seconds: float | None
    verdict: str = REACTS


@dataclass(frozen=True, slots=True)
class WorkloadTold:
    """A workload whose pods move, wait or are fewer. Zones are those of the nodes, "" where they have none."""

    namespace: str
    workload: str
    moved: int
    left: dict[str, int]  # zone: pods that are no longer there
    joined: dict[str, int]
    ready_before: int
    ready_least: int
    ready_least_at: float
    ready_after: int
    pending: int  # pods without a node at the end
    pending_before: int
    why: str  # the first of them waits


@dataclass(frozen=True, slots=True)
class RoomTold:
    """What is left for new pods on nodes that take some, by zone: without the change, and with it."""

    zone: str
    resource: str
    without: float
    after: float


@dataclass(frozen=True, slots=True)
class RefusedAsk:
    what: str
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class PreviewDifference:
    """`settled`: nothing more happened after `seconds`; if not, that is how far it was looked ahead."""

    told: str
    revision: int
    settled: bool
    seconds: float
    fights: tuple[FightTold, ...]
    acts: tuple[Act, ...]
    workloads: tuple[WorkloadTold, ...]
    room: tuple[RoomTold, ...]
    refused: tuple[RefusedAsk, ...]
    warnings: tuple[str, ...] = ()
    anyway: int = 0  # writes that come without the change as well

    @property
    def pending(self) -> int:
        """Pods that wait at the end and would not without the change."""
        return sum(max(0, each.pending - each.pending_before) for each in self.workloads)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "pending": self.pending}
