"""metadata.managedFields of every write: whose fields they become. The one place where verbs meet `model/apply/`.

`api/writing.py` calls `track` once defaults are in and before admission changes anything: what admission adds is
nobody's, as in Kubernetes. The entries are kept as bytes and are not in the trees that verbs, admission and audit see.
Most writes change the same fields as a write before them, so what comes out is remembered by what went in; times and
values are no part of that.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from fairlead.api.apply.ownable import keep_ownable, keep_ownable_changes, touches_metadata
from fairlead.api.attempt import Attempt, Manager
from fairlead.api.plan import Context
from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.times import timestamp
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.managers import (
    UPDATE,
    UPDATE_ENTRIES_MAX,
    ManagedFieldsEntry,
    Who,
    entries_in,
    entries_of,
    managed_json,
    raw_fields,
    record_update,
    wire_entry,
)
from fairlead.model.apply.rules import MergeRule, Rules
from fairlead.model.apply.sets import FieldSet, fields_json
from fairlead.model.apply.trees import TreeDifference, compare, compare_field
from fairlead.model.apply.versions import Other, Versions
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Request

#: bound: requests | length of a manager's name that is made of the User-Agent | cut off
MANAGER_NAME_BYTES_MAX = 128
UNKNOWN = "unknown"

_KEPT = 1024
_BYTES_MAX = 16 * 1024  # of what is remembered of one write
_NAMES_KEPT = 256
# Before and after the time of an entry. Not a part of a text, in which the quotation marks would be escaped.
_TIME, _END = b',"time":"', b'","fieldsType":"FieldsV1"}'
_TIME_LENGTH = len("2006-01-02T15:04:05Z")
_KEYED, _ESCAPED, _QUOTED = rb'"k:{\"', rb"\\", rb"\"k:{"
_VARYING = re.compile(rb'("k:\{\\"(?:ip|uid)\\":\\")([^"\\]+)\\"\}":')
_VARYING_END = rb'\"}":'
_VARYING_MAX = 5  # addresses of a pod and its node, of two families, and an owner


class Managing:
    """One per desk: the rules of its kinds, and what was found out before. Bounded: the oldest go."""

    __slots__ = ("_created", "_rules", "_updated")

    def __init__(self) -> None:
        self._rules: Rules | None = None
        self._created: BoundedDict[tuple[object, ...], bytes] = BoundedDict(_KEPT)
        self._updated: BoundedDict[tuple[object, ...], tuple[_Left, ...]] = BoundedDict(_KEPT)

    def rule(self, tables: FieldTables, kind: Kind) -> MergeRule:
        if self._rules is None or self._rules.tables is not tables:
            self._rules = Rules(tables)
        return self._rules.of(kind.schema)

    def versions(self, tables: FieldTables, kind: Kind) -> Versions | None:
        """Of a kind that has versions with other fields."""
        if not kind.conversions:
            return None
        rule = self.rule(tables, kind)
        assert self._rules is not None
        others = {
            each.api_version: Other(self._rules.of(each.schema), each.convert, each.back)
            for each in kind.conversions
        }
        return Versions(rule, others)

    def track(self, tables: FieldTables, attempt: Attempt) -> None:
        """Sets what will be stored as managedFields."""
        manager = attempt.manager
        if manager is None:
            return
        if attempt.old is None:
            attempt.managed = self._new(tables, attempt, manager)
        else:
            attempt.managed = self._changed(tables, attempt, attempt.old, manager)

    # A new object

    def _new(self, tables: FieldTables, attempt: Attempt, manager: Manager) -> bytes:
        kind, new = attempt.kind, attempt.new
        assert new is not None
        who = Who(manager.name, UPDATE, kind.api_version)
        now = timestamp(attempt.context.now)
        if kind.beside_spec is not None and not manager.sent:
            fields = self._new_beside_spec(tables, attempt, new)
            return _alone(who, now, fields) if len(fields) > 2 else b""
        found = compare(self.rule(tables, kind), {}, new)
        if manager.sent:
            changes = keep_ownable_changes(kind, "", found)
            return encoded_entries(record_update(_read(manager.sent), changes, who, now))
        fields = self._all_new(kind, found.changed)
        return _alone(who, now, fields) if len(fields) > 2 else b""

    def _all_new(self, kind: Kind, fields: FieldSet) -> bytes:
        """Those of these fields that can be owned, encoded: all belong to whoever made the object."""
        shape = ("status" in kind.subresources, codec.encode(fields))  # all that `keep_ownable` goes by
        known = self._created.get(shape)
        if known is None:
            known = fields_json(keep_ownable(kind, "", fields))
            _remember(self._created, shape, known, len(known))
        return known

    def _new_beside_spec(self, tables: FieldTables, attempt: Attempt, new: Json) -> bytes:
        """Kinds whose spec is a matter of its own and comes by the thousand: spec and metadata are found apart."""
        rule = self.rule(tables, attempt.kind)
        spec = attempt.spec_fields
        if not spec:
            found = compare(rule, {}, {"spec": new["spec"]} if "spec" in new else {})
            spec = attempt.spec_fields = fields_json(found.changed)[1:-1]
        metadata = new["metadata"]
        shape = (
            spec,
            *(metadata.get("labels") or ()),
            _BETWEEN,
            *(metadata.get("annotations") or ()),
            _BETWEEN,
            *(metadata.get("finalizers") or ()),
            _BETWEEN,
            *(owner["uid"] for owner in metadata.get("ownerReferences") or ()),
            "generateName" in metadata,
        )
        known = self._created.get(shape)
        if known is None:
            changed = keep_ownable(attempt.kind, "", compare(rule, {}, {"metadata": metadata}).changed)
            own = fields_json(changed)[1:-1]
            known = b"{%b}" % b",".join(part for part in (own, spec) if part)
            _remember(self._created, shape, known, len(known))
        return known

    # An object that exists

    def _changed(self, tables: FieldTables, attempt: Attempt, old: Json, manager: Manager) -> bytes:
        kind, new, before = attempt.kind, attempt.new, attempt.managed_before
        assert new is not None
        sub, sent = attempt.subresource, manager.sent
        if sent is None or sub:
            if not before:
                return before  # nobody is named yet: that begins with the first who applies
            sent = None
        elif is_reset(sent):
            return b""
        rule = self.rule(tables, kind)
        if sub == "status" and not touches_metadata(kind, new, old):
            found = compare_field("status", rule, old, new)
        else:
            found = keep_ownable_changes(kind, sub, compare(rule, old, new))
        who = Who(manager.name, UPDATE, kind.api_version, sub)
        now = timestamp(attempt.context.now)
        if sent is not None:
            given = _read(sent)
            if given and given != stored_entries(before):
                return encoded_entries(record_update(given, found, who, now))
        versions = self.versions(tables, kind)
        if versions is not None and before and found:

            def found_in(version: str) -> TreeDifference | None:
                other = versions.difference(version, old, new)
                return keep_ownable_changes(kind, sub, other) if other is not None else None

            return encoded_entries(record_update(stored_entries(before), found, who, now, found_in))
        return self._after(before, found, who, now) if before and found else before

    def _after(self, before: bytes, found: TreeDifference, who: Who, now: str) -> bytes:
        changed = codec.encode(found.changed)
        removed = codec.encode(found.removed) if found.removed else b""
        varying = (
            _Varying(before, changed, removed) if _KEYED in before or _KEYED in changed else _NOTHING_VARIES
        )
        first, *others = varying.blank(before).split(_TIME)
        times = [each[:_TIME_LENGTH] for each in others]
        key = (
            first,
            *[each[_TIME_LENGTH:] for each in others],
            who.manager,
            who.api_version,
            who.subresource,
            varying.blank(changed),
            varying.blank(removed),
            varying.order,
        )
        known = self._updated.get(key)
        if known is None:
            entries = stored_entries(before)
            after = record_update(entries, found, who, now)
            full = sum(each.who.operation == UPDATE for each in after) >= UPDATE_ENTRIES_MAX
            if full or not after or times != [each.time.encode() for each in entries]:
                return encoded_entries(after)
            known = tuple(_left(entries, each, who, found, varying) for each in after)
            _remember(self._updated, key, known, 2 * len(before))
        times.append(now.encode())  # of the one at place -1
        if len(known) == 1:
            only = known[0]
            return varying.fill(b"[%b%b%b]" % (only.head, times[only.place], _END))
        left = sorted([(each.operation, times[each.place], each.name, each.head) for each in known])
        return varying.fill(
            b"[%b]" % b",".join([b"%b%b%b" % (head, time, _END) for _, time, _, head in left])
        )


class _Varying:
    """What is an object's own in the names of its fields: addresses and owners (`k:{"ip":"10.1.0.7"}`). With numbers in
    their place, what came of one pod's status serves for the next. A number stands behind a byte that no JSON has.
    `order`: how they sort, for fields are written in that order. Where something is written that could be taken for
    such a name, nothing is replaced."""

    __slots__ = ("_pairs", "order")

    def __init__(self, *texts: bytes) -> None:
        found: list[tuple[bytes, bytes]] = []
        if not any(_ESCAPED in text or _QUOTED in text for text in texts):
            found = list(dict.fromkeys(each for text in texts for each in _VARYING.findall(text)))
        if len(found) > _VARYING_MAX:
            found = []
        self._pairs = [
            (head + value + _VARYING_END, b"%b\0%d%b" % (head, number, _VARYING_END))
            for number, (head, value) in enumerate(found)
        ]
        ends = [(head, value + b'"') for head, value in found]  # as the whole names compare
        self.order = tuple(sorted(range(len(ends)), key=ends.__getitem__)) if len(ends) > 1 else ()

    def blank(self, text: bytes) -> bytes:
        for own, number in self._pairs:
            text = text.replace(own, number)
        return text

    def fill(self, text: bytes) -> bytes:
        for own, number in self._pairs:
            text = text.replace(number, own)
        return text


_NOTHING_VARIES = _Varying()
_BETWEEN = None  # two lists that follow each other


class _Left(msgspec.Struct, frozen=True, gc=False):
    """An entry that is left after a write, up to its time, which is that of the entry at this place before."""

    operation: str
    name: tuple[str, str, str]
    place: int  # -1: it is the writer's, and the time is now
    head: bytes


def _left(
    entries: tuple[ManagedFieldsEntry, ...],
    after: ManagedFieldsEntry,
    who: Who,
    found: TreeDifference,
    varying: _Varying,
) -> _Left:
    its, place = after.who, -1
    if not (found.changed and its.same(who)):
        place = next(number for number, each in enumerate(entries) if each.who.same(its))
    wire = codec.encode(wire_entry(its, "", raw_fields(after.fields)))
    head = varying.blank(wire.removesuffix(_END[1:])) + _TIME
    return _Left(its.operation, (its.manager, its.api_version, its.subresource), place, head)


def _alone(who: Who, now: str, fields: bytes) -> bytes:
    """One entry, of an update of the object itself."""
    head = b'[{"apiVersion":"%b","fieldsV1":%b,' % (who.api_version.encode(), fields)
    return b'%b"manager":%b,"operation":"Update","time":"%b%b]' % (
        head, _quoted(who.manager), now.encode(), _END,
    )  # fmt: skip


@lru_cache(maxsize=_NAMES_KEPT)
def _quoted(name: str) -> bytes:
    return codec.encode(name)


def _remember(memory: BoundedDict[Any, Any], key: object, value: object, size: int) -> None:
    if size <= _BYTES_MAX:
        memory.keep(key, value)


# From and to the wire


def is_reset(sent: list[Json]) -> bool:
    """An empty list, or one of nothing: a client wants all of it forgotten."""
    return not sent or (len(sent) == 1 and not sent[0])


def _read(managed: list[Any]) -> tuple[ManagedFieldsEntry, ...]:
    """What can be read of a client's; what cannot counts as not sent."""
    try:
        return entries_of(managed)
    except UndecodableError:
        return ()


def stored_entries(managed: bytes) -> tuple[ManagedFieldsEntry, ...]:
    if not managed:
        return ()
    try:
        return entries_in(managed)
    except UndecodableError:
        return ()


def encoded_entries(entries: tuple[ManagedFieldsEntry, ...]) -> bytes:
    return managed_json(entries) if entries else b""


def same_but_times(one: bytes, other: bytes) -> bool:
    """Whether two lists say the same but for when."""
    if one == other:
        return True
    return {(each.who, fields_json(each.fields)) for each in stored_entries(one)} == {
        (each.who, fields_json(each.fields)) for each in stored_entries(other)
    }


def manager_of(request: Request, context: Context, sent: list[Json] | None = None) -> Manager:
    """The field manager that the client names, or else how it calls itself."""
    name = request.query.get("fieldManager") if request.query else ""
    return Manager(name or request.manager or _from_user_agent(context.user_agent), sent)


@lru_cache(maxsize=_NAMES_KEPT)
def _from_user_agent(text: str) -> str:
    name = "".join(filter(str.isprintable, text.partition("/")[0]))
    while len(name.encode()) > MANAGER_NAME_BYTES_MAX:
        name = name[:-1]
    return name or UNKNOWN


def taken_out(metadata: Json) -> list[Json] | None:
    """The managedFields that a client sent, which are then no longer in its metadata; None: none."""
    sent = metadata.pop("managedFields", None)
    return sent if isinstance(sent, list) else None
