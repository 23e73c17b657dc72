"""Checkers of objects that are damaged in the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import GOING, Story, leads, pod, replicaset, told_by

OF_REPLICASET, OF_NAMESPACE = "replicaset of plane-0-1", "namespace of plane-0-1"


def a_set_of_two(story: Story) -> None:
    story.commit("namespaces", {"metadata": {"name": "default"}}, namespace="")
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a"))


def an_event(story: Story, message: str) -> None:
    story.commit("events", {"metadata": {"name": "e"}, "reason": "Unreadable", "message": message})


def a_damaged_object_that_is_written(story: Story) -> None:
    a_set_of_two(story)
    story.decay("pods", "a")
    story.commit("pods", pod("a"), OF_REPLICASET)


def a_damaged_object_that_a_plane_deletes(story: Story) -> None:
    a_set_of_two(story)
    story.decay("pods", "a")
    story.commit("pods", pod("a"), OF_REPLICASET, gone=True)


def a_pod_made_beside_a_damaged_one(story: Story) -> None:
    a_set_of_two(story)
    story.decay("pods", "a")
    story.commit("pods", pod("b"), OF_REPLICASET)


def a_pod_that_goes_because_its_owner_is_damaged(story: Story) -> None:
    a_set_of_two(story)
    story.decay("replicasets.apps", "web")
    story.commit("pods", pod("a", uid="uid-web", deletionTimestamp=GOING), "people")
    story.commit("pods", pod("a", uid="uid-web"), OF_NAMESPACE, gone=True)


def a_namespace_that_goes_with_what_is_damaged_in_it(story: Story) -> None:
    a_set_of_two(story)
    story.decay("replicasets.apps", "web")
    story.commit("namespaces", {"metadata": {"name": "default"}}, OF_NAMESPACE, gone=True, namespace="")


def a_damaged_pod_that_nobody_names(story: Story) -> None:
    a_set_of_two(story)
    story.decay("pods", "a")
    an_event(story, "not carried out, because pods/default/b could not be read")
    story.commit("pods", pod("a"), "people", gone=True)


def test_what_waits_for_a_damaged_pod_until_people_give_it_up_breaks_nothing() -> None:
    story = Story()
    leads(story, "plane-0-1")
    a_set_of_two(story)
    story.decay("pods", "a")
    an_event(story, "not carried out, because pods/default/a could not be read")
    story.commit("pods", pod("a"), "people", gone=True)
    story.commit("pods", pod("b"), OF_REPLICASET)


VIOLATIONS = [
    ("damaged-is-there", a_damaged_object_that_is_written),
    ("damaged-is-there", a_damaged_object_that_a_plane_deletes),
    ("damaged-is-there", a_pod_made_beside_a_damaged_one),
    ("damaged-is-there", a_pod_that_goes_because_its_owner_is_damaged),
    ("damaged-is-there", a_namespace_that_goes_with_what_is_damaged_in_it),
    ("damaged-is-there", a_damaged_pod_that_nobody_names),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
