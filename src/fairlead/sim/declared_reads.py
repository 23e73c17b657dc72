"""What Deciders really read, beside what they declare: controllers that look at the world through a view that notes.

    seen = NotedReads()
    World(scenario, chance, faults, seen.parts(default_parts())).run()
    seen.undeclared()    {} if every resource that was asked for is in `Decider.reads`

A plane keeps a mirror of whatever any of its controllers declares, so a controller that asks for what only others
declare is answered there, and nowhere else; and it is not woken, nor kept waiting until its own writes are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Refusal
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.model.key import Key
from fairlead.model.views import PODS, Resource, View
from fairlead.sim.parts import Parts

T = TypeVar("T", bound=View)

_OF_A_RESOURCE = frozenset(
    {"get", "list", "owned", "select", "sighting", "silent", "shows", "deleting_since"}
)


class _NotingView:
    """Shows what another view does, and notes which resources were asked for."""

    def __init__(self, inner: Reading, seen: set[str]) -> None:
        self._inner, self._seen = inner, seen

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "on_node":
            self._seen.add(PODS.name)
        if name not in _OF_A_RESOURCE:
            return found

        def noted(resource: Resource[T], *given: Any) -> Any:
            self._seen.add(resource.name)
            return found(resource, *given)

        return noted


class NotedReads:
    """By controller: what it declared, and what it asked for."""

    def __init__(self) -> None:
        self.declared: dict[str, frozenset[str]] = {}
        self.asked: dict[str, set[str]] = {}

    def parts(self, parts: Parts) -> Parts:
        deciders, nodes = parts["deciders"], parts["nodes"]
        return {
            **parts,
            "deciders": lambda: tuple(map(self.noting, deciders())),
            "nodes": lambda prefix: self.noting(nodes(prefix)),
        }

    def undeclared(self) -> dict[str, frozenset[str]]:
        """Controllers that asked for what they do not declare, and for what."""
        found = {name: asked - self.declared[name] for name, asked in self.asked.items()}
        return {name: frozenset(more) for name, more in found.items() if more}

    def noting(self, inner: Decider) -> Decider:
        """This controller, seen through."""
        self.declared[inner.name] = self.declared.get(inner.name, frozenset()) | {
            each.name for each in inner.reads
        }
        seen = self.asked.setdefault(inner.name, set())

        def through(view: Reading) -> Reading:
            noting: Any = _NotingView(view, seen)
            return noting  # type: ignore[no-any-return]

        def decide(view: Reading, key: Key, now: float) -> Decision:
            return inner.decide(through(view), key, now)

        def refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
            assert inner.refused is not None
            return inner.refused(through(view), key, refusal, now)

        def unsettled(view: Reading) -> Iterable[Key]:
            assert inner.unsettled is not None
            return inner.unsettled(through(view))

        def woken(wake: Wake[Any]) -> Wake[Any]:
            def keys(event: WatchEvent[Any]) -> Iterable[Key]:
                return wake.keys(structs.replace(event, view=through(event.view)))

            return replace(wake, keys=keys)

        remade = inner.remade
        return replace(
            inner,
            decide=decide,
            refused=None if inner.refused is None else refused,
            unsettled=None if inner.unsettled is None else unsettled,
            wakes=tuple(map(woken, inner.wakes)),
            remade=None if remade is None else lambda: self.noting(remade()),
        )
