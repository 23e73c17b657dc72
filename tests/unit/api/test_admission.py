"""What admission fills in, and what it forbids: priorities, service accounts, limit ranges."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import PODS, made, pod

Json = dict[str, Any]
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RANGES = "/api/v1/namespaces/default/limitranges"


def _class(plane: InProcess, name: str, value: int, **more: Any) -> None:
    made(plane, CLASSES, {"metadata": {"name": name}, "value": value, **more})


def _pod(**spec: Any) -> Json:
    obj = pod()
    obj["spec"].update(spec)
    return obj


def test_without_classes_the_priority_is_zero() -> None:
    spec = made(InProcess(), PODS, pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


@pytest.mark.parametrize(
    ("name", "value"),
    [("high", 1000), ("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_a_class_gives_its_number(name: str, value: int) -> None:
    plane = InProcess()
    _class(plane, name, value, preemptionPolicy="Never")
    spec = made(plane, PODS, _pod(priorityClassName=name))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (value, "Never")


def test_the_global_default_is_for_those_who_name_none() -> None:
    plane = InProcess()
    _class(plane, "plain", 5)
    _class(plane, "usual", 70, globalDefault=True)
    spec = made(plane, PODS, pod())["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 70)


def test_only_one_class_can_be_the_default() -> None:
    plane = InProcess()
    _class(plane, "usual", 70, globalDefault=True)
    _class(plane, "plain", 90)
    second = {"metadata": {"name": "second"}, "value": 5, "globalDefault": True}
    status, body = plane.post(CLASSES, second)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert "PriorityClass usual is already marked as default" in body["message"]
    assert plane.patch(f"{CLASSES}/plain", {"globalDefault": True})[0] == 403
    assert plane.patch(f"{CLASSES}/usual", {"metadata": {"labels": {"a": "b"}}})[0] == 200
    assert plane.patch(f"{CLASSES}/usual", {"globalDefault": False})[0] == 200
    assert plane.post(CLASSES, second)[0] == 201


def test_of_two_defaults_written_at_once_the_lower_counts() -> None:
    plane = InProcess()
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        _class(plane, "b", 70, globalDefault=True)
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    _class(plane, "a", 90, globalDefault=True)
    assert made(plane, PODS, pod())["spec"]["priorityClassName"] == "b"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priorityClassName": "high", "priority": 7},
            "the integer value of priority (7) must not be provided",
        ),
        ({"priority": 7}, "the integer value of priority (7) must not be provided"),
        (
            {"priorityClassName": "high", "preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never)",
        ),
    ],
)
def test_a_priority_of_ones_own_is_forbidden(spec: Json, words: str) -> None:
    plane = InProcess()
    _class(plane, "high", 1000)
    status, body = plane.post(PODS, _pod(**spec))
    assert (status, body["reason"]) == (403, "Forbidden")
    assert words in body["message"]
    assert (body["details"]["name"], body["details"]["kind"]) == ("web", "pods")
    (cause,) = body["details"]["causes"]
    named = spec.get("priorityClassName", "")
    assert (cause["reason"], cause["field"]) == ("LiftedBy", f"priorityclasses.scheduling.k8s.io//{named}")


def test_the_right_number_may_be_sent_along() -> None:
    plane = InProcess()
    _class(plane, "high", 1000)
    created = made(plane, PODS, _pod(priorityClassName="high", priority=1000))
    assert created["spec"]["priority"] == 1000


@pytest.mark.parametrize(
    ("given", "name"),
    [({}, "default"), ({"serviceAccountName": "web"}, "web"), ({"serviceAccount": "old"}, "old")],
)
def test_a_pod_has_a_service_account(given: Json, name: str) -> None:
    spec = made(InProcess(), PODS, _pod(**given))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == (name, name)


def _range(plane: InProcess, *limits: Json, name: str = "limits") -> None:
    made(plane, RANGES, {"metadata": {"name": name}, "spec": {"limits": list(limits)}})


def _with(*resources: Json, init: Json | None = None) -> Json:
    containers = [
        {"name": f"c{index}", "image": "c:1", "resources": each} for index, each in enumerate(resources)
    ]
    return _pod(
        containers=containers,
        **({"initContainers": [{"name": "i", "image": "i:1", "resources": init}]} if init else {}),
    )


def test_a_limit_range_fills_in_what_containers_leave_out() -> None:
    plane = InProcess()
    _range(
        plane,
        {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}},
    )
    created = made(
        plane,
        PODS,
        _with({}, {"limits": {"cpu": "2"}, "requests": {"memory": "1Mi"}}, init={"requests": {"cpu": "1m"}}),
    )
    first, second = (container["resources"] for container in created["spec"]["containers"])
    assert first == {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    assert second == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Mi"}}
    assert created["spec"]["initContainers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    assert created["status"]["qosClass"] == "Burstable", "by what admission filled in"


def test_the_quality_of_service_follows_what_a_limit_range_filled_in() -> None:
    plane = InProcess()
    assert made(plane, PODS, pod("before"))["status"]["qosClass"] == "BestEffort"
    _range(plane, {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}})
    assert made(plane, PODS, pod("after"))["status"]["qosClass"] == "Guaranteed"


def test_defaults_of_one_range_come_before_the_bounds_of_another() -> None:
    plane = InProcess()
    _range(plane, {"type": "Container", "max": {"cpu": "4"}, "default": {"cpu": "4"}}, name="a")
    _range(
        plane, {"type": "Container", "min": {"memory": "1Mi"}, "defaultRequest": {"memory": "2Mi"}}, name="b"
    )
    _range(plane, {"type": "Pod", "max": {"memory": "1Gi"}}, name="c")
    _range(plane, {"type": "Container", "default": {"memory": "3Mi"}}, name="d")
    assert plane.post(PODS, _with({}))[0] == 201


@pytest.mark.parametrize(
    ("limit", "pods", "words"),
    [
        (
            {"type": "Container", "max": {"cpu": "1"}},
            _with({"limits": {"cpu": "2"}}),
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"type": "Container", "max": {"example.com/gpu": "1"}},
            _with({"limits": {"cpu": "2"}}, {"limits": {"example.com/gpu": "2"}}),
            "maximum example.com/gpu usage per Container is 1, but limit is 2",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}},
            _with({"requests": {"cpu": "500m"}}),
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            _with({"limits": {"cpu": "1500m"}}, {"limits": {"cpu": "1"}}),
            "maximum cpu usage per Pod is 2, but limit is 2500m",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            _with({"limits": {"cpu": "1"}}, {}),
            "maximum cpu usage per Pod is 2.  No limit is specified",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            _with({"limits": {"cpu": "1"}}, init={"limits": {"cpu": "3"}}),
            "maximum cpu usage per Pod is 2, but limit is 3",
        ),
        (
            {"type": "Pod", "min": {"memory": "1Gi"}},
            _with({"requests": {"memory": "1Mi"}}, {"requests": {"memory": "1Mi"}}),
            "minimum memory usage per Pod is 1Gi, but request is 2Mi",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            _with({"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            _with({}),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            _with({"requests": {"cpu": "1"}}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ],
)
def test_what_is_out_of_bounds_is_forbidden(limit: Json, pods: Json, words: str) -> None:
    plane = InProcess()
    _range(plane, limit)
    status, body = plane.post(PODS, pods)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert words in body["message"]


@pytest.mark.parametrize(
    ("limit", "pods"),
    [
        ({"type": "Container", "max": {"cpu": "2"}}, _with({"limits": {"cpu": "2"}})),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "3"}},
            _with({"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}),
        ),
        ({"type": "Pod", "max": {"cpu": "2"}}, _with({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1"}})),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, _with({})),
    ],
)
def test_what_is_within_bounds_is_not(limit: Json, pods: Json) -> None:
    plane = InProcess()
    _range(plane, limit)
    assert plane.post(PODS, pods)[0] == 201


def test_a_pod_without_containers_is_invalid_also_under_a_limit_range() -> None:
    plane = InProcess()
    _range(plane, {"type": "Container", "default": {"cpu": "1"}}, {"type": "Pod", "max": {"cpu": "1"}})
    status, _ = plane.post(PODS, {"metadata": {"name": "web"}})
    assert status in (403, 422)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([], ["not-ready 300", "unreachable 300"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], ["not-ready", "unreachable 300"]),
        ([{"operator": "Exists"}], [""]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "not-ready 300", "unreachable 300"]),
    ],
)  # fmt: skip
def test_a_pod_waits_five_minutes_on_a_lost_node_unless_it_says_otherwise(
    own: list[Any], expected: list[str]
) -> None:
    plane = InProcess()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": own},
    }
    _, made = plane.post("/api/v1/namespaces/default/pods", pod)
    found = [
        f"{each.get('key', '').rpartition('/')[2]} {each.get('tolerationSeconds', '')}".strip()
        for each in made["spec"]["tolerations"]
    ]
    assert found == expected


def test_a_limit_range_that_says_nothing_limits_nothing() -> None:
    plane = InProcess()
    empty = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "empty"}}
    made(plane, "/api/v1/namespaces/default/limitranges", empty)
    made(plane, PODS, pod())
