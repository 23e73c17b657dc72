"""The checker of sound capacity: what is right passes, and each fabricated violation is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.sim.violation import Violation
from tests.sim.checkers.story import OF_DEPLOYMENT, Story, deployment, leads, pod, replicaset

BY = "deployment of plane-0"
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
AHEAD = {"type": "fairlead.dev/Released", "status": "False", "reason": "NodeGone"}


def size(story: Story, name: str, replicas: int, origin: str = BY) -> None:
    found = replicaset(replicas, name=name, ownerReferences=OF_DEPLOYMENT)
    story.commit("replicasets.apps", found, origin)


def node(story: Story, *taints: dict[str, Any]) -> None:
    story.commit("nodes", {"metadata": {"name": "n2"}, "spec": {"taints": list(taints)}}, namespace="")


def begun(story: Story) -> None:
    """Two old pods on n1, two new ones on n2, all of them ready for a long time; both may be no fewer than 2."""
    leads(story, "plane-0")
    story.commit("deployments.apps", deployment(2, 2, 0))
    node(story)
    for name, where in (("old", "n1"), ("new", "n2")):
        size(story, name, 2, "people")
        for number in range(2):
            story.commit("pods", pod(f"{name}-{number}", name, node=where))
    story.seconds += 100


def marked(story: Story, *conditions: dict[str, Any]) -> None:
    for number in range(2):
        found = pod(f"new-{number}", "new", node="n2")
        found["status"]["conditions"] += conditions
        story.commit("pods", found)


def unready(story: Story) -> None:
    for number in range(2):
        found = pod(f"new-{number}", "new", node="n2")
        found["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        story.commit("pods", found)


def heard_again(story: Story) -> None:
    node(story, UNREACHABLE)
    node(story)


@pytest.mark.parametrize(
    ("happens", "later"),
    [
        (lambda story: None, 0.0),
        (lambda story: node(story, UNREACHABLE), 1.0),
        (unready, 1.0),
        (heard_again, 100.0),
    ],
    ids=["all sound", "not known yet", "not known yet either", "heard again"],
)
def test_old_pods_may_go(happens: Callable[[Story], Any], later: float) -> None:
    story = Story()
    begun(story)
    happens(story)
    story.seconds += later
    size(story, "old", 0)


@pytest.mark.parametrize(
    "happens",
    [
        unready,
        lambda story: node(story, UNREACHABLE),
        lambda story: node(story, {"key": "fairlead.dev/suspect", "effect": "NoSchedule"}),
        lambda story: node(story, {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}),
        lambda story: marked(story, AHEAD),
        lambda story: marked(story, {**AHEAD, "status": "True"}),
    ],
    ids=["unready", "unreachable", "suspect", "out of service", "release ahead", "released"],
)
def test_old_pods_are_the_only_ones_left(happens: Callable[[Story], Any]) -> None:
    story = Story()
    begun(story)
    happens(story)
    story.seconds += 100
    with pytest.raises(Violation, match=r"sound-capacity.* 0 sound pods left of 2, and must keep 2"):
        size(story, "old", 0)


def test_people_may_do_what_they_like() -> None:
    story = Story()
    begun(story)
    node(story, UNREACHABLE)
    story.seconds += 100
    size(story, "old", 0, "people")


def test_too_many_must_go() -> None:
    story = Story()
    begun(story)
    node(story, UNREACHABLE)
    fewer = deployment(2, 0, 0)
    fewer["metadata"]["generation"] = fewer["status"]["observedGeneration"] = 2
    story.commit("deployments.apps", fewer)
    story.seconds += 100
    size(story, "old", 1)
