"""The controllers that decide again: those of the roster, with the custom kinds that were served at a revision.

Used by `rerun.py`. Custom kinds come and go while a plane runs, and some controllers are made anew for them
(`Decider.remade`); their record names the revision of the definitions that the plane knew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairlead.agent.hollow.decider import HOLLOW, hollow_decider
from fairlead.control.placing import Placer
from fairlead.control.roster import default_deciders
from fairlead.control.sources import resources_read
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import outline_of
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.model.views import Resource, Stored, View

_PREFIX = "hollow-"
_NONE: Mapping[str, int] = {}


def usual_deciders(hollow_nodes: int = 0) -> tuple[Decider, ...]:
    """Those of `fairlead up`. `hollow_nodes`: how many of its nodes it was to pretend."""
    return (*default_deciders(), hollow_decider(_PREFIX, hollow_nodes))


class Cast:
    """`pretended`: in which term how many hollow nodes were to be registered, where that differs from the deciders'."""

    def __init__(self, deciders: Sequence[Decider], pretended: Mapping[str, int] = _NONE) -> None:
        self._deciders = {each.name: each for each in deciders}
        self._pretended = pretended
        self._hollow: dict[int, Decider] = {}  # by how many nodes they register
        self._kinds: Served | None = next((each.kinds for each in deciders if each.kinds is not None), None)
        self._serves: dict[str, bytes] = {}  # definitions that are known, as they are stored
        # Shared with those who decode: it grows with custom kinds.
        self.resources: dict[str, Resource[View]] = resources_read((*deciders, Placer))

    def decider(self, name: str, term: str = "") -> Decider | None:
        """`term`: in which it decided."""
        nodes = self._pretended.get(term) if name == HOLLOW else None
        if nodes is None:
            return self._deciders.get(name)
        return self._hollow.setdefault(nodes, hollow_decider(_PREFIX, nodes))

    def knows_nodes(self, name: str, term: str) -> bool:
        """Whether it is known how many nodes this controller was to register."""
        if name != HOLLOW or term in self._pretended:
            return True
        known = self._deciders.get(name)
        return known is not None and bool(known.initial_keys)

    def serve(self, definitions: Iterable[Stored]) -> None:
        """These are the definitions of custom kinds from now on."""
        wanted = {each.key.name: each.data for each in definitions}
        if self._kinds is None or wanted == self._serves:
            return
        for name in [each for each in self._serves if each not in wanted]:
            self._kinds.withdraw(name)
        for name, data in wanted.items():
            if self._serves.get(name) != data:
                self._learn(self._kinds, name, data)
        self._serves = wanted
        for name, decider in self._deciders.items():
            if decider.remade is not None:
                self._deciders[name] = decider.remade()
        for name, resource in resources_read((*self._deciders.values(), Placer)).items():
            self.resources.setdefault(name, resource)

    def _learn(self, kinds: Served, name: str, data: bytes) -> None:
        outlined = outline_of(data)
        try:
            kinds.serve(name, outlined) if outlined else kinds.withdraw(name)
        except ValueError:
            return  # nor did the plane follow it

    def key_of(self, text: str) -> Key:
        """Of `object` in a record, which leaves out what is empty."""
        resource, *rest = text.split("/")
        if len(rest) == 1:
            catalog: Catalog = self._kinds if self._kinds is not None else CATALOG
            kind = catalog.of_resource(resource)
            return (
                Key(resource, rest[0], "")
                if kind is not None and kind.namespaced
                else Key(resource, "", *rest)
            )
        return Key(resource, *rest) if rest else Key(resource, "", "")
