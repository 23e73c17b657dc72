"""Server-side apply inside a container: what merges by a key, and what is one piece."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply
from tests.differential.objects import IN_POD, NAMED, WHOLE, deployment, env, in_web, of_web, web
from tests.differential.rows import ABSENT, AtLeast, Row, check

MAKE = apply(deployment(), "base")
BASE = {"base Apply": WHOLE}


IN_A_CONTAINER = [
    Row(
        "env merges by name",
        (MAKE, apply(of_web(env=env("A"))), apply(of_web(env=env("B")), "two")),
        {f"{IN_POD}.containers[0].env[*].name": ["A", "B"]},
        {
            **BASE,
            "one Apply": in_web('.env[name="A"]', "name", "value"),
            "two Apply": in_web('.env[name="B"]', "name", "value"),
        },
    ),
    Row(
        "an env variable left out is removed alone",
        (
            MAKE,
            apply(of_web(env=env("A", "C"))),
            apply(of_web(env=env("B")), "two"),
            apply(of_web(env=env("C"))),
        ),
        {f"{IN_POD}.containers[0].env": [*env("C"), *env("B")]},
    ),
    Row(
        "an env variable's value is one manager's",
        (MAKE, apply(of_web(env=env("A"))), apply(of_web(env=[{"name": "A", "value": "2"}]), "two")),
        status=409,
        causes=frozenset({('conflict with "one"', web('.env[name="A"].value'))}),
    ),
    Row(
        "a reference to a key of a Secret is one piece",
        (
            MAKE,
            apply(of_web(env=[{"name": "T", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])),
        ),
        owns={
            **BASE,
            "one Apply": in_web('.env[name="T"]', "name", "valueFrom.secretKeyRef"),
        },
    ),
    Row(
        "ports merge by number and protocol",
        (
            MAKE,
            apply(of_web(ports=[{"containerPort": 53, "protocol": "UDP", "name": "dns"}])),
            apply(of_web(ports=[{"containerPort": 53, "protocol": "TCP", "name": "dns-tcp"}]), "two"),
        ),
        {f"{IN_POD}.containers[0].ports[*].name": ["dns", "dns-tcp"]},
        {
            **BASE,
            "one Apply": in_web(
                '.ports[containerPort=53,protocol="UDP"]', "containerPort", "protocol", "name"
            ),
            "two Apply": in_web(
                '.ports[containerPort=53,protocol="TCP"]', "containerPort", "protocol", "name"
            ),
        },
    ),
    Row(
        "a port without protocol has TCP for its key",
        (MAKE, apply(of_web(ports=[{"containerPort": 80}]))),
        {f"{IN_POD}.containers[0].ports": [{"containerPort": 80, "protocol": "TCP"}]},
        {
            **BASE,
            "one Apply": in_web('.ports[containerPort=80,protocol="TCP"]', "containerPort"),
        },
    ),
    Row(
        "TCP said aloud is the same port",
        (
            MAKE,
            apply(of_web(ports=[{"containerPort": 80}])),
            apply(of_web(ports=[{"containerPort": 80, "protocol": "TCP", "name": "http"}]), "two"),
        ),
        {f"{IN_POD}.containers[0].ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}]},
    ),
    Row(
        "the last port left out takes the list with it",
        (
            apply(
                deployment(
                    {
                        "containers": [
                            {
                                "name": "web",
                                "image": "web:1",
                                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                            }
                        ]
                    }
                ),
                "base",
            ),
            MAKE,
        ),
        {f"{IN_POD}.containers[0].ports": ABSENT},
        BASE,
    ),
    Row(
        "volumeMounts merge by mountPath",
        (
            apply(deployment({"volumes": [{"name": "v", "emptyDir": {}}]}), "base"),
            apply(of_web(volumeMounts=[{"name": "v", "mountPath": "/a"}])),
            apply(of_web(volumeMounts=[{"name": "v", "mountPath": "/b"}]), "two"),
        ),
        {f"{IN_POD}.containers[0].volumeMounts[*].mountPath": ["/a", "/b"]},
        {
            "base Apply": AtLeast(web(".image")),
            "one Apply": in_web('.volumeMounts[mountPath="/a"]', "name", "mountPath"),
            "two Apply": in_web('.volumeMounts[mountPath="/b"]', "name", "mountPath"),
        },
    ),
    Row(
        "args are one piece",
        (MAKE, apply(of_web(args=["--a"])), apply(of_web(args=["--a", "--b"]), "two")),
        {f"{IN_POD}.containers[0].args": ["--a"]},
        status=409,
        causes=frozenset({('conflict with "one"', web(".args"))}),
    ),
    Row(
        "a command is replaced by its owner",
        (MAKE, apply(of_web(command=["a", "b"])), apply(of_web(command=["c"]))),
        {f"{IN_POD}.containers[0].command": ["c"]},
        {**BASE, "one Apply": f"{NAMED} {web('.command')}"},
    ),
    Row(
        "envFrom is one piece",
        (
            MAKE,
            apply(of_web(envFrom=[{"configMapRef": {"name": "a"}}])),
            apply(of_web(envFrom=[{"configMapRef": {"name": "b"}}]), "two"),
        ),
        status=409,
        causes=frozenset({('conflict with "one"', web(".envFrom"))}),
    ),
    Row(
        "each resource is owned for itself",
        (
            MAKE,
            apply(of_web(resources={"requests": {"cpu": "100m"}})),
            apply(of_web(resources={"requests": {"memory": "1Gi"}, "limits": {"cpu": "1"}}), "two"),
        ),
        {
            f"{IN_POD}.containers[0].resources": {
                "requests": {"cpu": "100m", "memory": "1Gi"},
                "limits": {"cpu": "1"},
            }
        },
        {
            **BASE,
            "one Apply": f"{NAMED} {web('.resources.requests.cpu')}",
            "two Apply": f"{NAMED} {web('.resources.requests.memory')} {web('.resources.limits.cpu')}",
        },
    ),
    Row(
        "a resource left out is removed alone",
        (
            MAKE,
            apply(of_web(resources={"requests": {"cpu": "100m", "memory": "1Gi"}})),
            apply(of_web(resources={"requests": {"memory": "1Gi"}})),
        ),
        {f"{IN_POD}.containers[0].resources": {"requests": {"memory": "1Gi"}}},
    ),
]


@pytest.mark.parametrize("row", IN_A_CONTAINER, ids=str)
def test_what_is_in_a_container(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
