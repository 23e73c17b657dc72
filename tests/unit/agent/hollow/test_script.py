"""When a hollow node is silent by its annotations: tables of scripts and instants."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.agent.hollow.script import FLAPS, NEVER, SILENT_AFTER, silent_until
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.views import NODES, PODS, Node
from tests.unit.reconcile.world import NOW, World

BORN = 1_800_000_000.0
NODE = Key("nodes", "", "hollow-0")
DECIDER = hollow_decider("hollow-", nodes=1)


def node(born: bool = True, **script: str) -> Node:
    names = {"after": SILENT_AFTER, "flaps": FLAPS}
    metadata = {
        "name": "hollow-0",
        "uid": "u",
        "annotations": {names[each]: text for each, text in script.items()},
        **({"creationTimestamp": timestamp(BORN)} if born else {}),
    }
    return msgspec.convert({"metadata": metadata}, Node)


@pytest.mark.parametrize(
    ("script", "age", "until"),
    [
        ({}, 1e6, 0.0),
        ({"after": "60s"}, 59.9, 0.0),
        ({"after": "60s"}, 60.0, NEVER),
        ({"after": "1m"}, 3600.0, NEVER),
        ({"after": "0s"}, 0.0, NEVER),
        ({"after": "0s"}, -5.0, NEVER),  # the server's clock may be ahead of ours
        ({"after": "-3s"}, 0.0, NEVER),
        ({"after": "soon"}, 1e6, 0.0),
        ({"after": ""}, 1e6, 0.0),
        ({"flaps": "20s"}, 0.0, 0.0),
        ({"flaps": "20s"}, 19.9, 0.0),
        ({"flaps": "20s"}, 20.0, BORN + 40),
        ({"flaps": "20s"}, 39.5, BORN + 40),
        ({"flaps": "20s"}, 40.0, 0.0),
        ({"flaps": "20s"}, 60.0, BORN + 80),
        ({"flaps": "0s"}, 60.0, 0.0),
        ({"flaps": "often"}, 60.0, 0.0),
        ({"flaps": "20s", "after": "100s"}, 70.0, BORN + 80),
        ({"flaps": "20s", "after": "100s"}, 90.0, 0.0),
        ({"flaps": "20s", "after": "100s"}, 120.0, NEVER),
    ],
)
def test_silent_by_script_and_age(script: dict[str, Any], age: float, until: float) -> None:
    assert silent_until(node(**script), BORN + age) == until


def test_a_node_that_nobody_dated_is_as_old_as_now() -> None:
    assert silent_until(node(born=False, after="1s"), BORN) == 0.0
    assert silent_until(node(born=False, after="0s"), BORN) == NEVER


# What a node that is silent by its script does about its pods: nothing


def _world(**script: str) -> World:
    world = World()
    while effects := world.decide(DECIDER, NODE).effects:
        world.apply(effects)
    names = {"after": SILENT_AFTER, "flaps": FLAPS}
    annotations = {names[each]: text for each, text in script.items()}
    world.edit(NODES, "hollow-0", {"metadata": {"annotations": annotations}}, namespace="")
    spec = {"containers": [{"name": "main", "image": "a"}], "nodeName": "hollow-0"}
    world.add(PODS, "web", spec=spec)
    return world


def test_a_silent_node_says_nothing_of_its_pods_until_it_is_heard_again() -> None:
    world = _world(flaps="20s")
    world.tick(25)
    decision = world.decide(DECIDER, NODE)
    assert not decision.effects
    assert decision.again_at == NOW + 40
    world.tick(15)
    (effect,) = world.decide(DECIDER, NODE).effects
    assert effect.identity.endswith("/start")


def test_a_node_that_is_silent_for_ever_is_not_looked_at_again() -> None:
    world = _world(after="5s")
    world.tick(5)
    decision = world.decide(DECIDER, NODE)
    assert (decision.effects, decision.again_at) == ((), 0.0)


def test_a_node_that_was_given_up_does_not_say_that_it_is_ready() -> None:
    world = _world()
    world.edit_status(
        NODES,
        "hollow-0",
        {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]},
        namespace="",
    )
    world.tick(5)
    assert not world.decide(DECIDER, NODE).effects
