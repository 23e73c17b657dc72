"""A capture of a busy plane is replayed elsewhere: every decision comes out the same, and what is changed is found."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.roster import default_deciders
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.model.views import Meta, SchedulingPolicy
from fairlead.replay import replaying
from fairlead.replay.artifact import Artifact, RecordedLine, read_artifact, write_artifact
from fairlead.replay.capture import capture
from fairlead.replay.cast import Cast, usual_deciders
from fairlead.replay.replaying import Replay, WhatIf
from fairlead.replay.store_origin import StoreOrigin
from fairlead.replay.terms import pretended_in
from fairlead.schedule.registry import WEIGHTS
from fairlead.store.contract import Note, Transaction
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.replay import load
from tests.unit.replay.test_rerun import do

NOW = 1_700_000_000.0
OVERRIDE = "/apis/fairlead.dev/v1/namespaces/shop/scheduleroverrides"
STOP = {
    "metadata": {"name": "hold-web"},
    "spec": {
        "target": "deployment/web",
        "reason": "it is odd",
        "owner": "shop",
        "expiresAfter": "30m",
        "changes": {"pauseRollout": True},
    },
}


def replay(artifact: Artifact, what_if: WhatIf | None = None) -> Replay:
    """With the nodes of the driver."""
    return replaying.replay(artifact, what_if, (*default_deciders(), hollow_decider("node-", 2)))


class Kept(Driver):
    """Keeps its records in the store's log, as a server does."""

    def keep(self) -> None:
        for record in self.records:
            self.api.commit(Transaction(notes=(Note("decisions", codec.encode(record)),)))
        self.records.clear()


def captured(driver: Kept, since: float = NOW, namespace: str = "") -> Artifact:
    driver.keep()
    origin = StoreOrigin(driver.api.store, driver.api.journal, b"key")
    return read_artifact(write_artifact(capture(origin, since, driver.now, namespace)))


@pytest.fixture(scope="module")
def busy() -> Kept:
    driver = Kept(InProcess(NOW))
    driver.run(5)
    do(driver, load.begin("shop"))
    driver.api.post(
        "/api/v1/namespaces/shop/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "hunter2"}}
    )
    do(driver, [("post", OVERRIDE, STOP)])
    do(driver, load.disturb("shop"))
    driver.run(30)
    return driver


@pytest.fixture(scope="module")
def incident(busy: Kept) -> Artifact:
    return captured(busy)


def test_every_decision_comes_out_the_same(incident: Artifact) -> None:
    found = replay(incident)
    assert (found.different, found.differences) == (0, [])
    assert found.decisions == found.equal > 300
    assert {"scheduler", "deployment", "replicaset", "statefulset", "job"} <= set(found.controllers)


def test_only_what_tells_of_an_outcome_is_not_run_again(incident: Artifact) -> None:
    assert not replay(incident).skipped, "what tells of an outcome is part of the decision that it is about"


def test_no_secret_is_in_it(incident: Artifact) -> None:
    assert b"hunter2" not in write_artifact(incident)
    assert b"aHVudGVyMg" not in write_artifact(incident)


def test_a_later_beginning_has_fewer_decisions_and_all_that_they_read(busy: Kept, incident: Artifact) -> None:
    later = captured(busy, NOW + 40)
    found = replay(later)
    assert found.different == 0
    assert 0 < found.decisions < replay(incident).decisions
    assert not [why for why in found.skipped if "is at hand" in why]


def test_a_capture_of_a_namespace_leaves_the_others_out(busy: Kept) -> None:
    found = captured(busy, namespace="shop")
    objects = {str(json.loads(bytes(line.body)).get("object", "")) for line in found.lines}
    assert not any("/default/" in each or "/kube-system/" in each for each in objects)
    again = replay(found)
    assert again.different == 0
    assert again.controllers["replicaset"] > 10


def test_a_plane_beside_it_does_not_take_its_hollow_nodes_away() -> None:
    driver = Kept(InProcess(NOW))
    for term, flags in (("aa", ["scheduler", "controller/hollow=3"]), ("bb", ["scheduler"])):
        line = {"time": "2023-11-14T22:13:21Z", "controller": "plane", "term": term, "flags": flags}
        driver.records.append(line)
    assert captured(driver).head.hollow_nodes == 3


def test_a_capture_has_what_opened_each_term_that_its_decisions_are_of() -> None:
    driver = Kept(InProcess(NOW))
    for term, nodes in (("aa", 3), ("bb", 5), ("cc", 7)):
        opened = {"time": "2023-11-14T22:13:21Z", "controller": "plane", "term": term}
        driver.records.append({**opened, "flags": ["scheduler", f"controller/hollow={nodes}"]})
    for decision in ("aa-1", "bb-1", "aa-2", "dd-1"):
        driver.records.append({"time": "2023-11-14T22:14:21Z", "controller": "hollow", "id": decision})
    found = captured(driver, NOW + 60)
    assert [line.sequence for line in found.lines] == [1, 2, 4, 5, 6, 7]
    assert pretended_in(found) == {"aa": 3, "bb": 5}


def test_each_decision_is_run_with_the_nodes_that_its_plane_pretended() -> None:
    cast = Cast(usual_deciders(), {"aa": 3, "bb": 5})
    nodes = {
        term: len(found.initial_keys)
        for term in ("aa", "bb", "cc")
        if (found := cast.decider("hollow", term)) is not None
    }
    assert nodes == {"aa": 3, "bb": 5, "cc": 0}
    assert [cast.knows_nodes("hollow", term) for term in nodes] == [True, True, False]
    assert cast.knows_nodes("job", "cc")


def test_a_decision_on_an_unknown_number_of_nodes_is_not_called_different() -> None:
    driver = Kept(InProcess(NOW))
    line = {"controller": "hollow", "object": "nodes/hollow-1", "verdict": "Settled", "digest": "0" * 16}
    driver.records.append({**line, "time": "2023-11-14T22:14:21Z", "id": "dd-1", "reads": {"nodes": [1, 1]}})
    found = replaying.replay(captured(driver))
    assert (found.different, len(found.skipped)) == (0, 1)
    assert "opened its term" in next(iter(found.skipped))


def changed(artifact: Artifact, controller: str, **fields: Any) -> Artifact:
    """With other fields in the first record of a controller that did something."""
    lines = list(artifact.lines)
    for place, line in enumerate(lines):
        record = json.loads(bytes(line.body))
        if record.get("controller") == controller and (record.get("effects") or record.get("node")):
            lines[place] = RecordedLine(
                line.stream, line.sequence, msgspec.Raw(json.dumps(record | fields).encode())
            )
            return structs.replace(artifact, lines=tuple(lines))
    raise AssertionError(f"{controller} did nothing")


def test_a_decision_that_comes_out_otherwise_is_named(incident: Artifact) -> None:
    found = replay(changed(incident, "replicaset", digest="0" * 16))
    assert found.different == 1
    first = found.first_divergence
    assert first is not None
    assert (first.controller, first.recorded["digest"]) == ("replicaset", "0" * 16)
    assert first.again["effects"]


def test_a_placement_that_comes_out_otherwise_is_named(incident: Artifact) -> None:
    found = replay(changed(incident, "scheduler", node="elsewhere"))
    assert found.different == 1
    first = found.first_divergence
    assert first is not None
    assert first.recorded == {"node": "elsewhere"}


def test_what_another_policy_would_have_placed_elsewhere(incident: Artifact) -> None:
    weights = [{"name": name, "weight": 0} for name in WEIGHTS if name != "NodeResourcesFit"]
    packing = SchedulingPolicy(
        Meta("packing", "u"), {"scoring": {"strategy": "MostAllocated"}, "plugins": weights}
    )
    found = replay(incident, WhatIf(policy=packing))
    assert found.different > 0
    assert {each.controller for each in found.differences} == {"scheduler"}


def test_what_would_have_been_decided_without_an_override(incident: Artifact) -> None:
    for name in ("hold-web", "shop/hold-web"):
        found = replay(incident, WhatIf(without_override=name))
        held = [each for each in found.differences if each.controller == "deployment"]
        assert {each.object for each in held} == {"deployments.apps/shop/web"}
        assert not any("create" in str(each.recorded.get("effects")) for each in held)
        assert any("create" in str(each.again.get("effects")) for each in held)


def test_an_override_that_was_never_there_cannot_be_left_out(incident: Artifact) -> None:
    with pytest.raises(NotFound, match="no override 'nobody'"):
        replay(incident, WhatIf(without_override="nobody"))
