"""Invariants of the simulator on a running plane: the same checkers, told of what is committed there.

    monitors = LiveMonitors()
    monitors.learn(entries)                    what there is, once
    monitors.saw(change, origin, seconds)      the violations that this commit shows

Only those that can be judged from commits alone, need no rest and no knowledge of faults, keep no more than there are
objects, and do not judge what people may do as they like (`_OF_PLANE`: judged where the plane wrote). Checkers go on
after a violation. Pure; `runtime/server/monitoring.py` feeds it off the hot path, within a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from fairlead.model.pod_decoder import decode_pod
from fairlead.model.service_views import SERVICES
from fairlead.model.views import (
    AUTOSCALERS,
    DAEMONSETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    STATEFULSETS,
    Resource,
)
from fairlead.sim.checkers.addresses import OneAddress
from fairlead.sim.checkers.bound_once import BoundOnce
from fairlead.sim.checkers.capacity import Capacity
from fairlead.sim.checkers.contract import Checker, SeenChange
from fairlead.sim.checkers.observed_generation import ObservedGeneration
from fairlead.sim.checkers.reservations import OneReservation
from fairlead.sim.checkers.revisions import RevisionsIncrease
from fairlead.sim.checkers.scale_bounds import ScalesWithinBounds
from fairlead.sim.violation import Violation
from fairlead.store.contract import ADDED, DELETED, CommittedChange, Entry

_RESOURCES: tuple[Resource[Any], ...] = (
    PODS, NODES, SERVICES, RESERVATIONS, AUTOSCALERS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS,
)  # fmt: skip
WATCHED = frozenset(each.name for each in _RESOURCES)
# Who binds a pod or scales a workload by hand may; the plane may not.
_OF_PLANE = frozenset({Capacity.name, ScalesWithinBounds.name})


def live_checkers() -> tuple[Checker, ...]:
    return (
        RevisionsIncrease(),
        BoundOnce(),
        Capacity(),
        OneReservation(),
        OneAddress(),
        ObservedGeneration(),
        ScalesWithinBounds(),
    )


class LiveMonitors:
    def __init__(self, make: Callable[[], tuple[Checker, ...]] = live_checkers) -> None:
        self._checkers = make()
        self._decoders: dict[str, Callable[[bytes], Any]] = {
            each.name: decode_pod if each is PODS else msgspec.json.Decoder(each.type).decode
            for each in _RESOURCES
        }

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self._checkers)

    def learn(self, entries: Iterable[Entry]) -> None:
        """What there is, in the order of revisions. Nobody is blamed for how it came to be."""
        for entry in entries:
            self.saw(CommittedChange(ADDED, entry, None), "", 0.0)

    def saw(self, change: CommittedChange, origin: str, seconds: float) -> list[Violation]:
        entry = change.entry
        decode = self._decoders.get(entry.key.resource)
        if decode is None:
            return []
        try:
            last = decode(entry.data)
            before = None if change.before is None else decode(change.before.data)
        except msgspec.MsgspecError:
            return []  # what cannot be read is told of elsewhere
        sight = SeenChange(
            key=entry.key,
            revision=entry.revision,
            before=before,
            after=None if change.type == DELETED else last,
            last=last,
            origin=origin,
            seconds=seconds,
        )
        found: list[Violation] = []
        for checker in self._checkers:
            try:
                checker.saw(sight)
            except Violation as violation:
                if sight.by_plane or checker.name not in _OF_PLANE:
                    found.append(violation)
        return found
