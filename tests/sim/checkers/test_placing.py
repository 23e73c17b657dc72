"""Checkers of what is placed where: nodes, quotas of placement, reservations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from fairlead.sim.checkers.contract import Observed
from fairlead.sim.checkers.placed_at_rest import PlacedAtRest
from fairlead.sim.violation import Violation
from tests.sim.checkers.story import Json, Story, needs, node, pod, quota, replicaset, told_by


def a_pod_that_moves(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a", node="one"))
    story.commit("pods", pod("a", node="two"))


def a_pod_on_no_node(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a", node="nowhere"))
    story.rest()


def more_than_a_node_has(story: Story) -> None:
    story.commit("nodes", node("one"))
    for name in ("a", "b", "c"):
        story.commit("pods", needs(name, "1500m"))
        story.commit("pods", needs(name, "1500m", "one"))


def a_pod_that_waits_although_it_fits(story: Story) -> None:
    story.commit("nodes", node("full"))
    story.commit("nodes", node("one"))
    story.commit("pods", needs("a", "4", "full"))
    story.commit("pods", needs("b", "4"))
    story.rest()


def more_than_a_quota_allows(story: Story) -> None:
    story.commit("nodes", node("one", "32", zone="z"))
    story.commit("placementquotas.fairlead.dev", quota("3"))
    for name in ("a", "b"):
        story.commit("pods", needs(name, "2", "one"))


def a_quota_that_says_more_is_used_than_it_allows(story: Story) -> None:
    story.commit("placementquotas.fairlead.dev", quota("3", "2"))
    story.commit("placementquotas.fairlead.dev", quota("3", "4"))


def more_than_a_quota_may_borrow(story: Story) -> None:
    story.commit("nodes", node("one", "32", zone="z"))
    story.commit("placementquotas.fairlead.dev", member("5"), namespace="a")
    story.commit("placementquotas.fairlead.dev", member("1", borrowingLimit={"cpu": "1"}), namespace="b")
    story.commit("pods", needs("x", "3", "one"), namespace="b")


def more_than_a_cohort_lends(story: Story) -> None:
    story.commit("nodes", node("one", "32", zone="z"))
    story.commit("placementquotas.fairlead.dev", member("5", lendingLimit={"cpu": "1"}), namespace="a")
    story.commit("placementquotas.fairlead.dev", member("1", borrowingLimit={"cpu": "4"}), namespace="b")
    story.commit("pods", needs("x", "3", "one"), namespace="b")


def member(cpu: str, **limits: dict[str, str]) -> Json:
    spec = {"hard": {"cpu": cpu}, "cohort": "research", **limits}
    return {"metadata": {"name": "q"}, "spec": spec}


def two_reservations_for_one_purpose(story: Story) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fraud", "uid": "uid-fraud"}
    for name in ("first", "second"):
        spec = {"owner": owner, "intent": "recovery"}
        body = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Active"}}
        story.commit("reservations.fairlead.dev", body)


VIOLATIONS = [
    ("bound-once", a_pod_that_moves),
    ("bound-once", a_pod_on_no_node),
    ("capacity", more_than_a_node_has),
    ("placed-at-rest", a_pod_that_waits_although_it_fits),
    ("quota-kept", more_than_a_quota_allows),
    ("quota-kept", a_quota_that_says_more_is_used_than_it_allows),
    ("quota-kept", more_than_a_quota_may_borrow),
    ("quota-kept", more_than_a_cohort_lends),
    ("one-reservation", two_reservations_for_one_purpose),
]


@pytest.mark.parametrize(("phase", "keeps"), [("Active", True), ("Expired", False)])
def test_room_that_a_reservation_keeps_is_not_free(phase: str, keeps: bool) -> None:
    story = Story()
    story.commit("nodes", node("one"))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fraud", "uid": "uid-fraud"}
    spec = {"owner": owner, "intent": "recovery", "requests": {"cpu": "2"}}
    status = {"phase": phase, "nodeName": "one"}
    story.commit("reservations.fairlead.dev", {"metadata": {"name": "r"}, "spec": spec, "status": status})
    story.commit("pods", needs("b", "4"))
    if keeps:
        story.rest()
    else:
        with pytest.raises(Violation, match="one has room for it"):
            story.rest()


@pytest.mark.parametrize(("kind", "waits"), [("ReplicaSet", True), ("DaemonSet", False)])
def test_a_node_that_is_kept_is_closed_but_for_daemonsets(kind: str, waits: bool) -> None:
    story = Story()
    story.observed = Observed((PlacedAtRest(),))
    kept = {"name": "recovery", "nodeSelector": {"matchLabels": {"zone": "z"}}}
    policy = {"metadata": {"name": "p"}, "spec": {"capacityClasses": [kept]}}
    settings = {"metadata": {"name": "default"}, "spec": {"schedulingPolicy": "p"}}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "agents", "uid": "u", "controller": True}
    story.commit("nodes", node("one", zone="z"), namespace="")
    story.commit("schedulingpolicies.fairlead.dev", policy, namespace="")
    story.commit("planesettings.fairlead.dev", settings, namespace="")
    story.commit("pods", needs("b", "1", ownerReferences=[owner]))
    if waits:
        story.rest()
    else:
        with pytest.raises(Violation, match="one has room for it"):
            story.rest()


def test_what_a_cohort_lends_may_be_taken() -> None:
    story = Story()
    story.commit("nodes", node("one", "32", zone="z"))
    story.commit("placementquotas.fairlead.dev", member("5"), namespace="a")
    story.commit("placementquotas.fairlead.dev", member("1", borrowingLimit={"cpu": "4"}), namespace="b")
    for name in ("x", "y"):
        story.commit("pods", needs(name, "2", "one"), namespace="b")
    story.commit("pods", needs("z", "2", "one"), namespace="a")


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


@pytest.mark.parametrize(("seconds", "found"), [(0.1, False), (17.0, True)])
def test_a_status_says_what_was_counted_before_a_pod_ended(seconds: float, found: bool) -> None:
    story = Story()
    story.commit("nodes", node("one", "32", zone="z"))
    for name in ("a", "b"):
        story.commit("pods", needs(name, "2", "one"))
    story.commit("placementquotas.fairlead.dev", quota("3"))  # it came later than they did
    story.seconds += 60.0
    story.commit("pods", needs("a", "2", "one"), gone=True)
    story.seconds += seconds
    with pytest.raises(Violation, match="quota-kept") if found else nullcontext():
        story.commit("placementquotas.fairlead.dev", quota("3", "4"))
