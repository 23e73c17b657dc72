"""Checkers of who writes what: leaders, statuses, revisions, rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.sim.violation import Violation
from tests.sim.checkers.story import Json, Story, deployment, leads, node, pod, replicaset, told_by


def a_write_of_a_former_leader(story: Story) -> None:
    leads(story, "plane-0-1")
    leads(story, "plane-1-1")
    story.commit("replicasets.apps", replicaset(1), origin="plane-1-1")
    story.commit("replicasets.apps", replicaset(2, generation=2), origin="plane-0-1")


def a_status_from_the_future(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1, generation=1, observed=2))


def a_status_that_goes_back(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=2))
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=1))


def a_status_left_behind(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=1))
    story.rest()


def a_progress_that_grows_on_the_way(story: Story) -> None:
    whole = deployment(1, 1, 0)
    whole["status"] = {**whole.get("status", {}), "progress": {"admitted": 1, "ready": 2}}
    story.commit("deployments.apps", whole)


def a_progress_that_lags_at_rest(story: Story) -> None:
    whole = deployment(1, 1, 0)
    told = {"desired": 1, "admitted": 1, "ready": 0}
    generation = whole["metadata"].get("generation", 0)
    whole["status"] = {"observedGeneration": generation, "readyReplicas": 1, "progress": told}
    story.commit("deployments.apps", whole)
    story.rest()


def _held_up(story: Story, replicas: int, updated: int) -> None:
    """A Deployment of one, which is ready and says that something holds it up."""
    whole = deployment(1, 1, 0)
    told = {"desired": 1, "admitted": 1, "ready": 1, "limit": {"stage": "queued", "reason": "Unschedulable"}}
    counts = {"replicas": replicas, "updatedReplicas": updated, "readyReplicas": 1}
    whole["status"] = {"observedGeneration": 1, **counts, "progress": told}
    story.commit("deployments.apps", whole)
    story.rest()


def a_workload_that_is_done_and_held_up(story: Story) -> None:
    _held_up(story, 1, 1)


def test_a_rollout_that_waits_for_one_more_pod_is_held_up_though_all_that_are_wanted_are_ready() -> None:
    _held_up(Story(), 2, 1)
    _held_up(Story(), 1, 0)


def an_orphan(story: Story) -> None:
    story.commit("pods", pod("a", uid="uid-of-nobody"))
    story.rest()


def a_deletion_that_does_not_end(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(0, deletionTimestamp="2027-01-01T00:00:00Z"))
    story.rest()


def a_write_after_rest(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(0))
    story.rest()
    story.seconds += 100
    story.commit("replicasets.apps", replicaset(0))


def a_revision_used_twice(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(0))
    story.revision -= 1
    story.commit("replicasets.apps", replicaset(0))


def two_writers_that_undo_each_other(story: Story) -> None:
    for turn in range(40):
        story.seconds += 0.1
        story.commit("nodes", node("node-0"), origin=f"agent of node-{turn % 2}")


def _event(count: int) -> Json:
    return {"metadata": {"name": "web.1"}, "count": count}


def an_event_that_is_told_often_at_rest(story: Story) -> None:
    story.commit("events", _event(1))
    story.rest()
    for count in (2, 3):
        story.seconds += 60
        story.commit("events", _event(count))


def an_event_that_is_new_at_rest(story: Story) -> None:
    story.rest()
    story.seconds += 200
    story.commit("events", _event(1))


def an_event_that_goes_at_rest(story: Story) -> None:
    story.commit("events", _event(1))
    story.rest()
    story.seconds += 200
    story.commit("events", _event(1), gone=True)


def test_an_event_that_is_told_again_after_a_long_while_is_no_unrest() -> None:
    story = Story()
    story.commit("events", _event(1))
    story.rest()
    for count in (2, 3):
        story.seconds += 120
        story.commit("events", _event(count))


VIOLATIONS = [
    ("no-fight", two_writers_that_undo_each_other),
    ("observed-generation", a_status_from_the_future),
    ("observed-generation", a_status_that_goes_back),
    ("observed-generation", a_status_left_behind),
    ("truthful-progress", a_progress_that_grows_on_the_way),
    ("truthful-progress", a_progress_that_lags_at_rest),
    ("truthful-progress", a_workload_that_is_done_and_held_up),
    ("no-orphan", an_orphan),
    ("no-orphan", a_deletion_that_does_not_end),
    ("quiet-at-rest", a_write_after_rest),
    ("quiet-at-rest", an_event_that_is_told_often_at_rest),
    ("quiet-at-rest", an_event_that_is_new_at_rest),
    ("quiet-at-rest", an_event_that_goes_at_rest),
    ("revisions-increase", a_revision_used_twice),
    ("one-leader", a_write_of_a_former_leader),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


@pytest.mark.parametrize("is_served", [True, False])
def test_of_an_owner_whose_kind_is_not_served_nobody_can_tell_the_end(is_served: bool) -> None:
    story = Story()
    owner = {"apiVersion": "example.com/v1", "kind": "Beacon", "name": "a", "uid": "u-a"}
    story.commit("configmaps", {"metadata": {"name": "map", "ownerReferences": [owner]}})
    if not is_served:
        story.rest()
        return
    definition = {"metadata": {"name": "beacons.example.com"}}
    story.commit("customresourcedefinitions.apiextensions.k8s.io", definition, namespace="")
    with pytest.raises(Violation, match="belongs to Beacon a, which is gone"):
        story.rest()
