"""What the commits of a run say: who did what for which workload, and what became of pods. Used by `preview.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from fairlead.core import codec
from fairlead.model.diff import changed_fields
from fairlead.model.key import Key
from fairlead.model.marks import ZONE
from fairlead.model.views import NODES, PODS, Anything, Meta, Node, Pod
from fairlead.sim.preview.difference import Act
from fairlead.sim.preview.world import PreviewCommit
from fairlead.store.contract import ADDED, DELETED, Entry

_HEAD = msgspec.json.Decoder(Anything)
_NODE = msgspec.json.Decoder(Node)
_UNSAID = ("status", "metadata.resourceVersion", "metadata.generation", "metadata.managedFields")
_ASIDE = "metadata.annotations"  # told only where nothing else is
_FIELDS_SHOWN = 3


class ObjectsOfMoment:
    """All objects of a moment, and who owns whom. A dictionary of entries that commits move on."""

    def __init__(self, entries: Mapping[Key, Entry], decode_pod: Callable[[bytes], Pod]) -> None:
        self.entries = dict(entries)
        self.decode_pod = decode_pod
        self._heads: dict[str, tuple[Key, Meta]] = {}  # by uid, also of what is gone
        self._known: dict[str, str] = {}  # the workload of what this uid controls
        self._pods: list[Pod] | None = None  # once they were asked for
        self._nodes: dict[str, Node] | None = None
        for key, entry in self.entries.items():
            if key.resource not in (PODS.name, NODES.name):
                self._learn(key, entry)

    def moved_on(self, commits: Iterable[PreviewCommit]) -> ObjectsOfMoment:
        found = ObjectsOfMoment({}, self.decode_pod)
        found.entries, found._heads = dict(self.entries), dict(self._heads)
        for each in commits:
            entry = each.change.entry
            if each.change.type == DELETED:
                found.entries.pop(entry.key, None)
                continue
            found.entries[entry.key] = entry
            if each.change.type == ADDED and entry.key.resource != PODS.name:
                found._learn(entry.key, entry)
        return found

    def _learn(self, key: Key, entry: Entry) -> None:
        self._heads[entry.uid] = (key, _HEAD.decode(entry.data).metadata)

    def workload_of(self, key: Key, meta: Meta) -> str:
        """The topmost controller above an object: deployment/web; the object itself where it has none."""
        first = meta.controller
        if first is None:
            return f"{singular(key.resource)}/{key.name}"
        known = self._known.get(first.uid)
        if known is None:
            known = self._known[first.uid] = self._above(key, meta)
        return known

    def workload_of_pod(self, meta: Meta) -> str:
        first = meta.controller
        known = self._known.get(first.uid) if first is not None else None
        return known or self.workload_of(Key(PODS.name, meta.namespace, meta.name), meta)

    def _above(self, key: Key, meta: Meta) -> str:
        for _ in range(8):  # owners of owners
            owner = meta.controller
            if owner is None:
                break
            above = self._heads.get(owner.uid)
            if above is None:
                return f"{owner.kind.lower()}/{owner.name}"
            key, meta = above
        return f"{singular(key.resource)}/{key.name}"

    def pods(self) -> list[Pod]:
        """Asked for again and again, of objects that stay as they are."""
        if self._pods is None:
            found = (each for key, each in self.entries.items() if key.resource == PODS.name)
            self._pods = [self.decode_pod(each.data) for each in found]
        return self._pods

    def nodes(self) -> dict[str, Node]:
        if self._nodes is None:
            found = (each for key, each in self.entries.items() if key.resource == NODES.name)
            self._nodes = {node.metadata.name: node for node in (_NODE.decode(each.data) for each in found)}
        return self._nodes


def singular(resource: str) -> str:
    plural = resource.partition(".")[0]
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    if plural.endswith(("sses", "xes")):
        return plural[:-2]
    return plural.removesuffix("s")


def zone_of(node: Node | None) -> str:
    return node.metadata.labels.get(ZONE, "") if node is not None else ""


_Deed = tuple[str, str, str, str, str]  # by whom, what, plural, namespace, workload


@dataclass(slots=True)
class _Gathered:
    seconds: float
    last: float
    example: str
    names: Counter[str] = field(default_factory=Counter)


def acts_of(commits: Iterable[PreviewCommit], objects: ObjectsOfMoment, since: float) -> dict[_Deed, Act]:
    """What was done, by who did it, what, and for which workload. `objects`: with the owners of all of it."""
    gathered: dict[_Deed, _Gathered] = {}
    for each in commits:
        what = _deed(each, objects)
        if what is None:
            continue
        key = each.change.entry.key
        seconds = round(each.seconds - since, 3)
        found = gathered.get((each.by, *what))
        if found is None:
            found = gathered[each.by, *what] = _Gathered(
                seconds, seconds, f"{singular(key.resource)}/{key.name}"
            )
        found.last = seconds
        found.names[key.name] += 1
    return {
        key: Act(each.seconds, each.last, *key, len(each.names), each.example)
        for key, each in gathered.items()
    }


def _deed(commit: PreviewCommit, objects: ObjectsOfMoment) -> tuple[str, str, str, str] | None:
    """What a commit is, its plural, namespace and workload; None: nobody asks (a status, a start of a pod)."""
    change = commit.change
    key, before, after = change.entry.key, change.before, change.entry
    plural = key.resource.partition(".")[0]
    if key.resource == PODS.name:
        pod = objects.decode_pod(after.data)
        was = objects.decode_pod(before.data) if before is not None else None
        does = _pod_deed(change.type, pod, was)
        return (does, plural, key.namespace, objects.workload_of(key, pod.metadata)) if does else None
    meta = _HEAD.decode(after.data).metadata
    of = objects.workload_of(key, meta)
    if change.type == ADDED:
        return "creates", plural, key.namespace, of
    if change.type == DELETED:
        return "removes", plural, key.namespace, of
    assert before is not None
    was_meta = _HEAD.decode(before.data).metadata
    if meta.deletion_timestamp and not was_meta.deletion_timestamp:
        return "deletes", plural, key.namespace, of
    fields = said_fields(before, after)
    if not fields:
        return None
    fields = [each for each in fields if not each.startswith(_ASIDE)] or fields
    if key.resource == NODES.name:
        of = ""  # many at once are of one act
    shown = ", ".join(fields[:_FIELDS_SHOWN]) + (", ..." if len(fields) > _FIELDS_SHOWN else "")
    return f"changes {shown}", plural, key.namespace, of


def _pod_deed(type_: str, pod: Pod, was: Pod | None) -> str:
    if type_ == ADDED:
        return "creates"
    if type_ == DELETED:
        return "removes"
    assert was is not None
    if pod.metadata.deletion_timestamp and not was.metadata.deletion_timestamp:
        return "deletes"
    if pod.spec.node_name and not was.spec.node_name:
        return "binds"
    if pod.metadata.labels != was.metadata.labels or pod.metadata.finalizers != was.metadata.finalizers:
        return "changes metadata"
    return ""


def said_fields(before: Entry, after: Entry) -> list[str]:
    """Fields that differ and are somebody's intent, by their paths."""
    fields = changed_fields(codec.decode(before.data), codec.decode(after.data))
    return [
        each
        for each in fields
        if not any(each == name or each.startswith((f"{name}.", f"{name}[")) for name in _UNSAID)
    ]
