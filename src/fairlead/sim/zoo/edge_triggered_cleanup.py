"""Zoo 8: a node stops a pod only if it saw the mark of its deletion appear; after a restart it never does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.decision.contract import Decider, Decision, Reading
from fairlead.model.views import Pod, Resource, View
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped
from fairlead.store.contract import Key


class EdgeNodes(Wrapped):
    def __init__(self, inner: Decider) -> None:
        super().__init__(inner)
        self._marked: set[str] = set()

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(before, Pod) and isinstance(after, Pod) and after.metadata.deletion_timestamp:
            self._marked.add(after.metadata.uid)
        return self.inner.keys(resource, before, after)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        return self.inner.decide(_Sighted(view, self._marked), key, now)  # type: ignore[arg-type]


class _Sighted:
    """The view without the pods whose mark was not seen to appear."""

    def __init__(self, view: Reading, marked: set[str]) -> None:
        self._view, self._marked = view, marked

    def get(self, resource: Resource[View], namespace: str, name: str) -> View | None:
        return self._view.get(resource, namespace, name)

    def on_node(self, node: str) -> Sequence[View]:
        return [
            pod
            for pod in self._view.on_node(node)
            if isinstance(pod, Pod)
            and (not pod.metadata.deletion_timestamp or pod.metadata.uid in self._marked)
        ]


def plant(parts: Parts) -> Parts:
    nodes = parts["nodes"]
    return {**parts, "nodes": lambda prefix: EdgeNodes(nodes(prefix))}
