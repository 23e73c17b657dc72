"""A mark of an eviction that did not happen is taken back, and only such a mark; also when the scheduler that made it
died before it could evict."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.views import PODS
from fairlead.reconcile.stale_disruption import STALE_DISRUPTION_SECONDS, stale_disruption_decider
from tests.unit.control.driving import Driver
from tests.unit.explain.asking import PODS as PATH
from tests.unit.explain.asking import Asked
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World

DECIDER = stale_disruption_decider()
KEY = Key(PODS.name, "default", "p")


def mark(reason: str = "PreemptionByScheduler", status: str = "True", since: str = timestamp(NOW)) -> Any:
    at = {"lastTransitionTime": since} if since else {}
    return {"type": "DisruptionTarget", "status": status, "reason": reason, **at}


def marked(*conditions: Any, phase: str = "Running", **meta: Any) -> World:
    world = World()
    container = {"name": "c", "image": "i"}
    world.add(PODS, "p", "default", spec={"containers": [container], "nodeName": "n"})
    ready = {"type": "Ready", "status": "True"}
    world.edit_status(PODS, "p", {"phase": phase, "conditions": [ready, *conditions]}, "default")
    return world


def test_a_mark_is_left_alone_for_a_while_then_taken_back() -> None:
    world = marked(mark())
    waiting = world.decide(DECIDER, KEY)
    assert waiting.effects == ()
    assert waiting.again_at == NOW + STALE_DISRUPTION_SECONDS
    world.tick(STALE_DISRUPTION_SECONDS)
    world.apply(world.decide(DECIDER, KEY).effects)
    pod = world.get(PODS, "default", "p")
    assert pod is not None
    found = {each.type: (each.status, each.reason) for each in pod.status.conditions}
    assert found == {"Ready": ("True", ""), "DisruptionTarget": ("False", "PreemptionByScheduler")}
    assert tuple(woken(DECIDER, PODS.name, None, pod)) == ()
    assert world.decide(DECIDER, KEY).effects == ()


@pytest.mark.parametrize(
    ("condition", "phase", "looked_at"),
    [
        (mark(), "Running", True),
        (mark("EvictionByEvictionAPI"), "Running", True),
        (mark(since=""), "Running", True),
        (mark(status="False"), "Running", False),
        (mark("TerminationByKubelet"), "Running", False),
        (mark(), "Failed", False),
        (mark(), "Succeeded", False),
    ],
)
def test_which_marks_can_become_stale(condition: Any, phase: str, looked_at: bool) -> None:
    world = marked(condition, phase=phase)
    pod = world.get(PODS, "default", "p")
    assert bool(tuple(woken(DECIDER, PODS.name, None, pod))) == looked_at
    world.tick(STALE_DISRUPTION_SECONDS)
    assert bool(world.decide(DECIDER, KEY).effects) == looked_at


def test_the_next_leader_takes_back_what_the_former_one_began() -> None:
    """Killed between mark and deletion; meanwhile the preemptor has gone, so that nobody is to be evicted any more."""
    asked = Asked()
    asked.create("victim")
    asked.run(5)
    conditions = asked.api.get(f"{PATH}/victim")[1]["status"]["conditions"]
    since = timestamp(asked.driver.now)
    body = {"status": {"conditions": [*conditions, mark(since=since)]}}
    assert asked.api.patch(f"{PATH}/victim/status", body)[0] == 200
    follower = Driver(asked.api, identity="next")
    follower.now = asked.driver.now
    follower.run(60)
    assert follower.plane.leadership.leads, "the former one says nothing any more"

    def target() -> str:
        found = asked.api.get(f"{PATH}/victim")[1]["status"]["conditions"]
        return next(str(each["status"]) for each in found if each["type"] == "DisruptionTarget")

    assert target() == "True"
    follower.run(STALE_DISRUPTION_SECONDS)
    assert target() == "False"
