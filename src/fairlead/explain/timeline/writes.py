"""Requests that changed objects, or were refused, in words: who, and which field from what to what.

The audit log says who and which fields; the values are of the store's history, as far as it reaches, and otherwise the
fields are told. Requests that carry out a decision are told with it (`turns.py`). Called by `telling.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fairlead.core import codec
from fairlead.explain.timeline.lines import Line
from fairlead.explain.timeline.moment import CONDITION, DESIRED, ENDED, MADE, REFUSED, Moment, key_of
from fairlead.explain.timeline.values import told_changes, told_status
from fairlead.model.key import Key
from fairlead.store.contract import Compacted, Entry, FutureRevision, Reader
from fairlead.store.damage import is_stand_in

Json = dict[str, Any]
PLANE = "system:fairlead:"
_NODE = "system:node:"
_BY_ITSELF = ("metadata.generation", "metadata.managedFields", "metadata.resourceVersion")
_LEAVING = "metadata.deletionTimestamp"


class LoggedWrite(NamedTuple):
    """One request of the log, with the object before and after it; None: not there, or no longer kept."""

    line: Line
    key: Key
    old: Json | None
    new: Json | None
    is_known: bool  # history reaches so far back
    is_gone: bool  # the object was removed by it

    @property
    def text(self) -> str:
        return self.line.objects[0]

    @property
    def decision(self) -> str:
        return str(self.line.record.get("decision", ""))

    @property
    def is_status(self) -> bool:
        return bool(self.line.record["object"].get("subresource") == "status")


def change_of(reader: Reader, line: Line) -> LoggedWrite:
    record, key = line.record, key_of(line.objects[0])
    if record["code"] >= 400 or not line.revision:
        return LoggedWrite(line, key, None, None, False, False)
    try:
        old = (
            _version(reader.get_at(key, record.get("revisionBefore", 0)))
            if record.get("revisionBefore")
            else None
        )
        entry = reader.get_at(key, line.revision)
    except (Compacted, FutureRevision):
        return LoggedWrite(line, key, None, None, False, False)
    return LoggedWrite(line, key, old, _version(entry), True, entry is None and record["verb"] == "delete")


def controller_of(record: Json) -> str:
    """Whose write it is: a plane in another process signs in as it may, and writes in the names of its controllers. ""
    of any other."""
    for name in ("impersonatedUser", "user") if record.get("decision") else ("user",):
        user = str(record.get(name, ""))
        if user.startswith(PLANE):
            return user.removeprefix(PLANE)
    return ""


def who_asked(record: Json) -> str:
    user = str(record.get("user", ""))
    if controller := controller_of(record):
        return controller
    if user.startswith(_NODE):
        return f"node {user.removeprefix(_NODE)}"
    tool = str(record.get("userAgent", "")).partition("/")[0]
    other = f" as {record['impersonatedUser']}" if record.get("impersonatedUser") else ""
    return f"{user}{other} ({tool})" if tool and tool != "fairlead" else f"{user}{other}"


def deed_of(change: LoggedWrite) -> str:
    """What was done to the object; "" if it was nothing that readers ask for."""
    record, resource = change.line.record, change.key.resource
    verb, sub = record["verb"], record["object"].get("subresource", "")
    if sub == "binding":
        node = ((change.new or {}).get("spec") or {}).get("nodeName", "")
        return f"is bound to {node}" if node else "is bound"
    if sub == "eviction":
        return "is evicted"
    if verb == "create":
        replicas = ((change.new or {}).get("spec") or {}).get("replicas")
        return "is created" if replicas is None else f"is created, replicas {replicas}"
    if verb in ("delete", "deletecollection"):
        return "is removed" if change.is_gone else "its deletion is asked for"
    fields = [each for each in record.get("changed", ()) if not each.startswith(_BY_ITSELF)]
    if change.is_known and change.old is not None and change.new is not None:
        roots = [each for each in change.new if each not in ("metadata", "status", "kind", "apiVersion")]
        told = told_changes(resource, change.old, change.new, *sorted(roots, key=lambda each: each != "spec"))
        if told:
            return told
        if any(each.startswith("spec") for each in fields):
            return ""  # its defaults were filled in
        fields = [each for each in fields if each.startswith(("metadata.labels", "metadata.finalizers"))]
    fields = [each for each in fields if not each.startswith(("status", "metadata.annotations"))]
    return f"{', '.join(fields[:4])} changed" if fields else ""


def moments_of(change: LoggedWrite) -> Iterator[Moment]:
    """Of a request that no decision led to, or whose decision is no longer kept."""
    line, record = change.line, change.line.record
    who, at = who_asked(record), line.at
    if record["code"] >= 400:
        tried = f"{record['verb']} is refused with {record['code']} {record.get('reason', '')}".strip()
        yield Moment(at, who, REFUSED, change.text, tried, change.decision)
        return
    yield from conditions_of(change)
    if change.is_status:
        return
    deed = deed_of(change)
    if deed:
        kind = {"create": MADE, "delete": ENDED, "deletecollection": ENDED}.get(record["verb"], DESIRED)
        if _LEAVING in record.get("changed", ()):
            kind = ENDED
        yield Moment(at, who, kind, change.text, deed, change.decision, line.revision)


def conditions_of(change: LoggedWrite) -> Iterator[Moment]:
    """What a status says anew, whoever wrote it."""
    if change.new is None or change.line.record["verb"] == "create":
        return
    who = who_asked(change.line.record)
    told = list(told_status(change.old or {}, change.new))
    if told:
        what, alike = ", ".join(each[0] for each in told), ", ".join(each[1] or each[0] for each in told)
        line = change.line
        yield Moment(line.at, who, CONDITION, change.text, what, change.decision, line.revision, alike=alike)


def _version(entry: Entry | None) -> Json | None:
    if entry is None or is_stand_in(entry.data):
        return None
    found: Json = codec.decode(entry.data)
    return found
