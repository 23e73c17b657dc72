"""Scenarios as files: each example holds or breaks as it says, pinned faults fire in every run, and drains drain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.sim.cases import CaseJudge, case_of
from fairlead.sim.chance import Chance
from fairlead.sim.run import Runner, SeedResult
from fairlead.sim.scenarios.parse import WrittenScenario, parse_scenario
from fairlead.sim.shrink import shrink
from tests.elsewhere import elsewhere

EXAMPLES = Path(__file__).parents[2] / "examples/scenarios"
FILES = sorted(EXAMPLES.glob("*.yaml"))
SEED_82219 = EXAMPLES / "seed-82219.yaml"
PLANT = "fairlead.sim.zoo.duplicate_reservation:plant"
LIVE_PLANT = "fairlead.sim.zoo.duplicate_reservation:live"


def written(file: Path) -> WrittenScenario:
    return parse_scenario(file.stem, file.read_bytes())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_comes_as_it_says(file: Path) -> None:
    scenario = written(file)
    assert scenario.about
    results = both(file)
    for each in results:
        assert (each.failure.invariant if each.failure is not None else "") == scenario.breaks, each.failure
    assert [each.digest for each in results] == elsewhere(digests, file.name)


def both(file: Path) -> list[SeedResult]:
    """Its own seed, and the next."""
    scenario = written(file)
    first = scenario.seed or 0
    return list(map(Runner(scenario.scenario, scenario.faults, scenario.plant).run, (first, first + 1)))


def digests(name: str) -> list[str]:
    return [each.digest for each in both(EXAMPLES / name)]


def test_the_scenario_of_the_guide_holds() -> None:
    guide = (EXAMPLES.parents[1] / "docs/guides/simulating.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    scenario = parse_scenario("guide", text.encode())
    result = Runner(scenario.scenario, scenario.faults).run(scenario.seed or 0)
    assert result.failure is None
    assert result.faults["crash_at_write"] == 1


def test_what_an_example_pins_fires_in_every_run() -> None:
    scenario = written(EXAMPLES / "retry-after-timeout.yaml")
    for seed in range(3):
        fired = Runner(scenario.scenario, scenario.faults).run(seed).faults
        assert (fired["reply_lost"], fired["request_late"]) == (2, 1)


def test_seed_82219_breaks_with_its_plant_and_holds_without() -> None:
    scenario = written(SEED_82219)
    assert scenario.seed == 82219
    assert Runner(scenario.scenario, scenario.faults).run(82219).failure is None
    planted = Runner(scenario.scenario, scenario.faults, PLANT)
    run = planted.play(Chance(82219))
    assert run.violation is not None
    assert run.violation.invariant == "one-reservation"
    assert "generation-42" in run.violation.message
    # Played by its choices alone it is the same run, also when what was pinned to a write is one of them.
    case = case_of(planted.scenario, planted.faults, run)
    again = CaseJudge(PLANT, run.violation, run.seconds).play(case)
    assert again is not None
    assert again.digest == run.digest


@pytest.mark.soak
@pytest.mark.parametrize(
    ("plant", "late", "pinned", "struck"),
    [
        # Who takes over has not been told, whatever the one before it heard.
        (PLANT, "standby", ["plane_crash", "watch_delay"], []),
        # Who did not hear the answer tries again itself.
        (LIVE_PLANT, "leader", ["watch_delay"], ["call"]),
    ],
)
def test_what_is_shrunk_keeps_the_faults_it_needs_and_none_of_what_the_file_expects(
    plant: str, late: str, pinned: list[str], struck: list[str]
) -> None:
    text = (EXAMPLES / "duplicate-reservation.yaml").read_text()
    head, _, _ = text.replace("of: standby, for: 10s", f"of: {late}, for: 18s").partition("expect:")
    if "plane_crash" not in pinned:
        head = "".join(line for line in head.splitlines(True) if "restart: leader" not in line)
    more = "  - {at: 9s, relist: nodes}\nexpect: {end: [{object: replicasets/replica-042}]}\n"
    scenario = parse_scenario("shrunk", f"{head}{more}".encode())
    runner = Runner(scenario.scenario, scenario.faults, plant)
    run = runner.play(Chance(3))
    assert run.violation is not None
    case = case_of(runner.scenario, runner.faults, run)
    runs = iter(range(40))
    shrunk = shrink(case, CaseJudge(plant, run.violation, run.seconds), lambda: next(runs, None) is not None)
    kept = shrunk.case
    assert [fault.name for fault in kept.scenario.pinned] == pinned
    assert [name[0] for name, _, fault in kept.choices if fault] == struck
    assert kept.faults == len(pinned) + len(struck)
    assert kept.scenario.expected == ()
    assert kept.size < case.size / 5


DRAINED = b"""
nodes: 2
objects:
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {name: web}
  spec:
    replicas: 4
    selector: {matchLabels: {app: web}}
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "web:1"}]}}
steps:
- {at: 5s, drain: node-0}
expect:
  end:
  - {object: nodes/node-0, has: {spec.unschedulable: true}}
  - {count: pods, where: {spec.nodeName: node-1, status.conditions.Ready: "True"}, is: 4}
"""


def test_a_drain_leaves_no_pod_on_its_node() -> None:
    scenario = parse_scenario("drained", DRAINED)
    runner = Runner(scenario.scenario, scenario.faults)
    assert runner.run(0).failure is None
    undrained = parse_scenario("undrained", DRAINED.replace(b"drain: node-0", b"delete: pods/none"))
    failure = Runner(undrained.scenario, undrained.faults).run(0).failure
    assert failure is not None
    assert failure.invariant == "ends-as-written"
    assert "spec.unschedulable False instead of True" in failure.message


def test_the_command_runs_a_file_and_says_what_came_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "run", str(EXAMPLES / "duplicate-reservation.yaml")]) == 0
    assert "as the scenario expects, one-reservation was broken" in capsys.readouterr().out
    assert main(["sim", "run", str(EXAMPLES / "duplicate-reservation.yaml"), "--plant", ""]) == 1
    assert "0 of 1 seeds broke it" in capsys.readouterr().out


def test_the_command_says_which_file_cannot_be_read_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    assert main(["sim", "run", str(file)]) == 2
    assert f"{file} cannot be read: no such file or directory" in capsys.readouterr().err
    file.write_text("steps:\n- {at: 1s, delete: pods}\n")
    assert main(["sim", "run", str(file)]) == 2
    assert f"{file}: line 2: steps[0].delete: names an object as KIND/NAME" in capsys.readouterr().err
    assert main(["sim", "run", str(file), "--world", "sched"]) == 2
    assert "give a file or --world, not both" in capsys.readouterr().err
