"""What a run ended in, in a form that two runs can be compared by: counts, specs and statuses, without chance's traces.

Names that follow from the world (workloads, nodes) are compared as they are; pods, whose numbers depend on what
happened on the way, are counted by owner and state. Times, uids and revisions are left out. What was made on the way is
compared as well: of nothing may more be made than without faults (`counts.py`), Fewer is
allowed: people change their minds, and a plane that was away meanwhile does only what is left to do.

All other differences are strict but for those that a scenario states (`Scenario.allowed`), by a name from `ALLOWED`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import structs

from fairlead.api.claims import CLAIMS
from fairlead.model.marks import TEMPLATE_HASH
from fairlead.model.service_views import ENDPOINT_SLICES
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
)
from fairlead.reconcile.deployment.history import template_hash
from fairlead.sim.checkers.contract import CommittedObjects
from fairlead.sim.counts import Counts
from fairlead.sim.scenario import Scenario

_REVISION = "deployment.kubernetes.io/revision"

# What there are and what they are called follows from uids and from entropy: claims of addresses, slices.
_CHANCES = frozenset({PODS.name, LEASES.name, "events", ENDPOINT_SLICES.name, CLAIMS})

FINISHED_PODS, HISTORY, MADE = "finished-pods", "history", "made"
ALLOWED = {
    FINISHED_PODS: "which finished pods are kept, and how many failed: nodes are lost, and their pods with"
    " them; or a Job is suspended as its pods end",
    HISTORY: "ReplicaSets without pods, ControllerRevisions, the number of a rollout, that a Job was suspended, that"
    " the name of a Deployment's set was taken: what was undone before a plane saw it leaves no trace",
    MADE: "how much is made on the way: pods are lost or evicted for others, a clock says when, the store forgets, or"
    " the API judges no premises",
}

EndState = dict[str, str]

_REPAIRED = "RepairComplete"


def allowed_in(scenario: Scenario) -> frozenset[str]:
    """What a scenario states, and what follows from its nodes, which are lost, and from an API that judges no premises,
    which carries out what was decided for an owner that is gone."""
    of_nodes = (FINISHED_PODS, MADE) if scenario.nodes else ()
    return frozenset((*scenario.allowed, *of_nodes, *(() if scenario.capabilities.fencing else (MADE,))))


def end_state(objects: CommittedObjects, allowed: frozenset[str] = frozenset()) -> EndState:
    """One line per thing that must be the same."""
    loses_pods, forgets = FINISHED_PODS in allowed, HISTORY in allowed
    lines: EndState = {}
    renamed = _untaken_names(objects) if forgets else {}
    for key, view in objects.all():
        name = f"{key.resource}/{key.namespace}/{renamed.get(view.metadata.uid, key.name)}"
        if key.resource == DEPLOYMENTS.name:
            lines[name] = _deployment(view)
        elif key.resource == REPLICASETS.name:
            if view.spec.replicas or view.status.replicas or not forgets:
                line = _replicaset(view, forgets)
                lines[name] = f"{lines[name]}; another {line}" if name in lines else line
        elif key.resource == JOBS.name:
            lines[name] = _job(view, loses_pods, forgets)
        elif key.resource == RESERVATIONS.name:
            owner = view.spec.owner  # its uid, from which the name follows, is chance's
            lines[f"{key.resource} of {owner.kind} {owner.name} for {view.spec.intent}"] = view.status.phase
        elif key.resource not in _CHANCES and not (forgets and key.resource == CONTROLLER_REVISIONS.name):
            lines[name] = "is there"
    kept = (view for view in objects.of(PODS.name).values() if not (loses_pods and view.finished))
    pods = Counter(_pod(view, renamed) for view in kept)
    for what, number in sorted(pods.items()):
        lines[f"pods: {what}"] = str(number)
    return lines


def made_too_much(calm: Counts, found: Counts, allowed: frozenset[str] = frozenset()) -> str:
    """What was made more often than without faults, and was removed again, or not; "" if nothing was."""
    for what, (made, gone) in found.items():
        wanted, went = calm.get(what, (0, 0))
        if made > wanted and MADE not in allowed:
            return f"{made} {what} were made and {gone} removed, and without faults {wanted} and {went}"
    return ""


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


def _job(view: Any, loses_pods: bool, forgets: bool) -> str:
    status = view.status
    if forgets:
        seen = tuple(each for each in status.conditions if each.type != "Suspended" or each.status == "True")
        status = structs.replace(status, conditions=seen)
    failed = "some" if loses_pods else status.failed
    return f"active {status.active}, succeeded {status.succeeded}, failed {failed}, {_conditions(status)}"


def _untaken_names(objects: CommittedObjects) -> dict[str, str]:
    """By uid, sets of Deployments as they are called while nobody has that name. One that is deleted and made again
    meets the set of the one before it or does not, and has another name for its own if it does."""
    found: dict[str, str] = {}
    for view in objects.of(REPLICASETS.name).values():
        owner = view.metadata.controller
        if owner is None or owner.kind != DEPLOYMENTS.kind:
            continue
        template = view.spec.template
        metadata = template.get("metadata") or {}
        labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
        plain = {**template, "metadata": {**metadata, "labels": labels}}
        found[view.metadata.uid] = f"{owner.name}-{template_hash(plain, 0)}"
    return found


def _pod(view: Any, renamed: dict[str, str]) -> str:
    owner = view.metadata.controller
    of = f"{owner.kind} {renamed.get(owner.uid, owner.name)}" if owner is not None else "nobody"
    bound = "bound" if view.spec.node_name else "unbound"
    return f"of {of}, {view.status.phase}, {'ready' if view.ready else 'not ready'}, {bound}"


def _images(view: Any) -> str:
    containers = (view.spec.template.get("spec") or {}).get("containers") or ()
    return "+".join(str(each.get("image")) for each in containers)


def _conditions(status: Any) -> str:
    """Whether there was something to repair is a matter of faults: what repair tells of its end is no part of it."""
    told = [f"{each.type}={each.status}" for each in status.conditions if each.type != _REPAIRED]
    return ",".join(sorted(told)) or "no conditions"
