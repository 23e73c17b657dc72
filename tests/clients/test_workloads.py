"""scale, rollout, autoscale: what kubectl can do to workloads while no controller acts on them."""

from __future__ import annotations

import json

import pytest

from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, owned, workload

SHARED = True  # the server, with other modules


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Deployment", "deployment.apps"),
        ("ReplicaSet", "replicaset.apps"),
        ("StatefulSet", "statefulset.apps"),
    ],
)
def test_scale(team: Operator, kind: str, name: str) -> None:
    extra = {"serviceName": "web"} if kind == "StatefulSet" else {}
    team("create -f -", workload(kind, "web", replicas=1, **extra))
    assert team(f"scale {kind} web --replicas=5") == f"{name}/web scaled\n"
    said = team.refused(f"scale {kind} web --replicas=6 --current-replicas=3")
    assert said == "error: Expected replicas to be 3, was 5\n"
    assert team(f"scale {kind} web --replicas=4 --current-replicas=5") == f"{name}/web scaled\n"
    assert team.asked(f"get {kind} web -o jsonpath={{.spec.replicas}}/{{.metadata.generation}}") == "4/3"
    assert "COUNT must be greater than or equal to 0" in team.run(f"scale {kind} web --replicas=-1").err


def test_the_scale_subresource_is_a_scale(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    found = json.loads(team.asked("get deploy web --subresource=scale -o json"))
    assert (found["apiVersion"], found["kind"], found["spec"]) == ("autoscaling/v1", "Scale", {"replicas": 2})
    assert found["status"] == {"replicas": 0, "selector": "app=web"}
    assert table(team("get deploy web --subresource=scale")) == [
        {"NAME": "web", "DESIRED": "2", "AVAILABLE": "0", "AGE": "AGE"}
    ]
    said = team('patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":9}}\'')
    assert said == "scale.autoscaling/web patched\n"
    assert team.asked("get deploy web -o jsonpath={.spec.replicas}") == "9"
    said = team.refused('patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":-9}}\'')
    assert "spec.replicas: Invalid value: -9" in said


def test_what_has_no_scale(team: Operator) -> None:
    team("create -f -", workload("DaemonSet", "agent"))
    assert "the server could not find the requested resource" in team.refused("scale ds agent --replicas=2")


def test_rollout_status_follows_what_a_controller_reports(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    waiting = team.run("rollout status deploy web --watch=false")
    assert (waiting.code, waiting.out) == (0, "Waiting for deployment spec update to be observed...\n")
    status: Manifest = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
    _report(team, status | {"availableReplicas": 1})
    assert "1 of 2 updated replicas are available..." in team("rollout status deploy web --watch=false")
    _report(team, status | {"availableReplicas": 2})
    assert team("rollout status deploy web") == 'deployment "web" successfully rolled out\n'
    team("scale deploy web --replicas=3")
    timed_out = team.run("rollout status deploy web --timeout=3s")
    assert (timed_out.code, timed_out.out) == (1, "Waiting for deployment spec update to be observed...\n")


def test_rollout_pause_resume_restart(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    assert team("rollout pause deploy web") == "deployment.apps/web paused\n"
    assert team.refused("rollout pause deploy web") == 'error: deployments.apps "web" is already paused\n'
    assert "can't restart paused deployment" in team.refused("rollout restart deploy web")
    assert team("rollout resume deploy web") == "deployment.apps/web resumed\n"
    assert team.refused("rollout resume deploy web") == 'error: deployments.apps "web" is not paused\n'
    assert team("rollout restart deploy web") == "deployment.apps/web restarted\n"
    annotations = team.yaml("get deploy web")["spec"]["template"]["metadata"]["annotations"]
    assert list(annotations) == ["kubectl.kubernetes.io/restartedAt"]


def test_without_replica_sets_there_is_no_history_to_go_back_to(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    assert team("rollout history deploy web") == "deployment.apps/web \nNo rollout history found.\n"
    assert team.refused("rollout undo deploy web") == 'error: no rollout history found for deployment "web"\n'


def test_undo_takes_the_template_of_an_older_replica_set(team: Operator) -> None:
    """The ReplicaSets are made by hand here, as the deployment controller would make them."""
    web = workload("Deployment", "web")
    web["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    team("create -f -", web)
    uid = team.asked("get deploy web -o jsonpath={.metadata.uid}")
    for revision, image in (("1", "web:old"), ("2", "web:new")):
        labels = {"app": "web", "pod-template-hash": image[4:]}
        made = owned(workload("ReplicaSet", f"web-{revision}"), web, uid)
        made["metadata"] |= {"labels": labels, "annotations": {"deployment.kubernetes.io/revision": revision}}
        made["spec"]["selector"]["matchLabels"] = labels
        made["spec"]["template"]["metadata"]["labels"] = labels
        made["spec"]["template"]["spec"]["containers"][0]["image"] = image
        team("create -f -", made)
    assert team("rollout history deploy web").splitlines()[1:3] == [
        "REVISION  CHANGE-CAUSE",
        "1         <none>",
    ]
    team("set image deploy/web main=web:new")
    assert team("rollout undo deploy web --to-revision=1") == "deployment.apps/web rolled back\n"
    template = team.yaml("get deploy web")["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == "web:old"
    assert template["metadata"]["labels"] == {"app": "web"}


def test_an_autoscaler_of_version_2(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    metric = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": metric}],
        },
    }
    assert team("apply -f -", scaler) == "horizontalpodautoscaler.autoscaling/web created\n"
    assert team("apply -f -", scaler) == "horizontalpodautoscaler.autoscaling/web unchanged\n"
    (row,) = table(team("get hpa"))
    assert (row["TARGETS"], row["MINPODS"], row["MAXPODS"]) == ("memory: <unknown>/1Gi", "1", "5")


def test_autoscale_writes_version_1_and_both_versions_are_read(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web"))
    done = team.run("autoscale deployment web --min=2 --max=7 --cpu-percent=65")
    assert (done.code, done.out) == (0, "horizontalpodautoscaler.autoscaling/web autoscaled\n")
    first, second = (
        team.yaml(f"get horizontalpodautoscalers.{version}.autoscaling web") for version in ("v1", "v2")
    )
    assert [each["apiVersion"] for each in (first, second)] == ["autoscaling/v1", "autoscaling/v2"]
    assert first["spec"]["targetCPUUtilizationPercentage"] == 65
    (metric,) = second["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 65}
    rows = [
        table(team(f"get horizontalpodautoscalers{version}"))
        for version in ("", ".v1.autoscaling", ".v2.autoscaling")
    ]
    assert rows[0] == rows[1] == rows[2]
    assert (rows[0][0]["TARGETS"], rows[0][0]["MINPODS"], rows[0][0]["MAXPODS"]) == (
        "cpu: <unknown>/65%",
        "2",
        "7",
    )
    managed = team.yaml("get hpa web --show-managed-fields")["metadata"]["managedFields"]
    assert [(each["manager"], each["apiVersion"]) for each in managed] == [
        ("kubectl-autoscale", "autoscaling/v1")
    ]


def test_a_manifest_of_version_1_is_applied_beside_one_of_version_2(team: Operator) -> None:
    first: Manifest = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 50,
        },
    }
    assert team("apply -f -", first) == "horizontalpodautoscaler.autoscaling/web created\n"
    assert team("apply -f -", first) == "horizontalpodautoscaler.autoscaling/web unchanged\n"
    assert team.run("diff -f -", first).code == 0
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    cpu = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    second = {**first, "apiVersion": "autoscaling/v2", "spec": {**first["spec"], "metrics": [memory, cpu]}}
    del second["spec"]["targetCPUUtilizationPercentage"]
    said = team.refused("apply --server-side --field-manager=gitops -f -", second)
    assert (
        'conflict with "kubectl-client-side-apply" using autoscaling/v1: .spec.targetCPUUtilizationPercentage'
        in said
    )
    applied = "horizontalpodautoscaler.autoscaling/web serverside-applied\n"
    assert team("apply --server-side --force-conflicts --field-manager=gitops -f -", second) == applied
    told = team.yaml("get horizontalpodautoscalers.v1.autoscaling web")["metadata"]["annotations"]
    assert json.loads(told["autoscaling.alpha.kubernetes.io/metrics"]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}
    ]
    team("""patch horizontalpodautoscalers.v1.autoscaling web --type=merge -p '{"spec":{"maxReplicas":8}}'""")
    spec = team.yaml("get horizontalpodautoscalers.v2.autoscaling web")["spec"]
    assert (spec["maxReplicas"], spec["metrics"]) == (8, [memory, cpu])
    shown = "custom-columns=V:.apiVersion,N:.spec.maxReplicas --no-headers"
    with team.started(f"get horizontalpodautoscalers.v1.autoscaling --watch -o {shown}") as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split() == ["autoscaling/v1", "8"]
        team(
            """patch horizontalpodautoscalers.v2.autoscaling web --type=merge -p '{"spec":{"maxReplicas":6}}'"""
        )
        assert watch.stdout.readline().split() == ["autoscaling/v1", "6"]


def _report(team: Operator, status: Manifest) -> None:
    body = json.dumps({"status": status})
    team(f"patch deploy web --subresource=status --type=merge -p '{body}'")
