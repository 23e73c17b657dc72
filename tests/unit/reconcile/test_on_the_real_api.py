"""The workload controllers with hollow nodes on the real API: what they ask for is accepted, and it converges.

Not the plane: turns are taken one after the other on the durable state. What is checked here is that defaults, field
checks, status rules, finalizers and grace of the API and the Deciders' expectations of them fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest

from fairlead.agent.hollow import HollowDecider
from fairlead.control.requests import request_of
from fairlead.control.turn import Write, following
from fairlead.decision.contract import Decider
from fairlead.model.selectors import LabelSelector, from_object
from fairlead.model.views import (
    BUDGETS,
    CRONJOBS,
    DAEMONSETS,
    JOBS,
    NODES,
    PODS,
    STATEFULSETS,
    Anything,
    Pod,
    Resource,
    View,
)
from fairlead.port.outcome import Done, outcome_of
from fairlead.port.request import Reply
from fairlead.reconcile.cronjob import CronJobDecider
from fairlead.reconcile.daemonset import DaemonSetDecider
from fairlead.reconcile.disruption_budget import BudgetDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.job_orphans import JobOrphanDecider
from fairlead.reconcile.statefulset import StatefulSetDecider
from fairlead.store.contract import Key
from tests.inprocess import InProcess
from tests.unit.reconcile.first_fit import BATCH, FirstFitDecider
from tests.unit.reconcile.world import selector, template

T = TypeVar("T", bound=View)
Json = dict[str, Any]
HOLLOW = HollowDecider("hollow-", nodes=3)


class Cluster:
    """The store as a Decider reads it, and its API as effects reach it."""

    def __init__(self) -> None:
        self.plane = InProcess()
        self.deciders: tuple[Decider, ...] = (
            JobDecider(), JobOrphanDecider(), StatefulSetDecider(), DaemonSetDecider(), BudgetDecider(),
            CronJobDecider(), FirstFitDecider(), HOLLOW,
        )  # fmt: skip
        self.writes = 0

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        entry = self.plane.store.get(Key(resource.name, namespace, name))
        return None if entry is None else msgspec.json.decode(entry.data, type=resource.type)

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        entries = self.plane.store.list(resource.name, namespace)
        ordered = sorted(entries, key=lambda entry: entry.key)
        return [msgspec.json.decode(entry.data, type=resource.type) for entry in ordered]

    def owned(self, resource: Resource[T], owner_uid: str) -> Sequence[T]:
        meta = Resource(resource.name, resource.api_version, resource.kind, Anything)
        pairs = zip(self.list(meta), self.list(resource), strict=True)
        return [
            found for any_, found in pairs if owner_uid in (o.uid for o in any_.metadata.owner_references)
        ]

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelSelector | Json | None
    ) -> Sequence[T]:
        compiled = selector if isinstance(selector, LabelSelector) else from_object(selector)
        meta = Resource(resource.name, resource.api_version, resource.kind, Anything)
        pairs = zip(self.list(meta, namespace), self.list(resource, namespace), strict=True)
        return [found for any_, found in pairs if compiled.matches(any_.metadata.labels)]

    def on_node(self, node: str) -> Sequence[View]:
        return [pod for pod in self.list(PODS) if pod.spec.node_name == node]

    def wall(self, now: float) -> float:
        return now

    def add(self, resource: Resource[Any], name: str, spec: Json) -> None:
        path = f"/apis/{resource.api_version}/namespaces/default/{resource.name.partition('.')[0]}"
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        status, answer = self.plane.post(path, body)
        assert status == 201, answer

    def keys(self, decider: Decider) -> list[Key]:
        keys = [*HOLLOW.initial_keys()] if decider is HOLLOW else [BATCH]
        resource = decider.reads[0].name
        return [key for key in keys if key.resource == resource] + [
            entry.key for entry in self.plane.store.list(resource, "")
        ]

    def settle(self) -> None:
        """Turns of all keys until nobody has anything to ask for; every effect is accepted."""
        for _ in range(200):
            quiet = True
            for decider in self.deciders:
                for key in self.keys(decider):
                    effects = list(decider.decide(self, key, self.plane.now).effects)
                    while effects:
                        effect = effects.pop(0)
                        reply = self.plane.send(request_of(effect))
                        assert isinstance(reply, Reply)
                        assert reply.status < 300, (effect, reply.body)
                        self.writes += 1
                        quiet = False
                        outcome = outcome_of(reply)
                        assert isinstance(outcome, Done)
                        write = Write(effect.key, outcome.revision, False)
                        effects = [following(each, write) for each in effects]
            if quiet:
                return
        raise AssertionError("does not settle")

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.settle()
            self.plane.now += 1
        self.settle()

    def pods(self) -> list[Pod]:
        return list(self.list(PODS, "default"))


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.settle()
    assert [node.ready for node in cluster.list(NODES)] == [True, True, True]
    return cluster


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_a_job_runs_to_its_end(cluster: Cluster, mode: str) -> None:
    spec = {"parallelism": 2, "completions": 5, "completionMode": mode}
    cluster.add(JOBS, "sum", {"template": template(restartPolicy="Never"), **spec})
    cluster.run(12)
    (job,) = cluster.list(JOBS)
    assert (job.status.succeeded, job.status.failed, job.status.active) == (5, 0, 0)
    assert "Complete" in [condition.type for condition in job.status.conditions]
    assert job.status.completed_indexes == ("0-4" if mode == "Indexed" else "")
    assert not any(pod.metadata.finalizers for pod in cluster.pods())


def test_a_job_that_fails_too_often_fails(cluster: Cluster) -> None:
    failing = template(restartPolicy="Never")
    failing["metadata"]["annotations"] = {"hollow.fairlead.dev/fails": "true"}
    cluster.add(JOBS, "sum", {"template": failing, "backoffLimit": 1, "completions": 1})
    cluster.run(20)
    (job,) = cluster.list(JOBS)
    assert job.status.failed == 2
    assert job.status.conditions[-1].reason == "BackoffLimitExceeded"


def test_a_job_is_suspended_and_resumed(cluster: Cluster) -> None:
    slow = template(restartPolicy="Never")
    slow["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "20s"}
    cluster.add(JOBS, "sum", {"template": slow, "parallelism": 2, "completions": 2})
    cluster.run(3)
    path = "/apis/batch/v1/namespaces/default/jobs/sum"
    cluster.plane.patch(path, {"spec": {"suspend": True}})
    cluster.run(5)
    assert cluster.pods() == []
    cluster.plane.patch(path, {"spec": {"suspend": False}})
    cluster.run(30)
    assert (cluster.list(JOBS)[0].status.succeeded, cluster.list(JOBS)[0].status.failed) == (2, 0)


def test_a_deleted_job_leaves_no_pod_behind(cluster: Cluster) -> None:
    slow = template(restartPolicy="Never")
    slow["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "1h"}
    cluster.add(JOBS, "sum", {"template": slow, "parallelism": 2, "completions": 2})
    cluster.run(3)
    cluster.plane.delete("/apis/batch/v1/namespaces/default/jobs/sum", {"propagationPolicy": "Background"})
    for pod in cluster.pods():  # as the collector would
        cluster.plane.delete(f"/api/v1/namespaces/default/pods/{pod.metadata.name}")
    cluster.run(5)
    assert (cluster.list(JOBS), cluster.pods()) == ([], [])


def test_a_stateful_set_comes_up_is_updated_and_scaled(cluster: Cluster) -> None:
    spec = {"serviceName": "db", "selector": selector(), "template": template(), "replicas": 3}
    cluster.add(STATEFULSETS, "db", spec)
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
    cluster.add(DAEMONSETS, "log", {"selector": selector(), "template": template()})
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
    cluster.add(STATEFULSETS, "db", {**spec, "podManagementPolicy": "Parallel"})
    cluster.add(BUDGETS, "db", {"selector": selector(), "maxUnavailable": 1})
    cluster.run(4)

    def evict(name: str) -> int:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return cluster.plane.post(f"/api/v1/namespaces/default/pods/{name}/eviction", eviction)[0]

    assert evict("db-0") == 201
    assert evict("db-1") == 429
    cluster.settle()
    assert evict("db-1") == 429
    cluster.run(5)
    assert evict("db-1") == 201


def test_a_cron_job_starts_jobs_that_end(cluster: Cluster) -> None:
    job = {"spec": {"template": template(restartPolicy="Never")}}
    cluster.add(
        CRONJOBS, "tick", {"schedule": "* * * * *", "jobTemplate": job, "successfulJobsHistoryLimit": 1}
    )
    cluster.run(130)
    (left,) = cluster.list(JOBS)
    assert left.status.succeeded == 1
    status = cluster.list(CRONJOBS)[0].status
    assert (status.active, bool(status.last_successful_time)) == ((), True)


def test_a_world_at_rest_is_not_written_to(cluster: Cluster) -> None:
    cluster.add(JOBS, "sum", {"template": template(restartPolicy="Never")})
    cluster.add(DAEMONSETS, "log", {"selector": selector(), "template": template()})
    cluster.run(8)
    writes = cluster.writes
    cluster.run(20)
    assert cluster.writes == writes
