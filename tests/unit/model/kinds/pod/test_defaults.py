"""What a bare pod looks like after kube-apiserver's defaults."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.model.kinds.pod.defaults import default_pod_spec, pull_policy
from fairlead.model.kinds.pod.kind import KIND

Json = dict[str, Any]


def defaulted(container: Json | None = None, **spec: Any) -> Json:
    pod = {"spec": {"containers": [{"name": "c", "image": "web:1", **(container or {})}], **spec}}
    KIND.defaults(pod)
    return pod


def test_a_bare_pod_gets_everything_kubernetes_would_fill_in() -> None:
    assert defaulted() == {
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "web:1",
                    "imagePullPolicy": "IfNotPresent",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "resources": {},
                }
            ],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "securityContext": {},
            "enableServiceLinks": True,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def test_templates_leave_service_links_requests_and_host_ports_to_the_pod() -> None:
    spec: Json = {
        "hostNetwork": True,
        "containers": [
            {
                "name": "c",
                "image": "web",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1"}},
            }
        ],
    }
    default_pod_spec(spec, template=True)
    assert "enableServiceLinks" not in spec
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    default_pod_spec(spec, template=False)
    assert spec["enableServiceLinks"] is True
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1"}


def test_defaults_applied_twice_change_nothing() -> None:
    pod = defaulted(
        {
            "livenessProbe": {"httpGet": {"port": 80}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"memory": "1024Mi", "cpu": 0.5}},
        },
        volumes=[{"name": "v"}, {"name": "s", "secret": {"secretName": "s"}}],
        serviceAccount="old",
    )
    again = copy.deepcopy(pod)
    KIND.defaults(again)
    assert again == pod


def test_what_the_author_wrote_is_kept() -> None:
    pod = defaulted(
        {"imagePullPolicy": "Never", "terminationMessagePath": "/log"},
        restartPolicy="Never",
        terminationGracePeriodSeconds=0,
        enableServiceLinks=False,
    )
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Never"
    assert pod["spec"]["containers"][0]["terminationMessagePath"] == "/log"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 0
    assert pod["spec"]["enableServiceLinks"] is False


def test_an_empty_choice_counts_as_not_chosen() -> None:
    assert defaulted(restartPolicy="")["spec"]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("web", "Always"),
        ("web:latest", "Always"),
        ("web:1.2", "IfNotPresent"),
        ("host:5000/team/web", "Always"),
        ("host:5000/team/web:2", "IfNotPresent"),
        ("web@sha256:abc", "IfNotPresent"),
        ("web:latest@sha256:abc", "Always"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_limits_become_requests_and_amounts_are_spelt_canonically() -> None:
    resources = {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": "0.1"}}
    pod = defaulted({"resources": resources})
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "1Gi"},
    }


def test_probes_and_hooks_get_their_numbers_and_paths() -> None:
    container = defaulted(
        {
            "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5},
            "readinessProbe": {"grpc": {"port": 9}},
            "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
        }
    )["spec"]["containers"][0]
    assert container["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert container["readinessProbe"]["grpc"] == {"port": 9, "service": ""}
    assert container["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": {}}, {"secret": {"defaultMode": 420}}),
        ({"configMap": {"defaultMode": 256}}, {"configMap": {"defaultMode": 256}}),
        ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                }
            },
        ),
        (
            {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [
                        {"path": "l", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}
                    ],
                }
            },
        ),
    ],
)
def test_volumes_get_a_source_and_modes(given: Json, wanted: Json) -> None:
    assert defaulted(volumes=[{"name": "v", **given}])["spec"]["volumes"] == [{"name": "v", **wanted}]


def test_both_names_of_the_service_account_are_kept_equal() -> None:
    assert defaulted(serviceAccount="a")["spec"]["serviceAccountName"] == "a"
    assert defaulted(serviceAccountName="a", serviceAccount="b")["spec"]["serviceAccount"] == "a"


@pytest.mark.parametrize(
    ("resources", "wanted"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"nvidia.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
    ],
)
def test_the_qos_class_follows_requests_and_limits(resources: list[Json], wanted: str) -> None:
    pod: Json = {"spec": {"containers": [{"name": f"c{i}", "resources": r} for i, r in enumerate(resources)]}}
    KIND.defaults(pod)
    assert pod["status"]["qosClass"] == wanted
