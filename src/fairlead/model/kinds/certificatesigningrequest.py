"""CertificateSigningRequest (certificates.k8s.io/v1): asks for a certificate, is approved by people or by rule, signed.

Read by `model/catalog.py`. Who asks is written by admission (`api/admission/certificates.py`), who may approve and sign
is judged in `api/access/certificate_rights.py`, and `runtime/server/certificate_signing.py` signs for the signers
below.
"""

from __future__ import annotations

import binascii
from base64 import b64decode

from fairlead.core.problems import Problems
from fairlead.core.times import human_duration, timestamp
from fairlead.model.cells import AGE, NONE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part

GROUP, VERSION = "certificates.k8s.io", "v1"
CLIENT, KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
_TYPES = (APPROVED, DENIED, FAILED)
SECONDS_MIN = 600
_BEGIN, _END = b"-----BEGIN CERTIFICATE REQUEST-----", b"-----END CERTIFICATE REQUEST-----"
_USAGES = frozenset(
    {
        "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
        "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
        "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
        "server auth", "signing", "timestamping",
    }
)  # fmt: skip


def is_true(request: Json, condition: str) -> bool:
    """Whether a condition of its status says so."""
    found = part(request, "status").get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in found)


def _defaults(request: Json) -> None:
    for condition in part(request, "status").get("conditions") or ():
        condition.setdefault("status", "True")


def _validate(request: Json, problems: Problems) -> None:
    spec = part(request, "spec")
    if not _is_armoured(str(spec.get("request") or "")):
        problems.invalid(
            "spec.request", "", "must be a certificate request in PEM (BEGIN CERTIFICATE REQUEST)"
        )
    signer = spec.get("signerName") or ""
    domain, slash, path = signer.partition("/")
    if not signer:
        problems.required("spec.signerName")
    elif not slash or not path or "." not in domain:
        problems.invalid("spec.signerName", signer, 'must be a domain and a name with "/" between them')
    usages = spec.get("usages") or ()
    if not usages:
        problems.required("spec.usages", "usages must not be empty")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            problems.unsupported(f"spec.usages[{index}]", usage, sorted(_USAGES))
    lasts = spec.get("expirationSeconds")
    if lasts is not None and lasts < SECONDS_MIN:
        problems.invalid(
            "spec.expirationSeconds", lasts, "may not specify a duration less than 600 seconds (10 minutes)"
        )


def _is_armoured(text: str) -> bool:
    try:
        data = b64decode(text, validate=True).strip()
    except (binascii.Error, ValueError):
        return False
    return data.startswith(_BEGIN) and data.endswith(_END)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    if new.get("spec") != old.get("spec"):
        problems.invalid("spec", "", "field is immutable: create another request")


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    conditions = part(new, "status").get("conditions") or ()
    for index, condition in enumerate(conditions):
        path = f"status.conditions[{index}]"
        if condition.get("type") not in _TYPES:
            problems.unsupported(f"{path}.type", condition.get("type") or "", _TYPES)
        if condition.get("status") != "True":
            problems.unsupported(f"{path}.status", condition.get("status") or "", ("True",))
    if is_true(new, APPROVED) and is_true(new, DENIED):
        problems.invalid("status.conditions", "", "Approved and Denied conditions are mutually exclusive")
    for condition in (APPROVED, DENIED, FAILED):
        if is_true(old, condition) and not is_true(new, condition):
            problems.forbidden("status.conditions", f"the condition {condition} may not be removed")
    certificate, before = part(new, "status").get("certificate"), part(old, "status").get("certificate")
    if before and certificate != before:
        problems.forbidden("status.certificate", "may not be changed once it was issued")
    if certificate and not is_true(new, APPROVED):
        problems.forbidden("status.certificate", "may not be issued to a request that is not approved")


def _condition(request: Json, now: float) -> Cell:
    found = [each.get("type") or "" for each in part(request, "status").get("conditions") or ()]
    if part(request, "status").get("certificate"):
        found.append("Issued")
    return ",".join(found) or "Pending"


def _duration(request: Json, now: float) -> Cell:
    lasts = part(request, "spec").get("expirationSeconds")
    return NONE if lasts is None else human_duration(lasts)


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    namespaced=False,
    schema="CertificateSigningRequest",
    short_names=("csr",),
    subresources=("status", "approval"),
    generation=False,
    columns=(
        AGE,
        Column("SignerName", lambda obj, now: part(obj, "spec").get("signerName") or ""),
        Column("Requestor", lambda obj, now: part(obj, "spec").get("username") or ""),
        Column("RequestedDuration", _duration),
        Column("Condition", _condition),
    ),
    selectable={"spec.signerName": lambda obj: str(part(obj, "spec").get("signerName") or "")},
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)


def condition_of(kind: str, reason: str, message: str, now: float) -> Json:
    at = timestamp(now)
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastUpdateTime": at,
        "lastTransitionTime": at,
    }
