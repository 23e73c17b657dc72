"""Mappings from a change to the keys that deserve a look: the second part of a `Wake` (`decider.py`). Used by Deciders.

    itself                 the changed object's own key
    itself_if(test)        the same, while it is there and the test holds of it
    workload_itself        the same for a workload, unless nothing but its `status.progress` changed
    always(key, ...)       the same keys for every change
    by_controller(owners)  the controllers of this kind that it names, or did
    by_selector(owners)    owners that may adopt an object which has no controller
    in_namespace(owners)   the key that stands for all owners in the object's namespace: no name
    each_of(owners, test)  every object of a resource of which the test holds
    inside(resource, name) the object of this name in a changed namespace that is not being deleted

    changed(facet, keys)   those of another mapping, if this facet of the object changed
    within(space, keys)    those of another mapping, for objects of this namespace
    called(name, keys)     those of another mapping, for objects of this name

Both the object before and after the change count: a pod that moves from one owner to another wakes both. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from fairlead.decision.contract import Reading
from fairlead.decision.decider import KeysOf, Wake, WatchEvent, key_of
from fairlead.decision.predicates import NEW, OWNED, RELABELLED
from fairlead.model.key import Key
from fairlead.model.selectors import from_object
from fairlead.model.views import (
    DaemonSet,
    Deployment,
    Job,
    Meta,
    Namespace,
    Resource,
    StatefulSet,
    View,
)

Workload = Deployment | StatefulSet | DaemonSet | Job
T = TypeVar("T", bound=View)
W = TypeVar("W", Deployment, StatefulSet, DaemonSet, Job)


def itself(event: WatchEvent[View]) -> Iterable[Key]:
    return (event.key,)


def itself_if(test: Callable[[T], bool]) -> KeysOf[T]:
    def keys(event: WatchEvent[T]) -> Iterable[Key]:
        return (event.key,) if event.after is not None and test(event.after) else ()

    return keys


def workload_itself(event: WatchEvent[W]) -> Iterable[Key]:
    """Progress is written for people to read, up to once a second, and no controller decides on it."""
    before, after = event.before, event.after
    if (
        before is not None
        and after is not None
        and _apart_from_progress(before) == _apart_from_progress(after)
    ):
        return ()
    return (event.key,)


def _apart_from_progress(workload: Workload) -> tuple[object, ...]:
    metadata = structs.replace(workload.metadata, resource_version="")
    return metadata, structs.replace(workload.status, progress={}), workload.spec


def always(*keys: Key) -> KeysOf[Any]:
    return lambda event: keys


def by_controller(owners: Resource[Any]) -> KeysOf[Any]:
    name, kind = owners.name, owners.kind

    def keys(event: WatchEvent[Any]) -> Iterable[Key]:
        found: dict[Key, None] = {}
        for each in (event.before, event.after):
            owner = each.metadata.controller if each is not None else None
            if owner is not None and owner.kind == kind:
                found[Key(name, event.key.namespace, owner.name)] = None
        return found

    return keys


def by_selector(owners: Resource[Any]) -> KeysOf[Any]:
    def keys(event: WatchEvent[Any]) -> Iterable[Key]:
        """Of an object that came, was let go, or was labelled anew."""
        if event.after is None:
            return ()
        meta: Meta = event.after.metadata
        if meta.controller is not None or meta.deletion_timestamp:
            return ()
        if event.before is not None:
            known: Meta = event.before.metadata
            if known.controller is None and known.labels == meta.labels:
                return ()
        return [key_of(owners.name, each) for each in _selecting(event, owners, meta)]

    return keys


def _selecting(event: WatchEvent[Any], owners: Resource[Any], meta: Meta) -> Iterable[Any]:
    items = meta.labels.items()
    for owner in event.view.list(owners, meta.namespace):
        selector = owner.spec.selector
        # Most are ruled out by this, which is cheaper than compiling each.
        if (selector.get("matchLabels") or {}).items() <= items and from_object(selector).matches(
            meta.labels
        ):
            yield owner


def claiming(owners: Resource[Any], children: Resource[Any]) -> tuple[Wake[Any], Wake[Any]]:
    """What wakes owners that claim children by a selector."""
    return (
        Wake(children, by_controller(owners), when=OWNED),
        Wake(children, by_selector(owners), when=NEW | OWNED | RELABELLED, among=owners),
    )


def in_namespace(owners: Resource[Any]) -> KeysOf[Any]:
    return lambda event: (Key(owners.name, event.key.namespace, ""),)


def named_by(view: Reading, resource: Resource[T], key: Key) -> Sequence[T]:
    """The object that a key names; by a key without a name, all of its namespace."""
    if not key.name:
        return view.list(resource, key.namespace)
    found = view.get(resource, key.namespace, key.name)
    return () if found is None else (found,)


def each_of(owners: Resource[T], test: Callable[[T], bool] = lambda owner: True) -> KeysOf[Any]:
    return lambda event: [key_of(owners.name, each) for each in event.view.list(owners) if test(each)]


def inside(resource: str, name: str) -> KeysOf[Namespace]:
    def keys(event: WatchEvent[Namespace]) -> Iterable[Key]:
        space = event.after
        ends = space is None or bool(space.metadata.deletion_timestamp)
        return () if ends else (Key(resource, event.key.name, name),)

    return keys


def changed(facet: Callable[[T | None], object], keys: KeysOf[T]) -> KeysOf[T]:
    return lambda event: keys(event) if facet(event.before) != facet(event.after) else ()


def within(space: str, keys: KeysOf[T]) -> KeysOf[T]:
    return lambda event: keys(event) if event.key.namespace == space else ()


def called(name: str, keys: KeysOf[T]) -> KeysOf[T]:
    return lambda event: keys(event) if event.key.name == name else ()
