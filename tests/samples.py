"""One complete, valid manifest for each stored kind, as a user would write it: test data for every layer.

Tests that change a sample take a copy first: `copy.deepcopy(SAMPLES["Pod"])`.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def _meta(name: str, namespace: str = "shop", **more: Any) -> Json:
    meta: Json = {
        "name": name,
        "labels": {"app": "web", "team": "risk"},
        "annotations": {"example.com/note": "sample"},
    }
    if namespace:
        meta["namespace"] = namespace
    return meta | more


_CONTAINER: Json = {
    "name": "web",
    "image": "web:1.4.2",
    "imagePullPolicy": "IfNotPresent",
    "command": ["/bin/web"],
    "args": ["--port=8080", "--log=json"],
    "workingDir": "/srv",
    "ports": [
        {"name": "http", "containerPort": 8080, "protocol": "TCP"},
        {"name": "dns", "containerPort": 8080, "protocol": "UDP"},
    ],
    "env": [
        {"name": "MODE", "value": "fast"},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {
            "name": "TOKEN",
            "valueFrom": {"secretKeyRef": {"name": "web-token", "key": "token", "optional": True}},
        },
    ],
    "envFrom": [{"prefix": "WEB_", "configMapRef": {"name": "web-settings"}}],
    "resources": {
        "requests": {"cpu": "250m", "memory": "256Mi"},
        "limits": {"cpu": "1", "memory": "512Mi", "example.com/gpu": 1},
    },
    "livenessProbe": {"httpGet": {"path": "/live", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10},
    "readinessProbe": {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 2, "failureThreshold": 3},
    "startupProbe": {"exec": {"command": ["/bin/true"]}, "timeoutSeconds": 1},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "volumeMounts": [
        {"name": "tmp", "mountPath": "/tmp"},
        {"name": "settings", "mountPath": "/etc/web", "readOnly": True},
    ],
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}

_POD_SPEC: Json = {
    "initContainers": [{"name": "prepare", "image": "prepare:2", "args": ["--once"]}],
    "containers": [_CONTAINER, {"name": "sidecar", "image": "sidecar:7"}],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "web",
    "automountServiceAccountToken": False,
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}
                        ]
                    }
                ]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 50,
                    "podAffinityTerm": {
                        "labelSelector": {"matchLabels": {"app": "web"}},
                        "topologyKey": "kubernetes.io/hostname",
                    },
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ],
    "tolerations": [
        {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"},
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 60,
        },
    ],
    "securityContext": {"fsGroup": 2000, "supplementalGroups": [3000]},
    "imagePullSecrets": [{"name": "registry"}],
    "hostAliases": [{"ip": "10.1.2.3", "hostnames": ["db.local"]}],
    "volumes": [
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        {
            "name": "settings",
            "configMap": {
                "name": "web-settings",
                "defaultMode": 420,
                "items": [{"key": "web.yaml", "path": "web.yaml"}],
            },
        },
    ],
}

_TEMPLATE: Json = {"metadata": {"labels": {"app": "web", "team": "risk"}}, "spec": _POD_SPEC}
_ONCE: Json = {
    "metadata": {"labels": {"job": "report"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "report", "image": "report:3"}]},
}
_SELECTOR: Json = {"matchLabels": {"app": "web"}}

# About a group that has no objects: a policy that stands here must not judge the samples that follow it.
_MATCH: Json = {
    "resourceRules": [
        {
            "operations": ["CREATE", "UPDATE"],
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["widgets"],
            "scope": "*",
        }
    ],
    "excludeResourceRules": [
        {
            "operations": ["*"],
            "apiGroups": ["*"],
            "apiVersions": ["*"],
            "resources": ["*/status"],
            "resourceNames": ["kept"],
            "scope": "Namespaced",
        }
    ],
    "namespaceSelector": {"matchLabels": {"tier": "prod"}},
    "objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    "matchPolicy": "Exact",
}

SAMPLES: dict[str, Json] = {
    "Namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": _meta("shop", "")},
    "Node": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta(
            "node-1", "", labels={"kubernetes.io/hostname": "node-1", "topology.kubernetes.io/zone": "a"}
        ),
        "spec": {
            "podCIDR": "10.0.1.0/24",
            "podCIDRs": ["10.0.1.0/24"],
            "providerID": "local://node-1",
            "taints": [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}],
        },
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "allocatable": {"cpu": "7500m", "memory": "30Gi", "pods": "110"},
            "addresses": [
                {"type": "InternalIP", "address": "192.168.0.11"},
                {"type": "Hostname", "address": "node-1"},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "AgentReady",
                    "message": "agent is ready",
                    "lastHeartbeatTime": "2026-01-02T03:04:05Z",
                    "lastTransitionTime": "2026-01-02T03:00:00Z",
                }
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.32.0"},
        },
    },
    "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": _meta("web-0"), "spec": _POD_SPEC},
    "Event": {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": _meta("web-0.17a1"),
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "u-1",
        },
        "reason": "Scheduled",
        "message": "assigned shop/web-0 to node-1",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "eventTime": "2026-01-02T03:04:05.123456Z",
        "action": "Binding",
        "source": {"component": "scheduler"},
        "reportingComponent": "scheduler",
        "reportingInstance": "scheduler-1",
    },
    "ConfigMap": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _meta("web-settings"),
        "data": {"web.yaml": "port: 8080\n"},
        "binaryData": {"logo": "AAEC"},
        "immutable": False,
    },
    "Secret": {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _meta("web-token"),
        "type": "Opaque",
        "data": {"token": "c2VjcmV0"},
        "stringData": {"user": "web"},
    },
    "ServiceAccount": {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _meta("web"),
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": "registry"}],
    },
    "ResourceQuota": {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _meta("compute"),
        "spec": {
            "hard": {"requests.cpu": "20", "requests.memory": "64Gi", "pods": "50"},
            "scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
            },
        },
    },
    "LimitRange": {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": _meta("defaults"),
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": {"cpu": "500m", "memory": "256Mi"},
                    "defaultRequest": {"cpu": "100m", "memory": "128Mi"},
                    "max": {"cpu": "4"},
                    "min": {"cpu": "10m"},
                }
            ]
        },
    },
    "Service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta("web"),
        "spec": {
            "type": "ClusterIP",
            "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
            "sessionAffinity": "None",
        },
    },
    "EndpointSlice": {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": _meta("web-x7k2p", labels={"kubernetes.io/service-name": "web"}),
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {
                "addresses": ["10.0.1.7"],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": "node-1",
                "targetRef": {"kind": "Pod", "namespace": "shop", "name": "web-0"},
                "zone": "a",
            }
        ],
    },
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta("web"),
        "spec": {
            "replicas": 3,
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "minReadySeconds": 5,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    },
    "ReplicaSet": {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": _meta("web-7d4b9c6f5"),
        "spec": {"replicas": 3, "selector": _SELECTOR, "template": _TEMPLATE},
    },
    "StatefulSet": {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _meta("db"),
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        },
    },
    "DaemonSet": {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _meta("agent"),
        "spec": {
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        },
    },
    "Job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _meta("report"),
        "spec": {
            "completions": 4,
            "parallelism": 2,
            "backoffLimit": 3,
            "completionMode": "Indexed",
            "ttlSecondsAfterFinished": 3600,
            "podFailurePolicy": {
                "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
            },
            "template": _ONCE,
        },
    },
    "CronJob": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _meta("nightly"),
        "spec": {
            "schedule": "30 2 * * *",
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 300,
            "jobTemplate": {"spec": {"template": _ONCE}},
        },
    },
    "HorizontalPodAutoscaler": {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _meta("web"),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
            "behavior": {
                "scaleDown": {
                    "stabilizationWindowSeconds": 300,
                    "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
                }
            },
        },
    },
    "PodDisruptionBudget": {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _meta("web"),
        "spec": {
            "minAvailable": "50%",
            "selector": _SELECTOR,
            "unhealthyPodEvictionPolicy": "IfHealthyBudget",
        },
    },
    "CertificateSigningRequest": {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "sample"},
        "spec": {
            "request": (
                "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHY01GQUNBUUF3SFRFTk1Bc0dBMVVFQ2d3RVpHVjJjekVN"
                "TUFvR0ExVUVBd3dEWVdSaE1Db3dCUVlESzJWdwpBeUVBT1A4ek1PcERVYUh6b3RTUHl1VHVLaWJ6VS9KOENYU3NuM2RjUHAr"
                "cy8ybWdBREFGQmdNclpYQURRUUJECkQ2bG9LVnNhZG1PR2E3bzJRa1Q1cFU3VHNUVVlBL25KcUVNTTRZeVlRc0RTSkpJMUNj"
                "RTRoWmx0RGVyQlVaa0YKVk51YXl2Mnl2MkFUeUJwcWtUUUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
            ),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    },
    "RuntimeClass": {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": _meta("sandbox", ""),
        "handler": "sandbox",
        "overhead": {"podFixed": {"cpu": "100m", "memory": "64Mi"}},
        "scheduling": {
            "nodeSelector": {"sandbox": "yes"},
            "tolerations": [{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}],
        },
    },
    "PriorityClass": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _meta("high", ""),
        "value": 100000,
        "globalDefault": False,
        "preemptionPolicy": "PreemptLowerPriority",
        "description": "for what customers see",
    },
    "FlowSchema": {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": _meta("robots", ""),
        "spec": {
            "priorityLevelConfiguration": {"name": "batch"},
            "matchingPrecedence": 700,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [
                        {"kind": "User", "user": {"name": "robot"}},
                        {"kind": "Group", "group": {"name": "robots"}},
                        {"kind": "ServiceAccount", "serviceAccount": {"namespace": "shop", "name": "*"}},
                    ],
                    "resourceRules": [
                        {
                            "verbs": ["list", "watch"],
                            "apiGroups": ["", "apps"],
                            "resources": ["pods", "deployments"],
                            "namespaces": ["shop"],
                            "clusterScope": True,
                        }
                    ],
                    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics", "/openapi/*"]}],
                }
            ],
        },
    },
    "PriorityLevelConfiguration": {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": _meta("batch", ""),
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 15,
                "lendablePercent": 50,
                "borrowingLimitPercent": 200,
                "limitResponse": {
                    "type": "Queue",
                    "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 20},
                },
            },
        },
    },
    "PlaneSettings": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": _meta("default", ""),
        "spec": {
            "queues": {"default": {"backoffSeconds": 0.5}, "job": {"ratePerSecond": 20, "rateBurst": 5}},
            "controllers": {"deployment": {"turnsMax": 4, "turnSeconds": 2.5}},
            "retries": {"create": {"attemptsMax": 3}},
            "retryBudget": {"share": 0.1},
            "chaos": {"allowed": True},
            "breaker": {"failuresMax": 5},
            "writeLoops": {"repeatsMax": 10},
            "loop": {"resyncSeconds": 600},
        },
    },
    "CustomResourceDefinition": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _meta("crontabs.stable.example.com", ""),
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "cronSpec": {"type": "string"},
                                        "replicas": {"type": "integer", "minimum": 1},
                                    },
                                }
                            },
                        }
                    },
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"}
                    ],
                }
            ],
        },
    },
    "Runbook": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Runbook",
        "metadata": _meta("hold", ""),
        "spec": {
            "summary": "hold a Deployment until somebody says go",
            "page": "# Hold",
            "params": [
                {"name": "workload", "type": "string", "default": "web", "description": "the Deployment"}
            ],
            "read": [
                {"name": "app", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "${workload}"}
            ],
            "preconditions": [{"name": "there", "expression": "app != null", "message": "there is none"}],
            "abortWhen": [{"name": "emptied", "expression": "app == null || app.spec.replicas == 0"}],
            "steps": [
                {
                    "name": "mark",
                    "create": {
                        "object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"of": "${workload}"}}
                    },
                },
                {
                    "name": "confirm",
                    "ask": {"question": "go?", "fields": [{"name": "go", "type": "boolean"}]},
                    "timeoutSeconds": 60,
                },
                {
                    "name": "cordon",
                    "when": "answers.confirm.go",
                    "verb": {"verb": "cordon", "name": "worker-1"},
                },
                {"name": "ready", "wait": {"until": "app.status.readyReplicas > 0"}},
                {"name": "unmark", "delete": {"step": "mark"}},
            ],
            "postconditions": [
                {"name": "whole", "expression": "app.status.readyReplicas == app.spec.replicas"}
            ],
            "timeoutSeconds": 600,
            "settleSeconds": 60,
        },
    },
    "RunbookRun": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RunbookRun",
        "metadata": _meta("hold-1"),
        "spec": {"runbook": "hold", "params": {"workload": "web"}},
    },
    "EvidencePolicy": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "EvidencePolicy",
        "metadata": _meta("default", ""),
        "spec": {
            "rows": [
                {
                    "name": "NodeLeaseSilent",
                    "signal": "MissedHeartbeats",
                    "confidence": "medium",
                    "failureMode": "renewals are late under load",
                    "acts": [
                        {"act": "StopPlacement", "afterSeconds": 5},
                        {"act": "Release", "afterSeconds": 12.5},
                    ],
                }
            ],
            "zones": {"releasesPerMinute": 3, "silentNodesMin": 2, "slowedShare": 0.5},
        },
    },
    "AccessGrant": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "AccessGrant",
        "metadata": _meta("night", ""),
        "spec": {
            "subject": {"kind": "User", "name": "jane"},
            "role": {"kind": "ClusterRole", "name": "edit"},
            "namespaces": ["bank", "shop"],
            "reason": "checkout is down",
            "ticket": "INC-7",
            "expiresAfter": "30m",
        },
    },
    "ServiceLevelObjective": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "ServiceLevelObjective",
        "metadata": _meta("checkout"),
        "spec": {
            "target": {"kind": "Deployment", "name": "checkout"},
            "objective": 99.9,
            "windowSeconds": 86400,
        },
        "status": {
            "observedGeneration": 1,
            "changes": [{"at": "2026-01-01T00:00:00.000000Z", "available": 2, "wanted": 3}],
            "earlier": {
                "since": "2025-12-31T00:00:00.000000Z",
                "until": "2026-01-01T00:00:00.000000Z",
                "lackedSeconds": 1.5,
            },
            "conditions": [
                {
                    "type": "Met",
                    "status": "True",
                    "reason": "WithinBudget",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "observedGeneration": 1,
                }
            ],
        },
    },
    "ChangeFreeze": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "ChangeFreeze",
        "metadata": _meta("weekends", ""),
        "spec": {
            "reason": "we ship on weekdays",
            "schedule": "0 18 * * fri",
            "duration": "62h",
            "timeZone": "Europe/Berlin",
            "namespaces": ["bank"],
            "forbids": ["Rollouts"],
            "exceptions": {"users": ["jane"], "groups": ["on-call"]},
        },
    },
    "AuditPolicy": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "AuditPolicy",
        "metadata": _meta("default", ""),
        "spec": {
            "rules": [
                {"level": "None", "users": ["ci"], "verbs": ["create", "patch"], "namespaces": ["builds"]},
                {
                    "level": "Metadata",
                    "userGroups": ["system:viewers"],
                    "resources": [
                        {"group": "apps", "resources": ["deployments", "*/scale"], "resourceNames": ["web"]}
                    ],
                },
                {"level": "Count", "nonResourceURLs": ["/metrics*"]},
            ]
        },
    },
    "ChaosExperiment": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "ChaosExperiment",
        "metadata": _meta("drill", ""),
        "spec": {
            "controllers": ["scheduler", "replicaset"],
            "resources": ["pods"],
            "faults": [{"name": "reply_lost", "percent": 30}, {"name": "watch_lag", "percent": 50}],
            "seconds": 60,
            "seed": 7,
            "touchesNodes": False,
            "reason": "are pods made twice?",
        },
    },
    "RecordingPolicy": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RecordingPolicy",
        "metadata": _meta("default", ""),
        "spec": {
            "bytesMax": 268435456,
            "raiseMinutes": 30,
            "settledPercent": 10,
            "rules": [
                {"level": "Full", "when": ["Incident", "PolicyChange", "Rollout"]},
                {"level": "Full", "namespaces": ["bank"], "resources": ["pods"], "minPriority": 1000},
                {"level": "Outcome", "failed": True},
                {"level": "None", "controllers": ["replicaset"], "names": ["web"]},
            ],
        },
    },
    "SchedulingPolicy": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulingPolicy",
        "metadata": _meta("packed", ""),
        "spec": {
            "plugins": [{"name": "TaintToleration", "weight": 5}, {"name": "NodePorts", "disabled": True}],
            "scoring": {"strategy": "MostAllocated", "resources": [{"name": "cpu", "weight": 2}]},
            "capacityClasses": [
                {
                    "name": "recovery",
                    "nodeSelector": {"matchLabels": {"class": "recovery"}},
                    "allowed": {
                        "namespaces": ["risk"],
                        "podSelector": {"matchLabels": {"app": "risk-api"}},
                        "priorityClassNames": ["high"],
                    },
                }
            ],
        },
    },
    "PlacementQuota": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlacementQuota",
        "metadata": _meta("zone-c"),
        "spec": {
            "nodeSelector": {"matchLabels": {"topology.kubernetes.io/zone": "c"}},
            "hard": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "cohort": "research",
            "borrowingLimit": {"cpu": "2"},
            "lendingLimit": {"memory": "4Gi"},
        },
    },
    "SchedulerOverride": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulerOverride",
        "metadata": {"name": "calm", "namespace": "default"},
        "spec": {
            "target": "namespace",
            "reason": "an incident",
            "expiresAfter": "30m",
            "changes": {"pauseRollout": True, "avoidZones": ["a"]},
        },
    },
    "Reservation": {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Reservation",
        "metadata": _meta("recover-ee20c5dd592c"),
        "spec": {
            "owner": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "risk-api", "uid": "u-1"},
            "intent": "recover",
            "nodeName": "node-1",
            "capacityClass": "recovery",
            "requests": {"cpu": "1", "memory": "1Gi"},
            "ttlSeconds": 600,
            "allocateOnce": True,
        },
    },
    "ControllerRevision": {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": _meta("db-6d9f5c8b7f"),
        "data": {"spec": {"template": {"$patch": "replace", "spec": {"containers": []}}}},
        "revision": 3,
    },
    "Lease": {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": _meta("node-1", "kube-node-lease"),
        "spec": {
            "holderIdentity": "node-1",
            "leaseDurationSeconds": 40,
            "acquireTime": "2026-01-02T03:00:00.000000Z",
            "renewTime": "2026-01-02T03:04:05.000000Z",
            "leaseTransitions": 0,
        },
    },
    "Role": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": _meta("reader"),
        "rules": [
            {
                "apiGroups": ["", "apps"],
                "resources": ["pods", "pods/log", "deployments"],
                "resourceNames": ["web"],
                "verbs": ["get", "watch"],
            }
        ],
    },
    "ClusterRole": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": _meta("watcher", ""),
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"example.com/to-watcher": "true"}}]},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["get"]},
            {"nonResourceURLs": ["/metrics", "/fairlead/*"], "verbs": ["get"]},
        ],
    },
    "RoleBinding": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": _meta("readers"),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ada"},
            {"kind": "ServiceAccount", "name": "ci", "namespace": "builds"},
        ],
    },
    "ClusterRoleBinding": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _meta("watchers", ""),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "watcher"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "operators"}],
    },
    "ValidatingAdmissionPolicy": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": _meta("few-replicas", ""),
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": _MATCH,
            "matchConditions": [{"name": "people", "expression": "request.userInfo.username != 'robot'"}],
            "variables": [{"name": "replicas", "expression": "object.spec.?replicas.orValue(1)"}],
            "validations": [
                {
                    "expression": "variables.replicas <= int(params.data.most)",
                    "message": "too many replicas",
                    "messageExpression": "'at most ' + params.data.most",
                    "reason": "Forbidden",
                }
            ],
            "auditAnnotations": [{"key": "replicas", "valueExpression": "string(variables.replicas)"}],
        },
    },
    "ValidatingAdmissionPolicyBinding": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": _meta("few-replicas", ""),
        "spec": {
            "policyName": "few-replicas",
            "paramRef": {"name": "limits", "namespace": "shop", "parameterNotFoundAction": "Deny"},
            "matchResources": _MATCH,
            "validationActions": ["Deny", "Audit"],
        },
    },
    "MutatingAdmissionPolicy": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": _meta("teams", ""),
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": _MATCH,
            "variables": [{"name": "team", "expression": "'risk'"}],
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {
                        "expression": "Object{metadata: Object.metadata{labels: {'team': variables.team}}}"
                    },
                },
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {
                        "expression": "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]"
                    },
                },
            ],
            "reinvocationPolicy": "IfNeeded",
        },
    },
    "MutatingAdmissionPolicyBinding": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": _meta("teams", ""),
        "spec": {"policyName": "teams", "matchResources": _MATCH},
    },
}
