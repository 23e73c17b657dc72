"""Who asks for a certificate is written by the server, whatever the request says of it."""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.model.kinds.certificatesigningrequest import KIND


def _stamp(attempt: Attempt) -> None:
    assert attempt.new is not None
    user = attempt.context.user
    spec = attempt.new["spec"] = {
        key: value
        for key, value in (attempt.new.get("spec") or {}).items()
        if key not in ("username", "uid", "groups", "extra")
    }
    spec["username"] = user.name
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra}


STEP = AdmissionStep(
    "CertificateSubject",
    _stamp,
    frozenset({"create"}),
    frozenset({KIND.resource}),
    does="who asks for a certificate is written into the request",
)
