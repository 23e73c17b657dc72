"""Who owns what that was created, and under which name: parameter, User-Agent or neither."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import Ask, merge, post
from tests.differential.objects import (
    CM,
    POD,
    cm,
    deployment,
    item,
    owner,
    service,
    web,
)
from tests.differential.rows import AtLeast, Not, Row, check

UID = "11111111-2222-4333-8444-555555555555"
MADE = post(cm({"a": "1", "b": "1"}))

CREATING = [
    Row(
        "who creates owns what is there, and each map that is new",
        (post(cm({"a": "1"}, {"x": "y"})),),
        owns={"maker Update": ".metadata.labels .metadata.labels.x .data .data.a"},
        times={"maker Update": 1},
    ),
    Row(
        "identity and what the server counts are not owned",
        (post(cm(namespace="default")),),
        owns={},
    ),
    Row(
        "who creates owns the defaults",
        (post({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "MQ=="}}),),
        {"type": "Opaque"},
        {"maker Update": ".data .data.a .type"},
    ),
    Row(
        "a Deployment as Kubernetes shows it",
        (post(deployment()),),
        owns={
            "maker Update": ".spec.progressDeadlineSeconds .spec.replicas .spec.revisionHistoryLimit"
            " .spec.selector .spec.strategy.rollingUpdate .spec.strategy.rollingUpdate.maxSurge"
            " .spec.strategy.rollingUpdate.maxUnavailable .spec.strategy.type"
            " .spec.template.metadata.labels .spec.template.metadata.labels.app "
            + item(
                web(""),
                "image",
                "imagePullPolicy",
                "name",
                "resources",
                "terminationMessagePath",
                "terminationMessagePolicy",
            )
            + f" {POD}.dnsPolicy {POD}.restartPolicy {POD}.schedulerName {POD}.securityContext"
            f" {POD}.terminationGracePeriodSeconds"
        },
    ),
    Row(
        "a port's default protocol is part of its key and owned",
        (post(service({"port": 80}, selector={"app": "web"})),),
        owns={
            "maker Update": AtLeast(
                ".spec.ports .spec.selector .spec.type .spec.sessionAffinity "
                + item('.spec.ports[port=80,protocol="TCP"]', "port", "protocol", "targetPort")
            )
        },
    ),
    Row(
        "an address that the server gives is not owned",
        (post(service({"port": 80})),),
        owns={"maker Update": Not(".spec.clusterIP .spec.clusterIPs")},
    ),
    Row(
        "generateName is owned, the name made of it is not",
        (
            Ask(
                "POST",
                f"{CM.removesuffix('/settings')}?fieldManager=maker",
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "s-"}},
            ),
        ),
        owns={"maker Update": ".metadata.generateName"},
    ),
    Row(
        "finalizers are owned one by one and as a list that is new",
        (post(cm(finalizers=["example.com/a"])),),
        owns={"maker Update": '.metadata.finalizers .metadata.finalizers[="example.com/a"]'},
    ),
    Row(
        "owner references are owned one by one and as a list that is new",
        (post(cm(ownerReferences=[owner(UID)])),),
        owns={"maker Update": f'.metadata.ownerReferences .metadata.ownerReferences[uid="{UID}"]'},
    ),
]

MANAGERS = [
    Row(
        "without a parameter the manager is the User-Agent up to its first slash",
        (post(cm({"a": "1"}), "", "kubectl/v1.32.0 (linux/amd64) kubernetes/70d3cc9"),),
        owns={"kubectl Update": ".data .data.a"},
    ),
    Row(
        "a User-Agent without a slash is the manager",
        (post(cm({"a": "1"}), "", "my-script"),),
        owns={"my-script Update": ".data .data.a"},
    ),
    Row(
        "the parameter is stronger than the User-Agent",
        (post(cm({"a": "1"}), "gitops", "kubectl/v1.32.0"),),
        owns={"gitops Update": ".data .data.a"},
    ),
    Row(
        "without both the manager is unknown",
        (post(cm({"a": "1"}), "", ""),),
        owns={"unknown Update": ".data .data.a"},
    ),
    Row(
        "a long User-Agent is cut to 128 characters",
        (post(cm({"a": "1"}), "", "m" * 200 + "/1"),),
        owns={"m" * 128 + " Update": ".data .data.a"},
    ),
    Row("a long parameter is invalid", (post(cm({"a": "1"}), "m" * 129),), status=422),
    Row(
        "a patch too is by its User-Agent",
        (MADE, merge(CM, {"data": {"a": "2"}}, "", "controller/2.0")),
        owns={"maker Update": ".data .data.b", "controller Update": ".data.a"},
    ),
]


@pytest.mark.parametrize("row", [*CREATING, *MANAGERS], ids=str)
def test_tracking(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
