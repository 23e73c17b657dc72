"""Checkers of what comes in time: instants of CronJobs, Events, renewals, pods that were refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.reconcile.job.cronjob import SCHEDULED_AT
from tests.sim.checkers.story import (
    GOING,
    SCHEDULER,
    Json,
    Story,
    a_limit_of,
    leads,
    needs,
    node,
    pod,
    replicaset,
    told_by,
)


def of_a_slot(name: str, slot: str) -> Json:
    owner = {"kind": "CronJob", "name": "nightly", "uid": "uid-nightly", "controller": True}
    return {"metadata": {"name": name, "annotations": {SCHEDULED_AT: slot}, "ownerReferences": [owner]}}


def one_run_of_an_instant(story: Story) -> None:
    story.commit("jobs.batch", of_a_slot("nightly-1", GOING))
    story.commit("jobs.batch", of_a_slot("nightly-1", GOING))
    story.commit("jobs.batch", of_a_slot("nightly-1", GOING), gone=True)


def an_instant_that_runs_again(story: Story) -> None:
    one_run_of_an_instant(story)
    again = of_a_slot("nightly-1", GOING)
    again["metadata"]["uid"] = "another"
    story.commit("jobs.batch", again)


def bindings(story: Story) -> None:
    """As many as are too many to go without an Event for a minute."""
    leads(story, "plane-0-1")
    story.commit("nodes", node("one"))
    for number in range(6):
        story.commit("pods", needs(f"p{number}", "100m"))
        story.commit("pods", needs(f"p{number}", "100m", "one"), origin=SCHEDULER)


def bindings_that_nobody_was_told_of(story: Story) -> None:
    bindings(story)
    story.seconds += 61.0
    leads(story, "plane-0-1")
    story.rest()


def a_lease_that_nobody_renews(story: Story) -> None:
    leads(story, "plane-0-1")
    story.seconds += 61.0
    story.rest()


def a_set_refused(story: Story, *, replicas: int = 1, ready: int = 1) -> None:
    """One of two pods is there, a quota refused the other, and the status tells `replicas` and `ready`."""
    a_limit_of(story, 1, used=1)
    found = replicaset(2)
    found["spec"]["template"] = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    found["status"].update(replicas=replicas, readyReplicas=ready)
    story.commit("replicasets.apps", found)
    story.commit("pods", pod("a"))


def later(story: Story, seconds: float) -> None:
    """Checkers of how long something lasts judge at the next commit."""
    story.seconds += seconds
    story.commit("configmaps", {"metadata": {"name": "clock"}})


def a_pod_that_does_not_come_though_there_is_room(story: Story) -> None:
    a_set_refused(story)
    a_limit_of(story, 2, used=1)
    later(story, 91.0)


def a_pod_that_does_not_come_though_all_quotas_have_room(story: Story) -> None:
    a_set_refused(story)
    _another_limit(story, "requests.cpu", hard="2", used="1")
    a_limit_of(story, 2, used=1)
    later(story, 91.0)


def _another_limit(story: Story, name: str, hard: str, used: str) -> None:
    limits = {"pods": "9", name: hard}
    status = {"used": {"pods": "1", name: used}}
    story.commit(
        "resourcequotas", {"metadata": {"name": "other"}, "spec": {"hard": limits}, "status": status}
    )


def test_a_set_that_nobody_has_looked_at_yet_was_not_refused() -> None:
    story = Story()
    a_limit_of(story, 2)
    story.commit("replicasets.apps", replicaset(2, observed=0))
    later(story, 200.0)


@pytest.mark.parametrize(("name", "hard"), [("pods", "1"), ("requests.cpu", "1500m")])
def test_a_set_that_another_quota_refuses_breaks_nothing(name: str, hard: str) -> None:
    story = Story()
    a_set_refused(story)
    _another_limit(story, name, hard, used="1")
    a_limit_of(story, 2, used=1)
    later(story, 600.0)


def a_status_that_does_not_tell_of_what_there_is(story: Story) -> None:
    a_set_refused(story, replicas=0, ready=0)
    later(story, 101.0)


def test_one_run_of_each_instant_and_events_and_renewals_in_time_break_nothing() -> None:
    story = Story()
    one_run_of_an_instant(story)
    story.commit("jobs.batch", of_a_slot("nightly-2", "2027-01-02T00:00:00Z"))
    story = Story()
    bindings(story)
    story.commit("events", {"metadata": {"name": "scheduled"}})
    story.seconds += 61.0
    leads(story, "plane-0-1")
    story.rest()


def test_a_set_that_is_refused_and_says_so_breaks_nothing() -> None:
    story = Story()
    a_set_refused(story)
    later(story, 600.0)
    a_limit_of(story, 2, used=1)
    later(story, 89.0)
    story.commit("pods", pod("b"))
    later(story, 99.0)


VIOLATIONS = [
    ("slots-run-once", an_instant_that_runs_again),
    ("events-flow", bindings_that_nobody_was_told_of),
    ("led-at-rest", a_lease_that_nobody_renews),
    ("refusals-end", a_pod_that_does_not_come_though_there_is_room),
    ("refusals-end", a_pod_that_does_not_come_though_all_quotas_have_room),
    ("refusals-end", a_status_that_does_not_tell_of_what_there_is),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
