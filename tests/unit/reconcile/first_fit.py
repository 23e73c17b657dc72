"""The simplest scheduler: each waiting pod goes to the first node, by name, that is ready, wanted and does not repel it.

For tests of controllers in an ideal world, where no plane runs and so no scheduler either.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import EFFECTS_MAX, Decision, Reading
from fairlead.decision.effects import Bind, identity
from fairlead.model.views import NODES, PODS, Node, PodSpec, Resource, View
from fairlead.reconcile.eligibility import repelled, selected
from fairlead.store.contract import Key

BATCH = Key("pods", "", "")


class FirstFitDecider:
    name = "first-fit"
    reads: tuple[Resource[View], ...] = (PODS, NODES)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (BATCH,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        nodes, binds = view.list(NODES), list[Bind]()
        for pod in view.list(PODS):
            if pod.spec.node_name or not pod.live or pod.spec.scheduling_gates:
                continue
            found = next((node.metadata.name for node in nodes if _takes(node, pod.spec)), "")
            if found:
                meta = pod.metadata
                label = identity(self.name, meta.uid, "bind")
                binds.append(Bind(label, "pods", "v1", "pods", meta.namespace, meta.name, meta.uid, found))
        return Decision(effects=tuple(binds[:EFFECTS_MAX]))


def _takes(node: Node, spec: PodSpec) -> bool:
    return node.ready and selected(spec, node) and not repelled(node.spec.taints, spec.tolerations)
