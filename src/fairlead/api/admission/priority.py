"""A pod's priorityClassName becomes the number the scheduler compares (spec.priority, preemptionPolicy).

Of the classes one at most is the default of pods that name none.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import lifted_by
from fairlead.model.key import Key
from fairlead.model.kind import Json

_PREEMPTS = "PreemptLowerPriority"
CLASSES = "priorityclasses.scheduling.k8s.io"


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    if attempt.old is not None:
        _keep(spec, attempt.old["spec"])
        return
    chosen = _class_for(attempt, spec.get("priorityClassName", ""))
    value, policy = 0, _PREEMPTS
    if chosen is not None:
        spec["priorityClassName"] = chosen["metadata"]["name"]
        value, policy = chosen["value"], chosen.get("preemptionPolicy", _PREEMPTS)
    for field, what, computed in (
        ("priority", "integer value of priority", value),
        ("preemptionPolicy", "string value of PreemptionPolicy", policy),
    ):
        given = spec.setdefault(field, computed)
        if given != computed:
            raise attempt.forbidden(
                f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name",
                lifted_by(CLASSES, "", spec.get("priorityClassName", ""), f"have it say {given}"),
            )


def _keep(spec: Json, before: Json) -> None:
    """An update that leaves out what admission filled in at the create means to leave it as it is."""
    for field in ("priority", "preemptionPolicy"):
        if field in before:
            spec.setdefault(field, before[field])


def _class_for(attempt: Attempt, name: str) -> Json | None:
    if name:
        entry = attempt.read.get(Key(CLASSES, "", name))
        if entry is None:
            raise attempt.forbidden(
                f"no PriorityClass with name {name} was found; kubectl get priorityclasses lists those that exist",
                lifted_by(CLASSES, "", name, "create it"),
            )
        return tree(entry)
    # Two that were written at the same moment can both be defaults; the lower is the one that surprises less.
    found = _defaults(attempt)
    return min(found, key=lambda c: (c["value"], c["metadata"]["name"])) if found else None


def _defaults(attempt: Attempt) -> list[Json]:
    # The bytes are searched before they are decoded: pods are created often, and defaults are few.
    found = [tree(entry) for entry in attempt.read.list(CLASSES) if b'"globalDefault":true' in entry.data]
    return [each for each in found if each.get("globalDefault")]


def _admit_class(attempt: Attempt) -> None:
    if attempt.new is None or not attempt.new.get("globalDefault"):
        return
    for other in _defaults(attempt):
        name = other["metadata"]["name"]
        if name != attempt.key.name:
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise attempt.forbidden(why)


_WRITES = frozenset({"create", "update", "patch"})
CLASS_STEP = AdmissionStep(
    "PriorityDefault", _admit_class, _WRITES, frozenset({CLASSES}), does="one class at most is the default"
)
STEP = AdmissionStep(
    "Priority",
    _admit,
    _WRITES,
    frozenset({"pods"}),
    of_spec=(CLASSES,),
    does="the name of a class becomes a number",
)
