"""Who approves a SchedulerOverride, and who may write its status at all. A step of `steps.py`.

A second person says yes to one that reaches further than one should alone; who that is is stamped, and nothing else
changes with it. The rest of the status is the plane's.
"""

from __future__ import annotations

from fairlead.api.access.users import IMPERSONATED_BY
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.attempt import Attempt
from fairlead.core.times import parse_time, timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds import scheduleroverride as kinds

STAMPED = ("expiresAt", "requestedBy", "approval", "priority")  # by the server, whatever is sent


def admit_approval(attempt: Attempt) -> None:
    """Who approves is stamped, and is not who asked. Everything else of the status is the plane's."""
    new, old, user = attempt.new, attempt.old, attempt.context.user
    if new is None or old is None:
        return
    for field in (*STAMPED, "owner", "preview"):
        # Who sends the whole object again need not know what was stamped.
        if field in (old.get("spec") or {}) and field not in (new.get("spec") or {}):
            new["spec"] = {**(new.get("spec") or {}), field: old["spec"][field]}
    if is_plane(user):  # one in a process of its own acts as its controllers
        if _approved(new.get("status") or {}) != _approved(old.get("status") or {}):
            as_oneself(attempt, "an approval")
        _check_raised(attempt, new)
        return
    if attempt.subresource:
        _keep_metadata(new, old)
    status, before = new.get("status") or {}, old.get("status") or {}
    if status == before:
        return
    said = _approved(status)
    if said == _approved(before):
        raise attempt.forbidden(
            f'status is written by the plane alone, not by "{user.name}"; to approve: fairlead override approve'
        )
    if said is None or said.get("status") != "True":
        raise attempt.forbidden(
            f'{kinds.APPROVED} is "True" or is not said, and cannot be taken back: else leave it as it is'
        )
    spec = old.get("spec") or {}
    if not spec.get("approval"):
        raise attempt.forbidden("nobody has to approve this one: it holds already")
    if parse_time(spec["expiresAt"]) <= attempt.context.now:
        raise attempt.forbidden(f"it ended at {spec['expiresAt']}")
    if user.name == spec.get("requestedBy"):
        raise attempt.forbidden(
            f'"{user.name}" asked for it: somebody else has to approve it ({spec["approval"]})'
        )
    as_oneself(attempt, spec["approval"])
    approved: Json = {
        "type": kinds.APPROVED,
        "status": "True",
        "reason": "Approved",
        "message": f"by {user.name}",
        "lastTransitionTime": timestamp(attempt.context.now),
    }
    others = [each for each in before.get("conditions") or () if each.get("type") != kinds.APPROVED]
    new["status"] = {**before, "conditions": [*others, approved]}


def as_oneself(attempt: Attempt, why: str) -> None:
    """Who may act as others could be both persons. A run of a runbook acts as who created it, and nobody else, unless
    it was created by somebody who had taken that name."""
    acting, user = attempt.context.impersonator, attempt.context.user
    is_taken = acting is not None and not is_plane(acting)
    if is_taken or any(key == IMPERSONATED_BY for key, _ in user.extra):
        told = "asked for and approved under one's own name, not as somebody else"
        raise attempt.forbidden(f"what needs a second person is {told} ({why})")


def _keep_metadata(new: Json, old: Json) -> None:
    """Who may approve may not say by the way whose the override is, what keeps it, or what it is called."""
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        new["metadata"].pop(field, None)
        if field in old["metadata"]:
            new["metadata"][field] = old["metadata"][field]


def _check_raised(attempt: Attempt, new: Json) -> None:
    """No more at a time than it allows, whoever leads."""
    raised = (new.get("status") or {}).get("raised") or ()
    most = ((new.get("spec") or {}).get("changes") or {}).get("priorityReplicas") or 0
    if len(raised) > most:
        raise attempt.forbidden(f"it raises {most} replicas at a time, and {len(raised)} are named")


def _approved(status: Json) -> Json | None:
    return next((each for each in status.get("conditions") or () if each.get("type") == kinds.APPROVED), None)
