"""A mirror's objects, found by name, namespace, owner, node and label. Kept up to date on each change.

`mirror.py` calls `put`, which is the only way in; `view.py` reads. What is read comes in (namespace, name) order,
as tuples that are made once and shared until the next change of what they hold: between two changes a Decider's
question costs a lookup. A change costs one entry per place the object is found at, whatever the number of objects.
Of others than pods, labels and namespaces are places from the first question about one of them: of most resources
nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, Generic, TypeVar

from fairlead.model.key import Key
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import Meta, Pod, Resource, Stored, View

T = TypeVar("T", bound=View)

Place = tuple[str, ...]
_NAMESPACE, _OWNER, _NODE, _LABEL = "namespace", "owner", "node", "label"  # sorts of places
_SORTS: tuple[str, ...] = (_NAMESPACE, _OWNER, _NODE, _LABEL)


class _Bucket(Generic[T]):
    """Some objects in key order. Order is made when it is asked for, and adding at the end keeps it."""

    __slots__ = ("_last", "_sorted", "members", "taken")

    def __init__(self) -> None:
        self.members: dict[Key, T] = {}  # the same dict for ever
        self._last: Key | None = None  # at or after every member
        self._sorted = True
        self.taken: tuple[T, ...] | None = ()  # what `views` gave; None: since then something changed

    def __len__(self) -> int:
        return len(self.members)

    def add(self, key: Key, view: T) -> None:
        """One that is new here."""
        self.members[key] = view
        self.taken = None
        if self._last is None or key > self._last:
            self._last = key
        else:
            self._sorted = False

    def drop(self, key: Key) -> None:
        del self.members[key]
        self.taken = None

    def views(self) -> tuple[T, ...]:
        taken = self.taken
        if taken is None:
            members = self.members
            if not self._sorted:
                ordered = [(key, members[key]) for key in sorted(members)]
                members.clear()
                members.update(ordered)
                self._sorted = True
            taken = self.taken = tuple(members.values())
        return taken


class Index(Generic[T]):
    """Objects of one resource. A place is what an object is found at:

    ("namespace", n), ("owner", uid), ("node", name), ("label", key, value)

    Objects held as they are stored are not found by label: that would cost the decoding of each.
    """

    __slots__ = ("_all", "_as_stored", "_objects", "_on_nodes", "_places", "_sorts", "get")

    def __init__(self, resource: Resource[T]) -> None:
        self._all: _Bucket[T] = _Bucket()
        self._objects = self._all.members
        # By a Key, or a plain tuple of the same three. Asked for most changes of a pod: the dict's own.
        self.get: Callable[[tuple[str, str, str]], T | None] = self._objects.get  # type: ignore[assignment]
        self._places: dict[Place, _Bucket[T]] = {}
        self._on_nodes = issubclass(resource.type, Pod)
        # Of places that were asked for so far, or surely will be: of pods all are, and of everything who owns it. No
        # look is to pay for what a list can.
        self._sorts = _SORTS if self._on_nodes else (_OWNER,)
        self._as_stored = issubclass(resource.type, Stored)

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def held(self) -> Sized:
        """What it holds by now and later, to be counted by who asks for every change whether there is any."""
        return self._objects

    def put(self, key: Key, after: T | None) -> T | None:
        """Hold this version from now on (None: nothing); returns the one held until now."""
        before = self._objects.get(key)
        if after is None:
            if before is not None:
                self._all.drop(key)
                self._leave(key, self._found_at(before, self._sorts))
            return before
        if before is None:
            self._all.add(key, after)
        else:
            self._objects[key] = after
            self._all.taken = None
        found_at = self._found_at(after, self._sorts)
        if before is not None and not self._stays(before, after):
            left = [place for place in self._found_at(before, self._sorts) if place not in found_at]
            self._leave(key, left)
        self._join(key, after, found_at)
        return before

    def _join(self, key: Key, view: T, found_at: Iterable[Place]) -> None:
        places = self._places
        for place in found_at:
            bucket = places.get(place)
            if bucket is None:
                bucket = places[place] = _Bucket()
            if key in bucket.members:  # as after most changes
                bucket.members[key] = view
                bucket.taken = None
            else:
                bucket.add(key, view)

    def _keep(self, sort: str) -> None:
        """Somebody asks for places of this sort: from now on there are some."""
        self._sorts = (*self._sorts, sort)
        for key, view in self._objects.items():
            self._join(key, view, self._found_at(view, (sort,)))

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

    def _found_at(self, view: Any, sorts: tuple[str, ...]) -> list[Place]:
        """Where to find it, of places of these sorts; each once."""
        if self._on_nodes:
            return _pod_found_at(view)
        found: list[Place] = []
        for sort in sorts:
            if sort == _NAMESPACE:
                named = view.key if self._as_stored else view.metadata
                found.append((_NAMESPACE, named.namespace))
            elif sort == _OWNER:
                owners = view.owners if self._as_stored else view.metadata.owner_references
                if len(owners) == 1:
                    found.append((_OWNER, owners[0].uid))
                elif owners:
                    found.extend((_OWNER, uid) for uid in dict.fromkeys(owner.uid for owner in owners))
            elif sort == _LABEL and not self._as_stored:
                found += [(_LABEL, *label) for label in view.metadata.labels.items()]
        return found

    def _at(self, place: Place) -> tuple[T, ...]:
        bucket = self._bucket(place)
        return () if bucket is None else bucket.views()

    def _bucket(self, place: Place) -> _Bucket[T] | None:
        if place[0] not in self._sorts:
            self._keep(place[0])
        return self._places.get(place)

    def all(self) -> tuple[T, ...]:
        return self._all.views()

    def in_namespace(self, namespace: str) -> tuple[T, ...]:
        """Namespace "" means all."""
        return self._at((_NAMESPACE, namespace)) if namespace else self._all.views()

    def owned_by(self, uid: str) -> tuple[T, ...]:
        """Those with an ownerReference to this uid, controlling or not."""
        return self._at((_OWNER, uid))

    def on_node(self, node: str) -> tuple[T, ...]:
        """Pods bound to a node; of any other resource nothing."""
        return self._at((_NODE, node))

    def labelled(self, namespace: str, selector: LabelMatcher) -> tuple[T, ...]:
        """Those in a namespace ("": all) that the selector lets through. Looks at the fewest candidates that one
        of its equalities, or the namespace, leaves."""
        fewest = self._bucket((_NAMESPACE, namespace)) if namespace else self._all
        if fewest is None:
            return ()
        for label, operator, values in selector.requirements:
            if operator == "in" and len(values) == 1 and not self._as_stored:
                bucket = self._bucket((_LABEL, label, values[0]))
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


def _pod_found_at(pod: Any) -> list[Place]:
    """Where to find a pod, of all sorts of places; each once."""
    meta: Meta = pod.metadata
    found: list[Place] = [(_NAMESPACE, meta.namespace)]
    for owner in meta.owner_references:
        if (place := (_OWNER, owner.uid)) not in found:
            found.append(place)
    if pod.spec.node_name:
        found.append((_NODE, pod.spec.node_name))
    for name, value in meta.labels.items():
        found.append((_LABEL, name, value))
    return found
