"""Conditions of pods that only the plane writes: that a pod was released, and that its quota is another's.

A release lets its owner make another pod on the same quota, so whoever could write it could make quota: not the pod's
node, which writes all else of its status, and nobody else either. Setting or changing such a condition is refused;
leaving it out, as a client does that sends the conditions it knows of, takes nothing away: what stands there stays.
People say that nothing of a node runs any more by a taint, which names them (docs/concepts/node-failure.md).
"""

from __future__ import annotations

from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.model.kind import Json
from fairlead.model.marks import OUT_OF_SERVICE, PLANE_CONDITIONS

PLANE = "system:fairlead"  # its controllers are users whose names begin so


def is_plane(user: User) -> bool:
    return MASTERS in user.groups and (user.name == PLANE or user.name.startswith(f"{PLANE}:"))


def _admit(attempt: Attempt) -> None:
    new, user = attempt.new, attempt.context.user
    if new is None or is_plane(user):
        return
    before, after = _ours(attempt.old), _ours(new)
    if before == after:
        return
    fresh = sorted({each["type"] for each in after if each not in before or len(after) > len(before)})
    if fresh:
        which = ", ".join(fresh)
        raise attempt.forbidden(
            f'status.conditions: {which} is written by the plane alone, not by "{user.name}"; to say that nothing of a'
            f" node runs any more: kubectl taint node NODE {OUT_OF_SERVICE}=confirmed:NoExecute"
        )
    kept = [each for each in before if each not in after]
    status = new.get("status") or {}
    new["status"] = {**status, "conditions": [*(status.get("conditions") or ()), *kept]}


def _ours(pod: Json | None) -> list[Json]:
    conditions = ((pod or {}).get("status") or {}).get("conditions") or ()
    return [each for each in conditions if each.get("type") in PLANE_CONDITIONS]


STEP = AdmissionStep(
    "PlaneConditions",
    _admit,
    frozenset({"create", "update", "patch"}),
    frozenset({"pods"}),
    subresources=True,
    does="refuses that anybody but the plane says that a pod was released, or gave its quota away",
)
