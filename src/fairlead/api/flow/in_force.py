"""The FlowSchemas and priority levels of a server at work, from the moment they are committed.

One per server. Whoever publishes commits hands them to `observe` before a client gets its answer; `learn` reads what a
store has at a start. What is damaged or cannot be understood is not followed, and what is returned tells of it.
`exempt` and `catch-all` are there always: where their objects are not, as they are made at a start (`defaults.py`). A
schema whose level does not exist matches nothing.

Which flow a request belongs to is remembered until an object changes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.access.contract import Attributes
from fairlead.api.access.users import User
from fairlead.api.flow.dealing import deal, number_of
from fairlead.api.flow.levels import PriorityLevel, parse_level
from fairlead.api.flow.matching import Schema, parse_schema
from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.kinds import flowschema, prioritylevelconfiguration
from fairlead.model.kinds.prioritylevelconfiguration import CATCH_ALL_LEVEL, EXEMPT_LEVEL
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

_SCHEMAS, _LEVELS = flowschema.KIND.resource, prioritylevelconfiguration.KIND.resource
# How many flows are remembered; what is forgotten is found again.
_FLOWS_KEPT = 4096
_PATH_MAX = 256  # characters of a path, which clients make up, with which a flow is remembered

# Who, verb, group, plural and subresource, and the namespace; of a path, which has no plural, the path.
Question = tuple[User, str, str, str, str, str]


def _built_in() -> tuple[tuple[Schema, ...], tuple[PriorityLevel, ...]]:
    levels = (
        (EXEMPT_LEVEL, prioritylevelconfiguration.EXEMPT_SPEC),
        (CATCH_ALL_LEVEL, prioritylevelconfiguration.CATCH_ALL_SPEC),
    )
    schemas = ((EXEMPT_LEVEL, flowschema.EXEMPT_SPEC), (CATCH_ALL_LEVEL, flowschema.CATCH_ALL_SPEC))
    return (
        tuple(parse_schema(name, "", codec.encode({"spec": spec})) for name, spec in schemas),
        tuple(parse_level(name, "", codec.encode({"spec": spec})) for name, spec in levels),
    )


class Flow(msgspec.Struct, frozen=True, gc=False):
    """Requests that belong together: one schema, one user or namespace. `headers` are whole lines of an answer that
    tell schema and level by uid, as Kubernetes does."""

    schema: str
    level: str
    hand: tuple[int, ...]
    headers: bytes


class FlowControl:
    """Which flow a request belongs to. `changes` counts how often that, or a level, may have become another."""

    heeds = frozenset({_SCHEMAS, _LEVELS})

    __slots__ = ("_catch_all", "_flows", "_levels", "_order", "_schemas", "changes", "levels")

    def __init__(self) -> None:
        self.changes = 0
        self._schemas: dict[str, Schema] = {}
        self._levels: dict[str, PriorityLevel] = {}
        self._flows: BoundedDict[Question, Flow] = BoundedDict(_FLOWS_KEPT)
        self._settle()

    def learn(self, read: Reader) -> list[str]:
        found = [
            trouble
            for each in (_LEVELS, _SCHEMAS)
            for entry in read.list(each)
            for trouble in self._take(entry)
        ]
        self._settle()
        return found

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        changed = False
        for change in changes:
            key = change.entry.key
            if key.resource != _SCHEMAS and key.resource != _LEVELS:
                continue
            changed = True
            if change.type == DELETED:
                (self._schemas if key.resource == _SCHEMAS else self._levels).pop(key.name, None)
            else:
                troubles += self._take(change.entry)
        if changed:
            self._settle()
        return troubles

    def flow_of(self, question: Question) -> Flow:
        flow = self._flows.get(question)
        if flow is None:
            flow = self._find(question)
            if len(question[-1]) <= _PATH_MAX:
                self._flows.keep(question, flow)
        return flow

    def _find(self, question: Question) -> Flow:
        user, verb, group, plural, subresource, about = question
        asked = Attributes(
            user=user,
            verb=verb,
            group=group,
            plural=plural,
            subresource=subresource,
            namespace=about if plural else "",
            path="" if plural else about,
        )
        # `catch-all` matches everybody who is in one of two groups; who is in none is caught all the same.
        schema = next((each for each in self._order if each.matches(asked)), self._catch_all)
        level = self.levels[schema.level]
        number = number_of(schema.name, schema.distinguisher(asked))
        return Flow(
            schema.name,
            level.name,
            deal(number, level.queues, level.hand_size),
            b"x-kubernetes-pf-flowschema-uid: %b\r\nx-kubernetes-pf-prioritylevel-uid: %b\r\n"
            % (schema.uid.encode(), level.uid.encode()),
        )

    def _take(self, entry: Entry) -> list[str]:
        name = entry.key.name
        if is_stand_in(entry.data):
            return [f"{entry.key} is followed as it was: it is damaged in the store"]
        try:
            if entry.key.resource == _LEVELS:
                self._levels[name] = parse_level(name, entry.uid, entry.data)
            else:
                self._schemas[name] = parse_schema(name, entry.uid, entry.data)
        except msgspec.MsgspecError as error:
            return [f"{entry.key} is followed as it was: it cannot be understood: {error}"]
        return []

    def _settle(self) -> None:
        """Everything as it is now, with what is always there."""
        schemas, levels = _built_in()
        self.levels: dict[str, PriorityLevel] = {each.name: each for each in levels} | self._levels
        known = {each.name: each for each in schemas} | self._schemas
        followed = [each for each in known.values() if each.level in self.levels]
        self._order = sorted(followed, key=lambda each: each.order)
        self._catch_all = known[CATCH_ALL_LEVEL]
        self._flows.clear()
        self.changes += 1
