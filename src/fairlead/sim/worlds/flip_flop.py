"""`flip-flop`: one Deployment whose template goes back and forth faster than it can be rolled out.

Each of its two sets is told to grow while it still shrinks, and to shrink while it still grows.

    before   node-0, and Deployment web with its 3 pods of web:1
    5 s      web:2; 2.5 s later web:1 again; and so every seven seconds, five times
    40 s     web:2, and it wants 2
    60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.endstate import HISTORY
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, watch_lag=0.2)
_DEPLOYMENTS = ("apps/v1", "deployments")
_TIMES = tuple(5.0 + 7.0 * number for number in range(5))


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="flip-flop",
        standing=(small.node(), create(1.0, *_DEPLOYMENTS, _deployment())),
        steps=(
            *(
                _image(at + later, image)
                for at in _TIMES
                for later, image in ((0.0, "web:2"), (2.5, "web:1"))
            ),
            _image(40.0, "web:2"),
            patch(40.0, *_DEPLOYMENTS, "web", {"spec": {"replicas": 2}}),
        ),
        deciders=small.controllers("deployment", "replicaset", "garbage-collector", "progress"),
        allowed=(HISTORY,),
    )


def _deployment() -> Json:
    body = small.workload("Deployment", "web", 3)
    body["spec"]["strategy"] = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1},
    }
    return body


def _image(at: float, image: str) -> ScenarioStep:
    return patch(at, *_DEPLOYMENTS, "web", {"spec": {"template": small.template("web", image)}})
