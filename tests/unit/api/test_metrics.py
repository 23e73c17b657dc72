"""metrics.k8s.io: whom it asks, and what it makes of the answers, good, missing and bad."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from fairlead.api.access.users import VIEWERS, User
from fairlead.api.plan import NodeQuestion
from fairlead.core.errors import ApiError
from fairlead.port.request import Reply, Request
from fairlead.port.usage import Amount, ContainerUsage, NodeUsage, PodUsage
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.access.granting import give_defaults
from tests.unit.api.test_log import NODES, PIN, PODS
from tests.unit.api.things import made, pod

AT = 1_800_000_000.0
FAR = b'{"at": 1e300, "window": 1, "usage": {"cpuNanos": 1, "memoryBytes": 1}}'
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def plane() -> InProcess:
    """Nodes one and two tell, three does not. Pods a and b on one, c on two, d on three, e nowhere."""
    plane = InProcess()
    for number, name in enumerate(("one", "two", "three")):
        metadata: dict[str, Any] = {"name": name, "labels": {"zone": "z" if number else "a"}}
        if name != "three":
            metadata["annotations"] = {
                "fairlead.dev/endpoint": f"https://127.0.0.1:{10250 + number}",
                "fairlead.dev/endpoint-certificate": PIN,
            }
        made(plane, NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    for name, node in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "three"), ("e", "")):
        made(plane, PODS, pod(name, node, labels={"app": name}))
    return plane


def asked(plane: InProcess, resource: str, user: User = ADMIN, **more: Any) -> NodeQuestion:
    verb = "get" if more.get("name") else "list"
    step = plane.api.plan(Request(verb, "metrics.k8s.io", "v1beta1", resource, **more), plane.context(user))
    assert isinstance(step, NodeQuestion)
    return step


def uid(plane: InProcess, name: str) -> str:
    found: str = plane.get(f"{PODS}/{name}")[1]["metadata"]["uid"]
    return found


def told(plane: InProcess, *names: str, cpu: int = 250_000_000) -> bytes:
    amount = Amount(cpu, 64 * 1024 * 1024)
    pods = tuple(
        PodUsage(
            uid(plane, name), AT, 10.25, (ContainerUsage("main", amount), ContainerUsage("side", amount))
        )
        for name in names
    )
    return msgspec.json.encode(NodeUsage(AT, 10.0, amount, pods))


def body(reply: Reply) -> Any:
    return json.loads(reply.body)


def names(reply: Reply) -> list[str]:
    return [item["metadata"]["name"] for item in body(reply)["items"]]


def test_nodes_that_tell_are_asked_and_shown(plane: InProcess) -> None:
    question = asked(plane, "nodes")
    assert [node.name for node in question.nodes] == ["one", "two"]
    reply = question.finish({"one": told(plane), "two": told(plane)})
    assert names(reply) == ["one", "two"]
    assert not reply.warnings
    first = body(reply)["items"][0]
    assert (first["kind"], first["apiVersion"]) == ("NodeMetrics", "metrics.k8s.io/v1beta1")
    assert first["usage"] == {"cpu": "250000000n", "memory": "65536Ki"}
    assert (first["timestamp"], first["window"]) == ("2027-01-15T08:00:00Z", "10s")
    assert first["metadata"]["labels"] == {"zone": "a"}


def test_only_nodes_with_pods_that_are_meant_are_asked(plane: InProcess) -> None:
    for query, expected in (
        ({}, {"one", "two"}),
        ({"labelSelector": "app=c"}, {"two"}),
        ({"labelSelector": "app in (d,e)"}, set()),
        ({"fieldSelector": "metadata.name=a"}, {"one"}),
    ):
        question = asked(plane, "pods", namespace="default", query=query)
        assert {node.name for node in question.nodes} == expected
    assert asked(plane, "pods", namespace="kube-system").nodes == ()


def test_a_node_speaks_of_its_own_pods_only(plane: InProcess) -> None:
    reply = asked(plane, "pods").finish({"one": told(plane, "b", "a", "c", "d", "e"), "two": told(plane)})
    assert names(reply) == ["a", "b"]
    containers = body(reply)["items"][0]["containers"]
    assert [each["name"] for each in containers] == ["main", "side"]
    assert body(reply)["items"][0]["window"] == "10.25s"


@pytest.mark.parametrize("answer", [None, b"", b"no JSON", b"[]", b'{"at": "now"}', b'{"at": 1e400}', FAR])
def test_a_node_that_is_silent_or_talks_nonsense_is_left_out_with_a_warning(
    plane: InProcess, answer: bytes | None
) -> None:
    answers = {"one": told(plane, "a")} | ({"two": answer} if answer is not None else {})
    for resource, expected in (("pods", ["a"]), ("nodes", ["one"])):
        reply = asked(plane, resource).finish(answers)
        assert names(reply) == expected
        assert "two" in reply.warnings[0]


def test_one_is_shown_or_said_to_be_missing(plane: InProcess) -> None:
    question = asked(plane, "pods", namespace="default", name="a")
    assert [node.name for node in question.nodes] == ["one"]
    assert body(question.finish({"one": told(plane, "a", "b")}))["metadata"]["name"] == "a"
    for step, answers, status, words in (
        (question, {"one": told(plane, "b")}, 404, 'podmetrics.metrics.k8s.io "default/a" not found'),
        (question, {}, 503, 'node "one" does not answer at https://127.0.0.1:10250'),
        (asked(plane, "nodes", name="three"), {}, 404, 'nodemetrics.metrics.k8s.io "three" not found'),
        (asked(plane, "nodes", name="four"), {}, 404, 'nodemetrics.metrics.k8s.io "four" not found'),
    ):
        with pytest.raises(ApiError) as raised:
            step.finish(answers)
        assert (raised.value.status, words in str(raised.value)) == (status, True), str(raised.value)


def test_a_table_sums_the_containers(plane: InProcess) -> None:
    table = body(asked(plane, "pods", accept=TABLE).finish({"one": told(plane, "a")}))
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "cpu", "memory", "window"]
    assert table["rows"][0]["cells"] == ["a", "500000000n", "131072Ki", "10.25s"]


def test_numbers_below_nothing_are_nothing(plane: InProcess) -> None:
    reply = asked(plane, "nodes", name="one").finish({"one": told(plane, cpu=-5)})
    assert body(reply)["usage"]["cpu"] == "0n"


def test_viewers_read_it_and_nobody_writes_it(plane: InProcess) -> None:
    viewer = User("v", groups=(VIEWERS, "system:authenticated"))
    give_defaults(plane.assembly.grants)
    assert asked(plane, "pods", viewer).nodes
    assert plane.api.plan(
        Request(
            verb="get",
            group="",
            version="v1",
            plural="pods",
            namespace="default",
            name="a",
            subresource="log",
        ),
        plane.context(viewer),
    ), "and logs"
    stranger = User("s", groups=("system:authenticated",))
    for who, verb, subresource, status in (
        (stranger, "list", "", 403),
        (ADMIN, "create", "", 405),
        (ADMIN, "delete", "", 405),
        (ADMIN, "watch", "", 405),
        (ADMIN, "get", "status", 405),
    ):
        name = "a" if verb in ("get", "delete") else ""
        request = Request(
            verb=verb,
            group="metrics.k8s.io",
            version="v1beta1",
            plural="pods",
            namespace="default",
            name=name,
            subresource=subresource,
        )
        with pytest.raises(ApiError) as raised:
            plane.api.plan(request, plane.context(who))
        assert raised.value.status == status


def test_a_node_reads_no_logs(plane: InProcess) -> None:
    node = User("system:node:one", groups=("system:nodes", "system:authenticated"))
    with pytest.raises(ApiError) as raised:
        plane.api.plan(
            Request(
                verb="get",
                group="",
                version="v1",
                plural="pods",
                namespace="default",
                name="a",
                subresource="log",
            ),
            plane.context(node),
        )
    assert raised.value.status == 403
