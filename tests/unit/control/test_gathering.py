"""A Decider whose every look is at all objects of a resource: of few it looks at each change, of many once for several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise

import msgspec
import pytest

from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.health import Health
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.wakes import always
from fairlead.model.key import Key
from fairlead.model.views import NODES, Node
from fairlead.queue.work import WorkQueue

ALL = Key(NODES.name, "", "")


def looks(objects: Sequence[int]) -> list[float]:
    """When it looked, with a change every hundredth of a second for four seconds."""
    found: list[float] = []

    def decide(view: Reading, key: Key, now: float) -> Decision:
        found.append(now)
        return NOTHING

    wake: Wake[Node] = Wake(NODES, always(ALL))
    decider = Decider(name="onlooker", reads=(NODES,), wakes=(wake,), decide=decide)
    health, view, calls = Health(), MirrorView({}), count(1)
    controller = Controller(
        decider, WorkQueue(health.settings.queue(decider.name)), health, lambda: next(calls),
        lambda write: True, lambda: view,
    )  # fmt: skip
    controller.gather(objects)
    node = msgspec.convert({"metadata": {"name": "n1", "uid": "u"}}, Node)
    event = WatchEvent(view, Key(NODES.name, "", "n1"), None, node)
    for hundredth in range(400):
        now = 1000.0 + hundredth / 100
        controller.observe(wake, event, now)
        controller.step(now, [])
    return found


def test_few_objects_are_looked_at_for_each_change() -> None:
    assert looks(range(10))[:20] == [1000.0 + number / 100 for number in range(20)]


@pytest.mark.parametrize(("objects", "seconds"), [(1000, 0.2), (5000, 1.0), (100_000, 2.0)])
def test_many_are_looked_at_once_for_several_changes_and_never_put_off_for_longer(
    objects: int, seconds: float
) -> None:
    found = looks(range(objects))
    assert found, "changes without end do not put a look off for ever"
    assert found[0] == pytest.approx(1000.0 + seconds, abs=0.011)
    between = [later - earlier for earlier, later in pairwise(found)]
    assert all(each == pytest.approx(seconds, abs=0.021) for each in between)


def test_those_who_look_at_all_nodes_gather_over_the_nodes() -> None:
    plane = Plane("test", default_deciders())
    gathering = {each.decider.name for each in plane.controllers if each._gathering.objects != ()}
    assert gathering == {"node-health", "evidence-policy"}
    index = plane.mirrors[NODES.name].index
    assert all(
        each._gathering.objects is index for each in plane.controllers if each.decider.name in gathering
    )
