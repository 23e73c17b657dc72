"""A namespace that is deleted: everything in it is deleted first, then its own finalizer is taken off.

What makes pods goes before pods, and what has no owner before what has one, so that nothing is made again and most of
the rest is garbage by then. What is left when all is asked for waits for grace and finalizers of its own; the
conditions say for what. Nothing can be created in such a namespace any more, so what is empty stays empty; the API
looks itself whether it is, when the finalizer is taken off (`api/subresources/finalize.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.effects import Finalize, identity
from fairlead.decision.ensure import ensure_gone, ensure_status
from fairlead.decision.predicates import GONE, LEAVING, NEW
from fairlead.decision.wakes import itself_if
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.kinds.namespace import FINALIZER
from fairlead.model.views import (
    NAMESPACES,
    Condition,
    Namespace,
    NamespaceStatus,
    View,
)
from fairlead.reconcile.ownership import is_deleting, meta_of, owners_of, resources_of

NAME = "namespace"
CONTENT, FINALIZERS = "NamespaceContentRemaining", "NamespaceFinalizersRemaining"
_REMAIN = {
    CONTENT: ("SomeResourcesRemain", "Some resources are remaining: "),
    FINALIZERS: ("SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "),
}
_DONE = {
    CONTENT: ("ContentRemoved", "All content successfully removed"),
    FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


def namespace_decider(catalog: Catalog = CATALOG) -> Decider:
    """Keys name deleted namespaces, and what is in them: each object is asked to go in a turn of its own, so that
    one which is refused holds up no other. `catalog`: kinds may be added to it and taken from it; the controller is
    made anew for them."""
    emptier = _Emptier(catalog)
    content = emptier.content.values()
    return Decider(
        name=NAME,
        reads=(NAMESPACES, *content),
        wakes=(
            Wake(NAMESPACES, itself_if(is_deleting)),
            Wake(NAMESPACES, emptier.of_namespace, when=LEAVING),
            *(
                Wake(each, emptier.of_content, when=GONE | LEAVING | NEW, while_leaving=NAMESPACES)
                for each in content
            ),
        ),
        decide=emptier.decide,
        unsettled=emptier.unsettled,
        remade=lambda: namespace_decider(catalog),
    )


class _Emptier:
    """Deletes objects of the kinds that a catalog has as this is made."""

    def __init__(self, catalog: Catalog) -> None:
        spaced = {kind.resource for kind in catalog if kind.namespaced}
        self.content = {name: each for name, each in resources_of(catalog).items() if name in spaced}

    def of_namespace(self, event: WatchEvent[View]) -> Iterator[Key]:
        """What is in a namespace whose deletion begins."""
        before, after = event.before, event.after
        if after is not None and is_deleting(after) and not (before and is_deleting(before)):
            yield from self._unasked(event.view, event.key.name)

    def of_content(self, event: WatchEvent[View]) -> Iterator[Key]:
        """What turns up in it later; and the namespace again, when the last of a kind is asked to go or is gone, or
        finalizers change."""
        view, key, before, after = event.view, event.key, event.before, event.after
        found = view.get(NAMESPACES, "", key.namespace)
        if found is None or not found.metadata.deletion_timestamp:
            return
        if after is not None and not is_deleting(after):
            if before is None:
                yield key
        elif self._may_tell(view, key.resource, key.namespace, before, after):
            yield Key(NAMESPACES.name, "", key.namespace)

    def unsettled(self, view: Reading) -> Iterator[Key]:
        for each in view.list(NAMESPACES):
            if each.metadata.deletion_timestamp:
                yield Key(NAMESPACES.name, "", each.metadata.name)
                yield from self._unasked(view, each.metadata.name)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        space = key.name if key.resource == NAMESPACES.name else key.namespace
        found = view.get(NAMESPACES, "", space)
        if found is None or not found.metadata.deletion_timestamp:
            return NOTHING
        if key.resource == NAMESPACES.name:
            return self._emptied(view, found, now)
        resource = self.content.get(key.resource)
        if resource is None:
            return NOTHING  # its kind is gone, and so are its objects
        left = view.get(resource, key.namespace, key.name)
        delete = ensure_gone(NAME, found.metadata, resource, left)  # type: ignore[arg-type]
        if delete is None:
            return NOTHING
        return Decision(Waiting("NamespaceDeleted", "its namespace is deleted"), (delete,))

    def _emptied(self, view: Reading, found: Namespace, now: float) -> Decision:
        name = found.metadata.name
        kinds: list[str] = []
        finalizers: dict[str, None] = {}
        for resource in self.content.values():
            left = view.list(resource, name)
            if _any_unasked(left):
                return Decision(Waiting("ContentRemains", f"{resource.name} are being deleted"))
            if left:
                kinds.append(resource.name)
            for each in left:
                finalizers.update(dict.fromkeys(meta_of(each).finalizers))
        if not kinds and FINALIZER in found.spec.finalizers:
            return Decision(effects=(_finalized(found),))
        status = ensure_status(NAME, NAMESPACES, found, _status(found, kinds, sorted(finalizers), now))
        told = () if status is None else (status,)
        if not kinds:
            return Decision(effects=told)
        message = f"{', '.join(kinds)} wait for {', '.join(sorted(finalizers)) or 'their grace'}"
        return Decision(Waiting("ContentRemains", message), told)

    def _unasked(self, view: Reading, space: str) -> Iterator[Key]:
        owned: list[Key] = []
        for resource in reversed(self.content.values()):
            for each in view.list(resource, space):
                if not is_deleting(each):
                    key = key_of(resource.name, each)
                    if owners_of(each):
                        owned.append(key)
                    else:
                        yield key
        yield from owned

    def _may_tell(
        self, view: Reading, resource: str, space: str, before: View | None, after: View | None
    ) -> bool:
        """Whether an object that is going or gone may change what there is to say of its namespace."""
        left = view.list(self.content[resource], space)
        if _any_unasked(left):
            return False
        were = meta_of(before).finalizers if before is not None else ()
        if after is not None:
            return before is None or not is_deleting(before) or meta_of(after).finalizers != were
        return not left or not all(any(each in meta_of(other).finalizers for other in left) for each in were)


def _any_unasked(left: Sequence[View]) -> bool:
    """Whether some are not being deleted. They are asked in order: the last are asked last."""
    return any(not is_deleting(each) for each in reversed(left))


def _finalized(found: Namespace) -> Finalize:
    meta = found.metadata
    left = [each for each in found.spec.finalizers if each != FINALIZER]
    label = identity(NAME, meta.uid, "finalize")
    return Finalize(
        identity=label, resource=NAMESPACES.name, api_version=NAMESPACES.api_version, plural=NAMESPACES.name,
        namespace="", name=meta.name, uid=meta.uid, revision=meta.revision,
        patch={"spec": {"finalizers": left}},
    )  # fmt: skip


def _status(found: Namespace, kinds: list[str], finalizers: list[str], now: float) -> NamespaceStatus:
    """Its status with the two conditions as they are now; one that was never true is not there."""
    known = {each.type: each for each in found.status.conditions}
    for kind, remain in ((CONTENT, kinds), (FINALIZERS, finalizers)):
        before = known.get(kind)
        if before is None and not remain:
            continue
        reason, message = _REMAIN[kind] if remain else _DONE[kind]
        status = "True" if remain else "False"
        since = before.last_transition_time if before and before.status == status else timestamp(now)
        known[kind] = Condition(kind, status, reason, message + ", ".join(remain), since)
    return NamespaceStatus(found.status.phase, tuple(known.values()))
