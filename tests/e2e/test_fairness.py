"""A loud client and others beside it: they are served while its requests wait. Counts and order, no durations.

The loud one asks for long lists and does not read them, so that what it is given stays under way.
"""

from __future__ import annotations

import json
import re
import select
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.e2e.raw import Answer, Raw, assert_no_traceback
from tests.running import Running

Json = dict[str, Any]

LOUD = 80  # connections
OBJECTS, OBJECT_BYTES = 150, 100_000
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LISTS = b"GET /api/v1/namespaces/big/configmaps HTTP/1.1\r\n"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    server = Running(tmp_path_factory.mktemp("fairness") / "data", arguments=("--without-controllers",))
    make(server, "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "big"}})
    for number in range(OBJECTS):
        body = {"kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"a": "x" * OBJECT_BYTES}}
        make(server, "/api/v1/namespaces/big/configmaps", body)
    make(server, LEASES, {"kind": "Lease", "metadata": {"name": "n1"}, "spec": {"holderIdentity": "n1"}})
    yield server
    server.stop()
    assert_no_traceback(server)


def make(server: Running, path: str, body: Json) -> Json:
    group = "/".join(path.split("/")[2:4]) if path.startswith("/apis") else "v1"
    status, answer = server.request("POST", path, {"apiVersion": group, **body})
    assert status == 201, answer
    made: Json = answer
    return made


def token(server: Running, role: str, name: str) -> bytes:
    command = [str(nursery.command()), "token", "create", "--role", role, "--name", name, "-o", "json"]
    command += ["--data-dir", str(server.directory)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return str(json.loads(told)["token"]).encode()


def send(raw: Raw, token: bytes, line: bytes, body: bytes = b"") -> None:
    head = b"Host: h\r\nAuthorization: Bearer %b\r\n" % token
    if body:
        head += b"Content-Type: application/merge-patch+json\r\nContent-Length: %d\r\n" % len(body)
    raw.send(line + head + b"\r\n" + body)


def counted(server: Running, name: str, **labels: str) -> float:
    _, text = server.request("GET", "/metrics")
    found = 0.0
    for line in text.splitlines():
        if line.startswith(f"apiserver_flowcontrol_{name}{{"):
            known = dict(re.findall(r'(\w+)="([^"]*)"', line))
            if labels.items() <= known.items():
                found += float(line.rpartition(" ")[2])
    return found


def test_a_lease_a_person_and_an_admin_are_served_while_a_loud_clients_requests_wait(plane: Running) -> None:
    loud, person, node = (
        token(plane, "viewer", "loud"),
        token(plane, "viewer", "ann"),
        token(plane, "node", "n1"),
    )
    with ExitStack() as stack:
        for _ in range(LOUD):
            send(stack.enter_context(Raw(plane)), loud, LISTS)

        def waiting() -> float:
            return counted(plane, "current_inqueue_requests", priority_level="global-default")

        eventually(lambda: waiting() > LOUD / 2)
        quiet = stack.enter_context(Raw(plane))
        for number in range(20):
            renewal = b'{"spec":{"renewTime":"2026-01-01T00:00:%02d.000000Z"}}' % number
            send(quiet, node, b"PATCH %b/n1 HTTP/1.1\r\n" % LEASES.encode(), renewal)
            assert quiet.answer().status == 200
            send(quiet, person, b"GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\n")
            assert quiet.answer().status == 200
        assert waiting() > 0, "the loud one still waits"
        assert counted(plane, "dispatched_requests_total", flow_schema="system-node-high") >= 20
    eventually(lambda: waiting() == 0)  # its clients are gone, and so are they
    eventually(lambda: counted(plane, "current_executing_seats", priority_level="global-default") == 0)


def test_a_schema_and_a_level_are_in_force_when_they_are_committed_and_who_is_too_many_gets_a_429(
    plane: Running,
) -> None:
    queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": 1}
    limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Queue", "queuing": queuing}}
    spec = {"type": "Limited", "limited": {**limited, "borrowingLimitPercent": 0}}
    level = make(
        plane,
        f"{FLOW}/prioritylevelconfigurations",
        {"kind": "PriorityLevelConfiguration", "metadata": {"name": "narrow"}, "spec": spec},
    )
    rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    subjects = [{"kind": "User", "user": {"name": name}} for name in ("robot", "other-robot")]
    schema = make(
        plane,
        f"{FLOW}/flowschemas",
        {
            "kind": "FlowSchema",
            "metadata": {"name": "robots"},
            "spec": {
                "priorityLevelConfiguration": {"name": "narrow"},
                "matchingPrecedence": 50,
                "rules": [{"subjects": subjects, "resourceRules": [rule]}],
            },
        },
    )
    robot = token(plane, "viewer", "robot")
    with ExitStack() as stack:
        connections = [stack.enter_context(Raw(plane)) for _ in range(30)]
        for raw in connections:
            send(raw, robot, LISTS)
        eventually(
            lambda: counted(plane, "rejected_requests_total", flow_schema="robots", reason="queue-full") > 0
        )
        refused = [answer for raw in connections if (answer := refusal(raw)) is not None]
        assert refused
        for answer in refused:
            assert answer.headers["retry-after"] == ["1"]
            assert answer.json()["reason"] == "TooManyRequests"
            assert answer.message.startswith("Too many requests, please try again later.")
            uids = [answer.headers[f"x-kubernetes-pf-{each}-uid"] for each in ("flowschema", "prioritylevel")]
            assert uids == [[schema["metadata"]["uid"]], [level["metadata"]["uid"]]]


def refusal(raw: Raw) -> Answer | None:
    """What a connection was answered with, if it is a 429; None if it is a list, or nothing yet."""
    readable, _, _ = select.select([raw.socket], [], [], 0.0)
    if not readable:
        return None
    raw.socket.settimeout(60)
    answer = raw.answer()
    return answer if answer.status == 429 else None
