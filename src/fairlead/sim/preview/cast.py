"""Which controllers of production have anything to do in a world: a kind of which there is no object, and of which
nobody will make one, needs no mirror and no controller. On ten thousand pods that is a third of the time."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    CRONJOBS,
    DAEMONSETS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
)

# Controllers make these, or rest on them.
_ALWAYS = frozenset(each.name for each in (PODS, NODES, NAMESPACES, LEASES, REPLICASETS))
# Where there is the first, the others will be.
_FOLLOWS = {
    CRONJOBS.name: (JOBS.name,),
    DAEMONSETS.name: (CONTROLLER_REVISIONS.name,),
    STATEFULSETS.name: (CONTROLLER_REVISIONS.name,),
    "services": ("endpointslices.discovery.k8s.io",),
}
_TELLS_ONLY = frozenset({"progress"})  # writes for people to read, seconds later; nobody decides on it
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
    return tuple(
        each
        for each in default_deciders(kinds)
        if each.name not in _TELLS_ONLY and _NEEDS.get(each.name, each.reads[0].name) in there
    )
