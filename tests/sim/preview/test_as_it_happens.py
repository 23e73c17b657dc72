"""What is foreseen is what happens: the same change in an ordinary simulated world, with its delays, two planes and every
checker, comes to the same end."""

from __future__ import annotations

from collections import Counter

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.decision.decider import Decider
from fairlead.model.catalog import Catalog
from fairlead.model.views import PODS
from fairlead.port.request import Request
from fairlead.sim.chance import Chance
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.preview import cast
from fairlead.sim.preview import world as preview_world
from fairlead.sim.preview.change import ProposedChange
from fairlead.sim.preview.preview import preview
from fairlead.sim.preview.state import LiveState, backup_of_state
from fairlead.sim.scenario import Scenario, ScenarioStep
from fairlead.sim.world import Run, World
from tests.sim.preview.states import deletion, deployment, edit, made, names


def happens(state: LiveState, request: Request) -> Run:
    """The change is asked for after both planes have come up."""
    scenario = Scenario(
        name="as-it-happens",
        steps=(ScenarioStep(20.0, request),),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=0.0,
        seconds_min=30.0,
        seconds_max=600.0,
        quiet_seconds=40.0,
    )
    world = World(
        scenario, Chance(7), parts=_kept_as_they_are(), backup=backup_of_state(state), epoch=int(state.now)
    )
    run = world.run()
    assert run.violation is None, run.violation
    return run


def _kept_as_they_are() -> Parts:
    """Hollow nodes that do not say how large they are: that is in the state."""
    return {**default_parts(), "nodes": lambda prefix: hollow_decider(prefix, allocatable={})}


def ready_of(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    for key, pod in run.objects.of(PODS.name).items():
        if pod.ready and not pod.metadata.deletion_timestamp:
            found[key.name.partition("-")[0]] += 1
    return found


def waiting_of(run: Run) -> int:
    return sum(not pod.spec.node_name for pod in run.objects.of(PODS.name).values())


@pytest.mark.parametrize("replicas", [1, 5, 12])
def test_a_scaled_deployment_comes_to_what_was_foreseen(replicas: int) -> None:
    state = made([deployment("web", 6), deployment("api", 2)], cpu="3")
    request = edit("deployments", "web", {"spec": {"replicas": replicas}})
    foreseen = preview(state, ProposedChange((request,)))
    (web,) = [each for each in foreseen.workloads if each.workload == "deployment/web"]
    run = happens(state, request)
    assert ready_of(run)["web"] == web.ready_after
    assert waiting_of(run) == web.pending


def test_a_deleted_pod_is_made_again_as_was_foreseen() -> None:
    state = made([deployment("web", 3)])
    request = deletion("pods", names(state, "pods")[0])
    (web,) = preview(state, ProposedChange((request,))).workloads
    assert ready_of(happens(state, request))["web"] == web.ready_after == 3


def test_a_forecast_from_which_a_controller_is_missing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the comparison above sees it."""

    def without(kinds: Catalog) -> tuple[Decider, ...]:
        return tuple(each for each in cast.cast_of(kinds) if each.name != "replicaset")

    monkeypatch.setattr(preview_world, "cast_of", without)
    state = made([deployment("api", 1)], rested=False)
    request = edit("deployments", "api", {"spec": {"replicas": 4}})
    foreseen = sum(each.ready_after for each in preview(state, ProposedChange((request,))).workloads)
    assert ready_of(happens(state, request))["api"] != foreseen
