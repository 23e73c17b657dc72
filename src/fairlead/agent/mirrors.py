"""What an agent mirrors: its pods, its Node, and the services and endpoints of all.

Part of `machine.py`, whose driver lists and watches what these mirrors ask for, with `selectors` as field selectors:
a node may read its own pods and its own Node only. What they hold is kept on the machine (`Keep`); an agent that starts
recalls it, so that it knows its pods, its address range and the Services also where no API answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.agent.contract import Keep, Log, Route
from fairlead.agent.services import Weighed, routes, weights_held
from fairlead.agent.views import BOUND_PODS, OWN_NODE, OwnNode
from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Mirror
from fairlead.model.key import Key
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import Anything
from fairlead.port.driving import Follow, ListAll, Started, WakeAt
from fairlead.store.contract import Entry

Passed = WakeAt | ListAll | Follow
_decode = msgspec.json.Decoder(Anything).decode


class HeardByMirrors(NamedTuple):
    """What events of one resource came to: instructions for the driver, and what changed."""

    passed: list[Passed]
    changes: list[mirrored.Changed]
    keeps: list[Keep]
    first: bool  # it is known for the first time
    now: float


class Mirrors:
    def __init__(self, node: str) -> None:
        resources: tuple[Any, ...] = (BOUND_PODS, OWN_NODE, SERVICES, ENDPOINT_SLICES)
        self.all: dict[str, Mirror[Any]] = {each.name: Mirror(each) for each in resources}
        self.selectors = {
            BOUND_PODS.name: f"spec.nodeName={node}",
            OWN_NODE.name: f"metadata.name={node}",
        }
        self._node = node
        self.recalled = (
            False  # this node was registered by an agent of this machine, and what that knew is shown
        )

    def recall(self, kept: Iterable[Keep]) -> dict[str, tuple[mirrored.Changed, ...]]:
        """What changes by it, by resource. Nothing about another node's machine is believed."""
        by_resource: dict[str, list[Entry]] = {name: [] for name in self.all}
        for each in kept:
            if each.resource in by_resource and each.data:
                key = Key(each.resource, each.namespace, each.name)
                by_resource[each.resource].append(Entry(key, "", _revision_of(each.data), each.data))
        self.recalled = any(each.key.name == self._node for each in by_resource[OWN_NODE.name])
        if not self.recalled:
            return {}
        return {name: self.all[name].recall(entries) for name, entries in by_resource.items() if entries}

    def begin(self, event: Started) -> list[Passed]:
        passed: list[Passed] = []
        for mirror in self.all.values():
            passed += _passed_on(mirror.handle(event))
        return passed

    def hear(self, resource: str, events: Sequence[mirrored.Event]) -> HeardByMirrors:
        mirror = self.all[resource]
        was_synced, now = mirror.synced, 0.0
        passed: list[Passed] = []
        changes: list[mirrored.Changed] = []
        for event in events:
            now = event.now
            made = mirror.handle(event)
            changes += [each for each in made if isinstance(each, mirrored.Changed)]
            passed += _passed_on(made)
        keeps = _keeps(events, changes)
        return HeardByMirrors(passed, changes, keeps, mirror.synced and not was_synced, now)

    @property
    def own_node(self) -> OwnNode | None:
        found: OwnNode | None = self.all[OWN_NODE.name].index.get(Key("nodes", "", self._node))
        return found

    def routes(self, now: float) -> tuple[Route, ...] | None:
        """None while services or their endpoints are not known."""
        services, slices = self.all[SERVICES.name], self.all[ENDPOINT_SLICES.name]
        if not (self.recalled or (services.synced and slices.synced)):
            return None
        return routes(services.index.all(), slices.index.all(), now)

    def weights_held(self, now: float) -> Weighed:
        """By whose weights the routes of now go, and when they change by themselves."""
        return weights_held(self.all[ENDPOINT_SLICES.name].index.all(), now)

    def unreadable_pods(self, changes: Iterable[mirrored.Changed]) -> list[Log]:
        """Those that changed just now and cannot be decoded any more."""
        keys = {each.key for each in changes}
        return [
            Log(
                f"pod {each.key.namespace}/{each.key.name} cannot be read and is left as it is: {each.message}"
            )
            for each in self.all[BOUND_PODS.name].troubled()
            if each.key in keys
        ]


def _keeps(events: Iterable[mirrored.Event], changes: Iterable[mirrored.Changed]) -> list[Keep]:
    entries: dict[Key, Entry] = {}
    for event in events:
        if isinstance(event, mirrored.Framed):
            entries[event.entry.key] = event.entry
        elif isinstance(event, mirrored.Listed):
            entries.update((entry.key, entry) for entry in event.entries)
    last = {each.key: each.after is not None for each in changes}
    return [
        Keep(*key, entries[key].data if there and key in entries else None) for key, there in last.items()
    ]


def _revision_of(data: bytes) -> int:
    """0: what was kept cannot be read."""
    try:
        return int(_decode(data).metadata.resource_version)
    except ValueError:  # also of what is no JSON
        return 0


def _passed_on(made: Iterable[mirrored.Instruction]) -> list[Passed]:
    return [each for each in made if not isinstance(each, mirrored.Changed)]
