"""Manifests that several client tests use: one object of every kind, and the parts they are made of."""

from __future__ import annotations

from typing import Any

from fairlead.model.kinds.reservation import name_for
from tests.samples import SAMPLES

Manifest = dict[str, Any]


def config(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Manifest:
    found: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return found | ({"data": data} if data else {})


def pod(name: str, node: str = "", **metadata: Any) -> Manifest:
    spec: Manifest = {"containers": [{"name": "main", "image": "busybox:1"}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def workload(kind: str, name: str, **spec: Any) -> Manifest:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet of one container `main`."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def owned(child: Manifest, owner: Manifest, uid: str) -> Manifest:
    """The child with a reference to its controller."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return child | {"metadata": child["metadata"] | {"ownerReferences": [reference]}}


def node(name: str, role: str = "worker") -> Manifest:
    labels = {"kubernetes.io/hostname": name, **({f"node-role.kubernetes.io/{role}": ""} if role else {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def event(name: str, about: Manifest, namespace: str, **fields: Any) -> Manifest:
    involved = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "name": about["metadata"]["name"],
        "namespace": namespace,
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved, **fields}


def one_of_each(namespace: str) -> list[Manifest]:
    """One object of every kind that this server has."""
    job = {"template": {"spec": pod("job")["spec"] | {"restartPolicy": "Never"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}},
        node("worker-1"),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 7,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "readers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ada"},
                {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "prober"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "probers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "prober"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "watchers"}],
        },
        {
            **SAMPLES["CertificateSigningRequest"],
            "metadata": {"name": "ada"},
        },
        {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "FlowSchema",
            "metadata": {"name": "robots"},
            "spec": {
                "priorityLevelConfiguration": {"name": "batch"},
                "matchingPrecedence": 700,
                "rules": [
                    {
                        "subjects": [{"kind": "User", "user": {"name": "robot"}}],
                        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}],
                    }
                ],
            },
        },
        {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "PriorityLevelConfiguration",
            "metadata": {"name": "batch"},
            "spec": {
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 0,
                    "limitResponse": {"type": "Queue", "queuing": {"queues": 16}},
                },
            },
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "PlaneSettings",
            "metadata": {"name": "default"},
            "spec": {"queues": {"job": {"ratePerSecond": 20}}, "chaos": {"allowed": True}},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "ChaosExperiment",
            "metadata": {"name": "drill"},
            "spec": {
                "faults": [{"name": "throttled", "percent": 1}],
                "controllers": ["cronjob"],
                "seconds": 1,
                "reason": "a drill",
            },
        },
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "sandboxed"},
            "handler": "sandbox",
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "AccessGrant",
            "metadata": {"name": "night"},
            "spec": {
                "subject": {"kind": "User", "name": "jane"},
                "role": {"kind": "ClusterRole", "name": "edit"},
                "namespaces": ["shop"],
                "reason": "checkout is down",
                "expiresAfter": "30m",
            },
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "ChangeFreeze",
            "metadata": {"name": "feast"},
            "spec": {"reason": "the feast", "start": "2020-12-24T12:00:00Z", "end": "2020-12-27T08:00:00Z"},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "ServiceLevelObjective",
            "metadata": {"name": "checkout"},
            "spec": {"target": {"kind": "Deployment", "name": "checkout"}, "objective": 99.9},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "AuditPolicy",
            "metadata": {"name": "default"},
            "spec": {"rules": [{"level": "Metadata", "users": ["ci"], "verbs": ["list"]}]},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "RecordingPolicy",
            "metadata": {"name": "default"},
            "spec": {"rules": [{"level": "Outcome", "namespaces": ["builds"]}]},
        },
        *_admission_policies(),
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": "packed"},
            "spec": {"scoring": {"strategy": "MostAllocated"}},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "PlacementQuota",
            "metadata": {"name": "zone-c"},
            "spec": {"nodeSelector": {"matchLabels": {"zone": "c"}}, "hard": {"cpu": "4", "pods": "9"}},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "Runbook",
            "metadata": {"name": "hold"},
            "spec": {
                "summary": "waits",
                "preconditions": [{"name": "always", "expression": "now > timestamp(0)"}],
                "steps": [{"name": "wait", "wait": {"until": "false"}}],
                "postconditions": [{"name": "always", "expression": "now > timestamp(0)"}],
            },
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "RunbookRun",
            "metadata": {"name": "hold-1"},
            "spec": {"runbook": "hold"},
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "Reservation",
            "metadata": {"name": name_for("u-1", "recover")},
            "spec": {
                "owner": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-1"},
                "intent": "recover",
                "nodeName": "worker-1",
                "requests": {"cpu": "1"},
                "ttlSeconds": 600,
            },
        },
        {
            "apiVersion": "fairlead.dev/v1",
            "kind": "SchedulerOverride",
            "metadata": {"name": "calm"},
            "spec": {
                "target": "namespace",
                "reason": "an incident",
                "expiresAfter": "30m",
                "changes": {"pauseRollout": True},
            },
        },
        pod("web-1"),
        config("settings", {"colour": "blue", "size": "3"}),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "pass"},
            "stringData": {"word": "swordfish"},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
        _core("ResourceQuota", "small", hard={"pods": "10", "requests.cpu": "4"}),
        _core(
            "LimitRange",
            "sizes",
            limits=[{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}],
        ),
        _core(
            "Service",
            "web",
            selector={"app": "web"},
            ports=[{"port": 80, "targetPort": 8080}],
            clusterIP="127.96.0.80",
        ),
        event("web-1.1", pod("web-1"), namespace, reason="Pulled", message="fetched", type="Normal", count=3),
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "web-abc", "labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": True}}],
            "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
        },
        workload("Deployment", "web", replicas=3),
        workload("ReplicaSet", "web-rs", replicas=2),
        workload("StatefulSet", "db", replicas=1, serviceName="db"),
        workload("DaemonSet", "agent"),
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": "db-1"},
            "data": {"spec": {"template": {"$patch": "replace"}}},
            "revision": 4,
        },
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": job},
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "tick"},
            "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job}},
        },
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": target,
                "minReplicas": 2,
                "maxReplicas": 9,
                "metrics": [{"type": "Resource", "resource": cpu}],
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "leader"},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
        },
    ]


def _core(kind: str, name: str, **spec: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _admission_policies() -> list[Any]:
    """About objects that there are none of."""
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"]}
    version = {"apiVersion": "admissionregistration.k8s.io/v1"}
    about = {"matchConstraints": {"resourceRules": [rule]}}
    applied = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"},
    }
    parameters = {"name": "settings", "namespace": "default", "parameterNotFoundAction": "Allow"}
    return [
        {
            **version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "judges"},
            "spec": {
                **about,
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "validations": [{"expression": "params == null || object.metadata.name != ''"}],
            },
        },
        {
            **version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "judges-all"},
            "spec": {"policyName": "judges", "paramRef": parameters, "validationActions": ["Deny"]},
        },
        {
            **version,
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": "labels"},
            "spec": {**about, "mutations": [applied], "reinvocationPolicy": "Never"},
        },
        {
            **version,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": "labels-all"},
            "spec": {"policyName": "labels"},
        },
    ]
