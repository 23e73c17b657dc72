"""A Decider whose every look is at all objects of a resource: of few it looks at each change, of many once for several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, pairwise

import msgspec
import pytest

from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.health import Health
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.model.views import NODES, Node, Resource, View
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

ALL = Key(NODES.name, "", "")


class Onlooker:
    name = "onlooker"
    reads: tuple[Resource[View], ...] = (NODES,)

    def __init__(self) -> None:
        self.looks: list[float] = []

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (ALL,)

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        return (ALL,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        self.looks.append(now)
        return NOTHING


def looks(objects: Sequence[int], adopting: bool) -> list[float]:
    """When it looked, with a change every hundredth of a second for four seconds."""
    decider, health, view = Onlooker(), Health(), MirrorView({})
    calls = count(1)
    controller = Controller(
        decider, WorkQueue(health.settings.queue(decider.name)), health, lambda: next(calls),
        lambda write: True, lambda: view,
    )  # fmt: skip
    controller.gather(objects)
    node = msgspec.convert({"metadata": {"name": "n1", "uid": "u"}}, Node)
    for hundredth in range(400):
        now = 1000.0 + hundredth / 100
        if adopting:
            controller.observe_adoptable(view, NODES.name, None, node, now)
        else:
            controller.observe(NODES.name, None, node, now)
        tuple(controller.step(now))
    return decider.looks


@pytest.mark.parametrize("adopting", [False, True])
def test_few_objects_are_looked_at_for_each_change(adopting: bool) -> None:
    assert looks(range(10), adopting)[:20] == [1000.0 + number / 100 for number in range(20)]


@pytest.mark.parametrize("adopting", [False, True])
@pytest.mark.parametrize(("objects", "seconds"), [(1000, 0.2), (5000, 1.0), (100_000, 2.0)])
def test_many_are_looked_at_once_for_several_changes_and_never_put_off_for_longer(
    objects: int, seconds: float, adopting: bool
) -> None:
    found = looks(range(objects), adopting)
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
