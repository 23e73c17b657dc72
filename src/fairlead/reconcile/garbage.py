"""Garbage collection: what owners leave behind goes, waits, or is set free, as the deletion asked.

    Background   the owner goes at once; each dependent follows once all its owners are gone
    Foreground   dependents that block go first; then the owner's finalizer is taken off
    Orphan       dependents lose the reference; then the owner's finalizer is taken off

Every object decides for itself: a dependent whether to go or to let go, an owner whether it still waits. That an owner
is gone, or has a namesake, is the premise of what a dependent does: it is judged again as the write commits, so that a
mirror which has not heard of the owner yet costs a conflict and nothing else. Keys name objects of any kind. There is
nothing to decide on most of them, so a key is woken only if a look at the view shows that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.effects import Change
from fairlead.decision.ensure import ensure_fields, ensure_gone
from fairlead.decision.predicates import GONE, LEAVING, OWNED
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.model.premise import FENCES_MAX, Premise, Premises
from fairlead.model.served import Served
from fairlead.model.views import Meta, Resource, View
from fairlead.reconcile.ownership import (
    FREE,
    as_reference,
    is_deleting,
    meta_of,
    owner_key,
    owners_of,
    resources_of,
    revision_of,
    ties_of,
    uid_of,
)

NAME = "garbage-collector"
# One fence is the leader's own.
_PREMISES_MAX = FENCES_MAX - 1
_SHOWN = 3
#: bound: plane | a deletion without dependents looks again whether all kinds are shown after | -
_LOOK_AGAIN_SECONDS = 5.0


def garbage_decider(catalog: Catalog = CATALOG) -> Decider:
    """`catalog`: kinds may be added to it and taken from it; the controller is made anew for them."""
    collector = _Collector(catalog)
    return Decider(
        name=NAME,
        reads=collector.reads,
        wakes=tuple(Wake(each, collector.related, when=GONE | LEAVING | OWNED) for each in collector.reads),
        decide=collector.decide,
        unsettled=collector.unsettled,
        kinds=catalog if isinstance(catalog, Served) else None,
        remade=lambda: garbage_decider(catalog),
    )


class _Collector:
    """Decides on objects of the kinds that a catalog has as this is made."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._resources = resources_of(catalog)
        self.reads: tuple[Resource[View], ...] = tuple(self._resources.values())

    def related(self, event: WatchEvent[View]) -> Iterator[Key]:
        """The object itself, those that it owns and those that own it, as far as there is something to do."""
        view, own, before, after = event.view, event.key, event.before, event.after
        were = FREE if before is None else ties_of(before)
        if after is not None and ties_of(after) == were:
            return
        if after is not None and self.decide(view, own, 0.0) is not NOTHING:
            yield own
        related: dict[Key, None] = {}
        if after is None or is_deleting(after):
            related.update(dict.fromkeys(self._dependents(view, uid_of(event.newest), own.namespace)))
        if before is not None:
            for owner in were[0]:
                at = owner_key(self._catalog, owner, own.namespace)
                if at is not None:
                    related[at] = None
        for key in related:
            decision = self.decide(view, key, 0.0) if key != own else NOTHING
            if decision.effects or decision.again_at:
                yield key

    def unsettled(self, view: Reading) -> Iterator[Key]:
        """All keys with something to do, from state alone."""
        for resource in self.reads:
            for found in view.list(resource):
                if owners_of(found) or is_deleting(found):
                    key = key_of(resource.name, found)
                    if self.decide(view, key, 0.0) is not NOTHING:
                        yield key

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        resource = self._resources.get(key.resource)
        found = view.get(resource, key.namespace, key.name) if resource is not None else None
        if found is None or resource is None:
            return NOTHING
        owners, deleting, finalizers = ties_of(found)
        if owners:
            decision = self._owned(view, resource, found, meta_of(found))
            if decision is not NOTHING:
                return decision
        if deleting and ORPHAN in finalizers:
            return self._orphaning(view, resource, found, key, now)
        if deleting and FOREGROUND in finalizers:
            return self._waiting(view, resource, found, key)
        return NOTHING

    # As a dependent

    def _owned(self, view: Reading, resource: Resource[View], found: View, meta: Meta) -> Decision:
        """It goes when none of its owners is left, in the way the last of them was deleted. If there is one left it
        loses its references to the others, so that none of them waits for it in vain."""
        gone: dict[str, None] = {}
        premises: list[Premise] = []
        freed, waited_for = set[str](), False
        for owner in meta.owner_references:
            at = owner_key(self._catalog, owner, meta.namespace)
            if at is None:
                continue  # not ours to judge
            current = view.get(self._resources[at.resource], at.namespace, at.name)
            if current is None or uid_of(current) != owner.uid:
                if len(premises) == _PREMISES_MAX:
                    break  # the rest in a further turn
                gone[owner.uid] = None
                premises.append(Premise(at, 0 if current is None else revision_of(current)))
            elif is_deleting(current):
                finalizers = meta_of(current).finalizers
                if ORPHAN in finalizers:
                    freed.add(owner.uid)
                elif FOREGROUND in finalizers:
                    gone[owner.uid] = None
                    waited_for = True
        if freed:
            change = _without_owners(resource, found, meta, freed)
            return Decision(Waiting("Orphaned", "its owner goes without it"), (change,))
        if not gone or meta.deletion_timestamp:
            return NOTHING
        if all(owner.uid in gone for owner in meta.owner_references):
            # In the foreground only if that makes a difference to somebody.
            leads_on = waited_for and any(True for _ in self._dependents(view, meta.uid, meta.namespace))
            policy = "Foreground" if leads_on else ""
            delete = ensure_gone(NAME, meta, resource, found, policy, tuple(premises))  # type: ignore[arg-type]
            assert delete is not None
            return Decision(Waiting("OwnersGone", "none of its owners is left"), (delete,))
        change = _without_owners(resource, found, meta, gone.keys(), tuple(premises))
        return Decision(Waiting("OwnerGone", "one of its owners is gone, another is left"), (change,))

    # As an owner

    def _orphaning(
        self, view: Reading, resource: Resource[View], found: View, key: Key, now: float
    ) -> Decision:
        for dependent in self._dependents(view, uid_of(found), key.namespace):
            if self._reference(view, dependent, key, uid_of(found)):
                return Decision(Waiting("DependentsRemain", f"{dependent.name} is not set free yet"))
        for each in self.reads:
            # A kind that cannot be read may hold some: with this finalizer gone they would be taken for garbage.
            view.get(each, "", "")
        # So may one whose watch lags: what was made before the deletion is shown by then. Whoever writes the owner
        # meanwhile moves nothing.
        since = view.deleting_since(resource, key) or revision_of(found)
        behind = [each.name for each in self.reads if not view.shows(each, since)]
        if behind:
            told = f"whether there are {', '.join(behind[:_SHOWN])} that it owns is not known yet"
            return Decision(Waiting("DependentsUnknown", told), again_at=now + _LOOK_AGAIN_SECONDS)
        return Decision(effects=(_without_finalizer(resource, found, ORPHAN),))

    def _waiting(self, view: Reading, resource: Resource[View], found: View, key: Key) -> Decision:
        for dependent in self._blocking(view, key, uid_of(found)):
            if not self._waits_for(view, dependent, key):
                return Decision(
                    Waiting("DependentsRemain", f"{dependent.resource} {dependent.name} is there still")
                )
        return Decision(effects=(_without_finalizer(resource, found, FOREGROUND),))

    def _dependents(self, view: Reading, uid: str, namespace: str) -> Iterator[Key]:
        for resource in self.reads:
            for dependent in view.owned(resource, uid, namespace):
                yield key_of(resource.name, dependent)

    def _blocking(self, view: Reading, key: Key, uid: str) -> Iterator[Key]:
        """The dependents that an owner deleted in the foreground waits for."""
        for dependent in self._dependents(view, uid, key.namespace):
            if self._reference(view, dependent, key, uid, blocking=True):
                yield dependent

    def _reference(
        self, view: Reading, dependent: Key, owner: Key, uid: str, *, blocking: bool = False
    ) -> bool:
        found = view.get(self._resources[dependent.resource], dependent.namespace, dependent.name)
        return found is not None and any(
            each.uid == uid
            and (each.block_owner_deletion or not blocking)
            and owner_key(self._catalog, each, dependent.namespace) == owner
            for each in owners_of(found)
        )

    def _waits_for(self, view: Reading, start: Key, goal: Key) -> bool:
        """Whether one deletion in the foreground waits for another, also through others in between. Two that wait for
        each other would wait for ever."""
        pending, seen = [start], {start}
        while pending:
            key = pending.pop()
            if key == goal:
                return True
            found = view.get(self._resources[key.resource], key.namespace, key.name)
            if found is not None and is_deleting(found) and FOREGROUND in meta_of(found).finalizers:
                others = [each for each in self._blocking(view, key, uid_of(found)) if each not in seen]
                pending += others
                seen.update(others)
        return False


def _without_owners(
    resource: Resource[View], found: View, meta: Meta, gone: Iterable[str], premises: Premises = ()
) -> Change:
    gone = frozenset(gone)
    left = [as_reference(owner) for owner in meta.owner_references if owner.uid not in gone]
    return _changed(resource, found, meta, "ownerReferences", left, premises)


def _without_finalizer(resource: Resource[View], found: View, name: str) -> Change:
    meta = meta_of(found)
    return _changed(
        resource, found, meta, "finalizers", [each for each in meta.finalizers if each != name], ()
    )


def _changed(
    resource: Resource[View], found: View, meta: Meta, field: str, left: Sequence[object], premises: Premises
) -> Change:
    wanted = {"metadata": {field: left or None}}
    change = ensure_fields(
        NAME,
        meta,
        resource,
        found,  # type: ignore[arg-type]
        intent=field,
        current={},
        wanted=wanted,
        premises=premises,
    )
    assert change is not None
    return change
