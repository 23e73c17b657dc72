"""The objects that a timeline is about: the one that was asked for, what owns it, and what it owns, also those that are
gone.

Of objects that are there their owner references tell; of those that are gone the records do, because whoever made a
child touched it in a decision about the parent. Called by `telling.py` and
`debugging.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fairlead.core import codec
from fairlead.explain.asking import Asking
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.lines import AUDIT, Line, records_about
from fairlead.explain.timeline.moment import key_of, key_text
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.views import CRONJOBS, DAEMONSETS, DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS
from fairlead.store.damage import is_stand_in

Json = dict[str, Any]
#: bound: plane | objects that one timeline is about | the newest ones
OBJECTS_MAX = 500
_DEPTH_MAX = 4
_CHILDREN = {
    CRONJOBS.name: (JOBS.name,),
    DEPLOYMENTS.name: (REPLICASETS.name,),
    REPLICASETS.name: (PODS.name,),
    STATEFULSETS.name: (PODS.name,),
    DAEMONSETS.name: (PODS.name,),
    JOBS.name: (PODS.name,),
}


@dataclass
class Family:
    """`own`: the object and what it owns; `above`: what owns it, the nearest first. `lines`: all that the logs say of
    them."""

    target: Key
    own: set[str]
    above: list[str] = field(default_factory=list)
    objects: dict[str, Json] = field(default_factory=dict)  # those that are there
    lines: dict[tuple[str, int], Line] = field(default_factory=dict)
    left_out: int = 0
    cut_at: float = 0.0  # before this instant the logs have more lines than those; 0: they have not

    @property
    def present(self) -> Json | None:
        return self.objects.get(key_text(self.target))

    def sorted_lines(self) -> list[Line]:
        return sorted(self.lines.values(), key=lambda line: (line.at, line.stream, line.sequence))


def family_of(sources: Sources, target: Key, since: float = 0.0, until: float = 0.0) -> Asking[Family]:
    """By what the logs say between these instants; 0 is now."""
    found = Family(target, {key_text(target)})
    frontier = [target]
    for _ in range(_DEPTH_MAX):
        yield from _learn(sources, found, frontier, since, until)
        children = {*_owned_now(sources, found, frontier), *_owned_then(found, frontier)}
        new = sorted(children - found.own)
        found.left_out += max(0, len(found.own) + len(new) - OBJECTS_MAX)
        new = new[: OBJECTS_MAX - len(found.own)]
        if not new:
            break
        found.own.update(new)
        frontier = [key_of(each) for each in new]
    child = target
    for _ in range(_DEPTH_MAX):
        owner = _owner_now(found, child) or _owner_then(found, child)
        if owner is None or key_text(owner) in found.above:
            break
        found.above.append(key_text(owner))
        yield from _learn(sources, found, [owner], since, until)
        child = owner
    return found


def _learn(sources: Sources, found: Family, keys: Iterable[Key], since: float, until: float) -> Asking[None]:
    these = list(keys)
    for key in these:
        entry = sources.reader.get(key)
        if entry is not None and not is_stand_in(entry.data):
            found.objects[key_text(key)] = codec.decode(entry.data)
    told = yield from records_about(sources, these, since, until)
    found.cut_at = max(found.cut_at, told.cut_at)
    for line in told.lines:
        found.lines[line.stream, line.sequence] = line


def _owned_now(sources: Sources, found: Family, parents: Iterable[Key]) -> Iterator[str]:
    for parent in parents:
        there = found.objects.get(key_text(parent))
        if there is None:
            continue
        uid = there["metadata"]["uid"].encode()
        for resource in _CHILDREN.get(parent.resource, ()):
            for entry in sources.reader.list(resource, parent.namespace):
                if uid in entry.data and _controller(codec.decode(entry.data)).get("uid") == uid.decode():
                    yield key_text(entry.key)


def _owned_then(found: Family, parents: Iterable[Key]) -> Iterator[str]:
    wanted = {key_text(parent): _CHILDREN.get(parent.resource, ()) for parent in parents}
    for line in found.lines.values():
        kinds = wanted.get(line.record.get("object", "")) if line.stream != AUDIT else None
        if kinds:
            yield from (each for each in line.objects[1:] if key_of(each).resource in kinds)


def _owner_now(found: Family, child: Key) -> Key | None:
    told = _controller(found.objects.get(key_text(child)) or {})
    group, _, version = told.get("apiVersion", "").rpartition("/")
    kind = CATALOG.find_kind(group, version, told.get("kind", "")) if told else None
    return Key(kind.resource, child.namespace, told["name"]) if kind is not None else None


def _owner_then(found: Family, child: Key) -> Key | None:
    """Who touched it in a decision about itself, and is of a kind that makes such."""
    text = key_text(child)
    for line in found.lines.values():
        if line.stream == AUDIT or text not in line.objects[1:]:
            continue
        owner = key_of(line.objects[0])
        if child.resource in _CHILDREN.get(owner.resource, ()):
            return owner
    return None


def _controller(there: Json) -> Json:
    owners = (there.get("metadata") or {}).get("ownerReferences") or ()
    return next((dict(each) for each in owners if each.get("controller")), {})
