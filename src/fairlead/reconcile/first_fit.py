"""The first scheduler: each waiting pod goes to the first node, by name, that takes it. Issue C replaces it.

One key stands for all pods, so that two decisions can never give away the same room.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.effects import Bind, identity
from fairlead.model.views import NODES, PODS, Pod, Resource, View
from fairlead.reconcile.eligibility import allocatable, open_to, requested
from fairlead.store.contract import Key

BATCH = Key("pods", "", "")
SCHEDULER = "default-scheduler"


class FirstFitDecider:
    name = "first-fit"
    reads: tuple[Resource[View], ...] = (PODS, NODES)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (BATCH,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        nodes = view.list(NODES)
        if not nodes:
            return Decision(Waiting("Unschedulable", "there are no nodes"))
        pods = view.list(PODS)
        ours = [pod for pod in pods if not pod.spec.node_name and pod.spec.scheduler_name == SCHEDULER]
        waiting = [pod for pod in ours if pod.live and not pod.spec.scheduling_gates]
        if not waiting:
            return NOTHING
        free = {node.metadata.name: allocatable(node) for node in nodes}
        for pod in pods:
            if pod.spec.node_name in free and not pod.finished:
                free[pod.spec.node_name] = free[pod.spec.node_name].minus(requested(pod.spec))
        effects, unplaced = list[Bind](), 0
        for pod in sorted(waiting, key=_turn):
            need = requested(pod.spec)
            fits = (
                node for node in nodes if need.within(free[node.metadata.name]) and open_to(node, pod.spec)
            )
            node = next(fits, None)
            if node is None:
                unplaced += 1
            elif len(effects) < EFFECTS_MAX:
                at, meta = node.metadata.name, pod.metadata
                free[at] = free[at].minus(need)
                label = identity(self.name, meta.uid, "bind")
                effects.append(Bind(label, "pods", "v1", "pods", meta.namespace, meta.name, meta.uid, at))
        verdict = Waiting("Unschedulable", f"{unplaced} pods fit on no node") if unplaced else SETTLED
        return Decision(verdict, tuple(effects))


def _turn(pod: Pod) -> tuple[int, str, str, str]:
    meta = pod.metadata
    return -pod.spec.priority, meta.creation_timestamp, meta.name, meta.namespace
