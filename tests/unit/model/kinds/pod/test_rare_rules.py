"""Rules that few pods ever meet: one line each, by the field that is named."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.pod.kind import KIND

Json = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def fields(container: Json, **spec: Any) -> list[str]:
    pod: Json = {"spec": {"containers": [{"name": "c", "image": "web:1", **container}], **spec}}
    KIND.defaults(pod)
    problems = Problems()
    KIND.validate(pod, problems)
    return [cause.field for cause in problems.causes]


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]}, "envFrom[0]"),
        ({"envFrom": [{"prefix": "a=", "configMapRef": {"name": "a"}}]}, "envFrom[0].prefix"),
        ({"envFrom": [{"configMapRef": {"name": "A"}}]}, "envFrom[0].configMapRef.name"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]},
            "env[0].valueFrom.secretKeyRef.name",
        ),
        ({"volumeMounts": [{"mountPath": "/m"}]}, "volumeMounts[0].name"),
        ({"volumeDevices": [{"devicePath": "/d"}]}, "volumeDevices[0].name"),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/m", "mountPropagation": "Bidirectional"}]},
            "volumeMounts[0].mountPropagation",
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "a", "subPathExpr": "b"}]},
            "volumeMounts[0].subPathExpr",
        ),
        (
            {"startupProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0}},
            "startupProbe.terminationGracePeriodSeconds",
        ),
        (
            {"readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 1}},
            "readinessProbe.terminationGracePeriodSeconds",
        ),
        (
            {"readinessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b"}]}}},
            "readinessProbe.httpGet.httpHeaders",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            "securityContext.seccompProfile.localhostProfile",
        ),
        (
            {"securityContext": {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "p"}}},
            "securityContext.appArmorProfile.localhostProfile",
        ),
    ],
)
def test_a_rare_mistake_in_a_container_is_named(container: Json, field: str) -> None:
    assert fields(container, volumes=[{"name": "v"}]) == [f"spec.containers[0].{field}"]


def volume(**source: Any) -> Json:
    return {"volumes": [{"name": "v", **source}]}


def spread(**more: Any) -> Json:
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", **more}
    return {"topologySpreadConstraints": [constraint]}


def node_term(field: str, **requirement: Any) -> Json:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{field: [requirement]}]}}}}


TERM = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
SELECTOR: Json = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"volumes": [{"emptyDir": {}}]}, "volumes[0].name"),
        (volume(hostPath={}), "volumes[0].hostPath.path"),
        (volume(nfs={"path": "/p"}), "volumes[0].nfs.server"),
        (volume(nfs={"server": "s", "path": "p"}), "volumes[0].nfs.path"),
        (volume(emptyDir={"sizeLimit": "-1"}), "volumes[0].emptyDir.sizeLimit"),
        (volume(ephemeral={}), "volumes[0].ephemeral.volumeClaimTemplate"),
        (volume(configMap={"name": "c", "items": [{"path": "p"}]}), "volumes[0].configMap.items[0].key"),
        (
            volume(configMap={"name": "c", "items": [{"key": "a b", "path": "p"}]}),
            "volumes[0].configMap.items[0].key",
        ),
        (volume(configMap={"name": "c", "items": [{"key": "k"}]}), "volumes[0].configMap.items[0].path"),
        (volume(downwardAPI={"items": [{"path": "p"}]}), "volumes[0].downwardAPI.items[0]"),
        ({"tolerations": [{"key": "a b", "operator": "Exists"}]}, "tolerations[0].key"),
        ({"tolerations": [{"key": "a", "value": "b c"}]}, "tolerations[0].operator"),
        (spread(topologyKey="a b"), "topologySpreadConstraints[0].topologyKey"),
        (spread(matchLabelKeys=["a"]), "topologySpreadConstraints[0].matchLabelKeys"),
        (
            spread(matchLabelKeys=["app"], labelSelector=SELECTOR),
            "topologySpreadConstraints[0].matchLabelKeys[0]",
        ),
        (
            spread(matchLabelKeys=["a b"], labelSelector=SELECTOR),
            "topologySpreadConstraints[0].matchLabelKeys[0]",
        ),
        (node_term("matchExpressions", key="a b", operator="Exists"), f"{TERM}.matchExpressions[0].key"),
        (
            node_term("matchExpressions", key="a", operator="In", values=["b c"]),
            f"{TERM}.matchExpressions[0].values[0]",
        ),
        (
            node_term("matchFields", key="metadata.uid", operator="In", values=["x"]),
            f"{TERM}.matchFields[0].key",
        ),
        (
            node_term("matchFields", key="metadata.name", operator="In", values=["X"]),
            f"{TERM}.matchFields[0].values[0]",
        ),
        ({"schedulingGates": [{"name": "a b"}]}, "schedulingGates[0]"),
        ({"dnsPolicy": "None", "dnsConfig": {}}, "dnsConfig.nameservers"),
        ({"dnsConfig": {"nameservers": ["10.0.0.1"] * 4}}, "dnsConfig.nameservers"),
        ({"dnsConfig": {"searches": ["a"] * 33}}, "dnsConfig.searches"),
        ({"dnsConfig": {"options": [{"value": "1"}]}}, "dnsConfig.options[0]"),
        ({"hostAliases": [{"ip": "x"}]}, "hostAliases.ip"),
        ({"readinessGates": [{"conditionType": "a b"}]}, "readinessGates[0].conditionType"),
        ({"securityContext": {"fsGroup": -1}}, "securityContext.fsGroup"),
        ({"securityContext": {"sysctls": [{"name": "A"}]}}, "securityContext.sysctls[0].name"),
        (
            {"securityContext": {"sysctls": [{"name": "a.b"}, {"name": "a.b"}]}},
            "securityContext.sysctls[1].name",
        ),
    ],
)
def test_a_rare_mistake_in_a_spec_is_named(spec: Json, field: str) -> None:
    assert fields({}, **spec) == [f"spec.{field}"]
