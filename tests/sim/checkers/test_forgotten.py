"""What remembers an override after its end is found, though no object shows it; and to ask disturbs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from fairlead.control import roster
from fairlead.model.views import DEPLOYMENTS, NODES, OVERRIDES, PODS, Meta, Pod, SchedulerOverride
from fairlead.model.views.machines import Node
from fairlead.model.views.workloads import Deployment
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.sim import supposed_views
from fairlead.sim.checkers import forgotten
from fairlead.sim.run import Runner
from fairlead.sim.worlds.roster import WORLDS
from fairlead.sim.zoo import pause_remembered

NAME = forgotten.EndedAreForgotten.name


@cache
def runner(plant: str = "") -> Runner:
    scenario, faults = WORLDS["overrides"]
    return Runner(scenario(), faults, plant)


@pytest.mark.parametrize(
    ("plant", "who"),
    [
        ("fairlead.sim.zoo.pause_remembered:plant", "deployment of plane-"),
        ("tests.sim.plants:places_once_closed", "the scheduler of plane-"),
    ],
)
def test_what_is_remembered_after_the_end_is_found(plant: str, who: str) -> None:
    found = next(failure for seed in range(20) if (failure := runner(plant).run(seed).failure) is not None)
    assert found.invariant == NAME
    assert found.message.startswith(who)
    assert "and one that never had an override which has ended" in found.message


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The roster's own Deployment controller remembers: no plant wraps one anew each time."""
    monkeypatch.setattr(roster, "deployment_decider", lambda: pause_remembered.spoil(deployment_decider()))
    roster.forget_made()
    yield
    roster.forget_made()


@pytest.mark.usefixtures("remembering")
def test_those_who_are_asked_share_nothing_with_a_plane() -> None:
    scenario, faults = WORLDS["overrides"]
    failure = Runner(replace(scenario(), name="remembering"), faults).run(0).failure
    assert failure is not None
    assert failure.invariant == NAME


def test_to_ask_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    ask = forgotten.EndedAreForgotten._ask_all

    def counted(checker: forgotten.EndedAreForgotten) -> None:
        nonlocal asked
        ask(checker)
        asked = checker.compared

    monkeypatch.setattr(forgotten.EndedAreForgotten, "_ask_all", counted)
    watched = [runner().run(seed) for seed in range(3)]
    assert asked > 100
    assert [each.failure for each in watched] == [None] * 3
    monkeypatch.setattr(forgotten, "has_overrides", lambda _: False)
    assert [runner().run(seed).digest for seed in range(3)] == [each.digest for each in watched]


def test_only_worlds_with_overrides_are_asked() -> None:
    named = {name for name, (scenario, _) in WORLDS.items() if forgotten.has_overrides(scenario())}
    assert {"overrides", "raised", "recovery", "runbooks"} <= named
    assert "rollouts" not in named


def _meta(name: str) -> Meta:
    return Meta(name=name, uid=name, namespace="default")


def test_each_supposition_changes_what_it_is_about_and_nothing_else() -> None:
    web = Deployment(_meta("web"))
    pod, node = Pod(_meta("web-1")), Node(_meta("node-1"))
    override = SchedulerOverride(_meta("pause"))
    known = (DEPLOYMENTS.name, web), (PODS.name, pod), (NODES.name, node), (OVERRIDES.name, override)
    changed = {
        suppose: [resource for resource, each in known if suppose(resource, each) != each]
        for suppose in supposed_views.SUPPOSED
    }
    assert changed == {
        supposed_views.as_it_is: [],
        supposed_views.one_more: [DEPLOYMENTS.name],
        supposed_views.another_template: [DEPLOYMENTS.name],
        supposed_views.no_pods: [PODS.name],
        supposed_views.pods_are_to_go: [PODS.name],
        supposed_views.nodes_drive_out: [NODES.name],
    }
