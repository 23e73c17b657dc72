"""Who was released and still holds something is named: on the pod itself, its replacement, and those it is in the way of."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fairlead.explain.released import in_the_way, told_of
from fairlead.model.views import Pod
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import cluster, node, pod, viewed
from tests.unit.schedule.test_holds import QUOTAS, owned, quota, released


def asked(*pods: Pod, cpu: str = "1", limit: str = "", uid: str = "rs-2") -> tuple[str, ...]:
    snapshot = cluster((node("a"), node("b", room={"cpu": "500m"})), pods)
    if limit:
        snapshot.observe(QUOTAS, None, quota("q", {"pods": limit}))
    return in_the_way(snapshot, default_policy(), snapshot.facts_of(owned(pod("p", cpu=cpu), uid)))


ROOM = (
    "released pods may still run, and keep their room until their node is back or its end is confirmed: "
    "default/x on a"
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (asked(released("x", "a"), cpu="100m"), ()),
        (asked(pod("x", on="a", cpu="4")), ()),
        (asked(released("x", "a"), cpu="3500m"), (ROOM,)),
        (
            asked(released("x", "a"), cpu="100m", limit="1"),
            (
                "of quota q a part is held by released pods, until their owners replace them: default/x on a",
                ROOM,
            ),
        ),
        (asked(released("x", "a", "Bound"), cpu="100m", limit="1"), ()),
        (asked(released("x", "a"), cpu="100m", limit="1", uid="rs-1"), ()),
    ],
    ids=["it fits", "nobody was released", "room", "quota", "quota that was given", "its own quota"],
)
def test_released_pods_are_named_where_they_are_in_the_way(
    found: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert found == expected


def told(given: str = "", **metadata: Any) -> str:
    conditions = [{"type": "fairlead.dev/Released", "status": "True", "message": "node a is silent"}]
    if given:
        message = "pod y has its quota; it may still run, and keeps its room on the node"
        conditions.append(
            {"type": "fairlead.dev/QuotaGiven", "status": "True", "reason": given, "message": message}
        )
    meta = {"name": "x", "uid": "x", **metadata}
    whole = {"metadata": meta, "spec": {"nodeName": "a"}, "status": {"conditions": conditions}}
    (text,) = told_of(viewed(whole, Pod), ())
    return text


def test_of_a_released_pod_it_is_told_what_it_holds() -> None:
    begin = "node a is silent; it may still run, and keeps its room on a; "
    assert told() == begin + "it holds its quota until its owner replaces it"
    assert told("Created") == told("Bound") == begin + "pod y has its quota"
    leaving = {"deletionTimestamp": "2026-01-02T00:00:00Z"}
    assert told(**leaving) == begin + "it holds no quota, since its deletion was asked for"


def test_of_a_replacement_it_is_told_whose_place_it_takes() -> None:
    original = released("x", "a")
    other = owned(pod("y"))
    annotations = {"fairlead.dev/replaces": original.metadata.uid}
    other = structs.replace(other, metadata=structs.replace(other.metadata, annotations=annotations, uid="y"))
    assert told_of(other, (original, other)) == (
        "it takes the place of x, which may still run on a and keeps its room there",
    )
    assert told_of(owned(pod("z")), (original, other)) == ()
