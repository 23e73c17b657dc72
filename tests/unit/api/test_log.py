"""pods/log before a node is asked: which container, which options, which node; and how its refusals are worded."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.plan import NodeAddress, NodeStream
from fairlead.core.errors import ApiError
from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.api.things import made, pod

PIN = "ab" * 32
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
WHERE = {"fairlead.dev/endpoint": "https://127.0.0.1:10250", "fairlead.dev/endpoint-certificate": PIN}


@pytest.fixture
def plane() -> InProcess:
    return InProcess()


def node(plane: InProcess, name: str = "one", annotations: dict[str, str] | None = None) -> None:
    metadata = {"name": name, "annotations": WHERE if annotations is None else annotations}
    made(plane, NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def asked(plane: InProcess, name: str = "web", accept: str = "application/json", **query: str) -> Any:
    request = Request(
        verb="get",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name=name,
        subresource="log",
        query=query,
        accept=accept,
    )
    return plane.api.plan(request, plane.context())


def refusal(plane: InProcess, **query: str) -> tuple[int, str]:
    with pytest.raises(ApiError) as raised:
        asked(plane, **query)
    return raised.value.status, str(raised.value)


def several(name: str = "web") -> dict[str, Any]:
    wanted = pod(name, "one")
    only = wanted["spec"]["containers"][0]
    wanted["spec"]["containers"] = [{**only, "name": "a"}, {**only, "name": "b"}]
    wanted["spec"]["initContainers"] = [{**only, "name": "first"}]
    return wanted


def test_a_node_is_asked_for_the_only_container(plane: InProcess) -> None:
    node(plane)
    uid = made(plane, PODS, pod("web", "one"))["metadata"]["uid"]
    container = pod()["spec"]["containers"][0]["name"]
    step = asked(plane, accept="text/plain")
    assert isinstance(step, NodeStream)
    assert step.node == NodeAddress("one", "https://127.0.0.1:10250", PIN)
    assert step.target == f"/logs/default/web/{container}?uid={uid}"


def test_options_reach_the_node(plane: InProcess) -> None:
    node(plane)
    made(plane, PODS, several())
    given = {"follow": "true", "previous": "1", "timestamps": "false", "tailLines": "0", "limitBytes": "7"}
    step = asked(plane, container="first", sinceSeconds="3", pretty="true", **given)
    path, _, query = step.target.partition("?uid=")
    assert path == "/logs/default/web/first"
    assert query.partition("&")[2].split("&") == [
        "follow=true", "previous=true", "tailLines=0", "sinceSeconds=3", "limitBytes=7",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({}, 400, "a container name must be specified for pod web, choose one of: [a b] or one of the init containers"
                  ": [first]"),
        ({"container": "c"}, 400, "container c is not valid for pod web"),
        ({"container": "a", "tailLines": "-1"}, 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"container": "a", "tailLines": "many"}, 400, "tailLines"),
        ({"container": "a", "tailLines": "9" * 30}, 400, "tailLines"),
        ({"container": "a", "limitBytes": "0"}, 422, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"container": "a", "sinceSeconds": "0"}, 422, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        ({"container": "a", "sinceTime": "yesterday"}, 400, "sinceTime"),
        ({"container": "a", "sinceTime": "2026-01-01T00:00:00Z", "sinceSeconds": "1"}, 422,
         "at most one of `sinceTime` or `sinceSeconds` may be specified"),
        ({"container": "a", "follow": "perhaps"}, 400, "follow"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_kubernetes_words(
    plane: InProcess, query: dict[str, str], status: int, words: str
) -> None:
    node(plane)
    made(plane, PODS, several())
    code, message = refusal(plane, **query)
    assert (code, words in message) == (status, True), message


def test_a_pod_without_a_node_says_so(plane: InProcess) -> None:
    made(plane, PODS, pod("web"))
    status, message = refusal(plane)
    assert status == 400
    assert "is waiting to start: the pod has no node yet" in message


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"fairlead.dev/endpoint": "https://127.0.0.1:10250"},
        {**WHERE, "fairlead.dev/endpoint": "http://127.0.0.1:10250"},
        {**WHERE, "fairlead.dev/endpoint": "https://127.0.0.1:10250/elsewhere"},
        {**WHERE, "fairlead.dev/endpoint": "https://127.0.0.1:99999"},
        {**WHERE, "fairlead.dev/endpoint": "https://me@127.0.0.1:10250"},
        {**WHERE, "fairlead.dev/endpoint-certificate": "abc"},
    ],
)
def test_a_node_that_announces_nothing_good_is_not_asked(
    plane: InProcess, annotations: dict[str, str]
) -> None:
    node(plane, annotations=annotations)
    made(plane, PODS, pod("web", "one"))
    status, message = refusal(plane)
    assert status == 400
    assert 'node "one" of pod "web" tells no logs' in message
    assert "hollow nodes only pretend" in message


def test_a_node_that_is_gone_took_its_logs_along(plane: InProcess) -> None:
    made(plane, PODS, pod("web", "one"))
    status, message = refusal(plane)
    assert (status, 'nodes "one" not found' in message) == (404, True)


WAITING: dict[str, Any] = {
    "waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}
}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 1, "reason": "Error"}}
RESTING: dict[str, Any] = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ENDED}


@pytest.mark.parametrize(
    ("status", "previous", "words"),
    [
        (None, "", 'container "c" in pod "web" is waiting to start: ContainerCreating'),
        ({"state": WAITING}, "", 'is waiting to start: CreateContainerConfigError: secret "x" not found'),
        ({"state": {"running": {}}}, "", 'container "c" in pod "web" is not available'),
        ({"state": {"running": {}}}, "true", 'previous terminated container "c" in pod "web" not found'),
    ],
)
def test_what_a_node_does_not_have_is_told_from_the_status(
    plane: InProcess, status: dict[str, Any] | None, previous: str, words: str
) -> None:
    with_status(plane, status)
    error = asked(plane, previous=previous).refused(404, "nothing was printed yet")
    assert isinstance(error, ApiError)
    assert error.status == 400
    assert words in str(error)


def with_status(plane: InProcess, status: dict[str, Any] | None) -> None:
    node(plane)
    wanted = pod("web", "one")
    wanted["spec"]["containers"][0]["name"] = "c"
    made(plane, PODS, wanted)
    if status is not None:
        told = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, **status}
        code, body = plane.patch(f"{PODS}/web/status", {"status": {"containerStatuses": [told]}})
        assert code == 200, body


@pytest.mark.parametrize(("status", "asks"), [(RESTING, False), ({"state": ENDED, "lastState": ENDED}, True)])
def test_between_two_runs_the_newest_is_the_previous_one(
    plane: InProcess, status: dict[str, Any], asks: bool
) -> None:
    with_status(plane, status)
    assert ("previous=true" in asked(plane, previous="true").target) is asks


def test_a_node_that_cannot_answer_is_named(plane: InProcess) -> None:
    with_status(plane, None)
    step = asked(plane)
    assert step.refused(429, "too many").status == 429
    error = step.refused(403, "only system:fairlead may ask here")
    assert (error.status, 'node "one" does not answer at https://127.0.0.1:10250' in str(error)) == (
        503,
        True,
    )
