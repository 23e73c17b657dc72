"""A host port is taken once per protocol and address; 0.0.0.0 is every address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import Lower, Prepared
from fairlead.schedule.facts import Facts, Port
from fairlead.schedule.nodes import Ints, Mask
from fairlead.schedule.snapshot import Placed, Snapshot

_EVERYWHERE = "0.0.0.0"


class NodePorts:
    name: ClassVar[str] = "NodePorts"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", "pods.deleted"})
    evicting_helps: ClassVar[bool] = True
    concerns: ClassVar[tuple[str, ...]] = ("user", "autoscaler")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        return _Free(snapshot, facts.ports) if facts.ports else None


class _Free:
    relative: ClassVar[bool] = False
    local: ClassVar[bool] = True

    def __init__(self, snapshot: Snapshot, wanted: tuple[Port, ...]) -> None:
        self._snapshot, self._wanted = snapshot, wanted
        self._mask = np.ones(snapshot.nodes.slots, np.bool_)
        for name, taken in snapshot.ports.items():
            slot = snapshot.nodes.slot.get(name)
            if slot is not None and taken:
                self._mask[slot] = not clash(wanted, taken)

    def mask(self) -> Mask:
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        return {"node(s) didn't have free ports for the requested pod ports": len(slots)}

    def scores(self, open_slots: Mask) -> None:
        return None

    def touched(self, change: OccupancyChange) -> bool:
        if change.facts.ports:
            self._mask[change.slot] = self.without(change.slot, ())
        return False

    # Evicting

    def resolvable(self) -> None:
        return None

    def hopeful(self, lower: Lower) -> None:
        return None

    def reasons_without(self, slots: Ints, lower: Lower) -> dict[str, int]:
        return self.reasons(slots)

    def without(self, slot: int, removed: Sequence[Placed]) -> bool:
        (name,) = self._snapshot.nodes.names((slot,))
        taken = dict(self._snapshot.ports.get(name, {}))
        for placed in removed:
            for port in placed.facts.ports:
                taken[port] -= 1
        return not clash(self._wanted, (port for port, number in taken.items() if number))


def clash(wanted: tuple[Port, ...], taken: Iterable[Port]) -> bool:
    return any(
        mine.number == other.number
        and mine.protocol == other.protocol
        and (mine.address == other.address or _EVERYWHERE in (mine.address, other.address))
        for other in taken
        for mine in wanted
    )
