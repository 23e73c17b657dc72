"""Snapshots to look at, made from scratch by the scheduler's own code: of history, or of now. Nobody else sees them.

What they are made of is taken at once, and never changes (`Scheduling`, `SchedulerSight`); making them takes long, and
can be done elsewhere. The scheduler is this process' own, or one in another process: then its world is the store's
present with what it told of itself (`plane_told.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.control.plane import Plane
from fairlead.explain.plane_told import SILENT_SECONDS
from fairlead.explain.sources import Sources
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, Pod, Resource, View
from fairlead.replay.placement import snapshot_of
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.store.contract import Entry


class SchedulerSight(NamedTuple):
    """What the scheduler sees at one moment, what it has assumed included."""

    views: dict[str, tuple[View, ...]]
    assumed: tuple[tuple[Key, str, bool], ...]  # pod, node, whether it only waits for it
    now: float = 0.0  # to tell which overrides have ended; 0: those that are there hold

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

        snapshot = snapshot_of(views, self.now)
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


class Scheduling(NamedTuple):
    """The scheduler at work, and what it sees. `sight` may take long, and can be called elsewhere."""

    policy: Policy
    revision: int  # of the pods that it sees
    waiting: int  # pods in its queue
    sight: Callable[[], SchedulerSight]
    by: str = ""  # the plane in another process whose it is, in words; "": this one's


def scheduling_now(sources: Sources) -> Scheduling:
    """Or why there is none."""
    other = sources.scheduler_elsewhere()
    if other is None:
        placer, plane = sources.placer(), sources.plane
        seen = seen_now(plane)
        revision = plane.mirrors[PODS.name].revision
        return Scheduling(placer.policy, revision, len(placer.waiting), lambda: seen)
    reader, now = sources.reader, sources.clock()
    entries = {each.name: tuple(reader.list(each.name)) for each in Snapshot.reads}
    policy, revision, silent = sources.policy_now(), reader.revision, now - other.at
    by = f"{other.identity} schedules, in another process"
    if silent > SILENT_SECONDS:
        by += f", and has told nothing for {silent:.0f} s"
    return Scheduling(policy, revision, other.waiting, lambda: _seen_in(entries, other.assumed, now), by)


def _seen_in(entries: Mapping[str, Sequence[Entry]], assumed: Iterable[str], now: float) -> SchedulerSight:
    """Of the store's present. What no mirror would show is left out."""
    views: dict[str, tuple[View, ...]] = {}
    for resource in Snapshot.reads:
        decode = msgspec.json.Decoder(resource.type).decode
        found: list[View] = []
        for entry in entries[resource.name]:
            try:
                found.append(decode(entry.data))
            except msgspec.ValidationError:
                continue
        views[resource.name] = tuple(found)
    return SchedulerSight(views, tuple([_assumed(each) for each in assumed]), now)


def _assumed(text: str) -> tuple[Key, str, bool]:
    """As `plane_told.py` writes it."""
    name, _, node = text.partition("@")
    namespace, _, pod = name.partition("/")
    return Key(PODS.name, namespace, pod), node.removesuffix("?"), node.endswith("?")
