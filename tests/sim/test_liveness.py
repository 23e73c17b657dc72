"""A world that does not come to rest says who writes what, or what is open; and a fault that remains is not the plane's."""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.parts import default_parts
from fairlead.sim.run import Runner
from fairlead.sim.scenario import PinnedFault, Scenario
from fairlead.sim.violation import Violation
from fairlead.sim.world import Run, World
from fairlead.sim.worlds import bit_rot, lost_log
from fairlead.sim.zoo import status_write_loop
from tests.sim import tiny


def _forgetting(scenario: Scenario) -> Run:
    """The store loses all that there ever was, also what people made, and the namespaces."""
    world = World(replace(scenario, disk_mishaps=()), Chance(0), CALM)

    def lose() -> None:
        world.server.crash()
        world.server.lose(10_000, 10)
        world.mishaps.lost_changes(world.server.stored())
        world.server.start()

    world.timeline.at(21_500, lose)
    return world.run()


def test_people_make_again_what_was_lost_and_all_comes_to_rest() -> None:
    run = _forgetting(lost_log.scenario())
    assert run.violation is None
    assert len(run.objects.of("pods")) == 4


def test_a_step_that_people_ask_for_in_vain_is_named() -> None:
    scenario = lost_log.scenario()
    only_asked = tuple(
        step for step in scenario.steps if step.request.plural != "replicasets" or step.at_seconds != 39.0
    )
    violation = _told(_forgetting(replace(scenario, steps=only_asked, seconds_max=150.0)))
    assert violation.invariant == "people-are-served"
    assert "patch replicasets web by people is answered 404" in violation.message


def test_whoever_still_writes_is_named_with_what_and_when() -> None:
    scenario = replace(_small(), seconds_max=130.0)
    violation = _told(World(scenario, Chance(0), CALM, status_write_loop.plant(default_parts())).run())
    assert violation.invariant == "converges"
    assert "replicaset of plane-0-1 writes replicasets.apps web, " in violation.message
    assert "last at 12" in violation.message


def test_a_disk_that_stays_full_is_a_fault_that_remains() -> None:
    world = World(replace(_small(), seconds_max=130.0), Chance(0), CALM)
    world.timeline.at(19_500, setattr, world.server.disk, "is_full", True)
    violation = _told(world.run())
    assert violation.invariant == "faults-end"
    assert "the disk is full" in violation.message


def _small() -> Scenario:
    return replace(lost_log.scenario(), disk_mishaps=(), planes=1, leadership=bit_rot.LEADERSHIP)


def _told(run: Run) -> Violation:
    assert run.violation is not None
    return run.violation


def test_nobody_rests_while_nobody_leads() -> None:
    """The plane dies before what is asked for last, and its lease outlasts the quiet that means rest elsewhere."""
    node, wanted = tiny.scenario().steps
    scenario = replace(
        tiny.scenario(),
        steps=(node, replace(wanted, at_seconds=31.0)),
        planes=1,
        leadership=LeadershipSettings(duration_seconds=60.0, renew_seconds=5.0, retry_seconds=3.0),
        pinned=(PinnedFault(29.0, "plane_crash", "leader"),),
    )
    run = Runner(scenario, CALM).play(Chance(0))
    assert run.violation is None
    assert [pod.spec.node_name for pod in run.objects.of("pods").values()] == ["node-0"]
