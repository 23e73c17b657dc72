"""Which controllers of production have anything to do in a world: a kind of which there is no object, and of which
nobody will make one, needs no mirror and no controller. On ten thousand pods that is a third of the time."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.views import CONTROLLER_REVISIONS, JOBS, LEASES, NAMESPACES, NODES, PODS, REPLICASETS

# Controllers make these, or rest on them.
_ALWAYS = frozenset(
    each.name for each in (PODS, NODES, NAMESPACES, LEASES, REPLICASETS, JOBS, CONTROLLER_REVISIONS)
)
# Where there is the first, the second will be.
_FOLLOWS = {"services": "endpointslices.discovery.k8s.io"}
_OF_SEVERAL = frozenset({"progress"})  # whose keys are of several kinds, not of the first that it reads


def kinds_present(resources: Iterable[str]) -> Catalog:
    """`resources`: of what there is, and of what the change brings."""
    found = _ALWAYS | frozenset(resources)
    found |= {_FOLLOWS[each] for each in found if each in _FOLLOWS}
    if DEFINITIONS in found:
        return CATALOG  # objects of any kind may be about to come
    return Catalog(kind for kind in CATALOG if kind.resource in found)


def cast_of(kinds: Catalog) -> tuple[Decider, ...]:
    """Those who can have a key."""
    there = {kind.resource for kind in kinds}
    return tuple(
        each for each in default_deciders(kinds) if each.reads[0].name in there or each.name in _OF_SEVERAL
    )
