"""The checker of sound capacity: what is right passes, and each fabricated violation is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.model.reasons import WAITING_FOR
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


def refused(
    story: Story, name: str = "new", reason: str = "WaitingForResourceQuota", status: str = "True"
) -> None:
    found = replicaset(1 if name == "new" else 2, name=name, ownerReferences=OF_DEPLOYMENT)
    found["status"]["conditions"] = [{"type": WAITING_FOR, "status": status, "reason": reason}]
    story.commit("replicasets.apps", found)


def rolling(story: Story, away: int | str = "25%") -> None:
    """Two old pods, ready for a long time, and a new set of one that has none."""
    leads(story, "plane-0")
    wanted = deployment(2, 1, 0)
    wanted["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] = away
    story.commit("deployments.apps", wanted)
    size(story, "old", 2, "people")
    size(story, "new", 1, "people")
    for number in range(2):
        story.commit("pods", pod(f"old-{number}", "old", node="n1"))
    story.seconds += 100


def test_one_pod_may_go_for_one_that_a_quota_refuses() -> None:
    story = Story()
    rolling(story)
    refused(story)
    story.seconds += 100
    size(story, "old", 1)


def test_one_pod_may_go_for_one_that_a_quota_refused_a_moment_ago() -> None:
    story = Story()
    rolling(story)
    refused(story)
    story.seconds += 100
    refused(story, status="False")
    story.seconds += 1
    size(story, "old", 1)


def test_no_second_pod_may_go_for_one_that_a_quota_refuses() -> None:
    story = Story()
    rolling(story)
    refused(story)
    with pytest.raises(Violation, match=r"sound-capacity.* 0 sound pods left of 2, and must keep 1"):
        size(story, "old", 0)


def refused_once(story: Story) -> None:
    refused(story)
    refused(story, status="False")
    story.seconds += 100


@pytest.mark.parametrize(
    ("away", "happens"),
    [
        (0, refused),
        ("0%", refused),
        ("25%", lambda story: None),
        ("25%", lambda story: refused(story, reason="WaitingForPriorityClass")),
        ("25%", lambda story: refused(story, "old")),
        ("25%", refused_once),
    ],
    ids=["none was meant", "no share was meant", "not refused", "by no quota", "itself refused", "long ago"],
)
def test_no_pod_may_go_for_one_that_is_not_there(away: int | str, happens: Callable[[Story], Any]) -> None:
    story = Story()
    rolling(story, away)
    happens(story)
    with pytest.raises(Violation, match=r"sound-capacity.* 1 sound pods left of 2, and must keep 2"):
        size(story, "old", 1)
