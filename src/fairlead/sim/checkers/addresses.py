"""No two nodes share addresses for pods, and no two Services an address or a node port, at any revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.model.key import Key
from fairlead.model.service_views import SERVICES
from fairlead.model.views import NODES
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class OneAddress:
    name = "one-address"
    sees = frozenset({NODES.name, SERVICES.name})

    def __init__(self) -> None:
        self._holders: dict[str, Key] = {}  # what only one may have -> who has it
        self._held: dict[Key, frozenset[str]] = {}

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == NODES.name:
            networks = sight.after is not None and sight.after.spec.pod_cidr
            now = frozenset((networks,)) if networks else frozenset()
        elif key.resource == SERVICES.name:
            now = frozenset(_of_service(sight.after))
        else:
            return
        before = self._held.get(key, frozenset())
        if now == before:
            return
        for each in before - now:
            del self._holders[each]
        self._held.pop(key, None)
        others = {each: self._holders.setdefault(each, key) for each in sorted(now - before)}
        own = (before & now) | {each for each, holder in others.items() if holder == key}
        if own:
            self._held[key] = own
        for each, other in others.items():
            if other != key:
                raise Violation(self.name, f"{key.resource} {key.name} and {other.name} both have {each}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


def _of_service(service: Any) -> Iterator[str]:
    if service is None:
        return
    if service.address:
        yield service.address
    for port in service.spec.ports:
        if port.node_port:
            yield f"node port {port.node_port}"
