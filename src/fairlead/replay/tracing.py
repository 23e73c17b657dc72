"""A view of the past that remembers which objects were shown to the Decider: those are what its decision rests on.

Used by `difference.py` to tell which input objects changed between two decisions. What was asked for and not there is
remembered as well: that it came since may be the very reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from fairlead.decision.decider import key_of
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import PODS, Resource, View
from fairlead.replay.past import HistoryMirrors, PastView

T = TypeVar("T", bound=View)


class TracedView(PastView):
    __slots__ = ("_seen",)

    def __init__(self, past: HistoryMirrors, reads: Mapping[str, Sequence[int]], heard: Json) -> None:
        super().__init__(past, reads, heard)
        self._seen: dict[Key, None] = {}

    @property
    def seen(self) -> frozenset[Key]:
        return frozenset(self._seen)

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        self._seen[Key(resource.name, namespace, name)] = None
        return super().get(resource, namespace, name)

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        return self._noted(resource, super().list(resource, namespace))

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]:
        return self._noted(resource, super().owned(resource, owner_uid, namespace))

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]:
        return self._noted(resource, super().select(resource, namespace, selector))

    def on_node(self, node: str) -> Sequence[View]:
        return self._noted(PODS, super().on_node(node))

    def _noted(self, resource: Resource[T], found: Sequence[T]) -> Sequence[T]:
        self._seen.update((key_of(resource.name, each), None) for each in found)
        return found
