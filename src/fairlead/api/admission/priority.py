"""A pod's priorityClassName becomes the number the scheduler compares (spec.priority, preemptionPolicy)."""

from __future__ import annotations

from fairlead.api.admission.step import Step
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import Forbidden
from fairlead.model.kind import Json
from fairlead.store.contract import Key

CLASSES = "priorityclasses.scheduling.k8s.io"


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    chosen = _class_for(attempt, spec.get("priorityClassName", ""))
    if chosen is None:
        spec["priority"] = 0
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        return
    value = chosen["value"]
    if spec.get("priority", value) != value:
        raise Forbidden(
            f'pods "{attempt.key.name}" is forbidden: the integer value of priority ({spec["priority"]}) must not be '
            f"provided in pod spec; priority admission controller computed {value} from the given PriorityClass name",
            kind="pods",
            name=attempt.key.name,
        )
    spec["priorityClassName"] = chosen["metadata"]["name"]
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))


def _class_for(attempt: Attempt, name: str) -> Json | None:
    if name:
        entry = attempt.read.get(Key(CLASSES, "", name))
        if entry is None:
            raise Forbidden(
                f'pods "{attempt.key.name}" is forbidden: no PriorityClass with name {name} was found; '
                "kubectl get priorityclasses lists those that exist",
                kind="pods",
                name=attempt.key.name,
            )
        return tree(entry)
    defaults = [tree(entry) for entry in attempt.read.list(CLASSES) if b'"globalDefault":true' in entry.data]
    # Several global defaults can exist for a moment; the lowest is the one that surprises least.
    return min(defaults, key=lambda c: (c["value"], c["metadata"]["name"]), default=None)


STEP = Step("Priority", _admit, frozenset({"create"}), frozenset({"pods"}))
