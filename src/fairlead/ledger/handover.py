"""Who holds quota where a pod was released: the pod itself, until another pod of its owner takes its place.

A released pod may still run, so it goes on holding what it held. The next pod of its controller gets that: the server
notes it on the released pod, in the transaction that creates (ResourceQuota) or binds (PlacementQuota) the other one
(`api/quota_handover.py`), as condition `fairlead.dev/QuotaGiven` with one of the reasons below. From then on the
released pod counts for nothing. Nor does it once its deletion was asked for: nobody will want it back. One that is to
count again for its owner loses the condition and holds its quota again, before its replacement goes: while both exist
more may be used than the limit, which refuses creates and deletes nothing, and no rival takes the place that becomes
free. The room on its node is another matter: that it keeps to its end.

Pure; used where quotas are charged, counted and forecast.
"""

from __future__ import annotations

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.marks import QUOTA_GIVEN, RELEASED, REPLACES, RETURNED
from fairlead.model.views import Pod

CREATED, BOUND = "Created", "Bound"  # what the other pod was when it got it; a bound one has both quotas


def stage_of(pod: Pod) -> str:
    """What a released pod has given: "" nothing yet, CREATED its ResourceQuota, BOUND its PlacementQuota as well."""
    for condition in pod.status.conditions:
        if condition.type == QUOTA_GIVEN and condition.status == "True":
            return condition.reason
    return ""


def holds_quota(pod: Pod) -> bool:
    """Whether it counts for ResourceQuotas, as far as releases are concerned."""
    return not pod.released or not (pod.metadata.deletion_timestamp or stage_of(pod))


def holds_placement(pod: Pod) -> bool:
    """Whether it counts for PlacementQuotas, as far as releases are concerned."""
    return not pod.released or not (pod.metadata.deletion_timestamp or stage_of(pod) == BOUND)


def may_give(pod: Pod, to: Pod, stage: str) -> bool:
    """Whether a pod still holds what another that is CREATED or BOUND now would take: it was released, has not ended,
    is not to count again, and both have one controller."""
    if pod.finished or not pod.released or _returns(pod) or pod.metadata.uid == to.metadata.uid:
        return False
    mine, theirs = pod.metadata.controller, to.metadata.controller
    if mine is None or theirs is None or mine.uid != theirs.uid:
        return False
    return holds_quota(pod) if stage == CREATED else holds_placement(pod)


def _returns(pod: Pod) -> bool:
    """Its node is back, and its replacement goes."""
    return any(each.type == RELEASED and each.reason == RETURNED for each in pod.status.conditions)


def is_named_by(pod: Pod, other: Pod) -> bool:
    """Whether the other says that it replaces this one."""
    return other.metadata.annotations.get(REPLACES) == pod.metadata.uid


def note_handover(pod: Json, to: str, stage: str, now: float) -> Json:
    """The released pod, saying that its quota is another's now."""
    status = pod.get("status") or {}
    kept = [each for each in status.get("conditions") or () if each.get("type") != QUOTA_GIVEN]
    condition = {
        "type": QUOTA_GIVEN,
        "status": "True",
        "reason": stage,
        "message": f"pod {to} has its quota; it may still run, and keeps its room on the node",
        "lastTransitionTime": timestamp(now),
    }
    return {**pod, "status": {**status, "conditions": [*kept, condition]}}
