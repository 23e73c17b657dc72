"""Bad pods and what is said of them: path, value and cause, all at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.pod.kind import KIND
from fairlead.model.kinds.pod.template import validate_pod_template

Json = dict[str, Any]
LABEL = "a lowercase RFC 1123 label must consist of"


def causes(pod: Json) -> list[str]:
    KIND.defaults(pod)
    problems = Problems()
    KIND.validate(pod, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def pod(container: Json | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "web:1", **(container or {})}], **spec},
    }


FULL_CONTAINER: Json = {
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080}, {"containerPort": 81}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "my.env-name", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "L", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app.kubernetes.io/name']"}}},
        {"name": "M", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
    ],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}],
    "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a/b"}],
    "resources": {
        "limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi", "example.com/gpu": "1"},
        "requests": {"cpu": "1", "memory": "1Gi"},
    },
    "livenessProbe": {"exec": {"command": ["true"]}},
    "readinessProbe": {"tcpSocket": {"port": "http"}, "successThreshold": 2},
    "startupProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "X-Probe", "value": "1"}]}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    "securityContext": {"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
}
FULL_SPEC: Json = {
    "volumes": [{"name": "v", "configMap": {"name": "cm", "items": [{"key": "a", "path": "b"}]}}],
    "initContainers": [
        {"name": "init", "image": "i"},
        {
            "name": "side",
            "image": "s",
            "restartPolicy": "Always",
            "readinessProbe": {"tcpSocket": {"port": 1}},
        },
    ],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [
        {"operator": "Exists"},
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "zone", "operator": "In", "values": ["a"]},
                            {"key": "cores", "operator": "Gt", "values": ["4"]},
                            {"key": "gpu", "operator": "Exists"},
                        ],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
                    }
                ]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    },
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "minDomains": 2,
            "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["pod-template-hash"],
        },
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
    ],
    "schedulingGates": [{"name": "example.com/hold"}],
    "activeDeadlineSeconds": 1,
    "hostname": "h",
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.b"]}],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.2"], "searches": ["a.example."]},
    "readinessGates": [{"conditionType": "example.com/ready"}],
}


def test_a_pod_that_uses_nearly_everything_is_fine() -> None:
    assert causes(pod(FULL_CONTAINER, **FULL_SPEC)) == []


def test_all_problems_are_reported_at_once() -> None:
    found = causes({"spec": {"containers": [{"name": "A"}, {"image": "x"}], "nodeName": "B"}})
    assert [each.split(":")[0] for each in found] == [
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.containers[1].name",
        "spec.nodeName",
    ]


BAD_CONTAINERS: list[tuple[Json, str]] = [
    ({"name": ""}, ".name: Required value"),
    ({"name": "C"}, f'.name: Invalid value: "C": {LABEL}'),
    ({"image": ""}, ".image: Required value"),
    (
        {"image": " web"},
        '.image: Invalid value: " web": must not have leading or trailing whitespace',
    ),
    (
        {"ports": [{"containerPort": 70000}]},
        ".ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    ({"ports": [{"name": "x"}]}, ".ports[0].containerPort: Required value"),
    (
        {"ports": [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]},
        '.ports[1].name: Duplicate value: "a"',
    ),
    (
        {"ports": [{"name": "a_b", "containerPort": 1}]},
        '.ports[0].name: Invalid value: "a_b": must contain only alpha-numeric',
    ),
    (
        {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
        '.ports[1].hostPort: Duplicate value: "TCP//5"',
    ),
    ({"env": [{"name": ""}]}, ".env[0].name: Required value"),
    ({"env": [{"name": "a=b"}]}, '.env[0].name: Invalid value: "a=b": a valid environment'),
    (
        {"env": [{"name": "A", "valueFrom": {}}]},
        '.env[0].valueFrom: Invalid value: "": must specify one of',
    ),
    (
        {"env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
        '.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
        ".env[0].valueFrom.fieldRef.fieldPath: Unsupported value",
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c"}}}]},
        ".env[0].valueFrom.configMapKeyRef.key: Required value",
    ),
    ({"envFrom": [{}]}, '.envFrom[0]: Invalid value: "": must specify one of'),
    (
        {"envFrom": [{"secretRef": {}}]},
        ".envFrom[0].secretRef.name: Required value",
    ),
    (
        {"volumeMounts": [{"name": "x", "mountPath": "/x"}]},
        '.volumeMounts[0].name: Not found: "x"',
    ),
    ({"volumeMounts": [{"name": "v"}]}, ".volumeMounts[0].mountPath: Required value"),
    (
        {"volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}]},
        '.volumeMounts[1].mountPath: Invalid value: "/x": must be unique',
    ),
    (
        {"volumeMounts": [{"name": "v", "mountPath": "/x", "subPath": "../x"}]},
        ".volumeMounts[0].subPath: Invalid value: \"../x\": must not contain '..'",
    ),
    (
        {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}},
        '.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        {"resources": {"requests": {"memory": "-1"}}},
        '.resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    (
        {"resources": {"requests": {"bananas": "1"}}},
        '.resources.requests[bananas]: Invalid value: "bananas": must be a standard resource',
    ),
    (
        {"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": 1}, "requests": {"hugepages-2Mi": "2Mi"}}},
        '.resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',
    ),
    (
        {"resources": {"requests": {"example.com/gpu": "1"}}},
        ".resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    (
        {"resources": {"limits": {"example.com/gpu": "500m"}}},
        '.resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
    ),
    (
        {"resources": {"limits": {"hugepages-2Mi": "4Mi"}}},
        ".resources: Forbidden: HugePages require cpu or memory",
    ),
    ({"livenessProbe": {}}, ".livenessProbe: Required value: must specify a handler type"),
    (
        {"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}},
        ".livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    (
        {"livenessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}},
        ".livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        {"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
        ".livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ),
    (
        {"readinessProbe": {"httpGet": {"port": 0}}},
        ".readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535",
    ),
    (
        {"lifecycle": {"preStop": {"exec": {}}}},
        ".lifecycle.preStop.exec.command: Required value",
    ),
    (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
        ".lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than",
    ),
    (
        {"securityContext": {"runAsUser": -1}},
        ".securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647",
    ),
    (
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        ".securityContext: Invalid value",
    ),
    (
        {
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["SYS_ADMIN"]},
            }
        },
        ".securityContext: Invalid value",
    ),
    (
        {"ports": [{"containerPort": 1, "hostPort": 70000}]},
        ".ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535",
    ),
    ({"volumeDevices": [{"name": "v"}]}, ".volumeDevices[0].devicePath: Required value"),
    ({"volumeDevices": [{"name": "x", "devicePath": "/d"}]}, '.volumeDevices[0].name: Not found: "x"'),
    (
        {"volumeDevices": [{"name": "v", "devicePath": "/d"}] * 2},
        '.volumeDevices[1].devicePath: Invalid value: "/d": must be unique',
    ),
    (
        {
            "volumeMounts": [{"name": "v", "mountPath": "/m"}],
            "volumeDevices": [{"name": "v", "devicePath": "/d"}],
        },
        '.volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts',
    ),
    (
        {"restartPolicy": "Always"},
        ".restartPolicy: Forbidden: may not be set for non-init containers",
    ),
]


@pytest.mark.parametrize(("container", "wanted"), BAD_CONTAINERS)
def test_a_bad_container_is_named_with_path_and_cause(container: Json, wanted: str) -> None:
    found = causes(pod(container, volumes=[{"name": "v"}]))
    assert any(each.startswith(f"spec.containers[0]{wanted}") for each in found), found


def affinity(kind: str, field: str, value: Any) -> Json:
    return {"affinity": {kind: {f"{field}DuringSchedulingIgnoredDuringExecution": value}}}


def node_term(**requirement: Any) -> Json:
    return affinity("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]})


REQUIRED_NODES = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
PREFERRED_PODS = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
BAD_SPECS: list[tuple[Json, str]] = [
    ({"containers": []}, "spec.containers: Required value"),
    (
        {"initContainers": [{"name": "c", "image": "i"}]},
        'spec.initContainers[0].name: Duplicate value: "c"',
    ),
    (
        {"initContainers": [{"name": "i", "image": "i", "restartPolicy": "Never"}]},
        'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ),
    (
        {"initContainers": [{"name": "i", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}]},
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without",
    ),
    ({"volumes": [{"name": "V"}]}, f'spec.volumes[0].name: Invalid value: "V": {LABEL}'),
    ({"volumes": [{"name": "v"}, {"name": "v"}]}, 'spec.volumes[1].name: Duplicate value: "v"'),
    (
        {"volumes": [{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}]},
        "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
    ),
    ({"volumes": [{"name": "v", "secret": {}}]}, "spec.volumes[0].secret.secretName: Required value"),
    (
        {"volumes": [{"name": "v", "hostPath": {"path": "/a/../b"}}]},
        "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
    ),
    (
        {"volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 512}}]},
        "spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777",
    ),
    (
        {"volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "/p"}]}}]},
        'spec.volumes[0].configMap.items[0].path: Invalid value: "/p": must be a relative path',
    ),
    ({"volumes": [{"name": "v", "configMap": {}}]}, "spec.volumes[0].configMap.name: Required value"),
    ({"volumes": [{"name": "v", "csi": {}}]}, "spec.volumes[0].csi.driver: Required value"),
    (
        {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
        "spec.volumes[0].persistentVolumeClaim.claimName: Required value",
    ),
    (
        {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {}}]}}]},
        "spec.volumes[0].projected.sources[0].secret.name: Required value",
    ),
    (
        {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]},
        "spec.volumes[0].projected.sources[0].serviceAccountToken.path: Required value",
    ),
    (
        {
            "volumes": [
                {
                    "name": "v",
                    "projected": {
                        "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 9}}]
                    },
                }
            ]
        },
        "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 9",
    ),
    ({"volumes": [{"name": "v", "nfs": {"server": "s"}}]}, "spec.volumes[0].nfs.path: Required value"),
    ({"nodeSelector": {"a/b/c": "d"}}, 'spec.nodeSelector: Invalid value: "a/b/c": a qualified name'),
    ({"nodeName": "A"}, 'spec.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain'),
    ({"hostname": "a.b"}, f'spec.hostname: Invalid value: "a.b": {LABEL}'),
    ({"activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and"),
    (
        {"terminationGracePeriodSeconds": -1},
        "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ),
    ({"dnsPolicy": "None"}, "spec.dnsConfig: Required value: must provide `dnsConfig`"),
    (
        {"dnsConfig": {"nameservers": ["x"]}},
        'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address',
    ),
    (
        {"tolerations": [{"value": "x"}]},
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty',
    ),
    (
        {"tolerations": [{"key": "k", "operator": "Exists", "value": "x"}]},
        "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
    ),
    (
        {"tolerations": [{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1}]},
        "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute'",
    ),
    (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    ),
    (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
    ),
    (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
            ]
            * 2
        },
        "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: "
        'Duplicate value: "{z, ScheduleAnyway}"',
    ),
    (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}
            ]
        },
        "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if",
    ),
    ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, 'spec.schedulingGates[1]: Duplicate value: "a"'),
    (
        {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    ),
    (
        {"ephemeralContainers": [{"name": "e", "image": "i"}]},
        "spec.ephemeralContainers: Forbidden: cannot be set",
    ),
    (
        affinity("nodeAffinity", "required", {"nodeSelectorTerms": []}),
        f"{REQUIRED_NODES}: Required value: must have at least one node selector term",
    ),
    (
        node_term(key="k", operator="In"),
        f"{REQUIRED_NODES}[0].matchExpressions[0].values: Required value: must be specified when",
    ),
    (
        node_term(key="k", operator="Exists", values=["a"]),
        f"{REQUIRED_NODES}[0].matchExpressions[0].values: Forbidden: may not be specified when",
    ),
    (
        node_term(key="k", operator="Gt", values=["1", "2"]),
        f"{REQUIRED_NODES}[0].matchExpressions[0].values: Required value: must be specified single value",
    ),
    (
        affinity("podAffinity", "preferred", [{"weight": 101, "podAffinityTerm": {"topologyKey": "z"}}]),
        f"{PREFERRED_PODS}.weight: Invalid value: 101: must be in the range 1-100",
    ),
    (
        affinity("podAffinity", "preferred", [{"weight": 1, "podAffinityTerm": {"topologyKey": ""}}]),
        f"{PREFERRED_PODS}.podAffinityTerm.topologyKey: Required value: can not be empty",
    ),
    (
        {"shareProcessNamespace": True, "hostPID": True},
        "spec.securityContext.shareProcessNamespace: Invalid value: true",
    ),
    (
        {"overhead": {"cpu": "-1"}},
        'spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    (
        {"resources": {"limits": {"ephemeral-storage": "1"}}},
        'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage"',
    ),
    ({"resourceClaims": [{"name": "r"}]}, "spec.resourceClaims[0]: Invalid value"),
]


@pytest.mark.parametrize(("spec", "wanted"), BAD_SPECS)
def test_a_bad_spec_is_named_with_path_and_cause(spec: Json, wanted: str) -> None:
    found = causes(pod(None, **spec))
    assert any(each.startswith(wanted) for each in found), found


def test_a_host_port_must_match_when_the_host_network_is_used() -> None:
    found = causes(pod({"ports": [{"containerPort": 80, "hostPort": 81}]}, hostNetwork=True))
    assert found == [
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: "
        "must match `containerPort` when `hostNetwork` is true"
    ]


def test_a_template_reports_under_its_own_path() -> None:
    template: Json = {"metadata": {"labels": {"a": "b c"}}, "spec": {"ephemeralContainers": [{"name": "e"}]}}
    problems = Problems()
    validate_pod_template(template, "spec.template", problems)
    assert [cause.field for cause in problems.causes] == [
        "spec.template.labels",
        "spec.template.spec.containers",
        "spec.template.spec.ephemeralContainers",
    ]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pod(), []),
        (
            pod({"env": [{"name": "A"}, {"name": "A"}]}),
            [
                'spec.containers[0].env[1]: hides previous definition of "A", '
                "which may be dropped when using apply"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: "
                'deprecated since v1.14; use "kubernetes.io/os" instead'
            ],
        ),
        (
            pod({"resources": {"limits": {"memory": "100m"}}}),
            [
                'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ],
        ),
        (
            pod({"ports": [{"containerPort": 1}, {"containerPort": 1}]}),
            ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        ),
        (pod(volumes=[{"name": "g", "gitRepo": {}}]), ["spec.volumes[0].gitRepo: deprecated in v1.11"]),
    ],
)
def test_doubtful_pods_are_warned_about(given: Json, wanted: list[str]) -> None:
    assert KIND.warnings(given) == wanted


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON tree."""
    found: list[tuple[Any, Any]] = []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        found.append((tree, key))
        found += places(value)
    return found


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_a_pod_with_any_one_field_missing_or_empty_is_judged_without_a_crash(damage: str) -> None:
    count = len(places(pod(FULL_CONTAINER, **FULL_SPEC)))
    assert count > 100
    for index in range(count):
        made = copy.deepcopy(pod(FULL_CONTAINER, **FULL_SPEC))
        place, key = places(made)[index]
        if damage == "empty":
            # Amounts have no empty form: structure checks refuse it.
            if key not in ("cpu", "memory", "hugepages-2Mi", "example.com/gpu"):
                place[key] = type(place[key])()
        elif isinstance(place, dict):
            del place[key]
        causes(made)
        KIND.warnings(made)
        assert all(column.cell(made, 0.0) is not None for column in KIND.columns)
