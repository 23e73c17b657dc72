"""What small worlds are made of: a few controllers of production and the kinds that these need, and no others.

A run costs what its planes mirror and write. With one workload, the controllers that care for it and a node that is
played, a run takes a few hundredths of a second, and faults can be so frequent that most writes meet one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from fairlead.control.leadership import LeadershipSettings
from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create

# Shorter than a watch may lag: who takes over may not have been told yet.
LEADERSHIP = LeadershipSettings(duration_seconds=10.0, renew_seconds=3.0, retry_seconds=2.0)
_KINDS = ("pods", "nodes", "leases.coordination.k8s.io", "namespaces", "replicasets.apps", "deployments.apps")

# Most writes meet something. The server stays up, so that what people ask for so soon after another is done in that
# order. What a world needs more of it asks for by `dataclasses.replace`.
FAULTS = Faults(
    request_lost=0.01,
    request_late=0.03,
    reply_lost=0.03,
    request_slow=0.04,
    request_twice=0.03,
    throttled=0.01,
    racing_write=0.05,
    crash_at_write=0.01,
    crash_after_write=0.02,
    crash_mid_step=0.002,
    queue_reordered=0.1,
    list_lost=0.03,
    list_stale=0.1,
    list_reordered=0.2,
    watch_lag=0.1,
    watch_broken=0.02,
    watch_expired=0.03,
    watch_repeated=0.03,
    incident=0.08,
    incidents=(
        ("plane_crash", 3),
        ("plane_pause", 2),
        ("plane_slow", 2),
        ("partition", 1),
        ("partition_of_replies", 1),
        ("watches_expire", 1),
    ),
    clock_skew=0.5,
)

# What a story of a minute and a few controllers lasts; worlds fill it in by `dataclasses.replace`.
FRAME = Scenario(
    name="",
    steps=(),
    hollow_prefix="node-",
    planes=2,
    faults_until_seconds=60.0,
    seconds_min=70.0,
    seconds_max=400.0,
    quiet_seconds=50.0,
    leadership=LEADERSHIP,
)


@lru_cache(maxsize=64)
def controllers(*names: str, kinds: tuple[str, ...] = ()) -> Callable[[], tuple[Decider, ...]]:
    """Those of production with these names, as if there were no other kinds than the usual few and `kinds`. The same
    function each time: worlds that are made alike are equal."""
    return partial(_controllers, frozenset(names), frozenset((*_KINDS, *kinds)))


def _controllers(names: frozenset[str], kinds: frozenset[str]) -> tuple[Decider, ...]:
    catalog = Catalog(kind for kind in CATALOG if kind.resource in kinds)
    return tuple(each for each in default_deciders(catalog) if each.name in names)


def node(at: float = 0.1, name: str = "node-0") -> ScenarioStep:
    return create(at, "v1", "nodes", {"kind": "Node", "metadata": {"name": name}}, "")


def workload(kind: str, name: str, replicas: int, image: str = "") -> Json:
    spec: Json = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(name, image or f"{name}:1"),
    }
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def template(app: str, image: str) -> Json:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}]}}
