"""Zoo 8: a node stops a pod only if it saw the mark of its deletion appear; after a restart it never does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.predicates import CHANGED
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod, Resource, View
from fairlead.sim.parts import Parts


def edge_nodes(inner: Decider) -> Decider:
    marked: set[str] = set()

    def notice(event: WatchEvent[Pod]) -> Iterable[Key]:
        if event.newest.metadata.deletion_timestamp:
            marked.add(event.newest.metadata.uid)
        return ()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        return inner.decide(_Sighted(view, marked), key, now)  # type: ignore[arg-type]

    return replace(inner, wakes=(Wake(PODS, notice, when=CHANGED), *inner.wakes), decide=decide)


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
    return {**parts, "nodes": lambda prefix: edge_nodes(nodes(prefix))}
