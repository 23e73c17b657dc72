"""Whether at most one of a pod may run is sealed when it is bound to a node.

Its supervisor was started with a deadline, or without one, by what the pod said then; the plane replaces the pod by
what it says now (`model/at_most_one.py`). So the annotation may not change after the binding, and neither may the
controlling owner where it makes the difference: one of a pod of which at most one may run stays, and no StatefulSet
comes to be one. The plane's own controllers orphan and adopt (a StatefulSet that is deleted without its pods): a pod
that comes under the rule so has no deadline in its status, and is released by a person only.
"""

from __future__ import annotations

from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.status import invalid
from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.marks import AT_MOST_ONE

_STATEFULSET = "StatefulSet"
_WHY = "may not change after the pod was bound to a node: delete the pod, its owner makes another"


def _admit(attempt: Attempt) -> None:
    old, new = attempt.old, attempt.new
    if old is None or new is None or not (old.get("spec") or {}).get("nodeName"):
        return
    problems = Problems()
    before, after = _annotation(old), _annotation(new)
    if before != after:
        problems.forbidden(f"metadata.annotations[{AT_MOST_ONE}]", _WHY)
    held, wanted = _controller(old), _controller(new)
    sealed = before == "true" or _STATEFULSET in (held.get("kind"), wanted.get("kind"))
    if sealed and held.get("uid") != wanted.get("uid") and not is_plane(attempt.context.user):
        problems.forbidden("metadata.ownerReferences", f"the controlling owner {_WHY}")
    if problems:
        raise invalid(attempt.kind, attempt.key.name, problems)


def _annotation(pod: Json) -> str | None:
    found: str | None = (pod["metadata"].get("annotations") or {}).get(AT_MOST_ONE)
    return found


def _controller(pod: Json) -> Json:
    return next((each for each in pod["metadata"].get("ownerReferences") or () if each.get("controller")), {})


STEP = AdmissionStep(
    "SealedPods",
    _admit,
    frozenset({"update", "patch"}),
    frozenset({"pods"}),
    subresources=True,
    does="refuses to change, after the binding, whether at most one of a pod may run",
)
