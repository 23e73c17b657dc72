"""A mirror's objects, found by name, namespace, owner, node and label. Kept up to date on each change.

`mirror.py` calls `put`, which is the only way in; `view.py` reads. What is read comes in (namespace, name) order,
as tuples that are made once and shared until the next change of what they hold: between two changes a Decider's
question costs a lookup. A change costs one entry per place the object is found at, whatever the number of objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from fairlead.model.key import Key
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import Meta, Pod, Resource, Stored, View

T = TypeVar("T", bound=View)

Place = tuple[str, ...]


class _Bucket(Generic[T]):
    """Some objects in key order. Order is made when it is asked for, and adding at the end keeps it."""

    __slots__ = ("_last", "_members", "_sorted", "_taken")

    def __init__(self) -> None:
        self._members: dict[Key, T] = {}
        self._last: Key | None = None  # at or after every member
        self._sorted = True
        self._taken: tuple[T, ...] | None = ()

    def __len__(self) -> int:
        return len(self._members)

    def put(self, key: Key, view: T) -> None:
        members = self._members
        if key not in members:
            if self._last is None or key > self._last:
                self._last = key
            else:
                self._sorted = False
        members[key] = view
        self._taken = None

    def drop(self, key: Key) -> None:
        del self._members[key]
        self._taken = None

    def views(self) -> tuple[T, ...]:
        taken = self._taken
        if taken is None:
            if not self._sorted:
                members = self._members
                self._members = {key: members[key] for key in sorted(members)}
                self._sorted = True
            taken = self._taken = tuple(self._members.values())
        return taken


class Index(Generic[T]):
    """Objects of one resource. A place is what an object is found at:

    ("namespace", n), ("owner", uid), ("node", name), ("label", key, value)

    Objects held as they are stored are not found by label: that would cost the decoding of each.
    """

    def __init__(self, resource: Resource[T]) -> None:
        self._objects: dict[Key, T] = {}
        self._all: _Bucket[T] = _Bucket()
        self._places: dict[Place, _Bucket[T]] = {}
        self._on_nodes = issubclass(resource.type, Pod)
        self._as_stored = issubclass(resource.type, Stored)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: tuple[str, str, str]) -> T | None:
        """A Key, or a plain tuple of the same three."""
        return self._objects.get(key)  # type: ignore[call-overload, no-any-return]

    def put(self, key: Key, after: T | None) -> T | None:
        """Hold this version from now on (None: nothing); returns the one held until now."""
        before = self._objects.get(key)
        if after is None:
            if before is not None:
                del self._objects[key]
                self._all.drop(key)
                self._leave(key, self._found_at(before))
            return before
        self._objects[key] = after
        self._all.put(key, after)
        found_at = self._found_at(after)
        if before is not None and not self._stays(before, after):
            self._leave(key, [place for place in self._found_at(before) if place not in found_at])
        places = self._places
        for place in found_at:
            bucket = places.get(place)
            if bucket is None:
                bucket = places[place] = _Bucket()
            bucket.put(key, after)
        return before

    def _stays(self, before: Any, after: Any) -> bool:
        """Whether it is surely found at the same places as before: most changes are of the status."""
        if self._as_stored:
            return not (before.mentions_owners or after.mentions_owners)
        was: Meta = before.metadata
        now: Meta = after.metadata
        if was.labels != now.labels or was.owner_references != now.owner_references:
            return False
        return not self._on_nodes or before.spec.node_name in ("", after.spec.node_name)

    def _leave(self, key: Key, found_at: Iterable[Place]) -> None:
        places = self._places
        for place in found_at:
            bucket = places[place]
            bucket.drop(key)
            if not bucket:
                del places[place]

    def _found_at(self, view: Any) -> list[Place]:
        """Where to find it; each place once."""
        if self._as_stored:
            found: list[Place] = [("namespace", view.key.namespace)]
            owners = view.owners
        else:
            meta: Meta = view.metadata
            found = [("namespace", meta.namespace)]
            for label in meta.labels.items():
                found.append(("label", *label))
            owners = meta.owner_references
        if len(owners) == 1:
            found.append(("owner", owners[0].uid))
        elif owners:
            found.extend(("owner", uid) for uid in dict.fromkeys(owner.uid for owner in owners))
        if self._on_nodes and view.spec.node_name:
            found.append(("node", view.spec.node_name))
        return found

    def _at(self, place: Place) -> tuple[T, ...]:
        bucket = self._places.get(place)
        return () if bucket is None else bucket.views()

    def all(self) -> tuple[T, ...]:
        return self._all.views()

    def in_namespace(self, namespace: str) -> tuple[T, ...]:
        """Namespace "" means all."""
        return self._at(("namespace", namespace)) if namespace else self._all.views()

    def owned_by(self, uid: str) -> tuple[T, ...]:
        """Those with an ownerReference to this uid, controlling or not."""
        return self._at(("owner", uid))

    def on_node(self, node: str) -> tuple[T, ...]:
        """Pods bound to a node; of any other resource nothing."""
        return self._at(("node", node))

    def labelled(self, namespace: str, selector: LabelMatcher) -> tuple[T, ...]:
        """Those in a namespace ("": all) that the selector lets through. Looks at the fewest candidates that one
        of its equalities, or the namespace, leaves."""
        fewest = self._places.get(("namespace", namespace)) if namespace else self._all
        if fewest is None:
            return ()
        for label, operator, values in selector.requirements:
            if operator == "in" and len(values) == 1 and not self._as_stored:
                bucket = self._places.get(("label", label, values[0]))
                if bucket is None:
                    return ()
                if len(bucket) < len(fewest):
                    fewest = bucket
        matches = selector.matches
        chosen = []
        for view in fewest.views():
            meta: Meta = view.metadata  # type: ignore[attr-defined]
            if (not namespace or meta.namespace == namespace) and matches(meta.labels):
                chosen.append(view)
        return tuple(chosen)
