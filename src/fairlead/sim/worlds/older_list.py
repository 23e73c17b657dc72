"""`older-list`: an agent begins anew, and its first list is older than a pod that runs on its machine.

0 s      node-a1
6 s      Pod web
9 s      the agent dies, and again at 12, 15 and 18 s: what each lists is often some seconds old
22 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.faults import NodeFaults
from fairlead.sim.scenario import Mishap, Scenario, create
from fairlead.sim.worlds import nodes, restarts

FAULTS = NodeFaults(list_stale=0.5, watch_lag=0.2)


def scenario() -> Scenario:
    made = nodes.template("web")
    pod = {"kind": "Pod", "metadata": {"name": "web", **made["metadata"]}, "spec": made["spec"]}
    return replace(
        restarts.scenario(),
        name="older-list",
        steps=(nodes.policy(forget_seconds=3600.0), create(6.0, "v1", "pods", pod)),
        faults_until_seconds=22.0,
        seconds_min=40.0,
        seconds_max=400.0,
        pace=nodes.PACE,
        mishaps=tuple(Mishap(at, "agent_crash", "node-a1") for at in (9.0, 12.0, 15.0, 18.0)),
    )
