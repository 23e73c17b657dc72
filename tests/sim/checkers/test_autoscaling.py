"""The checkers of autoscalers: bounds, amplification while replicas wait, and what stays for its window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.checkers.story import Json, Story, leads, pod, told_by

AUTOSCALERS, DEPLOYMENTS, SETS = (
    "horizontalpodautoscalers.autoscaling",
    "deployments.apps",
    "replicasets.apps",
)
BY = "autoscaler of plane-0-1"
APP = {"app": "web"}


def autoscaler(story: Story, least: int = 1, most: int = 50, **meta: Any) -> None:
    leads(story, "plane-0-1")
    target = {"kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
    story.commit(AUTOSCALERS, {"metadata": {"name": "web", **meta}, "spec": spec})


def scale(story: Story, replicas: int, origin: str = BY) -> None:
    status = {"observedGeneration": 1}
    body = {"metadata": {"name": "web", "generation": 1}, "spec": {"replicas": replicas}, "status": status}
    story.commit(DEPLOYMENTS, body, origin)


def place(story: Story, count: int) -> None:
    for number in range(count):
        story.commit("pods", pod(f"web-{number}", "of-nobody", node="n", kind="Nobody", labels=APP))


def waiting(story: Story) -> None:
    """One more, which fits on no node."""
    made: Json = pod("web-late", "of-nobody", kind="Nobody", labels=APP)
    made["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    }
    story.commit("pods", made)


def begin(story: Story, placed: int, replicas: int, **bounds: int) -> None:
    autoscaler(story, **bounds)
    place(story, placed)
    scale(story, replicas, "people")


def more_than_the_most(story: Story) -> None:
    begin(story, 4, 4, most=6)
    scale(story, 7)


def fewer_than_the_least(story: Story) -> None:
    begin(story, 4, 4, least=3)
    scale(story, 2)


def bounds_that_were_changed(story: Story) -> None:
    begin(story, 4, 4, most=9)
    autoscaler(story, most=5)
    scale(story, 6)


def past_twice_those_that_have_a_node(story: Story) -> None:
    begin(story, 4, 5)
    story.seconds = 100.0
    scale(story, 9)


def while_one_has_long_waited(story: Story) -> None:
    begin(story, 4, 5)
    waiting(story)
    story.seconds = 100.0
    scale(story, 6)


def while_a_quota_is_used_up(story: Story) -> None:
    begin(story, 4, 5)
    owner = [{"kind": "Deployment", "name": "web", "uid": "uid-web", "controller": True}]
    told = [{"type": "fairlead.dev/WaitingFor", "status": "True", "reason": "WaitingForResourceQuota"}]
    body = {"metadata": {"name": "web-1", "ownerReferences": owner}, "status": {"conditions": told}}
    story.commit(SETS, body)
    story.seconds = 100.0
    scale(story, 6)


def up_and_down_again(story: Story) -> None:
    begin(story, 4, 4)
    scale(story, 8)
    story.seconds = 200.0
    scale(story, 4)


def test_what_an_autoscaler_should_do_breaks_nothing() -> None:
    story = Story()
    begin(story, 4, 4, most=8)
    scale(story, 8)
    story.seconds = 30.0
    autoscaler(story, most=6)
    scale(story, 6)  # people want fewer
    story.seconds = 400.0
    scale(story, 3)
    scale(story, 20, "people")  # whom nobody bounds


def test_whoever_reacts_to_what_is_blocked_is_bounded_only() -> None:
    story = Story()
    autoscaler(story, annotations={"fairlead.dev/react-to-blocked": "true"})
    place(story, 4)
    scale(story, 5, "people")
    waiting(story)
    story.seconds = 100.0
    scale(story, 8)


def test_what_cannot_have_been_seen_yet_is_no_blame() -> None:
    story = Story()
    begin(story, 6, 6)
    for number in range(3):
        story.commit(
            "pods", pod(f"web-{number}", "of-nobody", node="n", kind="Nobody", labels=APP), gone=True
        )
    story.seconds = 10.0
    scale(story, 12)


VIOLATIONS = [
    ("scales-within-bounds", more_than_the_most),
    ("scales-within-bounds", fewer_than_the_least),
    ("scales-within-bounds", bounds_that_were_changed),
    ("amplification-bounded", past_twice_those_that_have_a_node),
    ("amplification-bounded", while_one_has_long_waited),
    ("amplification-bounded", while_a_quota_is_used_up),
    ("no-flapping", up_and_down_again),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
