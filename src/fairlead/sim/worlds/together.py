"""`together`: one node, pods that are placed four at a time, and a quota on placements that comes just then.

Bindings that were decided together are one transaction, in which only plain ones have a place. While the scheduler does
not see the quota yet, it asks for what the API leaves out of it. Who takes the answer for the whole waits for ever.

0 s     node-0; a ReplicaSet of none
20 s    four pods, and a quota in the same moment, so that bindings meet it before the scheduler sees it, or after
30 s    no quota; four pods more and another one at 40, 60 and 80 s
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

FAULTS = Faults(
    request_lost=0.02,
    request_late=0.05,
    reply_lost=0.1,
    watch_lag=0.6,
    incident=0.2,
    incidents=(("plane_pause", 1), ("plane_crash", 1)),
)
_SET, _QUOTA = "team", "seats"
_QUOTAS = "placementquotas"
_ROUNDS = (20.0, 40.0, 60.0, 80.0)


def scenario() -> Scenario:
    return Scenario(
        name="together",
        standing=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(0.2, "apps/v1", "replicasets", _set()),
        ),
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=100.0,
        seconds_min=110.0,
        seconds_max=600.0,
        quiet_seconds=130.0,
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    steps: list[ScenarioStep] = []
    for number, at in enumerate(_ROUNDS):
        quota = f"{_QUOTA}-{number}"
        steps += (
            patch(at, "apps/v1", "replicasets", _SET, {"spec": {"replicas": 4 * (number + 1)}}),
            create(at + 0.03 * (number + 1), "fairlead.dev/v1", _QUOTAS, _quota(quota)),
        )
        steps.append(delete(at + 10.0, "fairlead.dev/v1", _QUOTAS, quota))
    return tuple(steps)


def _quota(name: str) -> Json:
    return {"kind": "PlacementQuota", "metadata": {"name": name}, "spec": {"hard": {"pods": "20"}}}


def _set() -> Json:
    container = {"name": "main", "image": "team:1", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"app": _SET}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": _SET}}, "template": template}
    return {"kind": "ReplicaSet", "metadata": {"name": _SET}, "spec": spec}
