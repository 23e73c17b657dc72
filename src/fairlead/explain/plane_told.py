"""What explanations ask of a plane at work, as data: who it is, whether it leads, how far it has heard.

    plane_told(plane, now) -> PlaneTold

A plane in the server's own process is asked when an explanation wants to know (`sources.py`). One in another process
sends the same with what it decided (`runtime/remote/shipping.py`), so that one reader serves both. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from fairlead.control.attempts import SCHEDULER
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.write_loops import WriteLoop
from fairlead.explain.coupling.contract import Timer
from fairlead.explain.coupling.timers import timers_of
from fairlead.model.key import Key
from fairlead.schedule.waiting import State

#: bound: plane | a plane in another process tells nothing for | it is taken to have stopped
SILENT_SECONDS = 20.0
#: bound: plane | pods that wait, of which a plane in another process tells its server | where each stands is not told
QUEUED_TOLD_MAX = 500
#: bound: plane | placements under way of which a plane in another process tells its server | a verdict counts no more
ASSUMED_TOLD_MAX = 500


class PlaneTold(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`at`: when it was so, by the plane's clock; `heard`: up to which revision each mirror is; `reads`: what each
    controller reads; `assumed`: NAMESPACE/NAME@NODE, with a ? behind where it is nominated."""

    identity: str
    phase: str
    leads: bool
    synced: bool
    at: float
    heard: dict[str, int] = {}
    reads: dict[str, tuple[str, ...]] = {}
    retried: dict[str, int] = {}
    timers: tuple[Timer, ...] = ()
    loops: tuple[WriteLoop, ...] = ()
    left_out: int = 0  # decisions and turns of which no line is kept, since the plane began
    merged: int = 0  # blocked decisions that a line stands for with others, since then
    assumed: tuple[str, ...] = ()
    waiting: int = 0  # pods in the queue of its scheduler
    rests_seconds: float = 0.0  # so long it writes nothing, because the API did not answer it (`breaker.py`)
    queued: dict[str, dict[str, Any]] = {}

    @property
    def schedules(self) -> bool:
        return SCHEDULER in self.reads

    @property
    def acts(self) -> bool:
        return self.leads and self.synced


def plane_told(plane: Plane, now: float) -> PlaneTold:
    """Of everything but the queue, of which `queued_pod` tells."""
    reads = {each.decider.name: tuple(read.name for read in each.decider.reads) for each in plane.controllers}
    assumed: tuple[str, ...] = ()
    breaker = plane.health.breaker
    if plane.placer is not None:
        reads[SCHEDULER] = tuple(each.name for each in Placer.reads)
        assumed = tuple(
            f"{key.namespace}/{key.name}@{placed.node}{'?' if placed.nominated else ''}"
            for key, placed in plane.placer.snapshot.assumed.items()
        )
    return PlaneTold(
        identity=plane.leadership.identity,
        phase=plane.leadership.phase.value,
        leads=plane.leadership.leads,
        synced=plane.synced,
        at=now,
        heard={name: mirror.revision for name, mirror in plane.mirrors.items()},
        reads=reads,
        retried={each.decider.name: each.queue.retried for each in plane.controllers if each.queue.retried},
        timers=tuple(timers_of(plane)),
        loops=tuple(plane.health.writes.loops(now)),
        left_out=plane.health.recording.left_out,
        merged=plane.health.merging.merged,
        assumed=assumed,
        waiting=len(plane.placer.waiting) if plane.placer is not None else 0,
        rests_seconds=round(breaker.open_until - now, 1) if breaker.is_open(now) else 0.0,
    )


def queued_pod(placer: Placer | None, key: Key, now: float) -> dict[str, Any] | None:
    """Where a pod is in the queue of the running scheduler; None: it is not in it."""
    entry = placer.waiting.get(key) if placer is not None else None
    if placer is None or entry is None:
        return None
    told: dict[str, Any] = {
        "state": entry.state.value,
        "attempts": entry.attempts,
        "waitedSeconds": round(max(0.0, now - entry.since), 3),
        "position": placer.waiting.position(key),
    }
    if entry.state is State.WAITING:
        told |= {"wakesOn": sorted(entry.wakes_on), "refusedBy": sorted(entry.refused_by)}
    elif entry.state is State.RESTING:
        told |= {"wokenBy": entry.woken_by, "readyInSeconds": round(max(0.0, entry.ready_at - now), 3)}
    return told


def told_elsewhere(plane: Plane, now: float) -> PlaneTold:
    """The same with the queue, as far as it goes: for who cannot ask."""
    told, placer = plane_told(plane, now), plane.placer
    if placer is None or len(placer.waiting) > QUEUED_TOLD_MAX:  # to find each one's place would take long
        return structs.replace(told, assumed=told.assumed[:ASSUMED_TOLD_MAX])
    queued: dict[str, dict[str, Any]] = {}
    for key, _ in placer.waiting.listed():
        found = queued_pod(placer, key, now)
        if found is not None:
            queued["/".join(key)] = found
    return structs.replace(told, queued=queued, assumed=told.assumed[:ASSUMED_TOLD_MAX])
