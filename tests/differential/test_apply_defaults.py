"""Server-side apply and what nobody said: defaults, what was left empty, what clients send without meaning it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, json_patch, post
from tests.differential.objects import (
    IN_POD,
    NAMED,
    POD,
    SERVICE,
    WHOLE,
    cm,
    deployment,
    env,
    item,
    of_web,
    part,
    service,
    web,
)
from tests.differential.rows import ABSENT, EMPTY, AtLeast, Row, check

MAKE = apply(deployment(), "base")
BASE = {"base Apply": WHOLE}
PROBE = {"httpGet": {"path": "/live", "port": 80}}
REQUIRED = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}
ENV_A = web('.env[name="A"]')
SERVICE_80 = '.spec.ports[port=80,protocol="TCP"]'

# What programs in Go send: fields without a value are null or empty instead of absent.
GENERATED = deployment()
GENERATED["metadata"] = {"name": "web", "creationTimestamp": None}
GENERATED["spec"]["template"]["metadata"]["creationTimestamp"] = None
GENERATED["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
GENERATED["spec"]["strategy"] = {}
GENERATED["status"] = {}

DEFAULTS = [
    Row(
        "a default said aloud is owned",
        (MAKE, apply(part(replicas=1))),
        {"spec.replicas": 1},
        {**BASE, "one Apply": ".spec.replicas"},
    ),
    Row(
        "a default that nobody owns is in nobody's way",
        (MAKE, apply(part(replicas=7, revisionHistoryLimit=3))),
        {"spec.replicas": 7, "spec.revisionHistoryLimit": 3},
        {**BASE, "one Apply": ".spec.replicas .spec.revisionHistoryLimit"},
    ),
    Row(
        "a default that its creator owns is in the way",
        (post(deployment()), apply(part(revisionHistoryLimit=3))),
        status=409,
        causes=frozenset({('conflict with "maker" using apps/v1', ".spec.revisionHistoryLimit")}),
    ),
    Row(
        "a probe goes with its defaults",
        (MAKE, apply(of_web(livenessProbe=PROBE)), apply(of_web())),
        {f"{IN_POD}.containers[0].livenessProbe": ABSENT},
        {**BASE, "one Apply": NAMED},
    ),
    Row(
        "a probe is owned field by field",
        (MAKE, apply(of_web(livenessProbe=PROBE)), apply(of_web(livenessProbe={"periodSeconds": 20}), "two")),
        {
            f"{IN_POD}.containers[0].livenessProbe.periodSeconds": 20,
            f"{IN_POD}.containers[0].livenessProbe.httpGet.path": "/live",
        },
        {
            **BASE,
            "one Apply": f"{NAMED} {web('.livenessProbe.httpGet.path')} {web('.livenessProbe.httpGet.port')}",
            "two Apply": f"{NAMED} {web('.livenessProbe.periodSeconds')}",
        },
    ),
    Row(
        "a strategy left out goes back to its defaults",
        (MAKE, apply(part(strategy={"rollingUpdate": {"maxSurge": 2}})), apply(part())),
        {
            "spec.strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            }
        },
        BASE,
    ),
    Row(
        "a strategy left out by one stays as another wants it",
        (
            MAKE,
            apply(part(strategy={"rollingUpdate": {"maxSurge": 2}})),
            apply(part(strategy={"rollingUpdate": {"maxUnavailable": 1}}), "two"),
            apply(part()),
        ),
        {
            "spec.strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1},
            }
        },
        {**BASE, "two Apply": ".spec.strategy.rollingUpdate.maxUnavailable"},
    ),
    Row(
        "an owner changes from one strategy to another",
        (
            apply(
                deployment(
                    strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
                )
            ),
            apply(deployment(strategy={"type": "Recreate"})),
        ),
        {"spec.strategy": {"type": "Recreate"}},
        {"one Apply": f"{WHOLE} .spec.strategy.type"},
    ),
    Row(
        "a security context left out is empty again",
        (MAKE, apply(part({"securityContext": {"runAsUser": 1000}})), apply(part())),
        {f"{IN_POD}.securityContext": EMPTY},
        BASE,
    ),
    Row(
        "a node affinity that is required is one piece",
        (
            MAKE,
            apply(
                part(
                    {
                        "affinity": {
                            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": REQUIRED}
                        }
                    }
                )
            ),
        ),
        owns={
            **BASE,
            "one Apply": f"{POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        },
    ),
]

ITEMS_OF_TWO = [
    Row(
        "an item of two appliers keeps what the second has in it",
        (
            apply(service({"port": 80, "name": "http", "targetPort": 8080}, selector={"a": "1"})),
            apply(service({"port": 80, "appProtocol": "http"}), "two"),
            apply(service(selector={"a": "1"})),
        ),
        {
            "spec.ports[*].port": [80],
            "spec.ports[0].name": ABSENT,
            "spec.ports[0].appProtocol": "http",
            "spec.ports[0].targetPort": 80,
        },
        {"one Apply": ".spec.selector", "two Apply": item(SERVICE_80, "port", "appProtocol")},
    ),
    Row(
        "an item that an updater made stays when an applier leaves it",
        (
            apply(service({"port": 80, "name": "http"})),
            json_patch(
                SERVICE, [{"op": "add", "path": "/spec/ports/-", "value": {"port": 443, "name": "tls"}}]
            ),
            apply(service({"port": 80, "name": "http"}, {"port": 443, "appProtocol": "https"})),
            apply(service({"port": 80, "name": "http"})),
        ),
        {"spec.ports[*].port": [80, 443], "spec.ports[1].appProtocol": ABSENT, "spec.ports[1].name": "tls"},
    ),
    Row(
        "an env variable whose value was taken by force stays with its name",
        (
            MAKE,
            apply(of_web(env=env("A"))),
            apply(of_web(env=[{"name": "A", "value": "2"}]), "two", force="true"),
        ),
        {f"{IN_POD}.containers[0].env": [{"name": "A", "value": "2"}]},
        {
            **BASE,
            "one Apply": f"{NAMED} {item(ENV_A, 'name')}",
            "two Apply": f"{NAMED} {item(ENV_A, 'name', 'value')}",
        },
    ),
]

UNMEANT = [
    Row(
        "a null creationTimestamp is not owned",
        (apply(cm({"a": "1"}, creationTimestamp=None)),),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
    ),
    Row(
        "a null creationTimestamp changes nothing the second time",
        (apply(cm({"a": "1"}, creationTimestamp=None)), apply(cm({"a": "1"}, creationTimestamp=None))),
        unchanged=True,
    ),
    Row(
        "an empty status is not owned",
        (apply({**deployment(), "status": {}}),),
        owns={"one Apply": WHOLE},
    ),
    Row(
        "a template with a null creationTimestamp can be applied again",
        (apply(GENERATED), apply(GENERATED)),
        unchanged=True,
    ),
    Row(
        "a template with a null creationTimestamp is shared",
        (apply(GENERATED), apply(GENERATED, "two")),
        owns={"one Apply": AtLeast(WHOLE), "two Apply": AtLeast(WHOLE)},
    ),
    Row(
        "empty resources are owned, and shared",
        (MAKE, apply(of_web(resources={})), apply(of_web(resources={}), "two")),
        owns={
            **BASE,
            "one Apply": f"{NAMED} {web('.resources')}",
            "two Apply": f"{NAMED} {web('.resources')}",
        },
    ),
    Row(
        "a null map can be applied again",
        (apply({**cm(None, {"x": "y"}), "data": None}), apply({**cm(None, {"x": "y"}), "data": None})),
        {"data": EMPTY},
        unchanged=True,
    ),
]


@pytest.mark.parametrize("row", [*DEFAULTS, *ITEMS_OF_TWO, *UNMEANT], ids=str)
def test_defaults(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
