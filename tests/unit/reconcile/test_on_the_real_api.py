"""The workload controllers together, with a scheduler and hollow nodes: no request is refused, and all converges.

Not the plane: turns are taken one after the other on the durable state. Defaults, field checks, status rules,
finalizers and grace of the API must fit what the Deciders expect of them, over the whole life of a workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import (
    BUDGETS,
    CRONJOBS,
    DAEMONSETS,
    JOBS,
    NODES,
    PODS,
    STATEFULSETS,
    Pod,
    View,
)
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.disruption_budget import budget_decider
from fairlead.reconcile.job.cronjob import cronjob_decider
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.job.orphans import job_orphan_decider
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.first_fit import BATCH, first_fit_decider
from tests.unit.reconcile.world import World, selector, template

T = TypeVar("T", bound=View)
Json = dict[str, Any]
HOLLOW = hollow_decider("hollow-", nodes=3)


class Cluster(World):
    """A World with hollow nodes, a scheduler and the controllers of workloads, all of which take turns."""

    def __init__(self) -> None:
        super().__init__()
        self.deciders: tuple[Decider, ...] = (
            job_decider(), job_orphan_decider(), statefulset_decider(), daemonset_decider(), budget_decider(),
            cronjob_decider(), first_fit_decider(), HOLLOW,
        )  # fmt: skip

    def keys(self, decider: Decider) -> tuple[Key, ...]:
        first = HOLLOW.initial_keys if decider is HOLLOW else (BATCH,)
        resource = decider.reads[0].name
        return *(key for key in first if key.resource == resource), *super().keys(decider)

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.settle(self.deciders)
            self.tick(1)
        self.settle(self.deciders)

    def pods(self) -> Sequence[Pod]:
        return self.list(PODS, "default")


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.settle(cluster.deciders)
    assert [node.ready for node in cluster.list(NODES)] == [True, True, True]
    return cluster


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_a_job_runs_to_its_end(cluster: Cluster, mode: str) -> None:
    spec = {"parallelism": 2, "completions": 5, "completionMode": mode}
    cluster.add(JOBS, "sum", spec={"template": template(restartPolicy="Never"), **spec})
    cluster.run(12)
    (job,) = cluster.list(JOBS)
    assert (job.status.succeeded, job.status.failed, job.status.active) == (5, 0, 0)
    assert "Complete" in [condition.type for condition in job.status.conditions]
    assert job.status.completed_indexes == ("0-4" if mode == "Indexed" else "")
    assert not any(pod.metadata.finalizers for pod in cluster.pods())


def test_a_job_that_fails_too_often_fails(cluster: Cluster) -> None:
    failing = template(restartPolicy="Never")
    failing["metadata"]["annotations"] = {"hollow.fairlead.dev/fails": "true"}
    cluster.add(JOBS, "sum", spec={"template": failing, "backoffLimit": 1, "completions": 1})
    cluster.run(20)
    (job,) = cluster.list(JOBS)
    assert job.status.failed == 2
    assert job.status.conditions[-1].reason == "BackoffLimitExceeded"


def test_a_job_is_suspended_and_resumed(cluster: Cluster) -> None:
    slow = template(restartPolicy="Never")
    slow["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "20s"}
    cluster.add(JOBS, "sum", spec={"template": slow, "parallelism": 2, "completions": 2})
    cluster.run(3)
    path = "/apis/batch/v1/namespaces/default/jobs/sum"
    cluster.plane.patch(path, {"spec": {"suspend": True}})
    cluster.run(5)
    assert cluster.pods() == ()
    cluster.plane.patch(path, {"spec": {"suspend": False}})
    cluster.run(30)
    assert (cluster.list(JOBS)[0].status.succeeded, cluster.list(JOBS)[0].status.failed) == (2, 0)


def test_a_deleted_job_leaves_no_pod_behind(cluster: Cluster) -> None:
    slow = template(restartPolicy="Never")
    slow["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "1h"}
    cluster.add(JOBS, "sum", spec={"template": slow, "parallelism": 2, "completions": 2})
    cluster.run(3)
    cluster.plane.delete("/apis/batch/v1/namespaces/default/jobs/sum", {"propagationPolicy": "Background"})
    for pod in cluster.pods():  # as the collector would
        cluster.plane.delete(f"/api/v1/namespaces/default/pods/{pod.metadata.name}")
    cluster.run(5)
    assert (cluster.list(JOBS), cluster.pods()) == ((), ())


def test_a_stateful_set_comes_up_is_updated_and_scaled(cluster: Cluster) -> None:
    spec = {"serviceName": "db", "selector": selector(), "template": template(), "replicas": 3}
    cluster.add(STATEFULSETS, "db", spec=spec)
    cluster.run(8)
    assert [(pod.metadata.name, pod.ready) for pod in cluster.pods()] == [(f"db-{n}", True) for n in range(3)]
    path = "/apis/apps/v1/namespaces/default/statefulsets/db"
    cluster.plane.patch(path, {"spec": {"template": template(image="db:2")}})
    cluster.run(12)
    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"db:2"}
    cluster.plane.patch(path, {"spec": {"replicas": 1}})
    cluster.run(6)
    assert [pod.metadata.name for pod in cluster.pods()] == ["db-0"]
    status = cluster.list(STATEFULSETS)[0].status
    assert (status.replicas, status.ready_replicas, status.updated_replicas) == (1, 1, 1)
    assert status.current_revision == status.update_revision


def test_a_daemon_set_runs_on_every_node_and_is_updated(cluster: Cluster) -> None:
    cluster.add(DAEMONSETS, "log", spec={"selector": selector(), "template": template()})
    cluster.run(3)
    assert sorted(pod.spec.node_name for pod in cluster.pods()) == ["hollow-0", "hollow-1", "hollow-2"]
    path = "/apis/apps/v1/namespaces/default/daemonsets/log"
    cluster.plane.patch(path, {"spec": {"template": template(image="log:2")}})
    cluster.run(12)
    assert {pod.spec.containers[0].image for pod in cluster.pods()} == {"log:2"}
    status = cluster.list(DAEMONSETS)[0].status
    assert (status.desired_number_scheduled, status.number_available, status.updated_number_scheduled) == (
        3,
        3,
        3,
    )


def test_evictions_stay_within_the_budget(cluster: Cluster) -> None:
    spec = {"serviceName": "db", "selector": selector(), "template": template(), "replicas": 3}
    cluster.add(STATEFULSETS, "db", spec={**spec, "podManagementPolicy": "Parallel"})
    cluster.add(BUDGETS, "db", spec={"selector": selector(), "maxUnavailable": 1})
    cluster.run(4)

    def evict(name: str) -> int:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return cluster.plane.post(f"/api/v1/namespaces/default/pods/{name}/eviction", eviction)[0]

    assert evict("db-0") == 201
    assert evict("db-1") == 429
    cluster.settle(cluster.deciders)
    assert evict("db-1") == 429
    cluster.run(5)
    assert evict("db-1") == 201


def test_a_cron_job_starts_jobs_that_end(cluster: Cluster) -> None:
    job = {"spec": {"template": template(restartPolicy="Never")}}
    cluster.add(
        CRONJOBS, "tick", spec={"schedule": "* * * * *", "jobTemplate": job, "successfulJobsHistoryLimit": 1}
    )
    cluster.run(130)
    (left,) = cluster.list(JOBS)
    assert left.status.succeeded == 1
    status = cluster.list(CRONJOBS)[0].status
    assert (status.active, bool(status.last_successful_time)) == ((), True)


def test_a_world_at_rest_is_not_written_to(cluster: Cluster) -> None:
    cluster.add(JOBS, "sum", spec={"template": template(restartPolicy="Never")})
    cluster.add(DAEMONSETS, "log", spec={"selector": selector(), "template": template()})
    cluster.run(8)
    writes = len(cluster.writes)
    cluster.run(20)
    assert len(cluster.writes) == writes
