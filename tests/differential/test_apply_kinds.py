"""Server-side apply to lists and maps of other kinds, and of metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.asking import apply, json_patch, merge, post
from tests.differential.objects import (
    IN_POD,
    SERVICE,
    WHOLE,
    Json,
    budget,
    cm,
    deployment,
    env,
    in_web,
    item,
    of_web,
    owner,
    service,
)
from tests.differential.rows import AtLeast, Row, check

UID_A, UID_B = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-aaaaaaaaaaaa"


def node(labels: Json, *taints: Json) -> Json:
    made: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}
    return {**made, "spec": {"taints": list(taints)}} if taints else made


def autoscaler(**spec: Any) -> Json:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }


ELSEWHERE = [
    Row(
        "finalizers are a set: each is owned for itself",
        (apply(cm(finalizers=["example.com/a"])), apply(cm(finalizers=["example.com/b"]), "two")),
        {"metadata.finalizers": ["example.com/a", "example.com/b"]},
        {
            "one Apply": '.metadata.finalizers[="example.com/a"]',
            "two Apply": '.metadata.finalizers[="example.com/b"]',
        },
    ),
    Row(
        "a finalizer left out is removed alone",
        (
            apply(cm({"x": "1"}, finalizers=["example.com/a"])),
            apply(cm(finalizers=["example.com/b"]), "two"),
            apply(cm({"x": "1"})),
        ),
        {"metadata.finalizers": ["example.com/b"]},
    ),
    Row(
        "a finalizer of an updater stays",
        (
            apply(cm({"x": "1"})),
            merge(
                "/api/v1/namespaces/default/configmaps/settings",
                {"metadata": {"finalizers": ["example.com/u"]}},
            ),
            apply(cm({"x": "1"}, finalizers=["example.com/a"])),
        ),
        {"metadata.finalizers": ["example.com/u", "example.com/a"]},
    ),
    Row(
        "ownerReferences merge by uid, and each is one piece",
        (apply(cm(ownerReferences=[owner(UID_A)])), apply(cm(ownerReferences=[owner(UID_B)]), "two")),
        {"metadata.ownerReferences[*].uid": [UID_A, UID_B]},
        {
            "one Apply": f'.metadata.ownerReferences[uid="{UID_A}"]',
            "two Apply": f'.metadata.ownerReferences[uid="{UID_B}"]',
        },
    ),
    Row(
        "a service's ports merge by port and protocol",
        (
            apply(service({"port": 53, "protocol": "UDP", "name": "dns"})),
            apply(service({"port": 53, "protocol": "TCP", "name": "dns-tcp"}), "two"),
        ),
        {"spec.ports[*].name": ["dns", "dns-tcp"]},
        {
            "one Apply": item('.spec.ports[port=53,protocol="UDP"]', "port", "protocol", "name"),
            "two Apply": item('.spec.ports[port=53,protocol="TCP"]', "port", "protocol", "name"),
        },
    ),
    Row(
        "a service's port without protocol has TCP for its key",
        (apply(service({"port": 80})),),
        {"spec.ports[*].protocol": ["TCP"]},
        {"one Apply": item('.spec.ports[port=80,protocol="TCP"]', "port")},
    ),
    Row(
        "a service's targetPort is one manager's",
        (
            apply(service({"port": 80, "targetPort": 8080})),
            apply(service({"port": 80, "targetPort": "http"}), "two"),
        ),
        {"spec.ports[0].targetPort": 8080},
        status=409,
        causes=frozenset({('conflict with "one"', '.spec.ports[port=80,protocol="TCP"].targetPort')}),
    ),
    Row(
        "a service's selector is one piece",
        (
            apply(service({"port": 80}, selector={"a": "1"})),
            apply(service(selector={"a": "1", "b": "2"}), "two"),
        ),
        {"spec.selector": {"a": "1"}},
        status=409,
        causes=frozenset({('conflict with "one"', ".spec.selector")}),
    ),
    Row(
        "an updater that adds a port to a service leaves the others to their owner",
        (
            apply(service({"port": 80, "name": "http"})),
            json_patch(
                SERVICE, [{"op": "add", "path": "/spec/ports/-", "value": {"port": 443, "name": "https"}}]
            ),
            apply(service({"port": 80, "name": "web"})),
        ),
        {"spec.ports[*].name": ["web", "https"]},
    ),
    Row(
        "a label selector is one piece, replaced by its owner",
        (
            apply(budget(minAvailable=1, selector={"matchLabels": {"a": "1"}})),
            apply(budget(minAvailable=1, selector={"matchLabels": {"b": "2"}})),
        ),
        {"spec.selector": {"matchLabels": {"b": "2"}}},
        {"one Apply": ".spec.minAvailable .spec.selector"},
    ),
    Row(
        "a label selector with one more label is a conflict about all of it",
        (
            apply(budget(minAvailable=1, selector={"matchLabels": {"a": "1"}})),
            apply(budget(selector={"matchLabels": {"a": "1", "b": "2"}}), "two"),
        ),
        status=409,
        causes=frozenset({('conflict with "one"', ".spec.selector")}),
    ),
    Row(
        "each key of a Secret is owned for itself",
        (
            apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "MQ=="}}),
            apply(
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"b": "Mg=="}},
                "two",
            ),
        ),
        {"data": {"a": "MQ==", "b": "Mg=="}, "type": "Opaque"},
        {"one Apply": ".data.a", "two Apply": ".data.b"},
    ),
    Row(
        "binaryData is owned key by key beside data",
        (apply({**cm({"a": "1"}), "binaryData": {"b": "MQ=="}}),),
        owns={"one Apply": ".data.a .binaryData.b"},
    ),
    Row(
        "a ServiceAccount's imagePullSecrets are one piece",
        (
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"name": "sa"},
                    "imagePullSecrets": [{"name": "a"}],
                }
            ),
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"name": "sa"},
                    "imagePullSecrets": [{"name": "b"}],
                },
                "two",
            ),
        ),
        status=409,
        causes=frozenset({('conflict with "one"', ".imagePullSecrets")}),
    ),
    Row(
        "a node's taints are one piece beside its labels",
        (
            apply(node({"a": "1"}, {"key": "k", "effect": "NoSchedule"})),
            apply(node({"b": "1"}), "two"),
            apply(node({}, {"key": "z", "effect": "NoSchedule"}), "three"),
        ),
        {"metadata.labels": {"a": "1", "b": "1"}, "spec.taints[*].key": ["k"]},
        {"one Apply": ".metadata.labels.a .spec.taints", "two Apply": ".metadata.labels.b"},
        status=409,
        causes=frozenset({('conflict with "one"', ".spec.taints")}),
    ),
    Row(
        "the target of an autoscaler is owned field by field",
        (
            apply(autoscaler(maxReplicas=3, scaleTargetRef={"kind": "Deployment", "name": "web"})),
            apply(autoscaler(minReplicas=2, scaleTargetRef={"apiVersion": "apps/v1"}), "two"),
        ),
        {"spec.scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}},
        {
            "one Apply": ".spec.maxReplicas .spec.scaleTargetRef.kind .spec.scaleTargetRef.name",
            "two Apply": ".spec.minReplicas .spec.scaleTargetRef.apiVersion",
        },
    ),
    Row(
        "limits of a quota are owned one by one",
        (
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": "q"},
                    "spec": {"hard": {"pods": "5"}},
                }
            ),
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": "q"},
                    "spec": {"hard": {"cpu": "2"}},
                },
                "two",
            ),
        ),
        {"spec.hard": {"pods": "5", "cpu": "2"}},
        {"one Apply": ".spec.hard.pods", "two Apply": ".spec.hard.cpu"},
    ),
    Row(
        "a created object's list can be applied to by its key",
        (post(deployment()), apply(of_web(env=env("A")))),
        {f"{IN_POD}.containers[0].env": env("A")},
        {
            "maker Update": AtLeast(WHOLE),
            "one Apply": in_web('.env[name="A"]', "name", "value"),
        },
    ),
]


@pytest.mark.parametrize("row", ELSEWHERE, ids=str)
def test_other_kinds(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
