"""`recovery`: replicas that find no room until people let them use a capacity class, and creates nobody hears of.

The worked example of a duplicate reservation: a Reservation is committed, its answer is lost, the leader dies, and the
next one has not been told. There must be one active Reservation per workload and intent all the same; it is found
again, used once, and goes with the replica that used it.

    0 s     node-0 and node-1, both kept for the class `recovery`
    5 s     risk-api is to have four replicas, for which there is no room
    8 s     the override `room` lets four of them use the class, for an hour
    90 s    risk-api is to have one replica

Who reserves is the controller of production (`reconcile/overrides/capacity.py`).
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch

REPLICAS = 4
SETS = ("apps/v1", "replicasets")
FAULTS = Faults(
    request_lost=0.04,
    request_late=0.03,
    reply_lost=0.06,
    crash_at_write=0.04,
    sync_slow=0.02,
    sync_failed=0.01,
    list_lost=0.05,
    watch_lag=0.15,
    watch_broken=0.02,
    incident=0.25,
    clock_skew=0.5,
)


def scenario() -> Scenario:
    return Scenario(
        name="recovery",
        steps=(
            *standing(2),
            create(5.0, *SETS, risk_api(REPLICAS)),
            lend(8.0, REPLICAS),
            patch(90.0, *SETS, "risk-api", {"spec": {"replicas": 1}}),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=150.0,
        seconds_min=200.0,
        seconds_max=900.0,
        quiet_seconds=50.0,
        # Shorter than a watch may lag: who takes over may not have been told yet.
        leadership=LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0),
        # Which of the replicas are taken away follows from which came first.
        allowed=(HISTORY, MADE),
        compared=but_for_names,
    )


def standing(nodes: int) -> tuple[ScenarioStep, ...]:
    """Nodes that nothing may use without a Reservation in the class."""
    class_ = {"name": "recovery", "nodeSelector": {"matchLabels": {"tier": "recovery"}}}
    policy: Json = {
        "kind": "SchedulingPolicy",
        "metadata": {"name": "classes"},
        "spec": {"capacityClasses": [class_]},
    }
    settings: Json = {
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"schedulingPolicy": "classes"},
    }
    labels = {"tier": "recovery"}
    return (
        *(
            create(
                0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{at}", "labels": labels}}, ""
            )
            for at in range(nodes)
        ),
        create(0.2, "fairlead.dev/v1", "schedulingpolicies", policy, ""),
        create(0.3, "fairlead.dev/v1", "planesettings", settings, ""),
    )


def risk_api(replicas: int) -> Json:
    container = {"name": "main", "image": "risk-api:1", "resources": {"requests": {"cpu": "4"}}}
    labels = {"app": "risk-api"}
    return {
        "kind": "ReplicaSet",
        "metadata": {"name": "risk-api"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def lend(at: float, replicas: int) -> ScenarioStep:
    changes = {"allowReservedCapacityClass": "recovery", "reservedReplicas": replicas}
    spec: Json = {
        "target": "replicaset/risk-api",
        "reason": "recovery-capacity",
        "expiresAfter": "1h",
        "changes": changes,
    }
    made: Json = {"kind": "SchedulerOverride", "metadata": {"name": "room"}, "spec": spec}
    return create(at, "fairlead.dev/v1", "scheduleroverrides", made)


def but_for_names(ending: dict[str, str]) -> dict[str, str]:
    """Which of several Reservations and pods is left is nobody's promise; that it is one is a checker's."""
    return {
        name: line
        for name, line in ending.items()
        if not name.startswith(("reservations.", "pods/", "scheduleroverrides."))
    }
