"""The simplest scheduler: each waiting pod goes to the first node, by name, that is ready, wanted and does not repel it.

For tests of controllers in a World, where no plane runs and so no scheduler either.
"""

from __future__ import annotations

from fairlead.decision.contract import EFFECTS_MAX, Decision, Reading
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Bind, identity
from fairlead.decision.wakes import always
from fairlead.model.key import Key
from fairlead.model.views import NODES, PODS, Node, PodSpec
from fairlead.reconcile.daemonset.eligibility import is_repelled, is_selected

_NAME = "first-fit"
BATCH = Key("pods", "", "")


def first_fit_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(PODS, NODES),
        wakes=(Wake(PODS, always(BATCH)), Wake(NODES, always(BATCH))),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    nodes, binds = view.list(NODES), list[Bind]()
    for pod in view.list(PODS):
        if pod.spec.node_name or not pod.live or pod.spec.scheduling_gates:
            continue
        found = next((node.metadata.name for node in nodes if _takes(node, pod.spec)), "")
        if found:
            meta = pod.metadata
            label = identity(_NAME, meta.uid, "bind")
            binds.append(
                Bind(
                    identity=label,
                    resource="pods",
                    api_version="v1",
                    plural="pods",
                    namespace=meta.namespace,
                    name=meta.name,
                    uid=meta.uid,
                    node=found,
                )
            )
    return Decision(effects=tuple(binds[:EFFECTS_MAX]))


def _takes(node: Node, spec: PodSpec) -> bool:
    return node.ready and is_selected(spec, node) and not is_repelled(node.spec.taints, spec.tolerations)
