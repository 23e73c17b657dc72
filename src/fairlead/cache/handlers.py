"""Which keys deserve a look because an object changed: the usual answers, for Deciders' `keys`.

Each is made once and called with the object before and after (None: it was not there, it is gone). Both count: a
pod that moved from one owner to another wakes both. Keys are wake-ups (law 1): one too many costs a look, one too
few is a bug.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fairlead.decision.contract import Reading
from fairlead.model.kind import Json
from fairlead.model.selectors import NOTHING, LabelSelector, from_object
from fairlead.model.views import Meta, Resource, View
from fairlead.store.contract import Key

T = TypeVar("T", bound=View)

Handler = Callable[[View | None, View | None], tuple[Key, ...]]

SELECTORS_KEPT_MAX = 4096


def by_itself(resource: Resource[Any]) -> Handler:
    """The changed object's own key."""
    name = resource.name

    def keys(before: View | None, after: View | None) -> tuple[Key, ...]:
        metas = _metas(before, after)
        return (Key(name, metas[0].namespace, metas[0].name),) if metas else ()

    return keys


def by_controller(owner: Resource[Any], *, namespaced: bool = True) -> Handler:
    """The key of the controlling owner, if it is of this resource. Versions of one group are one resource."""
    name, kind = owner.name, owner.kind
    group = owner.api_version.rpartition("/")[0]

    def keys(before: View | None, after: View | None) -> tuple[Key, ...]:
        found: dict[Key, None] = {}
        for meta in _metas(before, after):
            controller = meta.controller
            if (
                controller is not None
                and controller.kind == kind
                and controller.api_version.rpartition("/")[0] == group
            ):
                found[Key(name, meta.namespace if namespaced else "", controller.name)] = None
        return tuple(found)

    return keys


def by_selector(
    resource: Resource[T], selector_of: Callable[[T], Json | None], view: Callable[[], Reading]
) -> Handler:
    """The keys of all objects of `resource` in the changed object's namespace whose selector matches its labels,
    before or after. `view` gives what to read them from at that moment."""
    compiled = _Compiled(selector_of)

    def keys(before: View | None, after: View | None) -> tuple[Key, ...]:
        metas = _metas(before, after)
        if not metas:
            return ()
        found = []
        for each in view().list(resource, metas[0].namespace):
            meta: Meta = each.metadata  # type: ignore[attr-defined]
            matches = compiled.of(each, meta).matches
            if any(matches(changed.labels) for changed in metas):
                found.append(Key(resource.name, meta.namespace, meta.name))
        return tuple(found)

    return keys


class _Compiled(Generic[T]):
    """Selectors by the version of the object that has them, so that an event does not compile each anew."""

    def __init__(self, selector_of: Callable[[T], Json | None]) -> None:
        self._selector_of = selector_of
        self._kept: dict[tuple[str, str], LabelSelector] = {}

    def of(self, view: T, meta: Meta) -> LabelSelector:
        version = (meta.uid, meta.resource_version)
        kept = self._kept.get(version)
        if kept is None:
            try:
                kept = from_object(self._selector_of(view))
            except ValueError:
                # It selects nothing, and its own Decider says so; others' events must still find their way.
                kept = NOTHING
            if len(self._kept) >= SELECTORS_KEPT_MAX:
                self._kept.clear()
            self._kept[version] = kept
        return kept


def _metas(*views: Any) -> list[Meta]:
    return [view.metadata for view in views if view is not None]
