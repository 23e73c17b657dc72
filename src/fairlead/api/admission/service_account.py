"""Pods that name no service account run as `default`, as clients expect to read back."""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec = attempt.new["spec"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name


STEP = AdmissionStep("ServiceAccount", _admit, frozenset({"create"}), frozenset({"pods"}), of_spec=())
