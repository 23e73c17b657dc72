"""Server-side apply inside a pod: what merges by a key, and what is one piece."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, force
from tests.differential.objects import IN_POD, POD, WHOLE, deployment, item, part
from tests.differential.rows import ABSENT, Row, check

MAKE = apply(deployment(), "base")
BASE = {"base Apply": WHOLE}
DEDICATED = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}

IN_A_POD = [
    Row(
        "volumes merge by name, and an empty source is owned",
        (
            apply(deployment({"volumes": [{"name": "a", "emptyDir": {}}]}), "base"),
            apply(part({"volumes": [{"name": "b", "emptyDir": {}}]})),
        ),
        {f"{IN_POD}.volumes[*].name": ["a", "b"]},
        {
            "base Apply": WHOLE + " " + item(f'{POD}.volumes[name="a"]', "name", "emptyDir"),
            "one Apply": item(f'{POD}.volumes[name="b"]', "name", "emptyDir"),
        },
    ),
    Row(
        "a volume's source changes when its owner applies another",
        (
            apply(deployment({"volumes": [{"name": "a", "hostPath": {"path": "/x"}}]})),
            apply(deployment({"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}]})),
        ),
        {f"{IN_POD}.volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}]},
    ),
    Row(
        "tolerations are one piece, owned as such",
        (MAKE, apply(part({"tolerations": [DEDICATED]}))),
        {f"{IN_POD}.tolerations": [DEDICATED]},
        {**BASE, "one Apply": f"{POD}.tolerations"},
    ),
    Row(
        "other tolerations are a conflict about all of them",
        (MAKE, apply(part({"tolerations": [DEDICATED]})), apply(part({"tolerations": [SPOT]}), "two")),
        {f"{IN_POD}.tolerations": [DEDICATED]},
        status=409,
        message=f'Apply failed with 1 conflict: conflict with "one": {POD}.tolerations',
    ),
    Row(
        "the same tolerations are shared",
        (MAKE, apply(part({"tolerations": [SPOT]})), apply(part({"tolerations": [SPOT]}), "two")),
        owns={**BASE, "one Apply": f"{POD}.tolerations", "two Apply": f"{POD}.tolerations"},
    ),
    Row(
        "force replaces tolerations as a whole",
        (MAKE, apply(part({"tolerations": [DEDICATED]})), force(part({"tolerations": [SPOT]}), "two")),
        {f"{IN_POD}.tolerations": [SPOT]},
        {**BASE, "two Apply": f"{POD}.tolerations"},
    ),
    Row(
        "tolerations left out are removed",
        (MAKE, apply(part({"tolerations": [DEDICATED]})), apply(part())),
        {f"{IN_POD}.tolerations": ABSENT},
        BASE,
    ),
    Row(
        "nodeSelector is one piece: another key is a conflict",
        (
            MAKE,
            apply(part({"nodeSelector": {"disk": "ssd"}})),
            apply(part({"nodeSelector": {"gpu": "yes"}}), "two"),
        ),
        {f"{IN_POD}.nodeSelector": {"disk": "ssd"}},
        status=409,
        causes=frozenset({('conflict with "one"', f"{POD}.nodeSelector")}),
    ),
    Row(
        "nodeSelector is replaced by its owner, not merged",
        (MAKE, apply(part({"nodeSelector": {"disk": "ssd"}})), apply(part({"nodeSelector": {"gpu": "yes"}}))),
        {f"{IN_POD}.nodeSelector": {"gpu": "yes"}},
        {**BASE, "one Apply": f"{POD}.nodeSelector"},
    ),
    Row(
        "imagePullSecrets merge by name, and each is one piece",
        (
            MAKE,
            apply(part({"imagePullSecrets": [{"name": "a"}]})),
            apply(part({"imagePullSecrets": [{"name": "b"}]}), "two"),
        ),
        {f"{IN_POD}.imagePullSecrets": [{"name": "a"}, {"name": "b"}]},
        {
            **BASE,
            "one Apply": f'{POD}.imagePullSecrets[name="a"]',
            "two Apply": f'{POD}.imagePullSecrets[name="b"]',
        },
    ),
    Row(
        "hostAliases merge by ip, and their names are one piece",
        (
            MAKE,
            apply(part({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]})),
            apply(part({"hostAliases": [{"ip": "10.0.0.2", "hostnames": ["b"]}]}), "two"),
        ),
        {f"{IN_POD}.hostAliases[*].ip": ["10.0.0.1", "10.0.0.2"]},
        {
            **BASE,
            "one Apply": item(f'{POD}.hostAliases[ip="10.0.0.1"]', "ip", "hostnames"),
            "two Apply": item(f'{POD}.hostAliases[ip="10.0.0.2"]', "ip", "hostnames"),
        },
    ),
    Row(
        "topologySpreadConstraints merge by topologyKey and whenUnsatisfiable",
        (
            MAKE,
            apply(
                part(
                    {
                        "topologySpreadConstraints": [
                            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                        ]
                    }
                )
            ),
            apply(
                part(
                    {
                        "topologySpreadConstraints": [
                            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                        ]
                    }
                ),
                "two",
            ),
        ),
        {f"{IN_POD}.topologySpreadConstraints[*].maxSkew": [1, 2]},
        {
            **BASE,
            "one Apply": item(
                f'{POD}.topologySpreadConstraints[topologyKey="zone",whenUnsatisfiable="DoNotSchedule"]',
                "maxSkew",
                "topologyKey",
                "whenUnsatisfiable",
            ),
            "two Apply": item(
                f'{POD}.topologySpreadConstraints[topologyKey="zone",whenUnsatisfiable="ScheduleAnyway"]',
                "maxSkew",
                "topologyKey",
                "whenUnsatisfiable",
            ),
        },
    ),
    Row(
        "a security context is owned field by field",
        (
            MAKE,
            apply(part({"securityContext": {"runAsUser": 1000}})),
            apply(part({"securityContext": {"fsGroup": 2000}}), "two"),
        ),
        {f"{IN_POD}.securityContext": {"runAsUser": 1000, "fsGroup": 2000}},
        {
            **BASE,
            "one Apply": f"{POD}.securityContext.runAsUser",
            "two Apply": f"{POD}.securityContext.fsGroup",
        },
    ),
]


@pytest.mark.parametrize("row", IN_A_POD, ids=str)
def test_what_is_in_a_pod(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
