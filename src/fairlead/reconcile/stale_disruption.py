"""Takes back the mark `DisruptionTarget` from pods that were to be evicted, and were not.

Whoever evicts a pod marks it first, then deletes it. Who dies in between leaves a mark that says what will not happen,
and that a Job's failure policy would believe later on. If the same pod is chosen again the mark is right after all; if
not, it is set to False after two minutes, as Kubernetes' disruption controller does. Keys are the pods themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.ensure import ensure_status
from fairlead.ledger.disruption import DISRUPTION_TARGET
from fairlead.model.views import PODS, Condition, Pod, Resource, View
from fairlead.store.contract import Key

STALE_DISRUPTION_SECONDS = 120.0
_BY_KUBELET = "TerminationByKubelet"  # it may take as long as it likes


class StaleDisruptionDecider:
    name = "stale-disruption"
    reads: tuple[Resource[View], ...] = (PODS,)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if not isinstance(after, Pod) or _mark(after) is None:
            return ()
        return (Key(PODS.name, after.metadata.namespace, after.metadata.name),)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        pod = view.get(PODS, key.namespace, key.name)
        mark = _mark(pod) if pod is not None else None
        if pod is None or mark is None:
            return NOTHING
        marked_at = parse_time(mark.last_transition_time) if mark.last_transition_time else 0.0
        stale_at = marked_at + STALE_DISRUPTION_SECONDS
        if now < stale_at:
            return Decision(Waiting("MayStillBeEvicted"), again_at=stale_at)
        taken_back = structs.replace(mark, status="False", last_transition_time=timestamp(now))
        conditions = tuple(taken_back if each is mark else each for each in pod.status.conditions)
        effect = ensure_status(self.name, PODS, pod, structs.replace(pod.status, conditions=conditions))
        return Decision(effects=(effect,) if effect is not None else ())


def _mark(pod: Pod) -> Condition | None:
    """That of a pod which is not on its way out."""
    if not pod.status.conditions or not pod.live:
        return None
    for each in pod.status.conditions:
        if each.type == DISRUPTION_TARGET and each.status == "True" and each.reason != _BY_KUBELET:
            return each
    return None
