"""What Deciders really read, beside what they declare: controllers that look at the world through a view that notes.

    seen = NotedReads()
    World(scenario, chance, faults, seen.parts(default_parts())).run()
    seen.undeclared()    {} if every resource that was asked for is in `Decider.reads`
    seen.fields          by controller and resource: the fields that were decided on (`traced_views.py`)

A plane keeps a mirror of whatever any of its controllers declares, so a controller that asks for what only others
declare is answered there, and nowhere else; and it is not woken, nor kept waiting until its own writes are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Refusal
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.footprint import ANY, HEARD, Footprint
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.views import PODS, Resource, View
from fairlead.sim.parts import Parts
from tests.sim.scrambled_views import Scrambler
from tests.sim.traced_views import ReadTracer

T = TypeVar("T", bound=View)

# What of a resource each question is answered from, beside the fields of what it returns.
_OF_A_RESOURCE = {
    "get": "",
    "list": "",
    "owned": "metadata.ownerReferences",
    "select": "metadata.labels",
    "sighting": HEARD,
    "silent": HEARD,
    "shows": "",
    "deleting_since": "metadata.deletionTimestamp",
}
Fields = dict[str, set[str]]
_TOLD_MAX = 5  # of one controller
_EACH_OF_THE_FIRST, _EVERY_LATER = 200, 20  # decisions are made twice: those of a run are much alike


class _NotingView:
    """Shows what another view does, and notes which resources were asked for, and which fields of them are read."""

    def __init__(self, inner: Reading, seen: set[str], fields: Fields, tracer: ReadTracer | None) -> None:
        self._inner, self._seen, self._fields, self._tracer = inner, seen, fields, tracer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "on_node":
            return lambda node: self._noted(PODS.name, "spec.nodeName", found(node))
        if name not in _OF_A_RESOURCE:
            return found

        def noted(resource: Resource[T], *given: Any) -> Any:
            return self._noted(resource.name, _OF_A_RESOURCE[name], found(resource, *given))

        return noted

    def _noted(self, resource: str, field: str, found: Any) -> Any:
        self._seen.add(resource)
        fields = self._fields.setdefault(resource, set())
        if field:
            fields.add(field)
        if self._tracer is None:
            return found
        if isinstance(found, tuple) and not hasattr(found, "_fields"):
            return tuple([self._tracer.traced(resource, each) for each in found])
        return self._tracer.traced(resource, found)


class NotedReads:
    """By controller: what it declared, and what it asked for."""

    def __init__(self, footprints: Mapping[str, Footprint] | None = None) -> None:
        """`footprints`: those that are to be true. Decisions are then made a second time, with all that they do not
        name changed, and where one is another it is told in `swayed`."""
        self.declared: dict[str, frozenset[str]] = {}
        self.asked: dict[str, set[str]] = {}
        self.fields: dict[str, Fields] = {}
        self.swayed: dict[str, list[str]] = {}
        self._footprints = footprints or {}
        self._decided: dict[str, int] = {}

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

    def _with_custom(self, inner: Decider, known: Footprint) -> dict[str, frozenset[str]]:
        """Kinds that only some planes have are in no table: all of them is read that is declared."""
        custom = {each.name for each in inner.reads if CATALOG.of_resource(each.name) is None}
        return {**dict.fromkeys(custom, frozenset({ANY})), **known.reads}

    def _compare(
        self, inner: Decider, decision: Decision, scrambler: Scrambler, view: Reading, key: Key, now: float
    ) -> None:
        told = self.swayed.setdefault(inner.name, [])
        number = self._decided[inner.name] = self._decided.get(inner.name, 0) + 1
        if len(told) >= _TOLD_MAX or (number > _EACH_OF_THE_FIRST and number % _EVERY_LATER):
            return
        try:
            other = inner.decide(scrambler.view(view), key, now)
        except Exception as error:  # noqa: BLE001 - whatever it is, it came of what is not to be read
            told.append(f"{'/'.join(key)}: {error!r}")
            return
        if scrambler.judged(other) != scrambler.judged(decision):
            told.append(f"{'/'.join(key)}: {decision} became {other}")

    def noting(self, inner: Decider) -> Decider:
        """This controller, seen through."""
        self.declared[inner.name] = self.declared.get(inner.name, frozenset()) | {
            each.name for each in inner.reads
        }
        seen = self.asked.setdefault(inner.name, set())
        fields = self.fields.setdefault(inner.name, {})
        tracer = ReadTracer(lambda resource, field: fields.setdefault(resource, set()).add(field))

        def through(view: Reading, tracer: ReadTracer | None = None) -> Reading:
            noting: Any = _NotingView(view, seen, fields if tracer else {}, tracer)
            return noting  # type: ignore[no-any-return]

        known = self._footprints.get(inner.name)
        scrambler = None if known is None else Scrambler(self._with_custom(inner, known))

        def decide(view: Reading, key: Key, now: float) -> Decision:
            decision = inner.decide(through(view, tracer), key, now)
            if scrambler is not None:
                self._compare(inner, decision, scrambler, view, key, now)
            return decision

        def refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
            assert inner.refused is not None
            return inner.refused(through(view, tracer), key, refusal, now)

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
