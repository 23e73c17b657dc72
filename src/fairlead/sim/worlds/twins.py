"""`twins`: two machines whose agents were given one node's name. Both hear the API; one runs the node's pods, the other
waits, and no pod runs on both.

An agent that is cut off for longer than its lease lasts is another matter: its pods run on, like those of any node that
is silent. Here no agent is silent for so long.

    0 s     node-a1, twice: whose Lease is made first is chance's
    3 s     Deployment web wants 3; StatefulSet db wants 1
    34 s    one of the agents dies, and is started again
    50 s    web gets another template
    70 s    web wants 1
    90 s    the last fault
"""

from __future__ import annotations

from msgspec import structs

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Mishap, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import nodes

NAME = "node-a1"
# Two answers in a row that are lost are a lease that lapses: calls arrive here.
FAULTS = Faults(list_lost=0.2, watch_lag=0.2, watch_broken=0.02)


def scenario() -> Scenario:
    first = nodes.settings(NAME)
    return Scenario(
        name="twins",
        steps=_steps(),
        hollow_prefix="hollow-",
        planes=1,
        faults_until_seconds=90.0,
        seconds_min=120.0,
        seconds_max=600.0,
        quiet_seconds=60.0,
        controllers=nodes.CONTROLLERS,
        nodes=(first, structs.replace(first, instance="machine-of-its-twin")),
        pace=nodes.PACE,
        mishaps=(Mishap(34.0, "agent_crash", NAME),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    web = nodes.workload("Deployment", "web", 3, nodes.template("web"))
    other = {"metadata": {"annotations": {"example.com/change": "1"}}}
    return (
        nodes.policy(40.0, forget_seconds=3600.0),
        create(3.0, "apps/v1", "deployments", web),
        create(3.0, "apps/v1", "statefulsets", nodes.workload("StatefulSet", "db", 1, nodes.template("db"))),
        patch(50.0, "apps/v1", "deployments", "web", {"spec": {"template": other}}),
        patch(70.0, "apps/v1", "deployments", "web", {"spec": {"replicas": 1}}),
    )
