"""The one builder of a world from given objects: the generator's, and a snapshot's.

    scenario_of(objects)   objects as the API shows them or as people write them, made at the start in the order given

Which controllers run and what they mirror follows from what there may be: of kinds that neither are given nor can
come of those that are, nobody lists anything, and whose controllers have nothing to look at. Everything else is
production's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from fairlead.control.leadership import LeadershipSettings
from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.generate.contract import Thing, thing_of
from fairlead.sim.generate.people import make
from fairlead.sim.scenario import Json, Scenario, ScenarioStep

# What controllers make of what there is.
_MADE: dict[str, tuple[str, ...]] = {
    "deployments.apps": ("replicasets.apps",),
    "replicasets.apps": ("pods",),
    "statefulsets.apps": ("pods", "controllerrevisions.apps"),
    "daemonsets.apps": ("pods", "controllerrevisions.apps"),
    "cronjobs.batch": ("jobs.batch",),
    "jobs.batch": ("pods",),
    "services": ("endpointslices.discovery.k8s.io",),
    "serviceaccounts": ("configmaps",),
    "scheduleroverrides.fairlead.dev": ("reservations.fairlead.dev",),
}
_ALWAYS = ("namespaces", "nodes", "pods", "leases.coordination.k8s.io")
# Whose objects a controller is about, where that is not the first resource it reads alone.
_ABOUT: dict[str, tuple[str, ...]] = {
    "progress": ("deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch"),
    "job-orphans": ("jobs.batch",),
    "scheduling-policy": ("schedulingpolicies.fairlead.dev", "planesettings.fairlead.dev"),
}
ALL_KINDS = frozenset(kind.resource for kind in CATALOG)


def scenario_of(
    objects: Sequence[Json | Thing], name: str = "given", steps: Iterable[ScenarioStep] = (), **more: Any
) -> Scenario:
    """`steps`: what people do besides; `more`: fields of the Scenario that are to be other than usual."""
    things = [each if isinstance(each, Thing) else thing_of(as_wanted(each)) for each in objects]
    made = tuple(make(0.1, thing) for thing in things)
    later = in_turn(steps)
    kinds = kinds_of((*(thing.resource for thing in things), *map(_resource, later)))
    if any(step.request.plural == "namespaces" and step.request.verb == "delete" for step in later):
        kinds |= {"events"}  # of which a namespace that goes must be emptied as well
    base = Scenario(
        name=name,
        steps=tuple(sorted((*made, *later), key=lambda step: step.at_seconds)),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=30.0,
        seconds_min=0.0,
        seconds_max=1_200.0,  # a rollout that hangs is late after 600, and who is refused tries again within 300 more
        quiet_seconds=50.0,  # longer than any back-off
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
        deciders=deciders_for(kinds),
        looks_ahead=True,
        # People do things at once and undo them: how much is made on the way, and what trace it leaves, is chance's.
        allowed=(HISTORY, MADE),
    )
    return replace(base, **more)


def in_turn(steps: Iterable[ScenarioStep]) -> tuple[ScenarioStep, ...]:
    """Steps of one lane at instants of their own, in the order given: which of several at one instant comes first is
    chance's."""
    last: dict[str, float] = {}
    found = []
    for step in steps:
        at = max(step.at_seconds, last.get(step.lane, 0.0) + 0.001) if step.lane else step.at_seconds
        last[step.lane] = at
        found.append(replace(step, at_seconds=round(at, 3)))
    return tuple(found)


def as_wanted(shown: Json) -> Json:
    """An object as somebody would ask for it: without what the API and controllers add, but for a Node's status."""
    dropped = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
    metadata = {key: value for key, value in shown["metadata"].items() if key not in dropped}
    kept = {key: value for key, value in shown.items() if key != "status" or shown["kind"] == "Node"}
    return {**kept, "metadata": metadata}


def kinds_of(given: Iterable[str]) -> frozenset[str]:
    """All resources that there may be objects of."""
    found: set[str] = set()
    wait = [*_ALWAYS, *given]
    while wait:
        resource = wait.pop()
        if resource not in found:
            found.add(resource)
            wait += _MADE.get(resource, ())
    return frozenset(found & (ALL_KINDS | {DEFINITIONS}))


@lru_cache(maxsize=128)
def deciders_for(kinds: frozenset[str]) -> Callable[[], tuple[Decider, ...]]:
    """The same function each time: scenarios that are made alike are equal."""
    return partial(_deciders, kinds)


def _deciders(kinds: frozenset[str]) -> tuple[Decider, ...]:
    """They keep nothing, so all planes may have the same ones; but where there are custom kinds, a list of those."""
    return _made(kinds) if DEFINITIONS in kinds else made_once(kinds)


def _made(kinds: frozenset[str]) -> tuple[Decider, ...]:
    catalog = Catalog(kind for kind in CATALOG if kind.resource in kinds)
    return tuple(each for each in default_deciders(catalog) if not kinds.isdisjoint(about(each)))


made_once = lru_cache(maxsize=128)(_made)


def about(decider: Decider) -> tuple[str, ...]:
    """The resources without which it has nothing to look at."""
    return _ABOUT.get(decider.name, (decider.reads[0].name,))


def _resource(step: ScenarioStep) -> str:
    request = step.request
    return f"{request.plural}.{request.group}" if request.group else request.plural
