"""Takes back the mark `DisruptionTarget` from pods that were to be evicted, and were not.

Whoever evicts a pod marks it first, then deletes it. One that dies in between leaves a mark that says what will not
happen, and that a Job's failure policy would later believe. If the same pod is chosen again the mark is right after
all; if not, it is set to False after two minutes, as Kubernetes' disruption controller does. Keys are the pods
themselves.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_status
from fairlead.decision.predicates import DISRUPTED
from fairlead.decision.wakes import itself_if
from fairlead.model.key import Key
from fairlead.model.marks import DISRUPTION_TARGET
from fairlead.model.views import PODS, Condition, Pod

_NAME = "stale-disruption"
#: bound: plane | a mark of an eviction that did not happen is kept for | it is set to False
STALE_DISRUPTION_SECONDS = 120.0
_BY_KUBELET = "TerminationByKubelet"  # it may take as long as it likes


def stale_disruption_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(PODS,),
        wakes=(Wake(PODS, itself_if(lambda pod: _mark(pod) is not None), when=DISRUPTED),),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
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
    effect = ensure_status(_NAME, PODS, pod, structs.replace(pod.status, conditions=conditions))
    return Decision(effects=(effect,) if effect is not None else ())


def _mark(pod: Pod) -> Condition | None:
    """That of a pod which is not on its way out."""
    if not pod.status.conditions or not pod.live:
        return None
    for each in pod.status.conditions:
        if each.type == DISRUPTION_TARGET and each.status == "True" and each.reason != _BY_KUBELET:
            return each
    return None
