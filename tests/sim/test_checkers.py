"""Every checker lets what is right pass and tells a fabricated violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.control.leadership import FENCE, NAMESPACE, RESOURCE
from fairlead.core import codec
from fairlead.model.at_most_one import ACCEPTED, DEADLINE, accepted_message
from fairlead.model.views import DeploymentSpec
from fairlead.reconcile.cronjob import SCHEDULED_AT
from fairlead.sim.checkers.availability import least_available
from fairlead.sim.checkers.contract import Observed
from fairlead.sim.checkers.roster import all_checkers
from fairlead.sim.violation import Violation
from fairlead.store.contract import ADDED, DELETED, MODIFIED, Change, Entry, Key

Json = dict[str, Any]


class Story:
    """Commits, one after the other, before the eyes of all checkers."""

    def __init__(self) -> None:
        self.observed = Observed(all_checkers())
        self.revision = 0
        self.seconds = 0.0
        self._objects: dict[Key, str] = {}

    def commit(
        self, resource: str, obj: Json, origin: str = "", gone: bool = False, namespace: str = "default"
    ) -> None:
        self.revision += 1
        metadata = {"uid": f"uid-{obj['metadata']['name']}", **obj["metadata"]}
        metadata["resourceVersion"] = str(self.revision)
        key = Key(resource, namespace, metadata["name"])
        change = DELETED if gone else MODIFIED if key in self._objects else ADDED
        entry = Entry(key, metadata["uid"], self.revision, codec.encode({**obj, "metadata": metadata}))
        self._objects[key] = metadata["uid"]
        self.observed.committed([Change(change, entry, None)], {self.revision: origin}, self.seconds)

    def rest(self) -> None:
        self.observed.quiesced(self.seconds)


def replicaset(replicas: int, generation: int = 1, observed: int = 1, name: str = "web", **meta: Any) -> Json:
    return {
        "metadata": {"name": name, "generation": generation, **meta},
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": observed},
    }


def pod(
    name: str, owner: str = "web", uid: str = "", node: str = "", kind: str = "ReplicaSet", **meta: Any
) -> Json:
    reference = {"kind": kind, "name": owner, "uid": uid or f"uid-{owner}", "controller": True}
    return {
        "metadata": {"name": name, "ownerReferences": [reference], **meta},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def job(parallelism: int, *conditions: str, generation: int = 1) -> Json:
    told = [{"type": kind, "status": "True"} for kind in conditions]
    meta = {"name": "sum", "generation": generation}
    return {"metadata": meta, "spec": {"parallelism": parallelism}, "status": {"conditions": told}}


def deployment(replicas: int, surge: int, away: int) -> Json:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": away}}
    return {
        "metadata": {"name": "d", "generation": 1},
        "spec": {"replicas": replicas, "strategy": strategy},
        "status": {"observedGeneration": 1},
    }


OF_DEPLOYMENT = [{"kind": "Deployment", "name": "d", "uid": "uid-d", "controller": True}]
GOING = "2027-01-01T00:00:00Z"


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


def a_job_s_pod_created_for_a_count_long_gone(story: Story) -> None:
    story.commit("jobs.batch", job(2))
    story.commit("pods", pod("a", "sum", kind="Job"))
    story.commit("jobs.batch", job(1, generation=2))
    story.seconds += 60
    story.commit("pods", pod("b", "sum", kind="Job"))


def a_restored_pod_and_one_too_many(story: Story) -> None:
    story.commit("pods", pod("a"))  # what was restored comes in any order
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("b"))


def a_pod_that_moves(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a", node="one"))
    story.commit("pods", pod("a", node="two"))


def a_pod_on_no_node(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(1))
    story.commit("pods", pod("a", node="nowhere"))
    story.rest()


def node(name: str, cpu: str = "4", **labels: str) -> Json:
    status = {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


def needs(name: str, cpu: str, at: str = "", claims: str = "", priority: int = 0, **meta: Any) -> Json:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    status = {"phase": "Running" if at else "Pending", "nominatedNodeName": claims}
    spec = {"nodeName": at, "containers": containers, "priority": priority}
    return {"metadata": {"name": name, **meta}, "spec": spec, "status": status}


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


def quota(hard: str, used: str = "0") -> Json:
    spec = {"hard": {"cpu": hard}, "nodeSelector": {"matchLabels": {"zone": "z"}}}
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"used": {"cpu": used}}}


def more_than_a_quota_allows(story: Story) -> None:
    story.commit("nodes", node("one", "32", zone="z"))
    story.commit("placementquotas.fairlead.dev", quota("3"))
    for name in ("a", "b"):
        story.commit("pods", needs(name, "2", "one"))


def a_quota_that_says_more_is_used_than_it_allows(story: Story) -> None:
    story.commit("placementquotas.fairlead.dev", quota("3", "2"))
    story.commit("placementquotas.fairlead.dev", quota("3", "4"))


def two_reservations_for_one_purpose(story: Story) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "fraud", "uid": "uid-fraud"}
    for name in ("first", "second"):
        spec = {"owner": owner, "intent": "recovery"}
        body = {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Active"}}
        story.commit("reservations.fairlead.dev", body)


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


SCHEDULER = "scheduler of plane-0-1"


def evicts(story: Story, name: str, at: str, origin: str = SCHEDULER) -> None:
    story.commit("pods", needs(name, "2", at, deletionTimestamp=GOING), origin=origin)


def crowd(story: Story) -> None:
    leads(story, "plane-0-1")
    for name in ("one", "two"):
        story.commit("nodes", node(name))
        for number in (1, 2):
            story.commit("pods", needs(f"{name}-{number}", "2", name))


def an_eviction_for_nobody(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", priority=9))
    evicts(story, "one-1", "one")


def an_eviction_for_one_who_is_no_more_important(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("equal", "4", claims="one"))
    evicts(story, "one-1", "one", "late " + SCHEDULER)


def a_second_choice_before_the_first_has_left(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    evicts(story, "one-1", "one")
    story.commit("pods", needs("urgent", "4", claims="two", priority=9))
    evicts(story, "two-1", "two")


def evictions_without_end(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("nodes", node("one", "64"))
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    for number in range(20):
        story.commit("pods", needs(f"low-{number}", "2", "one"))
        evicts(story, f"low-{number}", "one")
        story.commit("pods", needs(f"low-{number}", "2", "one"), gone=True)


def a_victim_that_does_not_go(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    evicts(story, "one-1", "one")
    story.rest()


def test_a_story_of_preemption_breaks_nothing() -> None:
    story = Story()
    crowd(story)
    story.commit("placementquotas.fairlead.dev", quota("3"))  # of nodes that there are none of
    story.commit("pods", needs("urgent", "4", priority=9))
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    for number in (1, 2):
        evicts(story, f"one-{number}", "one")
    for number in (1, 2):
        story.commit("pods", needs(f"one-{number}", "2", "one"), gone=True)
    story.commit("pods", needs("urgent", "4", "one", claims="one", priority=9))
    story.commit("pods", needs("low", "2"))  # fits nowhere
    story.rest()


def leads(story: Story, holder: str) -> None:
    story.revision += 1
    metadata = {"name": FENCE, "uid": "f", "resourceVersion": str(story.revision)}
    data = codec.encode({"metadata": metadata, "spec": {"holderIdentity": holder}})
    entry = Entry(Key(RESOURCE, NAMESPACE, FENCE), "f", story.revision, data)
    story.observed.committed([Change(MODIFIED, entry, None)], {}, story.seconds)


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


def a_pod_for_a_set_that_is_gone(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("replicasets.apps", replicaset(1))
    story.commit("replicasets.apps", replicaset(1), gone=True)
    story.commit("pods", pod("a"), origin="late plane-0-1")


def a_pod_of_a_finished_job(story: Story) -> None:
    story.commit("jobs.batch", job(2, "Complete"))
    story.seconds += 60
    story.commit("pods", pod("a", "sum", kind="Job"))


def a_job_that_is_not_finished_any_more(story: Story) -> None:
    story.commit("jobs.batch", job(2, "Failed"))
    story.commit("jobs.batch", job(2))


def a_status_that_was_never_written(story: Story) -> None:
    story.commit("replicasets.apps", replicaset(0, observed=0))
    story.rest()


def service(name: str = "web", address: str = "127.96.0.1", **port: Any) -> Json:
    spec = {"clusterIP": address, "selector": {"app": "web"}, "ports": [{"port": 80, **port}]}
    return {"metadata": {"name": name}, "spec": spec}


def cut(*addresses: str, ready: bool = True, name: str = "s") -> Json:
    labels = {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    told = {"ready": ready, "serving": ready, "terminating": False}
    endpoints = [{"addresses": [address], "conditions": told} for address in addresses]
    return {"metadata": {"name": name, "labels": labels}, "endpoints": endpoints}


def with_address(found: Json, address: str, *more: Json) -> Json:
    status = {**found["status"], "podIP": address, "conditions": [*found["status"]["conditions"], *more]}
    meta = {**found["metadata"], "labels": {"app": "web"}, "ownerReferences": []}
    return {**found, "metadata": meta, "status": status}


SLICES = "endpointslices.discovery.k8s.io"


def a_service_and_a_pod(story: Story, *more: Json) -> None:
    story.commit("nodes", {"metadata": {"name": "one"}})
    story.commit("services", service())
    story.commit("pods", with_address(pod("a", node="one"), "127.128.0.1", *more))


def two_services_with_one_address(story: Story) -> None:
    story.commit("services", service("a"))
    story.commit("services", service("b"))


def two_services_with_one_node_port(story: Story) -> None:
    story.commit("services", service("a", "127.96.0.1", nodePort=30000))
    story.commit("services", service("b", "127.96.0.2", nodePort=30000))


def two_nodes_with_one_network(story: Story) -> None:
    for name in ("one", "two"):
        story.commit("nodes", {"metadata": {"name": name}, "spec": {"podCIDR": "127.128.0.0/24"}})


def a_pod_that_no_slice_names(story: Story) -> None:
    a_service_and_a_pod(story)
    story.rest()


def a_slice_that_calls_a_released_pod_ready(story: Story) -> None:
    a_service_and_a_pod(story, {"type": "fairlead.dev/Released", "status": "True"})
    story.commit(SLICES, cut("127.128.0.1"))
    story.rest()


def a_pod_in_two_slices(story: Story) -> None:
    a_service_and_a_pod(story)
    story.commit(SLICES, cut("127.128.0.1"))
    story.commit(SLICES, cut("127.128.0.1", name="t"))
    story.rest()


def a_slice_with_too_much(story: Story) -> None:
    story.commit("services", service())
    story.commit(SLICES, cut(*(f"127.128.0.{number}" for number in range(101))))
    story.rest()


def test_slices_that_tell_the_truth_and_addresses_handed_on_break_nothing() -> None:
    story = Story()
    a_service_and_a_pod(story)
    story.commit(SLICES, cut("127.128.0.1"))
    story.commit("services", service("old", "127.96.0.9"))
    story.commit("services", service("old", "127.96.0.9"), gone=True)
    new = service("new", "127.96.0.9")
    del new["spec"]["selector"]
    story.commit("services", new)
    story.commit("services", new)
    story.seconds = 100
    story.rest()


def silence(story: Story, nodes: int = 4, state: str = "Normal", zone: str = "-") -> None:
    """Unreachable nodes with a pod each, and the brake of their zone."""
    spec = {"zones": {"releasesPerMinute": 1}}
    zones = [{"name": zone, "state": state}]
    story.commit(
        "evidencepolicies.fairlead.dev",
        {"metadata": {"name": "default"}, "spec": spec, "status": {"zones": zones}},
    )
    story.commit("replicasets.apps", replicaset(nodes, name="web"))
    for number in range(nodes):
        taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": GOING}
        found = node(f"n{number}")
        story.commit("nodes", {**found, "spec": {"taints": [taint]}})
        story.commit("pods", pod(f"p{number}", node=f"n{number}"))


def lets_go(story: Story, number: int, reason: str = "NodeSilent") -> None:
    found = pod(f"p{number}", node=f"n{number}")
    condition = {"type": "fairlead.dev/Released", "status": "True", "reason": reason}
    found["status"]["conditions"] = [condition]
    story.commit("pods", found)


def more_releases_than_a_zone_allows(story: Story) -> None:
    silence(story)
    for number in range(4):
        lets_go(story, number)
        story.seconds += 10.0


def lets_go_after_its_deadline(story: Story) -> None:
    """The first pod's supervisor said when it ends, and its node was silent for longer than that."""
    found = pod("p0", node="n0")
    told = {"type": DEADLINE, "status": "True", "reason": ACCEPTED, "message": accepted_message(40)}
    found["status"]["conditions"].append(told)
    story.commit("pods", found)
    story.seconds += 41.0
    lets_go(story, 0, "NodeFenced")


def a_release_while_the_brake_is_on(story: Story) -> None:
    silence(story, state="Stopped")
    lets_go_after_its_deadline(story)


def a_replacement_of_a_pod_that_counts(story: Story) -> None:
    silence(story)
    story.commit("pods", pod("p0", node="n0"), gone=True)
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p1"}))


def two_replacements_of_one_pod(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    for name in ("r", "s"):
        story.commit("pods", pod(name, annotations={"fairlead.dev/replaces": "uid-p0"}))


def a_limit_of(story: Story, pods: int, used: int = 0) -> None:
    status = {"used": {"pods": str(used)}}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(pods)}}, "status": status}
    story.commit("resourcequotas", quota)


def one_pod_more_than_a_quota_allows(story: Story) -> None:
    a_limit_of(story, 4)
    silence(story)
    lets_go(story, 0)
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p0"}))


def a_quota_that_says_too_little(story: Story) -> None:
    a_limit_of(story, 4, used=3)
    story.commit("pods", pod("p0", kind="Job"))
    story.rest()


def a_released_pod_that_nothing_replaces(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    story.seconds += 91.0
    story.commit("pods", pod("p1", node="n1"))


def an_original_that_goes_for_nothing(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    waiting = pod("r", annotations={"fairlead.dev/replaces": "uid-p0"})
    waiting["status"] = {"phase": "Pending"}
    story.commit("pods", waiting)
    story.seconds += 60.0
    found = pod("p0", node="n0", deletionTimestamp=GOING)
    found["status"]["conditions"] = [{"type": "fairlead.dev/Released", "status": "True"}]
    leads(story, "plane-0")
    story.commit("pods", found, "returned of plane-0")


def a_mark_on_a_node_that_is_heard(story: Story) -> None:
    silence(story)
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n1"}}, namespace="kube-node-lease")
    story.rest()


def a_pod_that_still_waits_for_its_release(story: Story) -> None:
    story.commit("nodes", node("n0"))
    found = pod("p0", node="n0")
    found["metadata"]["ownerReferences"] = []
    waits = {"type": "fairlead.dev/Released", "status": "False", "reason": "NodeUnknown"}
    found["status"]["conditions"] = [waits]
    story.commit("pods", found)
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n0"}}, namespace="kube-node-lease")
    story.rest()


def test_quota_that_is_handed_over_may_be_used_again() -> None:
    story = Story()
    a_limit_of(story, 4)
    silence(story)
    lets_go(story, 0)
    given = pod("p0", node="n0")
    given["status"]["conditions"] = [
        {"type": "fairlead.dev/Released", "status": "True", "reason": "NodeSilent"},
        {"type": "fairlead.dev/QuotaGiven", "status": "True", "reason": "Created"},
    ]
    story.commit("pods", given)
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p0"}))
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    story.commit("pods", pod("p0", node="n0"))  # it counts again: above the limit, and nobody's fault
    story.seconds += 1.0
    with pytest.raises(Violation, match=r"resource-quota-kept.*created when 5 pods counted, and 4 may"):
        story.commit("pods", pod("one-more", "sum", kind="Job"))


def test_releases_within_the_limits_and_what_humans_confirm_break_nothing() -> None:
    story = Story()
    silence(story)
    for number in range(3):
        lets_go(story, number)
        story.commit("pods", pod(f"r{number}", annotations={"fairlead.dev/replaces": f"uid-p{number}"}))
        story.seconds += 60.0
    story = Story()
    silence(story)
    lets_go_after_its_deadline(story)
    story = Story()
    silence(story, state="Stopped")
    for number in range(4):
        lets_go(story, number, "OutOfServiceConfirmed")


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


def test_a_job_s_count_that_has_just_sunk_still_allows_what_it_allowed() -> None:
    story = Story()
    story.commit("jobs.batch", job(2))
    story.commit("pods", pod("a", "sum", kind="Job"))
    story.commit("jobs.batch", job(1, generation=2))
    story.commit("pods", pod("b", "sum", kind="Job"))


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


def a_node_marked_although_it_was_heard(story: Story) -> None:
    """More of them: `test_process_checkers.py`."""
    acts = [{"act": "StopPlacement", "afterSeconds": 20}]
    rows = [{"name": "silent", "signal": "MissedHeartbeats", "confidence": "medium", "acts": acts}]
    story.commit(
        "evidencepolicies.fairlead.dev",
        {"metadata": {"name": "default"}, "spec": {"rows": rows}},
        "",
        False,
        "",
    )
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n"}}, "", False, "kube-node-lease")
    story.seconds += 10
    taint = {"key": "fairlead.dev/suspect", "effect": "NoSchedule"}
    story.commit("nodes", {"metadata": {"name": "n"}, "spec": {"taints": [taint]}}, "", False, "")


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


@pytest.mark.parametrize(
    ("invariant", "tell"),
    [
        ("live-children", one_pod_too_many),
        ("live-children", one_pod_too_many_for_the_deployment),
        ("sound-capacity", old_pods_given_up_for_one_out_of_reach),
        ("no-leftover", a_mark_of_a_node_that_is_back),
        ("no-leftover", a_finalizer_of_a_job_that_is_not),
        ("live-children", a_pod_created_for_a_count_that_has_sunk),
        ("live-children", a_job_s_pod_created_for_a_count_long_gone),
        ("live-children", a_restored_pod_and_one_too_many),
        ("bound-once", a_pod_that_moves),
        ("bound-once", a_pod_on_no_node),
        ("observed-generation", a_status_from_the_future),
        ("observed-generation", a_status_that_goes_back),
        ("observed-generation", a_status_left_behind),
        ("truthful-progress", a_progress_that_grows_on_the_way),
        ("truthful-progress", a_progress_that_lags_at_rest),
        ("no-orphan", an_orphan),
        ("no-orphan", a_deletion_that_does_not_end),
        ("quiet-at-rest", a_write_after_rest),
        ("revisions-increase", a_revision_used_twice),
        ("observed-generation", a_status_that_was_never_written),
        ("justified-deletes", a_pod_taken_from_an_owner_that_wants_it),
        ("justified-deletes", a_pod_taken_late_from_an_owner_that_wants_it_again),
        ("justified-deletes", a_second_pod_taken_after_the_set_told_of_the_first),
        ("availability", a_rollout_that_takes_too_many_ready_pods),
        ("one-identity", an_identity_that_comes_back),
        ("no-ghost", a_pod_for_a_set_that_is_gone),
        ("finished-jobs", a_pod_of_a_finished_job),
        ("finished-jobs", a_job_that_is_not_finished_any_more),
        ("one-leader", a_write_of_a_former_leader),
        ("capacity", more_than_a_node_has),
        ("placed-at-rest", a_pod_that_waits_although_it_fits),
        ("quota-kept", more_than_a_quota_allows),
        ("quota-kept", a_quota_that_says_more_is_used_than_it_allows),
        ("one-reservation", two_reservations_for_one_purpose),
        ("one-address", two_services_with_one_address),
        ("one-address", two_services_with_one_node_port),
        ("one-address", two_nodes_with_one_network),
        ("slices-at-rest", a_pod_that_no_slice_names),
        ("slices-at-rest", a_slice_that_calls_a_released_pod_ready),
        ("slices-at-rest", a_pod_in_two_slices),
        ("slices-at-rest", a_slice_with_too_much),
        ("disruptions-in-flight", one_eviction_too_many),
        ("disruptions-in-flight", one_eviction_more_than_a_share_allows),
        ("fresh-allowance", an_eviction_long_after_others_fell_ill),
        ("fresh-allowance", an_eviction_on_what_an_older_budget_allowed),
        ("preemption-ends", an_eviction_for_nobody),
        ("preemption-ends", an_eviction_for_one_who_is_no_more_important),
        ("preemption-ends", a_second_choice_before_the_first_has_left),
        ("preemption-ends", evictions_without_end),
        ("preemption-ends", a_victim_that_does_not_go),
        ("releases-keep-limits", more_releases_than_a_zone_allows),
        ("releases-keep-limits", a_release_while_the_brake_is_on),
        ("replacements-follow-releases", a_replacement_of_a_pod_that_counts),
        ("replacements-follow-releases", two_replacements_of_one_pod),
        ("resource-quota-kept", one_pod_more_than_a_quota_allows),
        ("resource-quota-kept", a_quota_that_says_too_little),
        ("repair-goes-on", a_released_pod_that_nothing_replaces),
        ("originals-kept", an_original_that_goes_for_nothing),
        ("no-stranded-marks", a_mark_on_a_node_that_is_heard),
        ("no-stranded-marks", a_pod_that_still_waits_for_its_release),
        ("silence-is-real", a_node_marked_although_it_was_heard),
        ("slots-run-once", an_instant_that_runs_again),
        ("events-flow", bindings_that_nobody_was_told_of),
        ("led-at-rest", a_lease_that_nobody_renews),
        ("refusals-end", a_pod_that_does_not_come_though_there_is_room),
        ("refusals-end", a_status_that_does_not_tell_of_what_there_is),
    ],
)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    with pytest.raises(Violation) as told:
        tell(Story())
    assert told.value.invariant == invariant


def test_every_checker_has_a_fabricated_violation() -> None:
    marks = [mark for mark in test_a_fabricated_violation_is_told.pytestmark if mark.name == "parametrize"]
    assert {case[0] for case in marks[0].args[1]} == {checker.name for checker in all_checkers()}


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
