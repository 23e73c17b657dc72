"""Which controllers of production have anything to do in a world: a kind of which there is no object, and of which
nobody will make one, needs no mirror and no controller. On ten thousand pods that is a third of the time."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import (
    AUTOSCALERS,
    CONTROLLER_REVISIONS,
    CRONJOBS,
    DAEMONSETS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    OVERRIDES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    STATEFULSETS,
)
from fairlead.model.views.runbooks import RUNBOOK_RUNS

# Controllers make these, or rest on them.
_ALWAYS = frozenset(each.name for each in (PODS, NODES, NAMESPACES, LEASES, REPLICASETS))
# Whose controllers take note of an override, or do what it asks for.
_HEED = (OVERRIDES.name, RESERVATIONS.name, AUTOSCALERS.name, SERVICES.name, ENDPOINT_SLICES.name)
# Where there is the first, the others will be.
_FOLLOWS = {
    CRONJOBS.name: (JOBS.name,),
    DAEMONSETS.name: (CONTROLLER_REVISIONS.name,),
    STATEFULSETS.name: (CONTROLLER_REVISIONS.name,),
    RUNBOOK_RUNS.name: _HEED,
    OVERRIDES.name: _HEED,
    SERVICES.name: (ENDPOINT_SLICES.name,),
}
# Writes for people to read, seconds later. Nobody decides on it but runs of runbooks, which may read it as people do.
_TELLS_ONLY = frozenset({"progress"})
_NEEDS = {
    "job-orphans": JOBS.name
}  # whose keys are of a kind that there always is, and that also needs another


def kinds_present(resources: Iterable[str]) -> Catalog:
    """`resources`: of what there is, and of what the change brings."""
    found = _ALWAYS | frozenset(resources)
    found |= {more for each in found for more in _FOLLOWS.get(each, ())}
    if DEFINITIONS in found:
        return CATALOG  # objects of any kind may be about to come
    return Catalog(kind for kind in CATALOG if kind.resource in found)


def cast_of(kinds: Catalog) -> tuple[Decider, ...]:
    """Those who can have a key."""
    there = {kind.resource for kind in kinds}
    idle = frozenset[str]() if RUNBOOK_RUNS.name in there else _TELLS_ONLY
    return tuple(
        each
        for each in default_deciders(kinds)
        if each.name not in idle and _NEEDS.get(each.name, each.reads[0].name) in there
    )


def absent_from(kinds: Catalog) -> frozenset[str]:
    """Controllers of production that have no object to look at: none of theirs meets a change."""
    there = {kind.resource for kind in kinds}
    return frozenset(
        each.name
        for each in default_deciders(CATALOG)
        if _NEEDS.get(each.name, each.reads[0].name) not in there
    )
