"""Requests and limits of a pod as a whole: what they default to, what they may be, and that they are counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.ledger.pod_needs import limits_of, requests_of
from fairlead.model.views import PodSpec
from tests.inprocess import InProcess
from tests.unit.api.things import PODS, made

Json = dict[str, Any]
NANO = 10**9


def asking(whole: Json, *containers: Json, **spec: Any) -> Json:
    listed = [
        {"name": f"c{number}", "image": "i", "resources": each} for number, each in enumerate(containers)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": listed, "resources": whole, **spec},
    }


def test_the_pod_as_a_whole_counts_instead_of_its_containers_where_it_says_so() -> None:
    whole = {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}
    pod = asking(whole, {"requests": {"cpu": "1", "memory": "1Ki"}}, overhead={"cpu": "500m"})
    spec = msgspec.convert(pod["spec"], PodSpec)
    assert requests_of(spec) == {"cpu": 3 * NANO + NANO // 2, "memory": 1024 * NANO}
    assert limits_of(spec)["cpu"] == 4 * NANO + NANO // 2


@pytest.mark.parametrize(
    ("whole", "containers", "requests"),
    [
        ({"limits": {"cpu": "2"}}, [{}], {"cpu": "2"}),
        (
            {"limits": {"cpu": "4"}},
            [{"requests": {"cpu": "1"}}, {"requests": {"cpu": "500m"}}],
            {"cpu": "1500m"},
        ),
        ({"limits": {"memory": "2Gi"}}, [{"limits": {"memory": "1Gi"}}], {"memory": "1Gi"}),
        ({"limits": {"cpu": "4"}, "requests": {"cpu": "3"}}, [{"requests": {"cpu": "1"}}], {"cpu": "3"}),
        ({"requests": {"cpu": "3"}}, [{}], {"cpu": "3"}),
    ],
)
def test_a_request_left_out_is_what_the_containers_ask_or_the_limit(
    whole: Json, containers: list[Json], requests: Json
) -> None:
    created = made(InProcess(), PODS, asking(whole, *containers))
    assert created["spec"]["resources"]["requests"] == requests


@pytest.mark.parametrize(
    ("whole", "container", "field", "text"),
    [
        (
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "2"}},
            "spec.resources.requests[cpu]",
            "aggregate container requests of 2",
        ),
        (
            {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}},
            "spec.containers[0].resources.limits[cpu]",
            "pod limits of 1",
        ),
        (
            {"requests": {"cpu": "3"}, "limits": {"cpu": "2"}},
            {},
            "spec.resources.requests",
            "less than or equal to cpu limit of 2",
        ),
        (
            {"requests": {"example.com/gpu": "1"}},
            {},
            "spec.resources.requests[example.com/gpu]",
            "supported values",
        ),
    ],
)
def test_what_contradicts_the_containers_is_refused(
    whole: Json, container: Json, field: str, text: str
) -> None:
    status, found = InProcess().post(PODS, asking(whole, container))
    assert status == 422
    told = {cause["field"]: cause["message"] for cause in found["details"]["causes"]}
    assert text in told[field]


def test_a_quota_counts_them_and_is_content_with_them() -> None:
    plane = InProcess()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"requests.cpu": "4"}},
    }
    made(plane, "/api/v1/namespaces/default/resourcequotas", quota)
    made(plane, PODS, asking({"requests": {"cpu": "3"}}, {}))
    status, found = plane.post(PODS, {**asking({"requests": {"cpu": "3"}}, {}), "metadata": {"name": "two"}})
    assert (status, "used: requests.cpu=3, limited: requests.cpu=4" in found["message"]) == (403, True)
