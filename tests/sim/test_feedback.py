"""Loops between writers are found in worlds where controllers fight, with the decisions that prove it; and in no other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fairlead.control.committed import commit_of
from fairlead.control.feedback import AMPLIFICATION, OSCILLATION
from fairlead.control.footprints import footprints, reads_of
from fairlead.control.write_loops import WriteLoop, WriteLoops, describe_loop
from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Change, plural_of
from fairlead.decision.footprint import touches
from fairlead.decision.wakes import itself
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.run import Runner, stand_up
from fairlead.sim.scenario import Scenario
from fairlead.sim.world import Run
from fairlead.sim.worlds.roster import WORLDS
from fairlead.sim.zoo.controller_fight import plant
from fairlead.store.contract import CommittedChange
from tests.sim.artifacts import left_behind
from tests.sim.footprints import WatchedWorld

SEED = 1


def watched(
    scenario: Scenario, parts: Parts | None = None, faults: Faults = CALM
) -> tuple[list[WriteLoop], Run]:
    """What is found as it happens, to the end of the run or until a checker ends it."""
    loops, found = WriteLoops(), list[WriteLoop]()
    usual = parts or default_parts(*scenario.controllers, deciders=scenario.deciders)
    declared = {each.name: {read.name for read in each.reads} for each in usual["deciders"]()}

    def reads(writer: str, resource: str, field: str) -> bool:
        footprint = footprints().get(writer)
        if footprint is None:
            return resource in declared.get(writer, ())
        return any(touches(field, each) for each in reads_of(footprint, resource))

    def look(changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        for change in changes:
            revision = change.entry.revision
            writer = origins.get(revision, "").removeprefix("late ").partition(" of ")[0]
            commit = commit_of(change, writer, str(revision), world.timeline.ms / 1000)
            if commit is not None:
                found.extend(loops.committed(commit, reads))

    backup = stand_up(scenario)
    world = WatchedWorld(look, scenario, Chance(SEED), faults, usual, backup=backup)
    return found, world.run()


def test_a_controller_that_undoes_another_is_found() -> None:
    scenario = WORLDS["flip-flop"][0]()
    usual = default_parts(*scenario.controllers, deciders=scenario.deciders)
    (loop, *_), _ = watched(scenario, plant(usual))
    assert (loop.kind, loop.writers) == (OSCILLATION, ("deployment", "replicaset"))
    assert loop.fields == ("metadata.annotations[deployment.kubernetes.io/revision]",)
    writers = [step.writer for step in loop.proof if step.writer]
    assert all(one != other for one, other in pairwise(writers))
    assert {(step.writer, step.value) for step in loop.proof if step.writer} == {
        ("replicaset", "nothing"),
        ("deployment", '"1"'),
    }
    assert all(step.decision for step in loop.proof[1:])
    assert "undo each other's metadata.annotations" in describe_loop(loop)


def grower(name: str, field: str, of: str) -> Decider:
    """Keeps one annotation of a Deployment above another: it asks for one more than there is of that."""

    def decide(view: Reading, key: Key, now: float) -> Decision:
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None:
            return NOTHING
        annotations = found.metadata.annotations
        seen, own = int(annotations.get(of, "1")), int(annotations.get(field, "0"))
        if own > seen or own > 40:
            return NOTHING
        patch: dict[str, Any] = {"metadata": {"annotations": {field: str(seen + 1)}}}
        label = f"{name}/{found.metadata.uid}/grow/{seen}"
        meta = found.metadata
        change = Change(
            label, DEPLOYMENTS.name, DEPLOYMENTS.api_version, plural_of(DEPLOYMENTS), meta.namespace, meta.name,
            meta.uid, meta.revision, patch,
        )  # fmt: skip
        return Decision(effects=(change,))

    return Decider(name=name, reads=(DEPLOYMENTS,), wakes=(Wake(DEPLOYMENTS, itself),), decide=decide)


def test_two_that_outdo_each_other_are_found() -> None:
    scenario = WORLDS["flip-flop"][0]()
    parts = default_parts(*scenario.controllers, deciders=scenario.deciders)
    usual = parts["deciders"]
    parts["deciders"] = lambda: (
        *usual(),
        grower("buyer", "market/price", "market/offer"),
        grower("seller", "market/offer", "market/price"),
    )
    found = [each for each in watched(scenario, parts)[0] if each.kind == AMPLIFICATION]
    assert found[0].writers == ("buyer", "seller")
    assert set(found[0].fields) == {
        "metadata.annotations[market/price]",
        "metadata.annotations[market/offer]",
    }
    numbers = [int(step.value.strip('"')) for step in found[0].proof]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    "world",
    ["flip-flop", "autoscaling", "overrides", "quota-repair", "seesaw", "fraud-batch"]
    + [pytest.param(each, marks=pytest.mark.soak) for each in ("rollouts", "clocks")],
)
def test_a_world_in_which_nobody_fights_has_no_loop(world: str) -> None:
    check(world, CALM)


@pytest.mark.parametrize("world", ["flip-flop", "autoscaling", "restarts", "late-marks"])
def test_nor_has_one_with_faults(world: str) -> None:
    check(world, WORLDS[world][1])


def check(world: str, faults: Faults) -> None:
    make, _ = WORLDS[world]
    loops, run = watched(make(), faults=faults)
    assert run.violation is None, left_behind(Runner(make(), faults), SEED, world)
    assert loops == []
