"""StatefulSets that bring claims are refused as they come: nothing here serves PersistentVolumeClaims yet.

A pod that refers to a claim could never be made. A set that was stored before may still be changed and deleted.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.status import invalid
from fairlead.core.problems import Problems

_FIELD = "spec.volumeClaimTemplates"


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    if not (attempt.new.get("spec") or {}).get("volumeClaimTemplates"):
        return
    problems = Problems()
    text = "PersistentVolumeClaims are not served here: leave it out and give spec.template.spec.volumes an emptyDir"
    problems.forbidden(_FIELD, f"{text}, which lives as long as its pod")
    raise invalid(attempt.kind, attempt.key.name, problems)


STEP = AdmissionStep(
    "ClaimsOfSets",
    _admit,
    frozenset({"create"}),
    frozenset({"statefulsets.apps"}),
    does="a StatefulSet with `volumeClaimTemplates` is refused: claims are not served",
)
