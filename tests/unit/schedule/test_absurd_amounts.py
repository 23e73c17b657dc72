"""Quantities that no machine has are taken for the largest that a column holds; nothing wraps round, nothing raises."""

from __future__ import annotations

import pytest

from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import cluster, node, pod


@pytest.mark.parametrize("resource", ["cpu", "memory", "example.com/gpu"])
def test_a_pod_that_asks_for_more_than_there_is_in_the_world_fits_nowhere(resource: str) -> None:
    snapshot = cluster((node("a", room={"example.com/gpu": "4"}),))
    attempt = Cycle(snapshot, default_policy()).place(pod("p", requests={resource: "1e30"}))
    assert attempt.node == ""
    assert f"Insufficient {resource}" in attempt.message


def test_a_node_that_claims_to_have_it_is_taken_in_and_used() -> None:
    snapshot = cluster((node("a", room={"cpu": "1e30", "memory": "1e30"}),))
    assert Cycle(snapshot, default_policy()).place(pod("p", cpu="1")).node == "a"


def test_pods_bound_by_hand_that_use_up_everything_leave_no_room() -> None:
    huge = tuple(pod(f"h{number}", "a", requests={"memory": "8Ei"}) for number in range(200))
    snapshot = cluster((node("a"),), huge)
    assert Cycle(snapshot, default_policy()).place(pod("p", requests={"memory": "1Gi"})).node == ""


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_what_is_compared_with_no_number_matches_no_node(operator: str) -> None:
    wanted = {"key": "kubernetes.io/hostname", "operator": operator, "values": ["abc"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    attempt = Cycle(cluster((node("a"),)), default_policy()).place(pod("p", affinity=affinity))
    assert "didn't match Pod's node affinity/selector" in attempt.message
