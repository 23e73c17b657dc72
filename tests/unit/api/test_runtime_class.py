"""The class of a pod brings overhead, node selector and tolerations; what contradicts it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import PODS, made, pod, sample

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
TOLERATION = {"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}


def of_class(name: str = "one", **spec: Any) -> dict[str, Any]:
    wanted = pod()
    return {
        **wanted,
        "metadata": {"name": name},
        "spec": {**wanted["spec"], "runtimeClassName": "sandbox", **spec},
    }


def test_a_pod_gets_what_its_class_says() -> None:
    plane = InProcess()
    made(plane, CLASSES, sample("RuntimeClass"))
    for name in ("one", "two"):  # the second has a spec that is known
        spec = made(plane, PODS, of_class(name, nodeSelector={"disk": "ssd"}))["spec"]
        assert spec["overhead"] == {"cpu": "100m", "memory": "64Mi"}
        assert spec["nodeSelector"] == {"disk": "ssd", "sandbox": "yes"}
        assert TOLERATION in spec["tolerations"]


def test_a_class_that_changed_counts_for_the_next_pod() -> None:
    plane = InProcess()
    made(plane, CLASSES, sample("RuntimeClass"))
    made(plane, PODS, of_class())
    assert plane.patch(f"{CLASSES}/sandbox", {"overhead": {"podFixed": {"cpu": "200m"}}})[0] == 200
    assert made(plane, PODS, of_class("two"))["spec"]["overhead"] == {"cpu": "200m", "memory": "64Mi"}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "other"}, 'RuntimeClass "other" not found'),
        ({"overhead": {"cpu": "1"}}, "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"runtimeClassName": None, "overhead": {"cpu": "1"}}, "set without corresponding RuntimeClass"),
        (
            {"nodeSelector": {"sandbox": "no"}},
            "spec.nodeSelector[sandbox] is no, and the RuntimeClass wants yes",
        ),
    ],
)
def test_what_contradicts_the_class_is_refused(spec: dict[str, Any], why: str) -> None:
    plane = InProcess()
    made(plane, CLASSES, sample("RuntimeClass"))
    status, found = plane.post(PODS, of_class(**spec))
    assert (status, found["reason"]) == (403, "Forbidden")
    assert why in found["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"handler": ""}, "handler"),
        ({"handler": "Not A Name"}, "handler"),
        ({"overhead": {"podFixed": {"cpu": "-1"}}}, "overhead.podFixed[cpu]"),
        ({"scheduling": {"nodeSelector": {"a b": "c"}}}, "scheduling.nodeSelector"),
        ({"scheduling": {"tolerations": [{"operator": "Perhaps"}]}}, "scheduling.tolerations[0].operator"),
    ],
)
def test_a_class_that_cannot_be_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    status, found = InProcess().post(CLASSES, {**sample("RuntimeClass"), **change})
    assert (status, field in {cause["field"] for cause in found["details"]["causes"]}) == (422, True)


def test_a_handler_never_changes() -> None:
    plane = InProcess()
    made(plane, CLASSES, sample("RuntimeClass"))
    status, found = plane.patch(f"{CLASSES}/sandbox", {"handler": "other"})
    assert (status, found["details"]["causes"][0]["field"]) == (422, "handler")
