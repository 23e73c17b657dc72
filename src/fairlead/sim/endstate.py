"""What a run ended in, in a form that two runs can be compared by: counts, specs and statuses, without chance's traces.

Names that follow from the world (workloads, nodes) are compared as they are; pods, whose numbers depend on what
happened on the way, are counted by owner and state. Times, uids and revisions are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fairlead.api.claims import CLAIMS
from fairlead.model.service_views import ENDPOINT_SLICES
from fairlead.model.views import DEPLOYMENTS, JOBS, LEASES, PODS, REPLICASETS, RESERVATIONS
from fairlead.sim.checkers.contract import CommittedObjects

_REVISION = "deployment.kubernetes.io/revision"

# What there are and what they are called follows from uids and from entropy: claims of addresses, slices.
_CHANCES = frozenset({PODS.name, LEASES.name, "events", ENDPOINT_SLICES.name, CLAIMS})

# What a scenario may allow: ReplicaSets without pods and the number of a rollout. What was undone before a plane saw it
# leaves no trace.
HISTORY = "history"

EndState = dict[str, str]


def end_state(
    objects: CommittedObjects, *, loses_pods: bool = False, allowed: tuple[str, ...] = ()
) -> EndState:
    """One line per thing that must be the same. `loses_pods`: which finished pods are kept, and how
    many failed on the way, is chance's."""
    forgets = HISTORY in allowed
    lines: EndState = {}
    for key, view in objects.all():
        name = f"{key.resource}/{key.namespace}/{key.name}"
        if key.resource == DEPLOYMENTS.name:
            lines[name] = _deployment(view)
        elif key.resource == REPLICASETS.name:
            if view.spec.replicas or view.status.replicas or not forgets:
                lines[name] = _replicaset(view, forgets)
        elif key.resource == JOBS.name:
            lines[name] = _job(view, loses_pods)
        elif key.resource == RESERVATIONS.name:
            owner = view.spec.owner  # its uid, from which the name follows, is chance's
            lines[f"{key.resource} of {owner.kind} {owner.name} for {view.spec.intent}"] = view.status.phase
        elif key.resource not in _CHANCES:
            lines[name] = "is there"
    kept = (view for view in objects.of(PODS.name).values() if not (loses_pods and view.finished))
    pods = Counter(map(_pod, kept))
    for what, number in sorted(pods.items()):
        lines[f"pods: {what}"] = str(number)
    return lines


def difference(wanted: EndState, found: EndState) -> str:
    """The first few lines that differ; "" if none does."""
    told = [
        f"{name}: {found.get(name, 'nothing')} instead of {wanted.get(name, 'nothing')}"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ]
    more = f" (and {len(told) - 3} more)" if len(told) > 3 else ""
    return "; ".join(told[:3]) + more


def _deployment(view: Any) -> str:
    status = view.status
    return (
        f"wants {view.spec.replicas} of {_images(view)}, has {status.replicas}, updated {status.updated_replicas}, "
        f"ready {status.ready_replicas}, available {status.available_replicas}, {_conditions(status)}"
    )


def _replicaset(view: Any, forgets: bool) -> str:
    revision = "some" if forgets else view.metadata.annotations.get(_REVISION, "none")
    return (
        f"wants {view.spec.replicas} of {_images(view)}, has {view.status.replicas}, "
        f"ready {view.status.ready_replicas}, rollout {revision}"
    )


def _job(view: Any, loses_pods: bool) -> str:
    status = view.status
    failed = "some" if loses_pods else status.failed
    return f"active {status.active}, succeeded {status.succeeded}, failed {failed}, {_conditions(status)}"


def _pod(view: Any) -> str:
    owner = view.metadata.controller
    of = f"{owner.kind} {owner.name}" if owner is not None else "nobody"
    bound = "bound" if view.spec.node_name else "unbound"
    return f"of {of}, {view.status.phase}, {'ready' if view.ready else 'not ready'}, {bound}"


def _images(view: Any) -> str:
    containers = (view.spec.template.get("spec") or {}).get("containers") or ()
    return "+".join(str(each.get("image")) for each in containers)


def _conditions(status: Any) -> str:
    return ",".join(sorted(f"{each.type}={each.status}" for each in status.conditions)) or "no conditions"
