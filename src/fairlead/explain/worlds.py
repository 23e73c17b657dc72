"""Snapshots to look at, made from scratch by the scheduler's own code: of history, or of now. Nobody else sees them.

What they are made of is taken at once, and never changes (`SchedulerSight`); making them takes long, and can be done
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.control.plane import Plane
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, Pod, Resource, View
from fairlead.replay.placement import snapshot_of
from fairlead.schedule.snapshot import Snapshot


class SchedulerSight(NamedTuple):
    """What the scheduler sees at one moment, what it has assumed included."""

    views: dict[str, tuple[View, ...]]
    assumed: tuple[tuple[Key, str, bool], ...]  # pod, node, whether it only waits for it

    def pods(self) -> dict[Key, Pod]:
        found = {}
        for pod in self.views[PODS.name]:
            assert isinstance(pod, Pod)
            found[Key(PODS.name, pod.metadata.namespace, pod.metadata.name)] = pod
        return found

    def snapshot(self, without: Key | None = None) -> Snapshot:
        """As if `without` did not exist."""
        pods = self.pods()
        if without is not None:
            pods.pop(without, None)

        def views(resource: Resource[Any]) -> Iterable[View]:
            return pods.values() if resource.name == PODS.name else self.views[resource.name]

        snapshot = snapshot_of(views)
        for key, node, nominated in self.assumed:
            if key in pods:
                snapshot.assume(pods[key], node, nominated)
        return snapshot


def seen_now(plane: Plane) -> SchedulerSight:
    views = {each.name: tuple(plane.mirrors[each.name].index.all()) for each in Snapshot.reads}
    if plane.placer is not None:
        views[OVERRIDES.name] = plane.placer.snapshot.overrides.kept()  # it knows which have ended
    assumed = plane.placer.snapshot.assumed if plane.placer is not None else {}
    waiting = tuple((key, placed.node, placed.nominated) for key, placed in assumed.items())
    return SchedulerSight(views, waiting)
