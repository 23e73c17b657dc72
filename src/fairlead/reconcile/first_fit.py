"""The first scheduler: each waiting pod goes to the first node, by name, that takes it. Issue C replaces it.

One key stands for all pods, so that two decisions can never give away the same room.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.effects import Bind, ChangeStatus, identity
from fairlead.model.views import NODES, PODS, Pod, Resource, View
from fairlead.reconcile.eligibility import aimed_at, allocatable, open_to, requested
from fairlead.reconcile.scheduling import SCHEDULER, told, unschedulable
from fairlead.store.contract import Key

BATCH = Key("pods", "", "")
NO_NODE = "no node is available that has room for this pod and is open to it"


class FirstFitDecider:
    name, component = "first-fit", SCHEDULER
    reads: tuple[Resource[View], ...] = (PODS, NODES)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (BATCH,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        pods, nodes = view.list(PODS), view.list(NODES)
        ours = [pod for pod in pods if not pod.spec.node_name and pod.spec.scheduler_name == SCHEDULER]
        waiting = [pod for pod in ours if pod.live and not pod.spec.scheduling_gates]
        if not waiting:
            return NOTHING
        free = {node.metadata.name: allocatable(node) for node in nodes}
        for pod in pods:
            if pod.spec.node_name in free and not pod.finished:
                free[pod.spec.node_name] = free[pod.spec.node_name].minus(requested(pod.spec))
        effects, unplaced = list[Bind | ChangeStatus](), list[Pod]()
        for pod in sorted(waiting, key=_turn):
            need = requested(pod.spec)
            aims = aimed_at(nodes, pod.spec)
            fits = (n for n in aims if need.within(free[n.metadata.name]) and open_to(n, pod.spec))
            node = next(fits, None)
            if node is None:
                unplaced.append(pod)
            elif len(effects) < EFFECTS_MAX:
                at, meta = node.metadata.name, pod.metadata
                free[at] = free[at].minus(need)
                label = identity(self.name, meta.uid, "bind")
                effects.append(Bind(label, "pods", "v1", "pods", meta.namespace, meta.name, meta.uid, at))
        marks = (unschedulable(self.name, pod, NO_NODE, now) for pod in unplaced)
        effects += islice((mark for mark in marks if mark is not None), EFFECTS_MAX - len(effects))
        verdict = Waiting("Unschedulable", f"{len(unplaced)} pods fit on no node") if unplaced else SETTLED
        return Decision(verdict, tuple(effects), events=told(effects, NO_NODE))


def _turn(pod: Pod) -> tuple[int, str, str, str]:
    meta = pod.metadata
    return -pod.spec.priority, meta.creation_timestamp, meta.name, meta.namespace
