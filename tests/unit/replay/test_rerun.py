"""Decisions of every controller are run again from their records and the store's history, and come out the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.roster import default_deciders
from fairlead.model.policy.evidence_rows import default_policy
from fairlead.replay.cast import Cast
from fairlead.replay.past import NotKept, ResourceHistory
from fairlead.replay.rerun import Rerun, Rerunner, starts_of
from fairlead.replay.stored import read_history
from fairlead.store.contract import Reader
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.replay import load

Json = dict[str, Any]
NODES = 2


class StoredHistory:
    """`starts`: from which revision on each resource is needed; what is not named is not at hand."""

    def __init__(self, reader: Reader, starts: Mapping[str, int]) -> None:
        self._reader = reader
        self._starts = starts
        self._found: dict[str, ResourceHistory] = {}

    def of(self, resource: str) -> ResourceHistory:
        found = self._found.get(resource)
        if found is None:
            if resource not in self._starts:
                raise NotKept(f"nothing of {resource} is at hand")
            found = self._found[resource] = read_history(self._reader, resource, self._starts[resource])
        return found


def runner_of(driver: Driver) -> Rerunner:
    lines = [line for line in driver.records if "digest" in line]
    history = StoredHistory(driver.api.store, starts_of(lines))
    return Rerunner(history, Cast((*default_deciders(), hollow_decider("node-", NODES))))


def rerun_all(driver: Driver) -> Counter[str]:
    """How many of each controller; all of them must agree."""
    runner, counts = runner_of(driver), Counter[str]()
    for line in driver.records:
        if "digest" not in line:
            continue
        found = runner.run(line)
        assert isinstance(found, Rerun), (line, found)
        assert found.digest == line["digest"], (line, found)
        counts[line["controller"]] += 1
    return counts


def do(driver: Driver, acts: Iterable[load.Act], seconds: float = 3.0) -> None:
    for verb, target, body in acts:
        driver.api.now = driver.now
        status, told = getattr(driver.api, verb)(target, body)
        assert status < 300, (target, told.get("message", told))
        driver.run(seconds)


@pytest.fixture
def driver() -> Driver:
    made = Driver(InProcess(1_700_000_000.0))
    made.run(5)
    return made


def test_all_that_a_busy_plane_decided_is_decided_again(driver: Driver) -> None:
    do(driver, load.begin("shop"))
    do(driver, load.disturb("shop"))
    driver.step_wall_clock(3600.0)
    driver.run(90)
    driver.api.delete("/api/v1/nodes/node-1")
    driver.run(60)
    do(driver, load.end("shop"))
    driver.run(60)
    counts = rerun_all(driver)
    assert counts.total() > 500
    expected = "deployment replicaset statefulset daemonset job cronjob autoscaler resource-quota garbage-collector namespace"
    assert set(expected.split()) <= set(counts)
    assert any("held" in line for line in driver.records)
    assert any("wall" in line.get("heard", {}) for line in driver.records)


def test_a_record_that_was_changed_is_found(driver: Driver) -> None:
    do(driver, load.begin("shop"))
    runner = runner_of(driver)
    line = next(each for each in driver.records if each["controller"] == "replicaset" and "effects" in each)
    found = runner.run({**line, "reads": {**line["reads"], "pods": [driver.api.store.revision, 0]}})
    assert isinstance(found, Rerun)
    assert found.digest != line["digest"]


def fall_silent(driver: Driver) -> None:
    """A node that renewed its lease once."""
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4", "pods": "10"}}
    lease = {"metadata": {"name": "lonely"}, "spec": {"holderIdentity": "lonely", "leaseDurationSeconds": 40}}
    acts: list[load.Act] = [
        ("post", "/apis/fairlead.dev/v1/evidencepolicies", default_policy()),
        ("post", "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}}),
        ("post", "/api/v1/nodes", {"metadata": {"name": "lonely"}}),
        ("patch", "/api/v1/nodes/lonely/status", {"status": ready}),
        ("post", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease),
    ]
    do(driver, acts)
    driver.run(400)


def test_decisions_on_the_silence_of_a_node_are_made_again(driver: Driver) -> None:
    do(driver, load.begin("shop"))
    fall_silent(driver)
    rerun_all(driver)
    heard = [line["heard"] for line in driver.records if line.get("heard")]
    assert any(each.get("silent", [{}])[0].get("names") for each in heard)


def test_what_was_not_asked_then_is_told(driver: Driver) -> None:
    fall_silent(driver)
    runner = runner_of(driver)
    line = next(each for each in driver.records if "silent" in each.get("heard", {}))
    found = runner.run({**line, "heard": {}})
    assert isinstance(found, Rerun)
    assert "did not ask then" in found.why


def test_what_is_not_kept_is_told(driver: Driver) -> None:
    runner = runner_of(driver)
    line = next(each for each in driver.records if each["controller"] == "node-health")
    told = runner.run({**line, "reads": {name: [1, 1] for name in line["reads"]}})
    assert isinstance(told, str)
    assert "is at hand from revision" in told
