"""Pod: containers that run together on one node. The kind everything else exists for.

This file joins the parts: defaults, validation, updates, columns and warnings each have a file of their own
here. Admission (service account, priority, tolerations, limit ranges) runs between `defaults` and
`validate`; what it changes in requests changes the QoS class, so whoever does that sets `status.qosClass`
by `qos_class` again.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.core.errors import Cause
from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.pod.columns import COLUMNS
from fairlead.model.kinds.pod.defaults import default_pod_spec
from fairlead.model.kinds.pod.resources import qos_class
from fairlead.model.kinds.pod.updates import validate_pod_status, validate_pod_update
from fairlead.model.kinds.pod.validation import validate_pod_spec
from fairlead.model.kinds.pod.warnings import annotation_warnings, pod_warnings
from fairlead.model.metadata import metadata_warnings
from fairlead.model.reasons import ADMITTED, GATED, owner_of
from fairlead.model.specs import KnownSpec, derived, spec_of

_GRACE_SECONDS = 30


def _defaults(pod: Json) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec, template=False)
    _default_status(pod)


def _default_status(pod: Json) -> None:
    status = pod.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    if not status.get("qosClass"):
        status["qosClass"] = qos_class(pod["spec"])
    if pod["spec"].get("schedulingGates"):
        _tell_gated(status)


def _tell_gated(status: Json) -> None:
    """From the first moment on, as in Kubernetes: the scheduler does not look at it."""
    conditions = status.get("conditions") or []
    if not any(each.get("type") == "PodScheduled" for each in conditions):
        text = "Scheduling is blocked due to non-empty scheduling gates"
        told = {"type": "PodScheduled", "status": "False", "reason": GATED, "message": text}
        status["conditions"] = [*conditions, {**told, "owner": owner_of(ADMITTED, GATED)}]


@derived
def _judged(known: KnownSpec) -> tuple[tuple[Cause, ...], tuple[str, ...]]:
    """Problems and warnings of a spec."""
    spec: Json = codec.decode(known.encoded)
    problems = Problems()
    validate_pod_spec(spec, "spec", problems)
    if spec.get("ephemeralContainers"):
        text = "cannot be set on create; ephemeral containers are added to a running pod"
        problems.forbidden("spec.ephemeralContainers", text)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    return tuple(problems.causes), tuple(pod_warnings({}, spec, "spec"))


def _known(pod: Json) -> KnownSpec:
    return spec_of("pods", codec.encode(pod.get("spec") or {}))


def _validate(pod: Json, problems: Problems) -> None:
    problems.extend(_judged(_known(pod))[0])


def _grace_seconds(pod: Json, asked_seconds: int | None) -> int:
    """A pod that no node knows, or that has ended, needs no time to stop."""
    spec: Json = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked_seconds is None:
        asked_seconds = spec.get("terminationGracePeriodSeconds", _GRACE_SECONDS)
    return asked_seconds if asked_seconds >= 0 else 1


def _warnings(pod: Json) -> list[str]:
    found = metadata_warnings(pod) + annotation_warnings(pod.get("metadata") or {}, "metadata.annotations")
    return found + list(_judged(_known(pod))[1])


def _spec(pod: Json, field: str) -> str:
    return (pod.get("spec") or {}).get(field) or ""


def _status(pod: Json, field: str) -> str:
    return (pod.get("status") or {}).get(field) or ""


def _addresses(pod: Json) -> str:
    return _status(pod, "podIP") or next(
        (entry.get("ip") or "" for entry in (pod.get("status") or {}).get("podIPs") or ()), ""
    )


KIND = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    namespaced=True,
    schema="Pod",
    shows_deleted=True,
    short_names=("po",),
    categories=("all",),
    subresources=("status", "binding", "eviction", "log"),
    columns=COLUMNS,
    defaults=_defaults,
    beside_spec=_default_status,
    validate=_validate,
    validate_update=validate_pod_update,
    validate_status=validate_pod_status,
    selectable={
        "spec.nodeName": lambda pod: _spec(pod, "nodeName"),
        "spec.restartPolicy": lambda pod: _spec(pod, "restartPolicy"),
        "spec.schedulerName": lambda pod: _spec(pod, "schedulerName"),
        "spec.serviceAccountName": lambda pod: _spec(pod, "serviceAccountName"),
        "spec.hostNetwork": lambda pod: "true" if _spec(pod, "hostNetwork") else "false",
        "status.phase": lambda pod: _status(pod, "phase"),
        "status.podIP": _addresses,
        "status.podIPs": _addresses,
        "status.nominatedNodeName": lambda pod: _status(pod, "nominatedNodeName"),
    },
    grace_seconds=_grace_seconds,
    warnings=_warnings,
)
