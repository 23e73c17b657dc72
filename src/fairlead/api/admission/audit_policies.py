"""The status of the AuditPolicy and of the RecordingPolicy, settled with each write of it: it is followed from this
commit on, by planes as soon as they see it.

Nobody else writes it, but for the counts of records, which are the plane's (`runtime/server/record_counts.py`). What
validation lets pass is followed (`api/audit/in_force.py`); what another version wrote and this one does not understand
is shown as such when it is read (`model/kinds/auditpolicy.py`).
"""

from __future__ import annotations

from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds import auditpolicy, recordingpolicy
from fairlead.model.kinds.auditpolicy import IN_FORCE
from fairlead.model.kinds.recordingpolicy import RECORDS


def _settle(attempt: Attempt) -> None:
    new, old = attempt.new, attempt.old
    assert new is not None
    generation = new["metadata"].get("generation") or 1
    condition: Json = {
        "type": IN_FORCE,
        "status": "True",
        "reason": "Followed",
        "message": "its rules are asked before the built-in ones",
        "observedGeneration": generation,
    }
    known = ((old or {}).get("status") or {}).get("conditions") or ()
    before: Json = next((each for each in known if each.get("type") == IN_FORCE), {})
    same = before.get("status") == condition["status"] and before.get("lastTransitionTime")
    condition["lastTransitionTime"] = same or timestamp(attempt.context.now)
    teller = new if is_plane(attempt.context.user) else old or {}
    counts = (teller.get("status") or {}).get(RECORDS)
    new["status"] = {"observedGeneration": generation, "conditions": [condition]}
    if counts:
        new["status"][RECORDS] = counts


STEP = AdmissionStep(
    "AuditPolicyStatus",
    _settle,
    frozenset({"create", "update", "patch"}),
    frozenset({auditpolicy.KIND.resource, recordingpolicy.KIND.resource}),
    subresources=True,
    does="says in the status that the policy is followed from this write on",
)
