"""Strategic merge patch through the API: sets, the order of lists, and fields that are retained."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import post, strategic
from tests.differential.objects import IN_POD, WEB, cm, env
from tests.differential.rows import ABSENT, EMPTY, REFUSED, AnyOrder, Row, check
from tests.differential.strategic_start import FINALIZED, MAKE, in_web, meta, pods

SETS = [
    Row(
        "finalizers merge as a set",
        (FINALIZED, meta(finalizers=["example.com/d", "example.com/a"])),
        {"metadata.finalizers": AnyOrder("example.com/a", "example.com/b", "example.com/c", "example.com/d")},
    ),
    Row(
        "values are taken out of a set",
        (FINALIZED, meta(**{"$deleteFromPrimitiveList/finalizers": ["example.com/b", "example.com/c"]})),
        {"metadata.finalizers": ["example.com/a"]},
    ),
    Row(
        "a set goes with its last value",
        (
            post(cm({"k": "v"}, finalizers=["example.com/a"])),
            meta(**{"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}),
        ),
        {"metadata.finalizers": EMPTY},
    ),
    Row(
        "one value is taken out while another is put in",
        (
            FINALIZED,
            meta(**{"$deleteFromPrimitiveList/finalizers": ["example.com/b"]}, finalizers=["example.com/d"]),
        ),
        {"metadata.finalizers": AnyOrder("example.com/a", "example.com/c", "example.com/d")},
    ),
    Row(
        "taking out what is not there changes nothing",
        (FINALIZED, meta(**{"$deleteFromPrimitiveList/finalizers": ["example.com/z"]})),
        unchanged=True,
    ),
]

ORDER = [
    Row(
        "a set is put in order",
        (
            FINALIZED,
            meta(**{"$setElementOrder/finalizers": ["example.com/b", "example.com/c", "example.com/a"]}),
        ),
        {"metadata.finalizers": ["example.com/b", "example.com/c", "example.com/a"]},
    ),
    Row(
        "containers are put in order",
        (MAKE, pods({"$setElementOrder/containers": [{"name": "side"}, {"name": "web"}]})),
        {f"{IN_POD}.containers[*].name": ["side", "web"]},
    ),
    Row(
        "an item is added where the order says",
        (
            MAKE,
            in_web(
                **{"$setElementOrder/env": [{"name": "A"}, {"name": "N"}, {"name": "B"}, {"name": "C"}]},
                env=env("N"),
            ),
        ),
        {f"{IN_POD}.containers[0].env[*].name": ["A", "N", "B", "C"]},
    ),
    Row(
        "an item is deleted and the others put in order",
        (
            MAKE,
            in_web(
                **{"$setElementOrder/env": [{"name": "C"}, {"name": "A"}]},
                env=[{"$patch": "delete", "name": "B"}],
            ),
        ),
        {f"{IN_POD}.containers[0].env[*].name": ["C", "A"]},
    ),
    Row(
        "items that contradict the order are refused",
        (
            MAKE,
            in_web(**{"$setElementOrder/env": [{"name": "A"}, {"name": "B"}]}, env=env("B", "A")),
        ),
        status=REFUSED,
    ),
    Row(
        "an item that the order does not name is refused",
        (MAKE, in_web(**{"$setElementOrder/env": [{"name": "A"}]}, env=env("N"))),
        status=REFUSED,
    ),
]

RETAIN = [
    Row(
        "fields that are not retained are cleared: a strategy",
        (
            MAKE,
            strategic(WEB, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        ),
        {"spec.strategy": {"type": "Recreate"}},
    ),
    Row(
        "fields that are not retained are cleared: a volume's source",
        (
            MAKE,
            pods(
                {
                    "volumes": [
                        {"name": "tmp", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/tmp"}}
                    ]
                }
            ),
        ),
        {f"{IN_POD}.volumes[0].emptyDir": ABSENT, f"{IN_POD}.volumes[0].hostPath.path": "/tmp"},
    ),
    Row(
        "what is retained and not given stays",
        (
            MAKE,
            strategic(WEB, {"spec": {"strategy": {"$retainKeys": ["type", "rollingUpdate"]}}}),
        ),
        unchanged=True,
    ),
    Row(
        "what is retained merges",
        (
            MAKE,
            strategic(
                WEB,
                {
                    "spec": {
                        "strategy": {
                            "$retainKeys": ["type", "rollingUpdate"],
                            "rollingUpdate": {"maxSurge": 2},
                        }
                    }
                },
            ),
        ),
        {
            "spec.strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "25%"},
            }
        },
    ),
    Row(
        "a field given but not retained is refused",
        (
            MAKE,
            strategic(WEB, {"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}}),
        ),
        status=REFUSED,
    ),
]


@pytest.mark.parametrize("row", [*SETS, *ORDER, *RETAIN], ids=str)
def test_strategic_directives(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
