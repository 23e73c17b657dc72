"""A captured incident is a world of the simulator: what people did is done again, under faults, and bugs are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.cli.main import main
from fairlead.replay.artifact import Artifact, read_artifact, write_artifact
from fairlead.replay.capture import capture
from fairlead.replay.store_origin import StoreOrigin
from fairlead.sim.incident import people_did, runner_of, shifted, state_of
from fairlead.sim.player import play_again
from fairlead.testing.replays import assert_replays
from tests.inprocess import InProcess
from tests.unit.replay import load
from tests.unit.replay.test_capture import NOW, Kept
from tests.unit.replay.test_rerun import do

PLANE = User("system:fairlead:plane", groups=(MASTERS,))
PLANT = "fairlead.sim.zoo.no_read_your_writes:plant"


@pytest.fixture(scope="module")
def incident() -> Artifact:
    driver = Kept(InProcess(NOW), user=PLANE)  # what tests ask for is an administrator's
    driver.run(5)
    do(driver, [("post", "/api/v1/namespaces", {"metadata": {"name": "shop"}})])
    deployment = ("post", "/apis/apps/v1/namespaces/shop/deployments", load.workload("web", 3))
    do(driver, [deployment], 30)
    begins = driver.now
    web = "/apis/apps/v1/namespaces/shop/deployments/web"
    version = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    acts: list[load.Act] = [("patch", web, {"spec": {"replicas": 4}}), ("patch", web, version)]
    do(driver, acts, 10)
    do(driver, [("post", "/apis/apps/v1/namespaces/shop/deployments", load.workload("other", 2))], 10)
    do(driver, [("delete", "/apis/apps/v1/namespaces/shop/deployments/other", {})], 20)
    driver.keep()
    origin = StoreOrigin(driver.api.store, driver.api.journal, b"key")
    return read_artifact(write_artifact(capture(origin, begins, driver.now)))


def test_it_starts_from_the_objects_of_the_beginning(incident: Artifact) -> None:
    counts = Counter(key.resource for key, _ in state_of(incident).objects)
    assert (counts["pods"], counts["nodes"], counts["deployments.apps"]) == (3, 2, 1)


def test_what_people_did_is_done_again_and_nothing_else(incident: Artifact) -> None:
    steps = list(people_did(incident))
    told = [(each.request.verb, each.request.plural, each.request.name) for each in steps]
    assert told == [
        ("patch", "deployments", "web"),
        ("patch", "deployments", "web"),
        ("create", "deployments", ""),
        ("delete", "deployments", "other"),
    ]
    assert [round(each.at_seconds) for each in steps] == [0, 10, 20, 30]
    assert b'"replicas":4' in steps[0].request.body


def test_faults_break_nothing(incident: Artifact) -> None:
    runner = runner_of(incident)
    results = [runner.run(seed) for seed in range(4)]
    assert [each.failure for each in results] == [None] * 4
    assert sum(sum(each.faults.values()) for each in results) > 10


def test_a_planted_bug_is_found_and_played_again_to_the_byte(
    incident: Artifact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it.incident"
    file.write_bytes(write_artifact(incident))
    words = (
        "sim",
        "from",
        str(file),
        "--seeds",
        "6",
        "--plant",
        PLANT,
        "--artifacts",
        str(tmp_path / "found"),
    )
    assert main(words) == 1
    assert "6 seeds of the incident (4 things that people did)" in capsys.readouterr().out
    found = [*(tmp_path / "found").glob("incident-*.jsonl")]
    assert found
    assert play_again(read_artifact(found[0].read_bytes())).same


def test_a_regression_test_of_it_can_fail(
    incident: Artifact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it.incident"
    file.write_bytes(write_artifact(incident))
    assert main(("sim", "test", str(file), "--to", str(tmp_path / "test_it.py"))) == 0
    written = (tmp_path / "test_it.py").read_text()
    assert 'assert_replays(Path(__file__).with_name("it.incident"))' in written
    with pytest.raises(AssertionError, match=r"come out otherwise, the first is .* of hollow"):
        assert_replays(file)  # its nodes have other names than those of `fairlead up`


def test_times_are_moved() -> None:
    assert (
        shifted(b'{"a":"2026-11-18T01:00:00Z","b":"2026"}', 3600)
        == b'{"a":"2026-11-18T02:00:00Z","b":"2026"}'
    )


def test_neighbours_are_of_other_tenants_at_other_times_and_find_bugs_as_well(incident: Artifact) -> None:
    one, other = (runner_of(incident, PLANT, number=number) for number in (1, 2))
    names = [
        {step.request.namespace for step in each.scenario.steps if step.request.namespace}
        for each in (one, other)
    ]
    assert names == [{"shop-1"}, {"shop-2"}]
    times = [[step.at_seconds for step in each.scenario.steps] for each in (one, other)]
    assert times[0] != times[1]
    assert all(each == sorted(each) for each in times)
    assert any(one.run(seed).failure is not None for seed in range(20))
    assert runner_of(incident, number=1).run(0).failure is None
