"""The entries of metadata.managedFields: who did what when, and what became of the fields of the others.

An entry is known by manager, operation, subresource and, for updates, apiVersion. `record_update` is what an update, a
create or a patch of another sort leaves behind; applying has its own file, `applying.py`. Called by
`api/apply/managing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.sets import FieldSet, decode_fields, encode_fields, fields_json, minus, union
from fairlead.model.apply.trees import TreeDifference

APPLY, UPDATE = "Apply", "Update"
FIELDS_TYPE = "FieldsV1"
#: bound: requests | entries of updates in managedFields | the oldest become one, `ancient-changes`
UPDATE_ENTRIES_MAX = 10
# Sets of fields that are not read anew, and how long each is at most.
_KNOWN_MAX, _KNOWN_BYTES_MAX = 1024, 4096
ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"


class Who(msgspec.Struct, frozen=True, gc=False):
    """Whose entry it is."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    def same(self, other: Who) -> bool:
        """An applier stays the same when it goes over to another version."""
        return (
            self.manager == other.manager
            and self.operation == other.operation
            and self.subresource == other.subresource
            and (self.operation == APPLY or self.api_version == other.api_version)
        )

    def text(self) -> str:
        """As a message about a conflict names it."""
        name = f'"{self.manager}"'
        if self.subresource:
            name += f' with subresource "{self.subresource}"'
        return f"{name} using {self.api_version}" if self.operation == UPDATE else name


class ManagedFieldsEntry(msgspec.Struct, frozen=True, gc=False):
    who: Who
    time: str  # RFC 3339; "" if it is not known
    fields: FieldSet

    def with_fields(self, fields: FieldSet) -> ManagedFieldsEntry:
        return self if fields is self.fields else ManagedFieldsEntry(self.who, self.time, fields)


def entries_of(managed: object) -> tuple[ManagedFieldsEntry, ...]:
    """From the wire. Raises UndecodableError, and leaves nothing half read."""
    if not isinstance(managed, list):
        raise UndecodableError("metadata.managedFields: must be a list")
    return _joined([_entry(item, f"metadata.managedFields[{index}]") for index, item in enumerate(managed)])


def entries_in(managed: bytes) -> tuple[ManagedFieldsEntry, ...]:
    """The same of JSON, where most sets of fields have been read before. Raises UndecodableError."""
    try:
        written = _written(managed)
    except msgspec.ValidationError:
        return entries_of(msgspec.json.decode(managed))
    return _joined([_entry_in(item) for item in written])


def _joined(entries: list[ManagedFieldsEntry]) -> tuple[ManagedFieldsEntry, ...]:
    """In their order; of several of the same writer the last counts."""
    found: list[ManagedFieldsEntry] = []
    for entry in entries:
        if found:
            found = [each for each in found if not each.who.same(entry.who)]
        found.append(entry)
    return sort_entries(found)


class _WrittenEntry(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """An entry whose fields are still JSON."""

    operation: str
    api_version: str
    fields_type: str
    fields_v1: msgspec.Raw = msgspec.Raw(b"{}")
    manager: str | None = None
    subresource: str | None = None
    time: str | None = None


_written = msgspec.json.Decoder(list[_WrittenEntry]).decode


def _entry_in(item: _WrittenEntry) -> ManagedFieldsEntry:
    if item.operation not in (APPLY, UPDATE) or not item.api_version or item.fields_type != FIELDS_TYPE:
        raise UndecodableError("metadata.managedFields: an entry says too little")
    who = Who(item.manager or "", item.operation, item.api_version, item.subresource or "")
    fields = bytes(item.fields_v1)
    read = _known_fields if len(fields) <= _KNOWN_BYTES_MAX else _read_fields
    return ManagedFieldsEntry(who, item.time or "", read(fields))


def _read_fields(fields: bytes) -> FieldSet:
    return decode_fields(msgspec.json.decode(fields) or {})


_known_fields = lru_cache(maxsize=_KNOWN_MAX)(_read_fields)


def _entry(item: Any, path: str) -> ManagedFieldsEntry:
    if not isinstance(item, dict):
        raise UndecodableError(f"{path}: must be an object")
    if item.get("operation") not in (APPLY, UPDATE):
        raise UndecodableError(f"{path}.operation: must be `Apply` or `Update`")
    if not item.get("apiVersion"):
        raise UndecodableError(f"{path}.apiVersion: must not be empty")
    if item.get("fieldsType") != FIELDS_TYPE:
        raise UndecodableError(f"{path}.fieldsType: must be `{FIELDS_TYPE}`")
    who = Who(item.get("manager") or "", item["operation"], item["apiVersion"], item.get("subresource") or "")
    try:
        return ManagedFieldsEntry(who, item.get("time") or "", decode_fields(item.get("fieldsV1") or {}))
    except UndecodableError as error:
        raise UndecodableError(f"{path}.{error}") from None


def managed_fields(entries: Iterable[ManagedFieldsEntry]) -> list[dict[str, Any]]:
    """For the wire. fieldsType comes last, which `api/objects.py` relies on."""
    return [wire_entry(entry.who, entry.time, encode_fields(entry.fields)) for entry in entries]


def managed_json(entries: Iterable[ManagedFieldsEntry]) -> bytes:
    """The same as JSON."""
    return codec.encode([wire_entry(each.who, each.time, raw_fields(each.fields)) for each in entries])


def raw_fields(fields: FieldSet) -> msgspec.Raw:
    """A set of fields as a part of what is to be encoded."""
    return msgspec.Raw(fields_json(fields))


def wire_entry(who: Who, time: str, fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"apiVersion": who.api_version, "fieldsV1": fields}
    found["manager"] = who.manager
    found["operation"] = who.operation
    if who.subresource:
        found["subresource"] = who.subresource
    if time:
        found["time"] = time
    found["fieldsType"] = FIELDS_TYPE
    return found


def sort_entries(entries: Iterable[ManagedFieldsEntry]) -> tuple[ManagedFieldsEntry, ...]:
    """Appliers first, then by time, then by name."""
    return tuple(sorted(entries, key=_rank))


def _rank(entry: ManagedFieldsEntry) -> tuple[str, ...]:
    who = entry.who
    return who.operation, entry.time, who.manager, who.api_version, who.subresource


def record_update(
    entries: Sequence[ManagedFieldsEntry],
    found: TreeDifference,
    who: Who,
    now: str,
    found_in: Callable[[str], TreeDifference | None] | None = None,
) -> tuple[ManagedFieldsEntry, ...]:
    """Fields that were changed belong to whoever changed them, and to nobody else; removed ones belong to nobody.

    A manager that only removes something leaves no trace but its absence. `found_in`: the difference as another version
    has it.
    """
    if not found:
        return tuple(entries)
    left: list[ManagedFieldsEntry] = []
    mine: FieldSet = {}
    for entry in entries:
        other = found_in(entry.who.api_version) if found_in is not None else None
        its = found if other is None else other
        fields = minus(minus(entry.fields, its.changed), its.removed)
        if found.changed and entry.who.same(who):
            mine = fields
        elif fields:
            left.append(entry.with_fields(fields))
    if found.changed:
        left.append(ManagedFieldsEntry(who, now, union(mine, found.changed)))
    return sort_entries(merge_oldest(left))


def merge_oldest(entries: Sequence[ManagedFieldsEntry]) -> list[ManagedFieldsEntry]:
    """If there are too many updates, the oldest become one, for each version."""
    updates = sorted((each for each in entries if each.who.operation == UPDATE), key=_age)
    left = list(entries)
    over = len(updates) - UPDATE_ENTRIES_MAX
    buckets: dict[str, ManagedFieldsEntry] = {}
    for entry in updates:
        if over <= 0:
            break
        version = entry.who.api_version
        bucket = buckets.get(version)
        if bucket is None:
            buckets[version] = entry
            continue
        left.remove(entry)
        left.remove(bucket)
        who = Who(ANCIENT, UPDATE, version)
        merged = ManagedFieldsEntry(who, entry.time, union(bucket.fields, entry.fields))
        known = next((each for each in left if each.who.same(who)), None)
        if known is not None:
            left.remove(known)
            merged = ManagedFieldsEntry(who, entry.time, union(known.fields, merged.fields))
            over -= 1
        buckets[version] = merged
        left.append(merged)
        over -= 1
    return left


def _age(entry: ManagedFieldsEntry) -> tuple[str, ...]:
    return entry.time, entry.who.manager, entry.who.api_version, entry.who.subresource
