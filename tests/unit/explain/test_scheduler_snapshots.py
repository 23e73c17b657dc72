"""Snapshots from scratch: they hold what the scheduler's own snapshot would hold of the same objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.model.views import NODES, Node, Resource, View
from fairlead.replay.placement import snapshot_of
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import node, pod, viewed


def test_nodes_that_are_not_ready_repel_and_one_that_cannot_be_read_keeps_no_other_out() -> None:
    unready = viewed(
        {
            "metadata": {"name": "unready", "uid": "u"},
            "status": {"allocatable": {"cpu": "64", "pods": "110"}},
        },
        Node,
    )
    unreadable = node("unreadable", room={"cpu": "many"})

    def views(resource: Resource[Any]) -> Iterable[View]:
        return (unready, unreadable, node("a")) if resource is NODES else ()

    attempt = Cycle(snapshot_of(views), default_policy()).place(pod("p", cpu="1"), assume=False)
    assert attempt.node == "a"
