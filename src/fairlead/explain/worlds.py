"""Snapshots to look at, made from scratch by the scheduler's own code: of history, or of now. Nobody else sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairlead.control.health import Health
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.decision.contract import EventNote
from fairlead.model.key import Key
from fairlead.model.views import PLANE_SETTINGS, PODS, SCHEDULING_POLICIES, Pod, Resource, View
from fairlead.schedule.snapshot import Snapshot

_CHOOSING = (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
)  # they say which policy holds, and are not part of the world


def snapshot_of(views: Callable[[Resource[Any]], Iterable[View]]) -> Snapshot:
    """A snapshot from scratch, as the scheduler makes it of all that it reads."""
    placer = Placer(Health(), _no_call, {}, _tell_nobody)
    for resource in Placer.reads:
        if resource in _CHOOSING:
            continue
        for view in views(resource):
            placer.observe(resource.name, None, view, 0.0)
    return placer.snapshot


def _no_call() -> int:
    raise AssertionError("a snapshot is looked at; nothing is sent")


def _tell_nobody(component: str, note: EventNote, now: float) -> None:
    """Nobody is told of what is only looked at."""


def pods_now(plane: Plane) -> dict[Key, Pod]:
    pods = plane.mirrors[PODS.name].index.all()
    return {Key(PODS.name, pod.metadata.namespace, pod.metadata.name): pod for pod in pods}


def world_now(plane: Plane, without: Key | None = None) -> Snapshot:
    """What the scheduler sees, what it has assumed included; as if `without` did not exist."""
    pods = pods_now(plane)
    if without is not None:
        pods.pop(without, None)

    def views(resource: Resource[Any]) -> Iterable[View]:
        return pods.values() if resource.name == PODS.name else plane.mirrors[resource.name].index.all()

    snapshot = snapshot_of(views)
    for key, placed in plane.placer.snapshot.assumed.items() if plane.placer is not None else ():
        if key in pods:
            snapshot.assume(pods[key], placed.node, placed.nominated)
    return snapshot
