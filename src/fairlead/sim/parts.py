"""What the simulated plane is made of, as factories by name, so that a plant can replace one of them.

    deciders   () -> tuple of Deciders
    plane      (identity, deciders, scheduler) -> Plane; with capabilities after them where those are not complete
    queue      (settings, reorders, likely) -> WorkQueue, of each controller (`processes/queues.py`)
    scheduler  the class of the scheduler, a Placer
    nodes      (prefix) -> the Decider that plays the nodes with this prefix
    api        (desk, tokens) -> Api, of the server
    store      (recovered, journal) -> Store, of the server
    agent      (settings, pace) -> Agent, of a node with a machine of its own
    link       the class of the way between a plane and the server, a Link

A plant is a function that takes this dict and returns it changed; `load_plant` finds one by its import path.
Production code carries no switch for any of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.agent.machine import Agent
from fairlead.api.server import Api
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.core.errors import UsageError
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.sim.network import Link
from fairlead.sim.processes.queues import DrawnQueue
from fairlead.store.machine import Store

# No world has objects of these that are owned: mirrors of them would be of no use, and every restart would fill them.
_ABSENT = frozenset(
    {
        "configmaps",
        "customresourcedefinitions.apiextensions.k8s.io",
        "endpointslices.discovery.k8s.io",
        "horizontalpodautoscalers.autoscaling",
        "limitranges",
        "priorityclasses.scheduling.k8s.io",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
        "services",
    }
)
_KINDS = Catalog(kind for kind in CATALOG if kind.resource not in _ABSENT)

Parts = dict[str, Callable[..., Any]]
Plant = Callable[[Parts], Parts]


def default_parts(
    *more: Callable[[], Decider], deciders: Callable[[], tuple[Decider, ...]] | None = None
) -> Parts:
    """`more`: controllers that the world needs as well; `deciders`: the others, if they are not those of production.
    One of a name: a plane tells its controllers apart by that."""
    usual = deciders or usual_deciders

    def all_deciders() -> tuple[Decider, ...]:
        found = usual()
        known = {each.name for each in found}
        return (*found, *(each for each in (make() for make in more) if each.name not in known))

    return {
        "deciders": all_deciders,
        "plane": Plane,
        "queue": DrawnQueue,
        "scheduler": Placer,
        "nodes": hollow_decider,
        "api": Api,
        "store": Store,
        "agent": Agent,
        "link": Link,
    }


@cache
def usual_deciders() -> tuple[Decider, ...]:
    """Where there are no custom kinds they keep nothing, so all planes may have the same ones."""
    return default_deciders(_KINDS)


def replacing(**given: Any) -> Plant:
    """A plant that puts these in the place of the sound ones."""
    return lambda parts: {**parts, **given}


def load_plant(path: str) -> Plant:
    """`PACKAGE.MODULE:NAME`"""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise UsageError(f'"{path}" is no plant: name a function as PACKAGE.MODULE:NAME')
    try:
        found: Plant = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f'the plant "{path}" cannot be loaded: {error}') from None
    return found
