"""Pods stay five minutes on a node that is not ready or out of reach, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.model.kind import Json

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    tolerations: list[Json] = spec.get("tolerations") or []
    missing: Iterable[str] = _TAINTS
    if tolerations:
        missing = [key for key in _TAINTS if not any(_tolerates(each, key) for each in tolerations)]
    if missing:
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for key in missing
        ]
        spec["tolerations"] = tolerations + added


def _tolerates(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


STEP = AdmissionStep(
    "DefaultTolerationSeconds",
    _admit,
    frozenset({"create"}),
    frozenset({"pods"}),
    of_spec=(),
    does="lets a pod stay five minutes on a node that is not ready or out of reach",
)
