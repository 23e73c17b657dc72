"""The status of a ValidatingAdmissionPolicy: its expressions were checked when it was written, or it were not there.

What is doubtful about them is told there by `policies/type_checking.py`.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.model.kinds.admission.policies import VALIDATING


def _settle(attempt: Attempt) -> None:
    new = attempt.new
    assert new is not None
    generation = new["metadata"].get("generation") or 1
    new["status"] = {**(new.get("status") or {}), "observedGeneration": generation, "typeChecking": {}}


STEP = AdmissionStep(
    "AdmissionPolicyStatus",
    _settle,
    frozenset({"create", "update", "patch"}),
    frozenset({VALIDATING.resource}),
    subresources=True,
    does="says in the status that the expressions of the policy were checked",
)
