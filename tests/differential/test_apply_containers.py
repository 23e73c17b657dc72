"""Server-side apply to a list with a key: containers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, force, strategic
from tests.differential.objects import (
    IN_POD,
    NAMED,
    POD,
    WEB,
    WHOLE,
    deployment,
    env,
    item,
    of_web,
    part,
    web,
)
from tests.differential.rows import REFUSED, Row, check

MAKE = apply(deployment(), "base")
BASE = {"base Apply": WHOLE}


CONTAINERS = [
    Row(
        "containers merge by name",
        (MAKE, apply(part({"containers": [{"name": "side", "image": "side:1"}]}))),
        {f"{IN_POD}.containers[*].name": ["web", "side"]},
        {**BASE, "one Apply": item(f'{POD}.containers[name="side"]', "name", "image")},
    ),
    Row(
        "who adds to a container owns the item and its key too",
        (MAKE, apply(of_web(workingDir="/srv"))),
        {f"{IN_POD}.containers[0].workingDir": "/srv", f"{IN_POD}.containers[0].image": "web:1"},
        {**BASE, "one Apply": f"{NAMED} {web('.workingDir')}"},
    ),
    Row(
        "a conflict inside an item names the item by its key",
        (MAKE, apply(of_web(image="web:2"))),
        {f"{IN_POD}.containers[0].image": "web:1"},
        status=409,
        message=f'Apply failed with 1 conflict: conflict with "base": {web(".image")}',
        causes=frozenset({('conflict with "base"', web(".image"))}),
    ),
    Row(
        "force takes the one field of an item",
        (MAKE, force(of_web(image="web:2"))),
        {f"{IN_POD}.containers[0].image": "web:2"},
        {
            "base Apply": " ".join(each for each in WHOLE.split() if not each.endswith(".image")),
            "one Apply": f"{NAMED} {web('.image')}",
        },
    ),
    Row(
        "an item left out is removed",
        (
            apply(
                deployment(
                    {"containers": [{"name": "web", "image": "web:1"}, {"name": "side", "image": "s:1"}]}
                ),
                "base",
            ),
            MAKE,
        ),
        {f"{IN_POD}.containers[*].name": ["web"]},
        BASE,
    ),
    Row(
        "an item of somebody else stays when the list is applied without it",
        (MAKE, apply(part({"containers": [{"name": "side", "image": "side:1"}]})), MAKE),
        {f"{IN_POD}.containers[*].name": ["web", "side"]},
    ),
    Row(
        "an item goes with what an updater put into it",
        (
            MAKE,
            apply(part({"containers": [{"name": "side", "image": "side:1"}]})),
            strategic(
                WEB, {"spec": {"template": {"spec": {"containers": [{"name": "side", "env": env("A")}]}}}}
            ),
            apply(part()),
        ),
        {f"{IN_POD}.containers[*].name": ["web"]},
        BASE,
    ),
    Row(
        "an item stays as long as another applier names it",
        (
            apply(deployment({"initContainers": [{"name": "init", "image": "i:1"}]}), "base"),
            apply(part({"initContainers": [{"name": "init", "image": "i:1"}]})),
            MAKE,
        ),
        {f"{IN_POD}.initContainers[*].name": ["init"]},
        {**BASE, "one Apply": item(f'{POD}.initContainers[name="init"]', "name", "image")},
    ),
    Row(
        "initContainers merge by name",
        (
            apply(deployment({"initContainers": [{"name": "a", "image": "a:1"}]}), "base"),
            apply(part({"initContainers": [{"name": "b", "image": "b:1"}]})),
        ),
        {f"{IN_POD}.initContainers[*].name": ["a", "b"]},
    ),
    Row(
        "the owner's order is kept",
        (
            apply(
                deployment({"containers": [{"name": "web", "image": "w:1"}, {"name": "b", "image": "b:1"}]})
            ),
            apply(
                deployment({"containers": [{"name": "b", "image": "b:1"}, {"name": "web", "image": "w:1"}]})
            ),
        ),
        {f"{IN_POD}.containers[*].name": ["b", "web"]},
    ),
    Row(
        "two items with one key are refused",
        (MAKE, apply(part({"containers": [{"name": "x", "image": "x:1"}, {"name": "x", "image": "x:2"}]}))),
        status=REFUSED,
    ),
    Row(
        "an item without its key is refused",
        (MAKE, apply(part({"containers": [{"image": "x:1"}]}))),
        status=REFUSED,
    ),
]


@pytest.mark.parametrize("row", CONTAINERS, ids=str)
def test_containers(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
