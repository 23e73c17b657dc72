"""`clocks`: the wall clocks of planes and machines are set an hour back and ahead, again and again.

Nothing that lasts may follow them: leases, silence, Events. A CronJob does: its instants pass by, or come again. Little
else goes wrong, so that what goes wrong is of the clocks.

    0 s     the EvidencePolicy; node-a1, node-b1 and node-c1 register themselves
    3 s     ReplicaSet web (3); CronJob tick, every minute, whose Jobs are forgotten when they have ended
    250 s   no more faults
    255 s   the CronJob goes, with all that is its own
    260 s   web is scaled to 12: Events must still be told
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.faults import NodeFaults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import nodes

FAULTS = NodeFaults(
    request_lost=0.005,
    reply_lost=0.01,
    watch_lag=0.02,
    incident=0.7,
    incidents=(("plane_clock_set", 8), ("agent_clock_set", 4), ("plane_crash", 1), ("agent_crash", 1)),
)


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="clocks",
        steps=(nodes.policy(), *_steps()),
        faults_from_seconds=8.0,
        faults_until_seconds=250.0,
        seconds_min=300.0,
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
        nodes=tuple(nodes.settings(name) for name in ("node-a1", "node-b1", "node-c1")),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    web = nodes.workload("ReplicaSet", "web", 3, nodes.template("web"))
    return (
        create(3.0, "apps/v1", "replicasets", web),
        create(3.0, "batch/v1", "cronjobs", _tick()),
        delete(255.0, "batch/v1", "cronjobs", "tick"),
        patch(260.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 12}}),
    )


def _tick() -> Json:
    made = nodes.template("tick", "work", "3")
    made["spec"]["restartPolicy"] = "OnFailure"
    job = {"spec": {"backoffLimit": 20, "template": made}}
    spec = {"schedule": "* * * * *", "successfulJobsHistoryLimit": 0, "jobTemplate": job}
    return {"kind": "CronJob", "metadata": {"name": "tick"}, "spec": spec}
