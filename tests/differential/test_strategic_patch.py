"""Strategic merge patch through the API: what merges by which key, what is replaced, what is deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import post, strategic
from tests.differential.objects import CM, IN_POD, SERVICE, WEB, cm, env, service
from tests.differential.rows import ABSENT, REFUSED, Row, check
from tests.differential.strategic_start import MAKE, SPOT, in_web, meta, pods

MERGING = [
    Row(
        "a container is found by its name, the rest of it stays",
        (MAKE, in_web(image="web:2")),
        {f"{IN_POD}.containers[*].image": ["web:2", "side:1"], f"{IN_POD}.containers[0].command": ["run"]},
    ),
    Row(
        "two containers are changed at once",
        (
            MAKE,
            pods({"containers": [{"name": "web", "image": "web:2"}, {"name": "side", "image": "side:2"}]}),
        ),
        {f"{IN_POD}.containers[*].image": ["web:2", "side:2"]},
    ),
    Row(
        "scalars are replaced",
        (MAKE, strategic(WEB, {"spec": {"replicas": 4}})),
        {"spec.replicas": 4},
    ),
    Row(
        "null takes a field away, its default comes back",
        (MAKE, strategic(WEB, {"spec": {"replicas": 4}}), strategic(WEB, {"spec": {"replicas": None}})),
        {"spec.replicas": 1},
    ),
    Row(
        "null takes a map's key away",
        (post(cm({"a": "1", "b": "2"})), strategic(CM, {"data": {"a": None}})),
        {"data": {"b": "2"}},
    ),
    Row(
        "null takes a whole map away",
        (post(cm({"a": "1"}, {"x": "y"})), strategic(CM, {"metadata": {"labels": None}})),
        {"metadata.labels": ABSENT, "data": {"a": "1"}},
    ),
    Row(
        "null for what is not there changes nothing",
        (post(cm({"a": "1"})), strategic(CM, {"data": {"z": None}})),
        {"data": {"a": "1"}},
        unchanged=True,
    ),
    Row(
        "null takes a field of an item away",
        (MAKE, in_web(command=None)),
        {f"{IN_POD}.containers[0].command": ABSENT, f"{IN_POD}.containers[0].args": ["--a"]},
    ),
    Row(
        "maps merge key by key",
        (post(cm({"a": "1", "b": "2"})), strategic(CM, {"data": {"b": "3", "c": "4"}})),
        {"data": {"a": "1", "b": "3", "c": "4"}},
    ),
    Row(
        "an empty patch changes nothing",
        (post(cm({"a": "1"})), strategic(CM, {})),
        {"data": {"a": "1"}},
        unchanged=True,
    ),
    Row(
        "resources merge one by one",
        (MAKE, in_web(resources={"requests": {"cpu": "200m"}, "limits": {"cpu": "1"}})),
        {
            f"{IN_POD}.containers[0].resources": {
                "requests": {"cpu": "200m", "memory": "1Gi"},
                "limits": {"cpu": "1"},
            }
        },
    ),
    Row(
        "env is found by name",
        (MAKE, in_web(env=[{"name": "B", "value": "2"}])),
        {f"{IN_POD}.containers[0].env": [*env("A"), {"name": "B", "value": "2"}, *env("C")]},
    ),
    Row(
        "env by value becomes env by reference",
        (
            MAKE,
            in_web(
                env=[{"name": "B", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
            ),
        ),
        {f"{IN_POD}.containers[0].env[1].value": ABSENT},
    ),
    Row(
        "ports of a container are found by number",
        (MAKE, in_web(ports=[{"containerPort": 80, "name": "web"}])),
        {f"{IN_POD}.containers[0].ports": [{"containerPort": 80, "name": "web", "protocol": "TCP"}]},
    ),
    Row(
        "volume mounts are found by path",
        (MAKE, in_web(volumeMounts=[{"name": "tmp", "mountPath": "/tmp", "readOnly": True}])),
        {f"{IN_POD}.containers[0].volumeMounts": [{"name": "tmp", "mountPath": "/tmp", "readOnly": True}]},
    ),
    Row(
        "pull secrets are found by name",
        (MAKE, pods({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]})),
        {f"{IN_POD}.imagePullSecrets": [{"name": "a"}, {"name": "b"}]},
    ),
    Row(
        "host aliases are found by ip, their names are replaced",
        (MAKE, pods({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["c"]}]})),
        {f"{IN_POD}.hostAliases": [{"ip": "10.0.0.1", "hostnames": ["c"]}]},
    ),
    Row(
        "ports of a service are found by port",
        (
            post(service({"port": 80, "name": "http"})),
            strategic(SERVICE, {"spec": {"ports": [{"port": 80, "name": "web"}]}}),
        ),
        {"spec.ports[*].name": ["web"]},
    ),
    Row(
        "owner references are found by uid",
        (
            post(cm(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1"}])),
            meta(ownerReferences=[{"uid": "u-1", "controller": True}]),
        ),
        {
            "metadata.ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1", "controller": True}
            ]
        },
    ),
]

REPLACING = [
    Row("args are replaced", (MAKE, in_web(args=["--b"])), {f"{IN_POD}.containers[0].args": ["--b"]}),
    Row(
        "tolerations have no merge key, so they are replaced",
        (MAKE, pods({"tolerations": [SPOT]})),
        {f"{IN_POD}.tolerations": [SPOT]},
    ),
    Row(
        "nodeSelector merges as any map",
        (MAKE, pods({"nodeSelector": {"gpu": "yes"}})),
        {f"{IN_POD}.nodeSelector": {"disk": "ssd", "gpu": "yes"}},
    ),
    Row(
        "a map is replaced on demand",
        (post(cm({"a": "1", "b": "2"})), strategic(CM, {"data": {"$patch": "replace", "c": "3"}})),
        {"data": {"c": "3"}},
    ),
    Row(
        "a list is replaced on demand",
        (MAKE, pods({"containers": [{"name": "new", "image": "new:1"}, {"$patch": "replace"}]})),
        {f"{IN_POD}.containers[*].name": ["new"]},
    ),
    Row(
        "env is replaced on demand",
        (MAKE, in_web(env=[{"$patch": "replace"}, {"name": "Z", "value": "1"}])),
        {f"{IN_POD}.containers[0].env": env("Z")},
    ),
    Row(
        "merge said aloud merges",
        (post(cm({"a": "1"})), strategic(CM, {"data": {"$patch": "merge", "b": "2"}})),
        {"data": {"a": "1", "b": "2"}},
    ),
]

DELETING = [
    Row(
        "an item is deleted by its key",
        (MAKE, pods({"containers": [{"$patch": "delete", "name": "side"}]})),
        {f"{IN_POD}.containers[*].name": ["web"]},
    ),
    Row(
        "one is deleted and another changed",
        (
            MAKE,
            pods({"containers": [{"name": "web", "image": "web:2"}, {"$patch": "delete", "name": "side"}]}),
        ),
        {f"{IN_POD}.containers[*].image": ["web:2"]},
    ),
    Row(
        "deleting an item that is not there changes nothing",
        (MAKE, pods({"containers": [{"$patch": "delete", "name": "nobody"}]})),
        {f"{IN_POD}.containers[*].name": ["web", "side"]},
        unchanged=True,
    ),
    Row(
        "an item inside an item is deleted",
        (MAKE, in_web(env=[{"$patch": "delete", "name": "B"}])),
        {f"{IN_POD}.containers[0].env": env("A", "C")},
    ),
    Row(
        "a map is deleted by a directive",
        (post(cm({"a": "1"}, {"x": "y"})), strategic(CM, {"metadata": {"labels": {"$patch": "delete"}}})),
        {"metadata.labels": ABSENT},
    ),
    Row(
        "an unknown directive is refused",
        (post(cm({"a": "1"})), strategic(CM, {"data": {"$patch": "sometimes"}})),
        status=REFUSED,
    ),
    Row(
        "an item without its merge key is refused",
        (MAKE, pods({"containers": [{"image": "x:1"}]})),
        status=REFUSED,
    ),
]


@pytest.mark.parametrize("row", [*MERGING, *REPLACING, *DELETING], ids=str)
def test_strategic_merge(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
