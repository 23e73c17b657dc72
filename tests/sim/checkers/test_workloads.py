"""Checkers of workloads: how many pods there are, which of them go, and what is left over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import DeploymentSpec
from fairlead.sim.checkers.availability import least_available
from fairlead.sim.checkers.contract import Observed
from fairlead.sim.checkers.identities import OneIdentity
from fairlead.sim.checkers.justified_deletes import JustifiedDeletes
from fairlead.sim.checkers.live_children import LiveChildren
from fairlead.sim.violation import Violation
from tests.sim.checkers.story import (
    GOING,
    OF_DEPLOYMENT,
    Json,
    Story,
    deployment,
    job,
    leads,
    pod,
    replicaset,
    told_by,
)


def one_pod_too_many(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a"))
    story.commit("pods", pod("b"))


def one_pod_too_many_for_the_deployment(story: Story) -> None:
    story.commit("deployments.apps", deployment(1, 1, 0))
    for name in ("old", "new"):
        story.commit("replicasets.apps", replicaset(2, name=name, ownerReferences=OF_DEPLOYMENT))
    for number, name in enumerate(("old", "new", "new")):
        story.commit("pods", pod(f"p{number}", name))


def old_pods_given_up_for_one_out_of_reach(story: Story) -> None:
    leads(story, "plane-0")
    story.commit("deployments.apps", deployment(1, 1, 0))
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    story.commit("nodes", {"metadata": {"name": "n2"}, "spec": {"taints": [taint]}}, namespace="")
    for name, node in (("old", "n1"), ("new", "n2")):
        story.commit("replicasets.apps", replicaset(1, name=name, ownerReferences=OF_DEPLOYMENT))
        story.commit("pods", pod(f"{name}-0", name, node=node))
    story.seconds += 60
    shrunk = replicaset(0, name="old", ownerReferences=OF_DEPLOYMENT)
    story.commit("replicasets.apps", shrunk, "deployment of plane-0")


def a_mark_of_a_node_that_is_back(story: Story) -> None:
    story.commit("nodes", {"metadata": {"name": "n1"}}, namespace="")
    mark = {"type": "fairlead.dev/Leftover", "status": "True"}
    status = {"phase": "Failed", "conditions": [mark]}
    story.commit("pods", {"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}, "status": status})
    story.rest()


def a_finalizer_of_a_job_that_is_not(story: Story) -> None:
    held = {"metadata": {"name": "a", "finalizers": ["batch.kubernetes.io/job-tracking"]}}
    story.commit("pods", held)
    story.rest()


def a_pod_created_for_a_count_that_has_sunk(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a"))
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=1))
    story.commit("pods", pod("b"))


def a_job_s_pod_created_for_a_count_that_has_just_sunk(story: Story) -> None:
    story.commit("jobs.batch", job(2))
    story.commit("pods", pod("a", "sum", kind="Job"))
    story.commit("jobs.batch", job(1, generation=2))
    story.commit("pods", pod("b", "sum", kind="Job"))


def a_restored_pod_and_one_too_many(story: Story) -> None:
    story.commit("pods", pod("a"))  # what was restored comes in any order
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("b"))


def a_pod_taken_from_an_owner_that_wants_it(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a"))
    story.commit("pods", pod("a", deletionTimestamp=GOING), origin="plane-0-1")


def a_pod_taken_late_from_an_owner_that_wants_it_again(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a"))
    story.commit("replicasets.apps", replicaset(0, generation=2))
    story.commit("replicasets.apps", replicaset(1, generation=3, observed=2))
    story.commit("pods", pod("a", deletionTimestamp=GOING), origin="late plane-0-1")


def a_second_pod_taken_after_the_set_told_of_the_first(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a"))
    story.commit("pods", pod("b"))
    story.commit("pods", pod("a", deletionTimestamp=GOING), origin="people")
    knows = replicaset(2)
    knows["status"]["replicas"] = 1
    story.commit("replicasets.apps", knows)
    story.commit("pods", pod("b", deletionTimestamp=GOING), origin="plane-0-1")


def a_rollout_that_takes_too_many_ready_pods(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("deployments.apps", deployment(3, 1, 1))
    story.commit("replicasets.apps", replicaset(3, name="old", ownerReferences=OF_DEPLOYMENT))
    for name in ("a", "b", "c"):
        story.commit("pods", pod(name, "old"))
    story.seconds += 60
    story.commit("replicasets.apps", replicaset(1, 2, name="old", ownerReferences=OF_DEPLOYMENT))
    for name in ("a", "b"):
        story.commit("pods", pod(name, "old", deletionTimestamp=GOING), origin="plane-0-1")


def an_identity_that_comes_back(story: Story) -> None:
    mark = {"fairlead.dev/operation": "replicaset/uid-web/create/7"}
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a", annotations=mark))
    story.commit("pods", pod("a", annotations=mark), gone=True)
    story.commit("replicasets.apps", replicaset(2))
    again = pod("a", annotations=mark)
    again["metadata"]["uid"] = "another"
    story.commit("pods", again)


def _came_back(lag_seconds: float, seconds: float) -> Violation | None:
    """Whether that identity is told so long after the set has changed, where requests may be so long under way."""
    story = Story()
    story.observed = Observed((OneIdentity(lag_seconds),))
    mark = {"fairlead.dev/operation": "replicaset/uid-web/create/7"}
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a", annotations=mark))
    story.commit("pods", pod("a", annotations=mark), gone=True)
    story.commit("replicasets.apps", replicaset(0, generation=2))
    story.seconds += seconds
    again = pod("a", annotations=mark)
    again["metadata"]["uid"] = "another"
    try:
        story.commit("pods", again)
    except Violation as told:
        return told
    return None


def test_only_where_nothing_judges_premises_an_identity_may_come_back_just_after_its_set_changed() -> None:
    assert _came_back(0.0, 0.1) is not None
    assert _came_back(16.0, 0.1) is None
    assert _came_back(16.0, 16.1) is not None


def a_pod_for_a_set_that_is_gone(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(1))
    story.commit("replicasets.apps", replicaset(1), gone=True)
    story.commit("pods", pod("a"), origin="late plane-0-1")


def a_pod_of_a_finished_job(story: Story) -> None:
    story.commit("jobs.batch", job(2, "Complete"))
    story.commit("pods", pod("a", "sum", kind="Job"))


def a_job_that_is_not_finished_any_more(story: Story) -> None:
    story.commit("jobs.batch", job(2, "Failed"))
    story.commit("jobs.batch", job(2))


def a_status_that_was_never_written(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(0, observed=0))
    story.rest()


def _orphan(name: str) -> Json:
    found = pod(name)
    del found["metadata"]["ownerReferences"]
    return found


def a_pod_made_beside_adopted_ones(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", _orphan("a"))
    story.commit("pods", pod("a"))
    story.commit("pods", pod("b"))


def a_pod_taken_over_from_another_set(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1, name="other"))
    story.commit("replicasets.apps", replicaset(0))
    story.commit("pods", pod("a", "other"))
    story.commit("pods", pod("a"))


def _adopted_set(story: Story, wanted: int) -> None:
    """A set of a Deployment of one, left behind by it and adopted by another that wants so many."""
    story.commit("deployments.apps", deployment(1, 1, 0))
    story.commit("replicasets.apps", replicaset(1, ownerReferences=OF_DEPLOYMENT))
    story.commit("pods", pod("a"))
    story.commit("replicasets.apps", replicaset(1))
    story.commit("deployments.apps", deployment(1, 1, 0), gone=True)
    anew = deployment(wanted, 0, 1)
    anew["metadata"]["uid"] = "uid-anew"
    story.commit("deployments.apps", anew)
    owners = [{**OF_DEPLOYMENT[0], "uid": "uid-anew"}]
    story.commit("replicasets.apps", replicaset(1, ownerReferences=owners))
    story.commit("replicasets.apps", replicaset(3, generation=2, ownerReferences=owners))
    for name in ("b", "c"):
        story.commit("pods", pod(name))


def one_pod_too_many_for_who_adopted_the_set(story: Story) -> None:
    _adopted_set(story, 2)


def test_a_set_that_is_adopted_is_judged_by_its_new_deployment() -> None:
    _adopted_set(Story(), 3)


def test_what_nobody_owned_may_be_adopted_to_be_taken_away() -> None:
    story = Story()
    story.commit("statefulsets.apps", replicaset(0))
    story.commit("pods", _orphan("web-0"))
    story.commit("pods", pod("web-0", kind="StatefulSet"))
    story.commit("replicasets.apps", replicaset(1, name="few"))
    for name in ("a", "b"):
        story.commit("pods", _orphan(name))
        story.commit("pods", pod(name, "few"))


def test_a_good_story_breaks_nothing() -> None:
    story = Story()
    story.commit("nodes", {"metadata": {"name": "one"}})
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a"))
    story.commit("pods", pod("a", node="one"))
    story.commit("pods", pod("b", node="one"))
    story.seconds = 30
    story.commit("replicasets.apps", replicaset(1, generation=2))
    story.commit("pods", pod("b", node="one", deletionTimestamp="2027-01-01T00:00:00Z"))
    story.commit("pods", pod("b", node="one"), gone=True)
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=2))
    story.seconds = 100
    story.rest()


def test_a_pod_that_others_take_is_not_held_against_the_plane() -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(3))
    for name in ("a", "b", "c"):
        story.commit("pods", pod(name))
    story.commit("replicasets.apps", replicaset(2, generation=2))
    story.commit("pods", pod("a", deletionTimestamp=GOING), origin="people")
    story.commit("pods", pod("b", deletionTimestamp=GOING), origin="plane-0-1")


def test_pods_of_a_set_or_namespace_that_goes_may_be_taken() -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(1, name="one", deletionTimestamp=GOING))
    story.commit("pods", pod("a", "one"))
    story.commit("pods", pod("a", "one"), gone=True, origin="plane-0-1")
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("b"))
    story.commit("namespaces", {"metadata": {"name": "default", "deletionTimestamp": GOING}})
    story.commit("pods", pod("b"), gone=True, origin="plane-0-1")


@pytest.mark.parametrize(
    ("replicas", "strategy", "least"),
    [
        (10, {}, 8),
        (3, {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}, 2),
        (3, {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}, 3),
        (3, {"rollingUpdate": {"maxUnavailable": "0%", "maxSurge": "0%"}}, 2),
        (1, {"rollingUpdate": {"maxUnavailable": 2}}, 0),
        (5, {"type": "Recreate"}, 0),
    ],
)
def test_how_many_pods_a_deployment_must_keep(replicas: int, strategy: Json, least: int) -> None:
    assert least_available(DeploymentSpec(replicas=replicas, strategy=strategy)) == least


def a_pod_collected_while_its_owner_is_there(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit(
        "replicasets.apps", replicaset(1, deletionTimestamp="2027-01-15T00:00:00Z", finalizers=["a.b/c"])
    )
    story.commit("pods", pod("web-1"))
    story.commit("pods", pod("web-1"), "garbage-collector of plane-0-1", gone=True)


def a_pod_collected_after_its_owner_waits_for_others_than_its_dependents(story: Story) -> None:
    """Found in a small world: a definition that was deleted in the foreground, with a role that does not hold it up."""
    leads(story, "plane-0-1")
    for finalizers in (["foregroundDeletion", "a.b/c"], ["a.b/c"]):
        going = replicaset(1, deletionTimestamp="2027-01-15T00:00:00Z", finalizers=finalizers)
        story.commit("replicasets.apps", going)
        story.commit("pods", pod("web-1"))
    story.commit("pods", pod("web-1"), "garbage-collector of plane-0-1", gone=True)


def test_what_was_to_go_with_its_owner_may_go_while_that_waits_for_others() -> None:
    a_pod_collected_after_its_owner_waits_for_others_than_its_dependents(Story())


VIOLATIONS = [
    ("collected-justly", a_pod_collected_while_its_owner_is_there),
    ("live-children", one_pod_too_many),
    ("live-children", one_pod_too_many_for_the_deployment),
    ("sound-capacity", old_pods_given_up_for_one_out_of_reach),
    ("no-leftover", a_mark_of_a_node_that_is_back),
    ("no-leftover", a_finalizer_of_a_job_that_is_not),
    ("live-children", a_pod_created_for_a_count_that_has_sunk),
    ("live-children", a_job_s_pod_created_for_a_count_that_has_just_sunk),
    ("live-children", a_restored_pod_and_one_too_many),
    ("live-children", a_pod_made_beside_adopted_ones),
    ("live-children", one_pod_too_many_for_who_adopted_the_set),
    ("live-children", a_pod_taken_over_from_another_set),
    ("observed-generation", a_status_that_was_never_written),
    ("justified-deletes", a_pod_taken_from_an_owner_that_wants_it),
    ("justified-deletes", a_pod_taken_late_from_an_owner_that_wants_it_again),
    ("justified-deletes", a_second_pod_taken_after_the_set_told_of_the_first),
    ("availability", a_rollout_that_takes_too_many_ready_pods),
    ("one-identity", an_identity_that_comes_back),
    ("no-ghost", a_pod_for_a_set_that_is_gone),
    ("finished-jobs", a_pod_of_a_finished_job),
    ("finished-jobs", a_job_that_is_not_finished_any_more),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


def test_where_the_namespace_goes_a_deployment_need_not_stay_available() -> None:
    story = Story()
    story.commit("namespaces", {"metadata": {"name": "default", "deletionTimestamp": GOING}}, namespace="")
    a_rollout_that_takes_too_many_ready_pods(story)


@pytest.mark.parametrize(
    ("lag", "seconds", "found"), [(0.0, 0.1, True), (16.0, 12.0, False), (16.0, 17.0, True)]
)
def test_only_where_nothing_judges_premises_a_number_that_rose_is_not_known_for_a_while(
    lag: float, seconds: float, found: bool
) -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.observed = Observed((JustifiedDeletes(lag),))
    story.commit("replicasets.apps", replicaset(1))
    for name in ("a", "b"):
        story.commit("pods", pod(name))
    story.commit("replicasets.apps", replicaset(2, generation=2, observed=2))
    story.seconds = seconds
    gone = pod("b", deletionTimestamp=GOING)
    try:
        story.commit("pods", gone, origin="replicaset of plane-0-1")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(
    ("lifted", "ago", "pods", "found"),
    [(False, 30.0, "2", False), (False, 30.0, "0", True), (True, 1.0, "2", False), (True, 30.0, "2", True)],
    ids=["is refused", "is refused for good", "was refused", "was refused long ago"],
)
def test_where_the_surge_is_refused_one_pod_may_go_first(
    lifted: bool, ago: float, pods: str, found: bool
) -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.commit("deployments.apps", deployment(2, 1, 0))
    for name in ("old", "new"):
        story.commit("replicasets.apps", replicaset(2, name=name, ownerReferences=OF_DEPLOYMENT))
    for name in ("a", "b"):
        story.commit("pods", pod(name, "old"))
    story.commit("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": pods}}})
    story.seconds += 60
    refused = replicaset(2, name="new", ownerReferences=OF_DEPLOYMENT)
    waits = {"type": WAITING_FOR, "status": "True", "reason": "WaitingForResourceQuota"}
    refused["status"]["conditions"] = [waits]
    story.commit("replicasets.apps", refused)
    if lifted:
        story.commit("replicasets.apps", replicaset(2, name="new", ownerReferences=OF_DEPLOYMENT))
    story.seconds += ago
    story.commit("replicasets.apps", replicaset(1, 2, name="old", ownerReferences=OF_DEPLOYMENT))
    try:
        story.commit("pods", pod("a", "old", deletionTimestamp=GOING), origin="plane-0-1")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(
    ("lag", "by", "found"), [(0.0, "late ", True), (16.0, "", True), (16.0, "late ", False)]
)
def test_only_where_nothing_judges_premises_a_set_that_comes_late_is_beside_its_deployment(
    lag: float, by: str, found: bool
) -> None:
    story = Story()
    story.observed = Observed((LiveChildren(lag),))
    story.commit("deployments.apps", deployment(1, 0, 1))
    for name, origin in (("old", f"{by}deployment of plane-0-1"), ("new", "deployment of plane-0-1")):
        made = replicaset(1, name=name, ownerReferences=OF_DEPLOYMENT)
        story.commit("replicasets.apps", made, origin=origin)
    story.commit("pods", pod("a", "old"), origin="replicaset of plane-0-1")
    try:
        story.commit("pods", pod("b", "new"), origin="replicaset of plane-0-1")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize("is_going", [True, False])
def test_a_deployment_that_is_being_deleted_is_not_judged_by_its_own_number(is_going: bool) -> None:
    story = Story()
    story.observed = Observed((LiveChildren(),))
    made = deployment(0, 0, 1)
    if is_going:
        made["metadata"]["deletionTimestamp"] = GOING
    story.commit("deployments.apps", made)
    story.commit("replicasets.apps", replicaset(1, name="old", ownerReferences=OF_DEPLOYMENT))
    if is_going:
        story.commit("pods", pod("a", "old"))
        return
    with pytest.raises(Violation, match="live child 1 of deployments"):
        story.commit("pods", pod("a", "old"))
