"""A pod's priorityClassName becomes the number the scheduler compares (spec.priority, preemptionPolicy)."""

from __future__ import annotations

from fairlead.api.admission.step import Step
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import Forbidden
from fairlead.model.kind import Json
from fairlead.store.contract import Key

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
            raise _forbidden(
                attempt,
                f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name",
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
            raise _forbidden(
                attempt,
                f"no PriorityClass with name {name} was found; kubectl get priorityclasses lists those that exist",
            )
        return tree(entry)
    defaults = [tree(entry) for entry in attempt.read.list(CLASSES) if b'"globalDefault":true' in entry.data]
    # Several global defaults can exist for a moment; the lowest is the one that surprises least.
    return min(defaults, key=lambda c: (c["value"], c["metadata"]["name"]), default=None)


def _forbidden(attempt: Attempt, why: str) -> Forbidden:
    name = attempt.key.name
    return Forbidden(f'pods "{name}" is forbidden: {why}', kind="pods", name=name)


STEP = Step("Priority", _admit, frozenset({"create", "update", "patch"}), frozenset({"pods"}))
