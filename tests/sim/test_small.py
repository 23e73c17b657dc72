"""Worlds of a few objects, one for each seed: none fails, together they meet all there is, and each is its seed's."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from fairlead.cli.main import main
from fairlead.control.roster import default_deciders
from fairlead.reconcile.nodes.pod_networks import pod_network_decider
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.generate.building import ALL_KINDS, about, as_wanted, deciders_for, kinds_of, scenario_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ending import compared
from fairlead.sim.generate.ingredients.roster import INGREDIENTS
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.generate.world import generate
from fairlead.sim.parts import default_parts
from fairlead.sim.run import Runner, RunTally, SeedResult
from fairlead.sim.scenario import OlderPlane
from fairlead.sim.world import World
from tests.sim import coverage
from tests.sim.artifacts import failed
from tests.sim.sampled import parted, sampled, tally_of

# So many seeds meet everything: `coverage.gaps` says what is missing.
SEEDS = range(2000) if os.environ.get("FAIRLEAD_SOAK") else range(400)


@pytest.fixture(scope="module")
def results() -> list[SeedResult]:
    return list(map(runner_of("small").run, SEEDS))


@pytest.fixture(scope="module")
def sample(results: list[SeedResult]) -> RunTally:
    return tally_of(results)


@pytest.mark.timeout(1800)
def test_no_seed_fails(sample: RunTally) -> None:
    assert failed(runner_of("small"), sample, "small") == []


@pytest.mark.timeout(1800)
def test_each_seed_is_one_run_in_every_process(results: list[SeedResult]) -> None:
    assert parted("small", results) == []


@pytest.mark.timeout(1800)
def test_the_seeds_meet_every_controller_verb_effect_answer_kind_fault_and_deed(sample: RunTally) -> None:
    missed = coverage.gaps(sample, coverage.drawn_actions(SEEDS))
    assert not missed, "\n".join(missed)


NEVER_MET_BEFORE = (
    "resource-quota acts",
    "custom-resource-definition acts",
    "plane-settings acts",
    "scheduling-policy acts",
    "cronjob acts",
    "garbage-collector acts",
    "verb apply",
    "people scale by subresource",
    "people recreate at once",
    "people roll back",
    "an answer leads to STUCK",
    "a decision is Stuck",
)


@pytest.mark.parametrize("probe", NEVER_MET_BEFORE)
def test_what_the_fixed_worlds_do_not_meet_is_met(sample: RunTally, probe: str) -> None:
    assert sample.probes.get(probe, 0) >= 2


def test_a_controller_without_a_world_is_named() -> None:
    met = RunTally(probes=dict.fromkeys(coverage.wanted(), 2), faults={"reply_lost": 1})
    del met.probes["cronjob acts"]
    assert any(each.startswith('"cronjob acts" was so never') for each in coverage.gaps(met))
    assert {"watch_lag fired never", "reply_lost fired once"} <= set(coverage.gaps(met))


def test_a_seed_is_one_world_and_seeds_are_different_ones() -> None:
    told = [generate(seed).told for seed in range(60)]
    assert told == [generate(seed).told for seed in range(60)]
    assert len(set(told)) == 60


def test_what_a_seed_comes_to_does_not_depend_on_the_seeds_before_it() -> None:
    runner = runner_of("small")
    first, second = runner.run(11), runner.run(12)
    assert runner.run(11) == first
    assert runner_of("small").run(12) == second


def test_worlds_have_few_objects_and_one_to_three_planes() -> None:
    worlds = [generate(seed).scenario for seed in range(200)]
    assert {each.planes for each in worlds} == {1, 2, 3}
    assert {each.capabilities.complete for each in worlds} == {True, False}
    assert any(each.nodes for each in worlds)


def test_every_ingredient_is_drawn() -> None:
    told = " ".join(generate(seed).told for seed in range(400))
    names = {"custom kind": "Beacon", "family": "-child", "odds": "RuntimeClass"}
    missing = [each.name for each in INGREDIENTS if names.get(each.name, each.name) not in told]
    assert missing == []


def test_a_world_has_the_controllers_of_what_there_may_be() -> None:
    kinds = kinds_of(("deployments.apps",))
    names = {each.name for each in deciders_for(kinds)()}
    assert {"deployment", "replicaset", "garbage-collector", "progress"} <= names
    assert not names & {"statefulset", "cronjob", "resource-quota", "endpoint-slices"}
    everyone = {each.name for each in deciders_for(ALL_KINDS)()}
    assert everyone == {each.name for each in default_deciders()}
    assert all(about(each) for each in default_deciders())


def test_a_world_is_built_from_objects_as_the_api_shows_them() -> None:
    shown = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "data": {"x": "y"},
        "status": {},
    }
    assert as_wanted(shown)["metadata"] == {"name": "a", "namespace": "default"}
    run = World(replace(scenario_of((shown,)), faults_until_seconds=0.0), Chance(1), CALM).run()
    assert run.violation is None
    (found,) = run.objects.of("configmaps").values()
    assert found.metadata.name == "a"
    assert run.seconds < 30  # at rest as soon as nothing is due


def test_draws_are_calm_at_zero_and_weighted() -> None:
    calm = Draw(Chance(0, calm=True))
    assert not calm.happens("x", 0.99)
    assert calm.happens("x", 1.0)
    assert calm.weighted("x", (("a", 1), ("b", 5))) == "a"
    drawn = [Draw(Chance(seed)).weighted("x", (("a", 1), ("b", 3))) for seed in range(200)]
    assert 20 < drawn.count("a") < 80


def test_a_failing_seed_tells_what_it_drew(capsys: pytest.CaptureFixture[str]) -> None:
    plant = "tests.sim.plants:broken_plane"
    assert main(["sim", "run", "--world", "small", "--seeds", "2", "--plant", plant]) == 1
    told = capsys.readouterr().out
    assert "  drew      " in told
    assert "--world small" in told
    assert main(["sim", "run", "--world", "small", "--seeds", "2", "--plant", plant, "-o", "json"]) == 1
    failures = json.loads(capsys.readouterr().out)["failures"]
    assert [each["drew"] for each in failures] == [generate(each["seed"]).told for each in failures]


def test_what_an_older_plane_does_not_know_is_done_when_it_is_upgraded() -> None:
    web = {"labels": {"app": "web"}}
    template = {"metadata": web, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": web["labels"]}, "template": template}
    named = {"name": "web", "namespace": "default"}
    wanted = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": named, "spec": spec}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}}
    older = OlderPlane(0, ("replicaset",), 20.0)
    scenario = scenario_of([node, wanted], planes=1, older=older)
    run = Runner(scenario, CALM).play(Chance(0), trail=True)
    assert run.violation is None
    assert run.trail is not None
    made = [step.ms for step in run.trail if step.kind == "committed" and "pods/" in step.text]
    assert made
    assert min(made) > 20_000


def test_a_person_who_hears_nothing_asks_again_and_gets_one_of_it() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}}
    scenario = scenario_of([node], planes=1, faults_until_seconds=60.0)
    forced = {("person_unheard", "people create nodes", 0): 1, ("person.sent", "people create nodes", 0): 1}
    run = Runner(scenario, Faults(person_unheard=1e-12)).play(Chance(0, forced), trail=True)
    assert run.violation is None
    assert run.faults == {"person_unheard": 1}
    assert run.trail is not None
    asked = [step for step in run.trail if step.kind == "asks" and "create nodes" in step.text]
    assert len(asked) == 2
    assert [key.name for key in run.objects.of("nodes")] == ["node-0"]


# Where something was found in two hours of seeds: rest, names, rollouts that wait, adoption, Events and nodes that go.
FOUND = (
    1137, 1195, 1293, 1569, 1837, 2200, 2740, 3651, 4341, 5402, 7150, 8758, 9697, 33129, 60231, 60436, 60644, 61766,
    88773, 89501, 90532, 305179, 2001239, 10005056, 11003086,
    13004826, 13060488, 13097568, 13123400,
)  # fmt: skip


@pytest.mark.timeout(900)
def test_what_was_found_once_is_found_no_more() -> None:
    sampled("small", FOUND)


def test_whatever_ends_on_a_machine_is_not_started_again_for_ever() -> None:
    specs = [
        step.request.body
        for seed in range(400)
        for step in generate(seed).scenario.steps
        if step.request.body
    ]
    ends = [body for body in specs if b'"command":["work"' in body]
    assert ends
    assert all(b'"restartPolicy":"' in body for body in ends)


def test_a_world_has_each_thing_once() -> None:
    """Of two of a name people make the second while the first is on its way out, or it is there already."""
    for seed in (*range(400), 13004826):
        made = [step.lane for step in generate(seed).scenario.steps if step.action == "create" and step.lane]
        assert len(made) == len(set(made)), seed


def test_worlds_that_are_compared_have_room_for_what_is_rolled_out() -> None:
    assert generate(1195).scenario.contends, (
        "its only node is closed to a Deployment of which people change the template"
    )
    assert generate(16501).scenario.contends, "its only machine has room for one of two workloads"
    compared = [seed for seed in range(400) if not generate(seed).scenario.contends]
    assert len(compared) > 100


def test_a_world_is_looked_ahead_of_until_its_overrides_have_ended_by_every_clock() -> None:
    apart = 60.0  # a plane's clock and the server's, each wrong by half a minute
    seen = 0
    for seed in range(400):
        scenario = generate(seed).scenario
        for step in scenario.steps:
            if step.request.plural == "scheduleroverrides" and step.request.verb == "create":
                lasts = json.loads(step.request.body)["spec"]["expiresAfter"]
                assert scenario.quiet_seconds > float(lasts.removesuffix("s")) + apart, seed
                seen += 1
    assert seen > 20


def test_a_rollout_that_was_resumed_ends_as_one_that_was_never_paused() -> None:
    ends = [
        compared(frozenset(), {"deployments.apps/default/a": f"wants 1, Progressing={each}, rollout 2"})
        for each in ("Unknown", "True", "False")
    ]
    assert ends[0] == ends[1] != ends[2]


def test_a_controller_that_a_world_needs_as_well_is_there_once() -> None:
    """A plane tells its controllers apart by their names."""
    parts = default_parts(pod_network_decider, deciders=lambda: (pod_network_decider(),))
    assert [each.name for each in parts["deciders"]()] == ["pod-networks"]
