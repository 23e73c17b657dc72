"""Views that show another world than there is: without overrides that have ended, or with something to do.

    WithoutEnded(view, now)                    no SchedulerOverride is in it that has ended by then
    for suppose in SUPPOSED: Supposing(view, suppose)   each workload wants one pod more, has another template, ...

Whoever decides on one decides what it would in such a world: nothing is carried out. Used by `checkers/forgotten.py`,
which asks two planes the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from fairlead.decision.contract import Reading
from fairlead.ledger import override as ledger
from fairlead.model.views import (
    AUTOSCALERS,
    DAEMONSETS,
    DEPLOYMENTS,
    NODES,
    OVERRIDES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Resource,
    SchedulerOverride,
)

Suppose = Callable[[str, Any], Any]  # of a resource, what an object is instead; None: it is not there

_SIZED = frozenset({DEPLOYMENTS.name, REPLICASETS.name, STATEFULSETS.name})
_TEMPLATED = frozenset({DEPLOYMENTS.name, DAEMONSETS.name, STATEFULSETS.name})
_LONG_AGO = "2000-01-01T00:00:00Z"
_DRIVES_OUT = {"key": "example.com/supposed", "effect": "NoExecute"}


class ChangedView(ABC):
    """A view that shows what another does, but for objects that are others or not there at all."""

    def __init__(self, inner: Reading) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @abstractmethod
    def shown(self, resource: str, found: Any) -> Any:
        """This object as it is shown; None: it is not there."""

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
        found = self._inner.get(resource, namespace, name)
        return None if found is None else self.shown(resource.name, found)

    def list(self, resource: Resource[Any], namespace: str = "") -> Sequence[Any]:
        return self._all(resource.name, self._inner.list(resource, namespace))

    def owned(self, resource: Resource[Any], owner_uid: str, namespace: str = "") -> Sequence[Any]:
        return self._all(resource.name, self._inner.owned(resource, owner_uid, namespace))

    def select(self, resource: Resource[Any], namespace: str, selector: Any) -> Sequence[Any]:
        return self._all(resource.name, self._inner.select(resource, namespace, selector))

    def on_node(self, node: str) -> Sequence[Any]:
        return self._all(PODS.name, self._inner.on_node(node))

    def _all(self, resource: str, found: Sequence[Any]) -> Sequence[Any]:
        shown = [self.shown(resource, each) for each in found]
        return tuple(each for each in shown if each is not None)


class WithoutEnded(ChangedView):
    """As it is for who never had the overrides that have ended by now."""

    def __init__(self, inner: Reading, now: float) -> None:
        super().__init__(inner)
        self._now = now

    def shown(self, resource: str, found: Any) -> Any:
        return None if resource == OVERRIDES.name and has_ended(found, self._now) else found


class Supposing(ChangedView):
    def __init__(self, inner: Reading, suppose: Suppose) -> None:
        super().__init__(inner)
        self._suppose = suppose

    def shown(self, resource: str, found: Any) -> Any:
        return self._suppose(resource, found)


def has_ended(override: SchedulerOverride, now: float) -> bool:
    return now >= ledger.end_of(override)


# What could happen next


def as_it_is(resource: str, found: Any) -> Any:
    return found


def one_more(resource: str, found: Any) -> Any:
    """Every workload wants one pod more, and so does every autoscaler."""
    if resource == AUTOSCALERS.name:
        least = found.spec.min_replicas + 1
        most = max(least, found.spec.max_replicas)
        return structs.replace(found, spec=structs.replace(found.spec, min_replicas=least, max_replicas=most))
    if resource not in _SIZED:
        return found
    return structs.replace(found, spec=structs.replace(found.spec, replicas=(found.spec.replicas or 0) + 1))


def another_template(resource: str, found: Any) -> Any:
    """Every workload has a template that no pod was made of."""
    if resource not in _TEMPLATED:
        return found
    template = found.spec.template
    metadata = template.get("metadata") or {}
    marked = {**(metadata.get("annotations") or {}), "example.com/supposed": "another"}
    changed = {**template, "metadata": {**metadata, "annotations": marked}}
    spec = structs.replace(found.spec, template=changed)
    generation = found.metadata.generation + 1
    return structs.replace(found, spec=spec, metadata=structs.replace(found.metadata, generation=generation))


def no_pods(resource: str, found: Any) -> Any:
    """All pods are lost."""
    return None if resource == PODS.name else found


def pods_are_to_go(resource: str, found: Any) -> Any:
    """Every pod was deleted long ago, and is still there."""
    if resource != PODS.name:
        return found
    return structs.replace(found, metadata=structs.replace(found.metadata, deletion_timestamp=_LONG_AGO))


def nodes_drive_out(resource: str, found: Any) -> Any:
    """Every node has a taint that no pod bears."""
    if resource != NODES.name:
        return found
    return structs.replace(found, spec=structs.replace(found.spec, taints=(*found.spec.taints, _DRIVES_OUT)))


SUPPOSED: tuple[Suppose, ...] = (
    as_it_is,
    one_more,
    another_template,
    no_pods,
    pods_are_to_go,
    nodes_drive_out,
)
