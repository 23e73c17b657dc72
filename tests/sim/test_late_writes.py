"""A write that arrives after people changed their minds does not undo what they asked for: it has lost its premise.

And where the API judges no premises, what comes of it is repaired, and is nobody's fault.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Change, Delete
from fairlead.model.key import Key
from fairlead.port.capabilities import KUBERNETES
from fairlead.port.request import Request
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.scenario import Scenario, ScenarioStep, create, patch
from fairlead.sim.world import Run, World
from fairlead.sim.worlds import bit_rot, rollouts, sched_kubernetes
from fairlead.sim.zoo.wrapping import deciding, wrap
from tests.sim.lateness import Matches, late_link


@deciding
def _without_premises(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    bare = tuple(
        structs.replace(each, premises=()) if isinstance(each, Delete | Change) else each
        for each in decision.effects
    )
    return structs.replace(decision, effects=bare)


def _scenario(*steps: ScenarioStep) -> Scenario:
    return replace(
        rollouts.scenario(),
        steps=(create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""), *steps),
        planes=1,
        faults_until_seconds=40.0,
        seconds_min=60.0,
    )


def _run(scenario: Scenario, matches: Matches, bare: str = "") -> Run:
    parts: Parts = {**default_parts(), "link": late_link(matches)}
    if bare:
        parts = wrap(parts, bare, _without_premises)
    return World(scenario, Chance(0), CALM, parts).run()


def _deletes(name: str) -> Matches:
    return lambda request, origin: request.verb == "delete" and request.name.startswith(name)


def _gives_up(name: str) -> Matches:
    """The Job's finalizer is taken from one of its pods that is at work."""

    def matches(request: Request, origin: str) -> bool:
        is_job = origin.startswith("job of ") and request.verb == "patch" and request.plural == "pods"
        return is_job and request.name.startswith(name) and b"finalizers" in request.body

    return matches


def _image(at: float, plural: str, name: str, version: int) -> ScenarioStep:
    template = {"spec": {"containers": [{"name": "main", "image": f"{name}:{version}"}]}}
    return patch(at, "apps/v1", plural, name, {"spec": {"template": template}})


def _daemonset() -> dict[str, Any]:
    made = bit_rot.workload("DaemonSet", "log", 0)
    del made["spec"]["replicas"]
    return made


def _job() -> dict[str, Any]:
    template = bit_rot.workload("Job", "sum", 0)["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "30s"}
    return {
        "kind": "Job",
        "metadata": {"name": "sum"},
        "spec": {"completions": 2, "parallelism": 2, "template": template},
    }


CASES = {
    "statefulset": (
        _scenario(
            create(2.0, "apps/v1", "statefulsets", bit_rot.workload("StatefulSet", "db", 3)),
            patch(20.0, "apps/v1", "statefulsets", "db", {"spec": {"replicas": 2}}),
            patch(23.0, "apps/v1", "statefulsets", "db", {"spec": {"replicas": 3}}),
        ),
        _deletes("db-2"),
    ),
    "daemonset": (
        _scenario(
            create(2.0, "apps/v1", "daemonsets", _daemonset()),
            _image(20.0, "daemonsets", "log", 2),
            _image(23.0, "daemonsets", "log", 1),
        ),
        _deletes("log-"),
    ),
    "job": (
        _scenario(
            create(2.0, "batch/v1", "jobs", _job()),
            patch(10.0, "batch/v1", "jobs", "sum", {"spec": {"suspend": True}}),
            patch(13.0, "batch/v1", "jobs", "sum", {"spec": {"suspend": False}}),
        ),
        _gives_up("sum-"),
    ),
}


@pytest.mark.parametrize("controller", CASES)
def test_a_removal_that_comes_late_has_lost_its_premise(controller: str) -> None:
    scenario, matches = CASES[controller]
    assert _run(scenario, matches).violation is None
    found = _run(scenario, matches, bare=controller).violation
    assert found is not None
    assert found.invariant == "justified-removals"


def _late_pod(capable: bool) -> Run:
    """A create of `web`, which is then scaled down, comes late."""
    scenario = _scenario(
        create(2.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 3)),
        patch(20.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 6}}),
        patch(24.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 2}}),
    )
    if not capable:
        leadership = sched_kubernetes.scenario().leadership
        scenario = replace(scenario, capabilities=KUBERNETES, leadership=leadership)
    made: list[str] = []

    def matches(request: Request, origin: str) -> bool:
        if origin.startswith("replicaset of ") and request.verb == "create":
            made.append(origin)
        return len(made) == 5  # the second of those that were asked for at 20 s

    return _run(scenario, matches)


@pytest.mark.parametrize("capable", [True, False])
def test_a_create_that_comes_after_a_scale_down_is_refused_or_repaired(capable: bool) -> None:
    run = _late_pod(capable)
    assert run.violation is None
    made = run.counts["pods of ReplicaSet default/web"][0]
    assert made == (4 if capable else 5)
