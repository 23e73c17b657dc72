"""CustomResourceDefinitions: one that is deleted goes after its objects; one that lacks its names gets them when free.

Each object of a deleted definition is asked to go in a turn of its own. Those that wait for finalizers are waited for,
and the condition Terminating says so. When they are gone, and what they owned has been dealt with (afterwards nobody
could tell what the owner was), the definition's finalizer is taken off; the API looks itself whether anything is left.
None can be created meanwhile (`api/admission/definitions.py`), so what is empty stays empty.

`kinds` is the plane's own list of what is served, shared with garbage collection and namespaces. The plane keeps it,
and a mirror of each kind, as definitions come and go (`control/sources.py`), and has the Deciders remade.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.effects import ChangeStatus, change_object, change_status, identity
from fairlead.decision.ensure import ensure_gone
from fairlead.decision.predicates import ANY, GONE, LEAVING, OWNED, PRESENT
from fairlead.decision.wakes import itself
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import (
    DEFINITIONS,
    ESTABLISHED,
    FINALIZER,
    NAMES_ACCEPTED,
    TERMINATING,
    decode_brief,
    is_true,
)
from fairlead.model.custom.naming import put_condition, settled_status, taken_by
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.customresourcedefinition import KIND
from fairlead.model.served import Served
from fairlead.model.views import LEASES, PODS, Resource, Stored, View
from fairlead.reconcile.ownership import is_deleting, meta_of, owner_key, owners_of, resources_of

NAME = "custom-resource-definition"
_DEFINITIONS: Resource[Stored] = Resource(DEFINITIONS, KIND.api_version, KIND.kind, Stored)
_FINALIZERS_SHOWN = 5


def definition_decider(kinds: Served, *, awaits_dependents: bool = True) -> Decider:
    """`awaits_dependents`: whether a definition stays until garbage collection has dealt with what its objects owned.
    Kubernetes' API server waits for nobody's."""
    keeper = _Keeper(kinds, awaits_dependents)
    others = [each for name, each in keeper.resources.items() if name != DEFINITIONS]
    # No definition is of a kind that is built in: of pods only what they own counts, of leases nothing.
    often = {PODS.name: GONE | LEAVING | OWNED}
    return Decider(
        name=NAME,
        reads=(_DEFINITIONS, *others),
        wakes=(
            Wake(_DEFINITIONS, itself, when=PRESENT),
            Wake(_DEFINITIONS, keeper.of_definition),
            *(
                Wake(each, keeper.of_object, when=often.get(each.name, ANY), among=_DEFINITIONS)
                for each in others
                if each.name != LEASES.name
            ),
        ),
        decide=keeper.decide,
        unsettled=keeper.unsettled,
        kinds=kinds,
        remade=lambda: definition_decider(kinds, awaits_dependents=awaits_dependents),
    )


class _Keeper:
    """Decides on definitions and objects of the kinds that are served as this is made."""

    def __init__(self, kinds: Served, awaits_dependents: bool) -> None:
        self._kinds, self._awaits_dependents = kinds, awaits_dependents
        self.resources: dict[str, Resource[View]] = {**resources_of(kinds), DEFINITIONS: _DEFINITIONS}

    def of_definition(self, event: WatchEvent[View]) -> Iterator[Key]:
        """Its objects when its deletion begins; and others that wait for names, when its own become free."""
        before, after = event.before, event.after
        if after is not None and is_deleting(after) and not (before and is_deleting(before)):
            yield from self._unasked(event.view, event.key.name)
        if before is not None:
            yield from self._nameless(event.view)

    def of_object(self, event: WatchEvent[View]) -> Iterator[Key]:
        """The definition, as its objects and what they own go; and an object that turns up late."""
        view, before, after = event.view, event.before, event.after
        found = view.get(_DEFINITIONS, "", event.key.resource)
        if found is not None and found.deleting:
            if after is not None and before is None and not is_deleting(after):
                yield event.key
            else:
                yield key_of(DEFINITIONS, found)
        if before is not None and owners_of(before):
            for name in self._owning(before):
                owning = view.get(_DEFINITIONS, "", name)
                if owning is not None and owning.deleting:
                    yield key_of(DEFINITIONS, owning)

    def unsettled(self, view: Reading) -> Iterator[Key]:
        for each in view.list(_DEFINITIONS):
            if each.deleting:
                yield each.key
                yield from self._unasked(view, each.key.name)
        yield from self._nameless(view)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if key.resource != DEFINITIONS:
            return self._asked_to_go(view, key)
        found = view.get(_DEFINITIONS, "", key.name)
        if found is None:
            return NOTHING
        if not found.deleting:
            return self._settled(view, found, now)
        if FINALIZER not in found.metadata.finalizers:
            return NOTHING
        return self._emptied(view, found, now)

    # Deletion

    def _asked_to_go(self, view: Reading, key: Key) -> Decision:
        resource = self.resources.get(key.resource)
        found = view.get(_DEFINITIONS, "", key.resource)
        if resource is None or found is None or not found.deleting:
            return NOTHING
        left = view.get(resource, key.namespace, key.name)
        delete = ensure_gone(NAME, found.metadata, resource, left)  # type: ignore[arg-type]
        if delete is None:
            return NOTHING
        return Decision(Waiting("DefinitionDeleted", "its definition is deleted"), (delete,))

    def _unasked(self, view: Reading, name: str) -> Iterator[Key]:
        for each in self._objects(view, name):
            if not is_deleting(each):
                yield key_of(name, each)

    def _objects(self, view: Reading, name: str) -> Sequence[View]:
        resource = self.resources.get(name)
        return view.list(resource) if resource is not None else ()

    def _emptied(self, view: Reading, found: Stored, now: float) -> Decision:
        left = self._objects(view, found.key.name)
        if any(not is_deleting(each) for each in reversed(left)):
            return Decision(Waiting("ObjectsRemain", f"{len(left)} objects are being deleted"))
        if left:
            return self._waiting(found, left, now)
        for dependent in self._dependents(view, found.key.name) if self._awaits_dependents else ():
            message = f"{dependent.resource} {dependent.name} has an owner of this kind still"
            return Decision(Waiting("DependentsRemain", message))
        meta = found.metadata
        others = [each for each in meta.finalizers if each != FINALIZER]
        label = identity(NAME, meta.uid, "finalizer", f"{meta.uid}@{meta.resource_version}")
        change = change_object(label, _DEFINITIONS, meta, {"metadata": {"finalizers": others or None}})
        return Decision(effects=(change,))

    def _waiting(self, found: Stored, left: Sequence[View], now: float) -> Decision:
        """All are asked, some are there: say what they wait for."""
        finalizers = sorted({name for each in left for name in meta_of(each).finalizers})
        waits = ", ".join(finalizers[:_FINALIZERS_SHOWN]) or "their grace"
        message = f"CustomResource deletion is in progress: {len(left)} left, waiting for {waits}"
        wanted = _tree(found)
        put_condition(wanted, TERMINATING, "True", "InstanceDeletionInProgress", message, now)
        told = _status_change(found, wanted)
        return Decision(Waiting("ObjectsRemain", message), () if told is None else (told,))

    def _dependents(self, view: Reading, name: str) -> Iterator[Key]:
        """Objects that name an owner of this kind, and that garbage collection has not dealt with yet."""
        for resource in self.resources.values():
            for each in view.list(resource):
                if not is_deleting(each) and owners_of(each) and name in self._owning(each):
                    yield key_of(resource.name, each)

    def _owning(self, view: View) -> set[str]:
        """Resources of its owners, as far as they can be found."""
        space = meta_of(view).namespace
        keys = (owner_key(self._kinds, each, space) for each in owners_of(view))
        return {key.resource for key in keys if key is not None}

    # Names

    def _nameless(self, view: Reading) -> Iterator[Key]:
        for each in view.list(_DEFINITIONS):
            if not each.deleting and b'"status":"False"' in each.data:
                yield each.key

    def _settled(self, view: Reading, found: Stored, now: float) -> Decision:
        definition = _tree(found)
        if is_true(definition, NAMES_ACCEPTED) and is_true(definition, ESTABLISHED):
            return NOTHING
        group = definition["spec"].get("group") or ""
        others = [_tree(each) for each in view.list(_DEFINITIONS) if each.key != found.key]
        taken = taken_by(CATALOG, others, group, found.key.name)
        told = _status_change(found, {**definition, "status": settled_status(definition, taken, now)})
        return NOTHING if told is None else Decision(effects=(told,))


def _tree(found: Stored) -> Json:
    """Names and status, without the schemas."""
    return decode_brief(found.data)


def _status_change(found: Stored, wanted: Json) -> ChangeStatus | None:
    before = _tree(found).get("status") or {}
    patch = {name: value for name, value in wanted["status"].items() if before.get(name) != value}
    if not patch:
        return None
    meta = found.metadata
    label = identity(NAME, meta.uid, "status", f"{meta.uid}@{meta.resource_version}")
    return change_status(label, _DEFINITIONS, meta, patch)
