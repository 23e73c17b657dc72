"""Checkers of disruption budgets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from fairlead.sim.violation import Violation
from tests.sim.checkers.story import GOING, Story, pod, replicaset, told_by


def guarded(story: Story, **spec: Any) -> None:
    """Four ready pods and a budget for them."""
    budget = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    story.commit("poddisruptionbudgets.policy", budget)
    story.commit("replicasets.apps", replicaset(4))
    for name in "abcd":
        story.commit("pods", pod(name, labels={"app": "web"}))
    story.seconds += 60


def evicted(story: Story, name: str) -> None:
    body = pod(name, labels={"app": "web"}, deletionTimestamp=GOING)
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    body["status"]["conditions"].append(target)
    story.commit("pods", body, origin="people")


def falls_ill(story: Story, *names: str) -> None:
    for name in names:
        body = pod(name, labels={"app": "web"})
        body["status"]["conditions"][0]["status"] = "False"
        story.commit("pods", body)


def replaced(story: Story, old: str, new: str) -> None:
    story.commit("pods", pod(old, labels={"app": "web"}), gone=True)
    story.commit("pods", pod(new, labels={"app": "web"}))


def one_eviction_too_many(story: Story) -> None:
    guarded(story, maxUnavailable=1)
    evicted(story, "a")
    replaced(story, "a", "e")
    evicted(story, "b")
    evicted(story, "c")


def one_eviction_more_than_a_share_allows(story: Story) -> None:
    guarded(story, minAvailable="60%")
    evicted(story, "a")
    evicted(story, "b")


def an_eviction_long_after_others_fell_ill(story: Story) -> None:
    guarded(story, minAvailable=2)
    falls_ill(story, "a", "b")
    story.seconds += 6
    evicted(story, "c")


def an_eviction_on_what_an_older_budget_allowed(story: Story) -> None:
    guarded(story, minAvailable=2)
    falls_ill(story, "a")
    story.seconds += 6
    spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 3}
    story.commit("poddisruptionbudgets.policy", {"metadata": {"name": "web"}, "spec": spec})
    evicted(story, "b")


def test_evictions_that_a_budget_allows_break_nothing() -> None:
    story = Story()
    guarded(story, minAvailable=2)
    evicted(story, "a")
    evicted(story, "b")
    replaced(story, "a", "e")
    falls_ill(story, "e")  # but that cannot be known yet
    evicted(story, "c")
    replaced(story, "b", "f")
    replaced(story, "c", "g")
    story.seconds += 6
    evicted(story, "d")
    evicted(story, "e")  # one that is ill costs nothing


def test_what_needs_no_replacement_is_not_in_flight_for_ever() -> None:
    story = Story()
    guarded(story, maxUnavailable=1)
    evicted(story, "a")
    story.commit("replicasets.apps", replicaset(3, generation=2, observed=2))
    falls_ill(story, "b")
    story.commit("pods", pod("b", labels={"app": "web"}))
    evicted(story, "c")


def test_what_flew_under_a_budget_that_is_gone_does_not_fly_under_the_next() -> None:
    story = Story()
    guarded(story, maxUnavailable=1)
    evicted(story, "a")
    budget = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1},
    }
    story.commit("poddisruptionbudgets.policy", budget, gone=True)
    replaced(story, "a", "e")
    story.commit("poddisruptionbudgets.policy", budget)
    story.seconds += 6
    evicted(story, "b")


def test_where_nothing_says_how_many_pods_there_should_be_the_count_that_is_left_is_judged() -> None:
    story = Story()
    guarded(story, minAvailable=3)
    story.commit("pods", pod("nobodys", labels={"app": "web"}, ownerReferences=[]))
    story.seconds += 6
    evicted(story, "a")
    evicted(story, "b")
    with pytest.raises(Violation, match="fresh-allowance"):
        evicted(story, "c")


VIOLATIONS = [
    ("disruptions-in-flight", one_eviction_too_many),
    ("disruptions-in-flight", one_eviction_more_than_a_share_allows),
    ("fresh-allowance", an_eviction_long_after_others_fell_ill),
    ("fresh-allowance", an_eviction_on_what_an_older_budget_allowed),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


@pytest.mark.parametrize(("ago", "found"), [(0.0, False), (30.0, True)])
def test_an_eviction_may_have_been_judged_before_there_was_a_budget(ago: float, found: bool) -> None:
    story = Story()
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a", labels={"app": "web"}))
    story.seconds += 60
    spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1}
    story.commit("poddisruptionbudgets.policy", {"metadata": {"name": "web"}, "spec": spec})
    story.seconds += ago
    try:
        evicted(story, "a")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(("ago", "found"), [(0.4, False), (6.0, True)])
def test_that_an_owner_wants_more_pods_is_not_known_at_once(ago: float, found: bool) -> None:
    story = Story()
    guarded(story, maxUnavailable="50%")
    story.commit("replicasets.apps", replicaset(8, generation=2))
    story.seconds += ago
    with pytest.raises(Violation, match="fresh-allowance") if found else nullcontext():
        evicted(story, "a")
