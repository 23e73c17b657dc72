"""The smallest world with something to lose: one ReplicaSet of one pod on one hollow node, two planes that do little else.

A run takes a few hundredths of a second, so that tests of searches, of shrinking and of artifacts can afford many.
`PLANT` takes a call that was not answered for one that failed: a lost reply of the pod's create makes it two.
"""

from __future__ import annotations

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG
from fairlead.sim.faults import Faults
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Json, Scenario, create

PLANT = "fairlead.sim.zoo.timeout_read_as_failure:plant"
BROKEN = "live-children"
FAULTS = Faults(
    request_lost=0.05,
    request_late=0.05,
    reply_lost=0.1,
    crash_at_write=0.02,
    watch_lag=0.1,
    watch_broken=0.02,
    list_lost=0.05,
    incident=0.1,
    incidents=(("plane_crash", 1), ("watches_cut", 1)),
)


def deciders() -> tuple[Decider, ...]:
    return tuple(each for each in default_deciders(CATALOG) if each.name == "replicaset")


def scenario() -> Scenario:
    return Scenario(
        name="tiny",
        steps=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(2.0, "apps/v1", "replicasets", _replicaset()),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=30.0,
        seconds_min=40.0,
        seconds_max=300.0,
        quiet_seconds=20.0,
        deciders=deciders,
    )


def runner(plant: str = "") -> Runner:
    return Runner(scenario(), FAULTS, plant)


def _replicaset() -> Json:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}
