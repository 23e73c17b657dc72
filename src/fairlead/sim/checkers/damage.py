"""An object that is damaged in the store is not absent: it stays, its place is taken, and what depends on it waits.

Until people give it up nothing is written at its key; no plane makes pods where a pod or a quota cannot be read, or
takes what it owns; its namespace does not go. People are told of it: some Event names it. Judged by what the object was
before, which everybody else must live without.
"""

from __future__ import annotations

import re
from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, RESOURCE_QUOTAS
from fairlead.sim.checkers.contract import EVENTS, LATE, CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_COUNTED = (PODS.name, RESOURCE_QUOTAS.name)  # before a pod is made
_NAMED = (PODS.name, REPLICASETS.name)


class DamagedIsThere:
    name = "damaged-is-there"

    def __init__(self) -> None:
        self._damaged: dict[Key, str] = {}  # and the uid of each
        self._named: set[Key] = set()
        self._ending: set[str] = set()  # namespaces

    def decayed(self, key: Key, view: Any, seconds: float) -> None:
        self._damaged[key] = view.metadata.uid

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == "namespaces":
            self._saw_namespace(sight)
        if not self._damaged:
            return
        if key in self._damaged:
            if sight.after is not None or sight.origin != "people":
                raise Violation(
                    self.name, f"{key} was written by {sight.origin or 'somebody'} while it was damaged"
                )
            if key.resource in _NAMED and key not in self._named:
                raise Violation(
                    self.name, f"{key} was damaged, and no Event named it until people gave it up"
                )
            del self._damaged[key]
        elif key.resource == EVENTS.name:
            self._named.update(each for each in self._damaged if _names(sight.last.message, each))
        elif sight.by_plane and not sight.origin.startswith(LATE):
            self._judge(sight)

    def _saw_namespace(self, sight: SeenChange) -> None:
        name = sight.key.name
        if sight.last.metadata.deletion_timestamp:
            self._ending.add(name)
        if sight.after is None:
            for key in self._damaged:
                if key.namespace == name:
                    raise Violation(self.name, f"namespace {name} is gone, and {key} in it was only damaged")

    def _judge(self, sight: SeenChange) -> None:
        key = sight.key
        for damaged, uid in self._damaged.items():
            if damaged.namespace != key.namespace:
                continue
            if sight.before is None and key.resource == PODS.name and damaged.resource in _COUNTED:
                raise Violation(
                    self.name, f"{key} was made by {sight.origin} beside {damaged}, which is damaged"
                )
            owners = [owner.uid for owner in sight.last.metadata.owner_references]
            if sight.after is None and uid in owners and key.namespace not in self._ending:
                raise Violation(self.name, f"{key} went, and {damaged}, which owns it, is only damaged")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest: people have given everything up by then."""


def _names(message: str, key: Key) -> bool:
    return re.search(rf"\b{re.escape(key.namespace)}/{re.escape(key.name)}(?![\w-])", message) is not None
