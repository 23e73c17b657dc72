"""What was written on this plane, by whom and how often: from audit lines, managedFields and the policies that are
stored.

Audit lines are read backwards, a bounded number of them; of objects whose lines are gone, managedFields still say
who wrote a field last. Pure but for reading the log; `answer.py` calls it in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fairlead.api.audit.recording import STREAM
from fairlead.api.audit.rules import READ_VERBS
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.decision.footprint import CREATE, DELETE, field_of
from fairlead.explain.coupling.contract import AGENT, CONTROLLER, PERSON, POLICY, PROGRAM
from fairlead.explain.coupling.flows import FlowLevels, Share
from fairlead.store.contract import Entry, Journal
from fairlead.store.tail import lines_backwards, newest_line

Json = dict[str, Any]
#: bound: plane | audit lines that a look at coupling goes back | what is older is not counted
COUPLING_LINES_MAX = 20_000
#: bound: plane | objects of a kind whose managedFields are looked at | those changed last
COUPLING_OBJECTS_MAX = 200
_TO_THE_SECOND = len("2026-01-31T12:00:00")
_OURS, _NODE, _ACCOUNT = "system:fairlead:", "system:node:", "system:serviceaccount:"
_MANAGER = "fairlead-"
_WITHIN = "fairlead"  # how the server's own plane calls itself: it waits for no turn
_BY_SUBRESOURCE = {"binding": "spec.nodeName", "eviction": DELETE, "scale": "spec.replicas"}
_KEYED = ("metadata.annotations", "status.conditions")
Place = tuple[str, str, str]  # resource, namespace, name


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    time: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    impersonated_user: str = ""
    impersonated_groups: tuple[str, ...] = ()
    user_agent: str = ""
    decision: str = ""
    verb: str = ""
    object: _Object = _Object()
    code: int = 0
    changed: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()


_line = msgspec.json.Decoder(_Line).decode


class WrittenField(msgspec.Struct):
    """Writes of one field of one kind by one writer."""

    writer: str
    sort: str
    resource: str
    field: str
    count: int = 0
    first: str = ""
    last: str = ""
    user: str = ""
    object: str = ""

    @property
    def per_minute(self) -> float:
        """Over the time in which it was seen, a minute at least: a burst is no rate."""
        if not self.count:
            return 0.0
        seconds = parse_time(self.last) - parse_time(self.first)
        return round(60.0 * self.count / max(seconds, 60.0), 2)


class WrittenFields:
    """`sees`: whether an object may be named to whoever asks; lines about others are not counted for them. `flows`:
    hears whose requests wait for whose."""

    def __init__(self, sees: Callable[[str, str, str], bool], flows: FlowLevels | None = None) -> None:
        self._sees = sees
        self._flows = flows
        self.found: dict[tuple[str, str, str], WrittenField] = {}
        self._alike: dict[
            Hashable, tuple[list[WrittenField], Share | None]
        ] = {}  # what lines of one sort count for
        self.lines = 0
        self.hidden = 0
        self.since = ""

    def add(self, bodies: Iterable[bytes]) -> None:
        """Lines, newest first."""
        for body in bodies:
            line = _line(body)
            self.since = line.time or self.since
            if line.verb in READ_VERBS or not 200 <= line.code < 300 or not line.object.resource:
                continue
            place = _place(line.object)
            if not self._sees(*place):
                self.hidden += 1
                continue
            self.lines += 1
            about = line.object
            sort = (
                line.user, line.groups, line.impersonated_user, line.impersonated_groups, bool(line.decision),
                line.user_agent == _WITHIN, line.verb, about.subresource, place[:2], line.changed, line.policies,
            )  # fmt: skip
            alike = self._alike.get(sort)
            if alike is None:
                alike = self._alike[sort] = self._counted_for(line, place)
            written, share = alike
            for each in written:
                each.count += 1
                each.first = line.time
            if share is not None:
                share.writes += 1

    def _counted_for(self, line: _Line, place: Place) -> tuple[list[WrittenField], Share | None]:
        """What a line counts for; it is the same for all that differ in nothing but their time and name."""
        # A plane in another process signs in as it may, and writes in the names of its controllers.
        is_plane = line.decision and line.impersonated_user.startswith(_OURS)
        user = line.impersonated_user if is_plane else line.user
        writer, sort = writer_of(user)
        share: Share | None = None
        if self._flows is not None and line.user_agent != _WITHIN:
            about = line.object
            asked = (line.verb, about.group, about.resource, about.subresource, about.namespace)
            taken_for = (line.impersonated_user, line.impersonated_groups)
            signed = taken_for if taken_for[0] else (line.user, line.groups)
            share = self._flows.share_of(writer, sort, *signed, asked)
        fields = _fields(line)
        found = [self._written(writer, sort, place, field, line.time, user) for field in fields]
        for policy in line.policies:
            name, _, did = policy.partition(": ")
            if did.startswith("changed"):
                found += [
                    self._written(f"policy:{name}", POLICY, place, field, line.time, line.user)
                    for field in fields
                ]
        return found, share

    def add_managers(self, resource: str, entries: Iterable[Entry]) -> None:
        """Who wrote what last, before the oldest line that was looked at."""
        for entry in entries:
            place = (resource, entry.key.namespace, entry.key.name)
            if not self._sees(*place):
                continue
            for manager in codec.decode(entry.data)["metadata"].get("managedFields") or ():
                time = str(manager.get("time", ""))
                if self.since and time[:_TO_THE_SECOND] >= self.since[:_TO_THE_SECOND]:
                    continue
                name, sort = _manager(str(manager.get("manager", "")))
                for field in sorted(managed_fields(manager.get("fieldsV1") or {})):
                    if (name, resource, field) not in self.found:
                        self._written(name, sort, place, field, time, name).first = time

    def _written(
        self, writer: str, sort: str, place: Place, field: str, time: str, user: str
    ) -> WrittenField:
        resource = place[0]
        written = self.found.get((writer, resource, field))
        if written is None:
            written = self.found[writer, resource, field] = WrittenField(
                writer, sort, resource, field, last=time, user=user, object="/".join(filter(None, place))
            )
        return written


def audit_pieces(journal: Journal) -> Iterator[list[bytes]]:
    """Audit lines, the newest first, a stretch of the log at a time."""
    left = COUPLING_LINES_MAX
    for window in lines_backwards(journal, STREAM, newest_line(journal, STREAM)):
        yield [note.body for _, _, note in window]
        left -= len(window)
        if left <= 0:
            return


def writer_of(user: str) -> tuple[str, str]:
    """Who that is in the words of footprints, and of what sort."""
    if user.startswith(_OURS):
        return user.removeprefix(_OURS), CONTROLLER
    if user.startswith(_NODE):
        return AGENT, AGENT
    return user, PROGRAM if user.startswith((_ACCOUNT, "system:")) else PERSON


def managed_fields(tree: Mapping[str, Any]) -> set[str]:
    """The fields that an entry of managedFields names."""
    found: set[str] = set()
    for first, below in tree.items():
        if not first.startswith("f:"):
            continue
        names = [each for each in below if each.startswith("f:")] if isinstance(below, dict) else []
        if not names:
            found.add(first[2:])
        for second in names:
            field = f"{first[2:]}.{second[2:]}"
            keys = [_key(each) for each in below[second]] if field in _KEYED else []
            found |= {f"{field}[{key}]" for key in keys if key} or {field}
    return found


def _key(text: str) -> str:
    if text.startswith("f:"):
        return text[2:]
    if text.startswith("k:"):
        key: Json = codec.decode(text[2:].encode())
        return str(key.get("type", ""))
    return ""


def _manager(name: str) -> tuple[str, str]:
    """Controllers of the plane are managers by their own names."""
    return (name.removeprefix(_MANAGER), CONTROLLER) if name.startswith(_MANAGER) else (name, PROGRAM)


def _fields(line: _Line) -> set[str]:
    known = _BY_SUBRESOURCE.get(line.object.subresource)
    if known is not None:
        return {known}
    if line.verb == "create":
        return {CREATE}
    if line.verb.startswith("delete"):
        return {DELETE}
    return set(map(field_of, line.changed))


def _place(target: _Object) -> Place:
    resource = f"{target.resource}.{target.group}" if target.group else target.resource
    return resource, target.namespace, target.name
