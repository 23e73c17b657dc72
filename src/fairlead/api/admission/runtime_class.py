"""A pod's runtimeClassName brings the class's overhead, node selector and tolerations with it, as in Kubernetes.

The class must exist; what the pod says itself may not contradict it; an overhead without a class is refused.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import Cause, Forbidden, lifted_by
from fairlead.model.key import Key
from fairlead.model.kind import Json

CLASSES = "runtimeclasses.node.k8s.io"


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    name = spec.get("runtimeClassName") or ""
    if not name:
        if spec.get("overhead"):
            raise _rejected(attempt, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
        return
    entry = attempt.read.get(Key(CLASSES, "", name))
    if entry is None:
        cause = lifted_by(CLASSES, "", name, "create it")
        raise _rejected(attempt, f'RuntimeClass "{name}" not found', cause)
    found = tree(entry)
    _set_overhead(attempt, spec, (found.get("overhead") or {}).get("podFixed") or {})
    _set_placement(attempt, spec, found.get("scheduling") or {})


def _set_overhead(attempt: Attempt, spec: Json, fixed: Json) -> None:
    given = spec.get("overhead")
    if given and given != fixed:
        raise _rejected(attempt, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if fixed:
        spec["overhead"] = dict(fixed)


def _set_placement(attempt: Attempt, spec: Json, scheduling: Json) -> None:
    wanted: Json = scheduling.get("nodeSelector") or {}
    given: Json = spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if given.get(key, value) != value:
            said = f"spec.nodeSelector[{key}] is {given[key]}, and the RuntimeClass wants {value}"
            raise _rejected(attempt, f"conflict: {said}")
    if wanted:
        spec["nodeSelector"] = {**given, **wanted}
    more = [
        each for each in scheduling.get("tolerations") or () if each not in (spec.get("tolerations") or ())
    ]
    if more:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *more]


def _rejected(attempt: Attempt, why: str, *causes: Cause) -> Forbidden:
    return attempt.forbidden(f"pod rejected: {why}", *causes)


STEP = AdmissionStep(
    "RuntimeClass",
    _admit,
    frozenset({"create"}),
    frozenset({"pods"}),
    of_spec=(CLASSES,),
    does="the class of a pod brings its overhead, node selector and tolerations",
)
