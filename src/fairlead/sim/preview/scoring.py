"""What was foreseen of an override, next to what happened: pods that moved, pods that wait, room that is left.

    score(spec.preview, what_happened(state as it was looked ahead from, state at the end)) -> Score

Pure. Whoever reports (`cli/override/report.py`) reads both states from the server's history. What happened includes
what others did meanwhile; a preview knows nothing of that, and its score is the lower for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fairlead.model.pod_decoder import decode_pod
from fairlead.sim.preview.counting import Named, free, placed, waiting, workload_of
from fairlead.sim.preview.reading import ObjectsOfMoment
from fairlead.sim.preview.state import LiveState, backup_of_state

Json = dict[str, Any]
_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Happened:
    """By workload: pods that are on other nodes than before, and pods that wait and did not. By zone and resource:
    what is left at the end."""

    moved: dict[Named, int]
    pending: dict[Named, int]
    room: dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class WorkloadScore:
    namespace: str
    workload: str
    moved_foreseen: int
    moved: int
    pending_foreseen: int
    pending: int


@dataclass(frozen=True, slots=True)
class RoomScore:
    zone: str
    resource: str
    foreseen: float
    happened: float


@dataclass(frozen=True, slots=True)
class Score:
    """`right`: of all pods that were to move or wait, or did, the share of which both are true."""

    right: float
    workloads: tuple[WorkloadScore, ...]
    room: tuple[RoomScore, ...]

    def as_json(self) -> Json:
        return asdict(self)


def what_happened(before: LiveState, after: LiveState) -> Happened:
    was, now = _objects(before), _objects(after)
    stood, stands = placed(was, partial(workload_of, was)), placed(now, partial(workload_of, now))
    moved = {}
    for name in {*stood, *stands}:
        count = min((stood[name] - stands[name]).total(), (stands[name] - stood[name]).total())
        if count:
            moved[name] = count
    waited, waits = waiting(was, partial(workload_of, was)), waiting(now, partial(workload_of, now))
    pending = {name: len(pods) - len(waited[name]) for name, pods in waits.items()}
    room = {place: amount / _NANO for place, amount in free(now, after.now).items()}
    return Happened(moved, {name: count for name, count in pending.items() if count > 0}, room)


def score(preview: Json, happened: Happened) -> Score:
    """`preview`: as the override has it. Workloads that it could not list are compared in the sum alone."""
    foreseen: dict[Named, tuple[int, int]] = {
        (each.get("namespace") or "", each["workload"]): (each.get("moved") or 0, each.get("pending") or 0)
        for each in preview.get("workloads") or ()
    }
    rows = [
        WorkloadScore(
            *name,
            moved_foreseen=foreseen.get(name, (0, 0))[0],
            moved=happened.moved.get(name, 0),
            pending_foreseen=foreseen.get(name, (0, 0))[1],
            pending=happened.pending.get(name, 0),
        )
        for name in sorted({*foreseen, *happened.moved, *happened.pending})
    ]
    if preview.get("more"):
        pairs = [
            (preview.get("moved") or 0, sum(happened.moved.values())),
            (preview.get("pending") or 0, sum(happened.pending.values())),
        ]
    else:
        pairs = [(each.moved_foreseen, each.moved) for each in rows]
        pairs += [(each.pending_foreseen, each.pending) for each in rows]
    room = tuple(
        RoomScore(
            each.get("zone") or "",
            each["resource"],
            each.get("after") or 0.0,
            happened.room.get((each.get("zone") or "", each["resource"]), 0.0),
        )
        for each in preview.get("room") or ()
    )
    return Score(_share(pairs), tuple(rows), room)


def _objects(state: LiveState) -> ObjectsOfMoment:
    entries = {each.entry.key: each.entry for each in backup_of_state(state).changes}
    return ObjectsOfMoment(entries, decode_pod)


def _share(pairs: Iterable[tuple[int, int]]) -> float:
    pairs = list(pairs)
    most = sum(max(each) for each in pairs)
    return round(sum(min(each) for each in pairs) / most, 3) if most else 1.0
