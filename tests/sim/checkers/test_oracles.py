"""Checkers of what holds between parts: leases, writers, templates and their pods, quotas and their sums, removals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from fairlead.cache.events import Framed, Listed
from fairlead.cache.mirror import Mirror
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.marks import AGENT_INSTANCE, ZONE
from fairlead.model.reasons import LATE, WAITING_FOR
from fairlead.model.views import PODS
from fairlead.port.driving import Started
from fairlead.port.request import Reply, Request
from fairlead.sim.checkers.contract import CommittedObjects
from fairlead.sim.checkers.live_children import LiveChildren
from fairlead.sim.checkers.mirrors import Mirroring, MirrorsAtRest
from fairlead.sim.checkers.policies import SETS
from fairlead.sim.time import EPOCH
from fairlead.sim.violation import Violation
from fairlead.store.contract import DELETED, Entry
from tests.sim.checkers.story import (
    GOING,
    OF_DEPLOYMENT,
    SCHEDULER,
    Json,
    Story,
    deployment,
    leads,
    pod,
    replicaset,
    told_by,
)

LEASES = "leases.coordination.k8s.io"


def lease(holder: str, **annotations: str) -> Json:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 10}
    return {"metadata": {"name": "fairlead-plane", "annotations": annotations}, "spec": spec}


def _held(story: Story, whole: Json) -> None:
    """Made, and renewed once."""
    story.commit(LEASES, whole)
    story.commit(LEASES, whole)


def a_lease_taken_early(story: Story) -> None:
    _held(story, lease("plane-0-1"))
    story.seconds = 9.0
    story.commit(LEASES, lease("plane-1-1"))


def a_node_s_lease_taken_early_by_a_twin(story: Story) -> None:
    _held(story, lease("node-a", **{AGENT_INSTANCE: "one"}))
    story.seconds = 5.0
    story.commit(LEASES, lease("node-a", **{AGENT_INSTANCE: "two"}))


def test_a_lease_that_ran_out_and_one_that_is_free_may_be_taken() -> None:
    story = Story()
    _held(story, lease("plane-0-1"))
    story.seconds = 10.0
    story.commit(LEASES, lease("plane-1-1"))
    story.commit(LEASES, lease(""))
    story.commit(LEASES, lease("plane-0-2"))
    story.commit(LEASES, lease("plane-0-2"), gone=True)
    story.commit(LEASES, lease("plane-1-2"))


WRITER = "replicaset of plane-0-1"


def _refused(story: Story, times: int, subresource: str = "status") -> None:
    request = Request(
        "patch", "apps", "v1", "replicasets", "default", "web", subresource=subresource, body=b"{}"
    )
    reply = Reply(409, codec.encode({"reason": "Conflict", "message": "it has changed"}))
    for _ in range(times):
        story.observed.answered(request, WRITER, reply, story.seconds)  # calm from the start


def a_writer_that_asks_in_vain(story: Story) -> None:
    _refused(story, 9)  # what lags may excuse it
    story.seconds = 48.0
    story.commit("replicasets.apps", replicaset(1), origin="")
    _refused(story, 6)


def test_several_bindings_that_are_refused_together_count_as_one_request() -> None:
    story = Story()
    story.seconds = 48.0
    several = Request("create", "", "v1", "pods", "default", "", subresource="binding")
    reply = Reply(409, codec.encode({"reason": "Conflict", "message": "it has changed"}))
    for _ in range(5):
        story.observed.answered(several, SCHEDULER, reply, story.seconds)
    with pytest.raises(Violation, match="refused 6 times"):
        story.observed.answered(several, SCHEDULER, reply, story.seconds)


def test_a_writer_that_gets_on_and_a_namespace_that_is_not_empty_yet_are_no_violation() -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.seconds = 48.0
    _refused(story, 5)
    story.commit("replicasets.apps", replicaset(1), origin=WRITER)
    _refused(story, 5)
    _refused(story, 9, "finalize")


def template(image: str, **labels: str) -> Json:
    spec = {"containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}]}
    return {"metadata": {"labels": {"app": "db", **labels}}, "spec": spec}


def workload(image: str, strategy: Json | None = None, replicas: int = 2, **labels: str) -> Json:
    spec: Json = {
        "replicas": replicas,
        "template": template(image, **labels),
        "updateStrategy": strategy or {},
    }
    progress = {"desired": replicas, "ready": replicas}
    status = {"observedGeneration": 1, "readyReplicas": replicas, "progress": progress}
    return {"metadata": {"name": "db", "generation": 1}, "spec": spec, "status": status}


def made(name: str, image: str, kind: str = "StatefulSet", node: str = "n1", **meta: Any) -> Json:
    labels = {"app": "db", **meta.pop("labels", {})}
    found = pod(name, "db", kind=kind, node=node, labels=labels, **meta)
    found["spec"]["containers"] = template(image)["spec"]["containers"]
    return found


def an_image_that_has_not_reached_a_pod(story: Story) -> None:
    story.commit("statefulsets.apps", workload("db:2", replicas=1))
    story.commit("pods", made("db-0", "db:1"))
    _at_rest(story, "templates-reach-pods")


def a_label_that_has_not_reached_a_pod(story: Story) -> None:
    story.commit("daemonsets.apps", workload("db:1", tier="new"))
    story.commit("pods", made("db-x", "db:1", "DaemonSet"))
    _at_rest(story, "templates-reach-pods")


def _rolled_out(*conditions: Json) -> Story:
    """A Deployment of a new image, of whose two sets one has its old pod and the other none."""
    story = Story()
    old = {"kind": "Deployment", "name": "db", "uid": "uid-db", "controller": True}
    story.commit("deployments.apps", workload("db:2", replicas=1))
    for name, replicas in (("one", 1), ("two", 1)):
        story.commit("replicasets.apps", replicaset(replicas, name=name, ownerReferences=[old]))
    found = made("db-x", "db:1", "ReplicaSet")
    found["metadata"]["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": "one", "uid": "uid-one", "controller": True}
    ]
    story.commit("pods", found)
    refused = replicaset(1, name="two", ownerReferences=[old])
    refused["status"]["conditions"] = list(conditions)
    story.commit("replicasets.apps", refused)
    return story


def test_a_rollout_waits_for_a_pod_that_is_refused_and_for_no_other_reason() -> None:
    waits = {"type": WAITING_FOR, "status": "True", "reason": "WaitingForResourceQuota"}
    _at_rest(_rolled_out(waits), "templates-reach-pods")
    for conditions in ((), ({**waits, "status": "False"},), ({**waits, "type": "Other"},)):
        with pytest.raises(Violation, match="has image db:1 instead of db:2"):
            _at_rest(_rolled_out(*conditions), "templates-reach-pods")


def test_a_rollout_waits_for_a_set_that_is_refused_as_its_deployment_says() -> None:
    waits = {"type": WAITING_FOR, "status": "True", "reason": "WaitingForResourceQuota"}
    for status in ("True", "False"):
        story, found = _rolled_out(), workload("db:2", replicas=1)
        found["status"] = {"conditions": [{**waits, "status": status}]}
        story.commit("deployments.apps", found)
        if status == "True":
            _at_rest(story, "templates-reach-pods")
            continue
        with pytest.raises(Violation, match="has image db:1 instead of db:2"):
            _at_rest(story, "templates-reach-pods")


def test_a_late_rollout_that_goes_no_further_by_a_row_need_not_have_reached_the_pods() -> None:
    late = {"type": "Progressing", "status": "False", "reason": LATE, "message": "late"}
    for cited, is_held in (("", False), (" (EvidencePolicy/default row RolloutDeadline)", True)):
        story = _rolled_out()
        found = workload("db:2", replicas=1)
        found["status"] = {"conditions": [{**late, "message": f"late{cited}"}]}
        story.commit("deployments.apps", found)
        if is_held:
            _at_rest(story, "templates-reach-pods")
            continue
        with pytest.raises(Violation, match="has image db:1 instead of db:2"):
            _at_rest(story, "templates-reach-pods")


def test_what_people_hold_back_need_not_have_reached_the_pods() -> None:
    checked = Story()
    held = {"rollingUpdate": {"partition": 1}}
    checked.commit("statefulsets.apps", workload("db:2", held))
    checked.commit("pods", made("db-0", "db:1"))
    checked.commit("pods", made("db-1", "db:2"))
    _at_rest(checked, "templates-reach-pods")


def _at_rest(story: Story, invariant: str) -> None:
    """Only this checker looks: what stories leave out of their world is not its matter."""
    for checker in story.observed._checkers:
        if checker.name == invariant:
            checker.quiesced(story.observed.objects, story.seconds)


def a_quota_that_counts_what_is_gone(story: Story) -> None:
    hard = {"pods": "3", "requests.cpu": "4"}
    status = {"used": {"pods": "1", "requests.cpu": "2"}}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": status}
    story.commit("resourcequotas", quota)
    story.commit("statefulsets.apps", workload("db:1", replicas=1))
    story.commit("pods", made("db-0", "db:1"))
    _at_rest(story, "quota-is-the-sum")


def a_quota_on_placements_that_forgot_a_pod(story: Story) -> None:
    story.commit("nodes", {"metadata": {"name": "n1"}}, namespace="")
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "4"}}, "status": {"used": {"cpu": "0"}}}
    story.commit("placementquotas.fairlead.dev", quota)
    story.commit("pods", made("db-0", "db:1"))
    _at_rest(story, "quota-is-the-sum")


def test_a_quota_that_says_the_sum_is_right() -> None:
    story = Story()
    hard = {"pods": "3", "requests.cpu": "4", "count/pods": "9"}
    status = {"used": {"pods": "1", "requests.cpu": "1", "count/pods": "2"}}
    story.commit("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": status})
    story.commit("pods", made("db-0", "db:1"))
    ended = made("db-1", "db:1")
    ended["status"]["phase"] = "Succeeded"
    story.commit("pods", ended)
    _at_rest(story, "quota-is-the-sum")


SET, DAEMONS, JOBS = ("statefulset of plane-0-1", "daemonset of plane-0-1", "late job of plane-0-1")


def a_wanted_ordinal_deleted(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("statefulsets.apps", workload("db:1"))
    story.commit("pods", made("db-1", "db:1"))
    story.commit("pods", made("db-1", "db:1", deletionTimestamp=GOING), origin=SET)


def the_only_daemon_of_a_node_deleted(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("nodes", {"metadata": {"name": "n1"}}, namespace="")
    story.commit("daemonsets.apps", workload("db:1"))
    story.commit("pods", made("db-x", "db:1", "DaemonSet"))
    story.commit("pods", made("db-x", "db:1", "DaemonSet", deletionTimestamp=GOING), origin=DAEMONS)


def a_pod_of_a_job_that_goes_on_given_up(story: Story) -> None:
    leads(story, "plane-0-1")
    tracked = ["batch.kubernetes.io/job-tracking"]
    whole = {"metadata": {"name": "db"}, "spec": {"parallelism": 1, "completions": 3, "template": {}}}
    story.commit("jobs.batch", whole)
    story.commit("pods", made("db-x", "db:1", "Job", finalizers=tracked))
    story.commit("pods", made("db-x", "db:1", "Job"), origin=JOBS)


def test_what_a_spec_does_not_want_may_be_removed() -> None:
    story = Story()
    leads(story, "plane-0-1")
    story.commit("statefulsets.apps", workload("db:1", replicas=3))
    for number in range(3):
        story.commit("pods", made(f"db-{number}", "db:1"))
    story.commit("statefulsets.apps", workload("db:1", replicas=2))
    story.commit("pods", made("db-2", "db:1", deletionTimestamp=GOING), origin=SET)
    story.commit("statefulsets.apps", workload("db:2", replicas=2))
    story.commit("pods", made("db-1", "db:1", deletionTimestamp=GOING), origin=SET)


def an_ordinal_made_that_is_not_wanted(story: Story) -> None:
    story.commit("statefulsets.apps", workload("db:1", replicas=2))
    story.commit("pods", made("db-2", "db:1"))


def team(value: str) -> Json:
    return {"metadata": {"name": "team", "annotations": {SETS: f"team={value}"}}}


def in_force(story: Story, value: str = "one") -> None:
    story.commit("mutatingadmissionpolicies.admissionregistration.k8s.io", team(value), namespace="")
    story.commit("mutatingadmissionpolicybindings.admissionregistration.k8s.io", team(value), namespace="")
    story.seconds += 10.0


def a_pod_made_by_no_policy(story: Story) -> None:
    in_force(story)
    story.commit("statefulsets.apps", workload("db:1"))
    story.commit("pods", made("db-0", "db:1"))


def a_pod_made_by_a_policy_that_was_changed(story: Story) -> None:
    in_force(story)
    story.commit("statefulsets.apps", workload("db:1"))
    story.commit("mutatingadmissionpolicies.admissionregistration.k8s.io", team("two"), namespace="")
    story.commit("pods", made("db-0", "db:1", labels={"team": "one"}))


def a_pod_made_by_a_policy_that_is_gone(story: Story) -> None:
    in_force(story)
    story.commit("statefulsets.apps", workload("db:1"))
    story.commit(
        "mutatingadmissionpolicies.admissionregistration.k8s.io", team("one"), gone=True, namespace=""
    )
    story.commit("pods", made("db-0", "db:1", labels={"team": "one"}))


def a_pod_that_was_under_way_when_the_policy_came(story: Story) -> None:
    story.commit("statefulsets.apps", workload("db:1"))
    in_force(story)
    story.seconds -= 10.0
    story.commit("pods", made("db-0", "db:1"))


def test_pods_made_by_the_policy_in_force_pass() -> None:
    story = Story()
    story.commit("statefulsets.apps", workload("db:1", replicas=2))
    story.commit("pods", made("db-0", "db:1"))
    in_force(story, "two")
    story.commit("pods", made("db-1", "db:1", labels={"team": "two"}))


OVERRIDES = "scheduleroverrides.fairlead.dev"


def override(name: str, target: str, *, observed: bool = True, lasts: float = 600.0, **changes: Any) -> Json:
    conditions = [{"type": "SchedulerOverrideObserved", "status": "True"}] if observed else []
    spec = {"target": target, "expiresAt": timestamp(EPOCH + lasts), "changes": changes}
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": spec, "status": {"conditions": conditions}}


def zoned(story: Story) -> None:
    leads(story, "plane-0-1")
    node = {"metadata": {"name": "node-a", "labels": {ZONE: "a"}}}
    story.commit("nodes", node, namespace="")
    story.commit("deployments.apps", {"metadata": {"name": "web", "uid": "u-web"}, "spec": {"replicas": 2}})


def a_pod_bound_where_it_is_to_avoid(story: Story) -> None:
    zoned(story)
    story.commit(OVERRIDES, override("calm", "namespace", avoidZones=["a"]))
    story.commit("pods", pod("web-1", namespace="default"))
    story.seconds += 60.0
    story.commit("pods", pod("web-1", node="node-a", namespace="default"), origin="scheduler of plane-0-1")


def a_pod_drained_after_the_end(story: Story) -> None:
    zoned(story)
    story.commit("pods", pod("web-1", node="node-a"))
    story.commit(OVERRIDES, override("empty", "zone/a", lasts=10.0, drain=True))
    story.seconds += 60.0
    gone = pod("web-1", node="node-a")
    gone["metadata"]["deletionTimestamp"] = GOING
    story.commit("pods", gone, origin="override-drain of plane-0-1")


def a_set_that_grows_while_it_is_held(story: Story) -> None:
    zoned(story)
    story.commit(OVERRIDES, override("calm", "deployment/web", pauseExpansion=True))
    story.seconds += 60.0
    owner = {"kind": "Deployment", "name": "web", "uid": "u-web", "controller": True}
    story.commit(
        "replicasets.apps",
        {
            "metadata": {"name": "web-5d9f", "namespace": "default", "ownerReferences": [owner]},
            "spec": {"replicas": 9},
        },
        origin="deployment of plane-0-1",
    )


def _give_a_set(story: Story, name: str, replicas: int, of: str = "db") -> None:
    owner = {"kind": "Deployment", "name": of, "uid": f"u-{of}", "controller": True}
    meta = {"name": name, "namespace": "default", "ownerReferences": [owner]}
    story.commit(
        "replicasets.apps",
        {"metadata": meta, "spec": {"replicas": replicas}},
        origin="deployment of plane-0-1",
    )


def a_deployment_made_while_it_is_held_that_grows(story: Story) -> None:
    zoned(story)
    _give_a_set(story, "db-1111", 2)
    story.commit(OVERRIDES, override("calm", "namespace", pauseExpansion=True))
    story.seconds += 60.0
    _give_a_set(story, "db-2222", 4)


def a_deployment_made_while_it_is_held_that_rolls_out_what_it_has(story: Story) -> None:
    zoned(story)
    _give_a_set(story, "db-1111", 2)
    story.commit(OVERRIDES, override("calm", "namespace", pauseExpansion=True))
    story.seconds += 60.0
    _give_a_set(story, "db-2222", 2)


def an_eviction_for_a_pod_whose_raise_has_ended(story: Story) -> None:
    zoned(story)
    story.commit("pods", pod("batch-1", node="node-a", namespace="default"))
    waits = pod("web-1", namespace="default")
    waits["status"] = {"nominatedNodeName": "node-a"}
    story.commit("pods", waits)
    raising = override("rush", "deployment/web", lasts=10.0, priorityClassName="urgent")
    raising["spec"]["priority"] = {"value": 1000}
    raising["status"]["raised"] = [{"namespace": "default", "name": "web-1", "uid": "uid-web-1"}]
    story.commit(OVERRIDES, raising)
    story.seconds += 60.0
    gone = pod("batch-1", node="node-a", namespace="default")
    gone["metadata"]["deletionTimestamp"] = GOING
    story.commit("pods", gone, origin="scheduler of plane-0-1")


def more_raised_than_it_allows(story: Story) -> None:
    raising = override("rush", "deployment/web", priorityClassName="urgent", priorityReplicas=1)
    raising["status"]["raised"] = [{"namespace": "default", "name": name, "uid": name} for name in "ab"]
    story.commit(OVERRIDES, raising)


VIOLATIONS = [
    ("preemption-ends", an_eviction_for_a_pod_whose_raise_has_ended),
    ("overrides-are-kept", more_raised_than_it_allows),
    ("overrides-are-kept", a_pod_bound_where_it_is_to_avoid),
    ("overrides-are-kept", a_pod_drained_after_the_end),
    ("overrides-are-kept", a_set_that_grows_while_it_is_held),
    ("overrides-are-kept", a_deployment_made_while_it_is_held_that_grows),
    ("policies-are-followed", a_pod_made_by_no_policy),
    ("policies-are-followed", a_pod_that_was_under_way_when_the_policy_came),
    ("policies-are-followed", a_pod_made_by_a_policy_that_was_changed),
    ("policies-are-followed", a_pod_made_by_a_policy_that_is_gone),
    ("leases-run-out", a_lease_taken_early),
    ("leases-run-out", a_node_s_lease_taken_early_by_a_twin),
    ("writers-progress", a_writer_that_asks_in_vain),
    ("templates-reach-pods", an_image_that_has_not_reached_a_pod),
    ("templates-reach-pods", a_label_that_has_not_reached_a_pod),
    ("quota-is-the-sum", a_quota_that_counts_what_is_gone),
    ("quota-is-the-sum", a_quota_on_placements_that_forgot_a_pod),
    ("justified-removals", a_wanted_ordinal_deleted),
    ("justified-removals", the_only_daemon_of_a_node_deleted),
    ("justified-removals", a_pod_of_a_job_that_goes_on_given_up),
    ("live-children", an_ordinal_made_that_is_not_wanted),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


def test_a_deployment_made_while_it_is_held_may_roll_out_what_it_has() -> None:
    a_deployment_made_while_it_is_held_that_rolls_out_what_it_has(Story())


@pytest.mark.parametrize(("replicas", "is_found"), [(4, False), (5, True)])
def test_a_deployment_that_grew_before_it_was_held_may_roll_out_what_it_has(
    replicas: int, is_found: bool
) -> None:
    story = Story()
    zoned(story)
    story.commit(OVERRIDES, override("calm", "deployment/web", pauseExpansion=True))
    _give_a_set(story, "web-1111", 4, "web")
    story.seconds += 60.0
    with pytest.raises(Violation, match="got 5 replicas") if is_found else nullcontext():
        _give_a_set(story, "web-2222", replicas, "web")


@pytest.mark.parametrize(
    ("lag", "seconds", "found"), [(0.0, 0.1, True), (16.0, 12.0, False), (16.0, 17.0, True)]
)
def test_only_where_nothing_judges_premises_a_count_that_sank_counts_for_a_while(
    lag: float, seconds: float, found: bool
) -> None:
    story = Story()
    story.observed._checkers = ()
    story.observed.add(LiveChildren(lag))
    story.commit("replicasets.apps", replicaset(2))
    story.commit("pods", pod("a"))
    story.commit("replicasets.apps", replicaset(1, generation=2, observed=2))
    story.seconds = seconds
    try:
        story.commit("pods", pod("b"), origin="replicaset of plane-0-1")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(
    ("lag", "seconds", "found"), [(0.0, 1.0, True), (16.0, 12.0, False), (16.0, 17.0, True)]
)
def test_there_a_deployment_s_count_that_sank_counts_for_a_while_after_its_sets_were_told(
    lag: float, seconds: float, found: bool
) -> None:
    story = Story()
    story.observed._checkers = ()
    story.observed.add(LiveChildren(lag))
    body = deployment(1, 0, 1)
    story.commit("deployments.apps", body)
    story.commit("replicasets.apps", replicaset(1, ownerReferences=OF_DEPLOYMENT))
    story.commit(
        "deployments.apps", {**body, "metadata": {"name": "d", "generation": 2}, "spec": {"replicas": 0}}
    )
    story.seconds = 60.0  # nobody led meanwhile
    story.commit("replicasets.apps", replicaset(0, generation=2, observed=2, ownerReferences=OF_DEPLOYMENT))
    told = {
        "metadata": {"name": "d", "generation": 2},
        "spec": {"replicas": 0},
        "status": {"observedGeneration": 2},
    }
    story.commit("deployments.apps", told)
    story.seconds += seconds
    try:
        story.commit("pods", pod("b"), origin="replicaset of plane-0-1")
    except Violation:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(("seconds", "found"), [(7.0, False), (17.0, True)])
def test_there_a_pod_that_came_when_its_sender_had_given_up_does_not_count_for_a_while(
    seconds: float, found: bool
) -> None:
    story = Story()
    story.observed._checkers = ()
    story.observed.add(LiveChildren(16.0))
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a"), origin="late replicaset of plane-0-1")
    story.seconds += seconds
    with pytest.raises(Violation, match="live child 2") if found else nullcontext():
        story.commit("pods", pod("b"), origin="replicaset of plane-0-1")


@pytest.mark.parametrize(("seconds", "found"), [(7.0, False), (21.0, True)])
def test_a_set_that_a_deployment_adopts_is_told_of_its_number_after_that(seconds: float, found: bool) -> None:
    story = Story()
    story.observed._checkers = ()
    story.observed.add(LiveChildren())
    story.commit("replicasets.apps", replicaset(1))
    story.commit("deployments.apps", deployment(0, 0, 1))
    story.seconds = 60.0
    story.commit("replicasets.apps", replicaset(1, ownerReferences=OF_DEPLOYMENT))
    story.seconds += seconds
    with pytest.raises(Violation, match="live child 1") if found else nullcontext():
        story.commit("pods", pod("b"), origin="replicaset of plane-0-1")


@dataclass
class _Shown:
    """A mirror of pods that was fed by hand, and what is stored."""

    mirror: Mirror[Any] = field(default_factory=lambda: Mirror(PODS))
    stored: list[Entry] = field(default_factory=list)

    def judged(self, at: float = 10.0) -> str:
        checker = MirrorsAtRest(
            lambda: (Mirroring("plane-0-1", {PODS.name: self.mirror}, lambda _: tuple(self.stored)),)
        )
        story = Story()
        story.observed.add(checker)
        try:
            checker.quiesced(CommittedObjects(), at)
        except Violation as told:
            return told.message
        return ""


def _entry(name: str, revision: int, phase: str = "Running") -> Entry:
    body = {"metadata": {"name": name, "namespace": "default", "uid": name}, "status": {"phase": phase}}
    return Entry(Key(PODS.name, "default", name), name, revision, codec.encode(body))


@pytest.fixture
def shown() -> _Shown:
    found = _Shown()
    found.mirror.handle(Started(0.0, 0.5))
    found.mirror.handle(Listed(5, (_entry("a", 3), _entry("b", 5)), 0.0, 1))
    found.stored = [_entry("a", 3), _entry("b", 5)]
    return found


def test_a_mirror_that_shows_what_is_stored_is_right(shown: _Shown) -> None:
    assert shown.judged() == ""
    shown.mirror.handle(Framed(DELETED, _entry("b", 6), 0.0, 2))
    shown.stored = [_entry("a", 3)]
    assert shown.judged() == ""


def test_a_mirror_that_missed_a_change_a_deletion_or_the_content_is_told(shown: _Shown) -> None:
    shown.stored = [_entry("a", 7), _entry("b", 5)]
    assert shown.judged() == "plane-0-1 shows pods a at 3, which is at 7"
    shown.stored = [_entry("a", 3)]
    assert shown.judged() == "plane-0-1 shows pods b, which is gone"
    shown.stored = [_entry("a", 3, "Failed"), _entry("b", 5)]
    assert shown.judged() == "plane-0-1 shows pods a otherwise than it is at 3"
    shown.stored = [_entry("a", 3), _entry("b", 5), _entry("c", 6)]
    assert shown.judged() == "plane-0-1 shows pods c at no revision, which is at 6"


def test_what_was_written_a_moment_ago_may_be_on_its_way(shown: _Shown) -> None:
    shown.stored = [_entry("a", 7), _entry("b", 5)]
    checker = MirrorsAtRest(
        lambda: (Mirroring("plane-0-1", {PODS.name: shown.mirror}, lambda _: tuple(shown.stored)),)
    )
    story = Story()
    story.observed.add(checker)
    story.seconds = 9.5
    story.commit("pods", {"metadata": {"name": "a"}})
    checker.quiesced(CommittedObjects(), 10.0)
    with pytest.raises(Violation):
        checker.quiesced(CommittedObjects(), 10.6)
