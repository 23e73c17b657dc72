"""What the audit log keeps of reads and of strangers, on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.running import Running

SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(scope="module")
def world(kubectl: Operator) -> Operator:
    kubectl("create secret generic s --from-literal=word=swordfish")
    return kubectl


def audited(server: Running, stream: str = "") -> list[dict[str, Any]]:
    _, page = server.request("GET", f"/fairlead/v1/audit?limit=1000&stream={stream}")
    return [item["record"] for item in page["items"]]


@pytest.mark.parametrize(
    ("verb", "method", "target", "body"),
    [
        ("get", "GET", f"{SECRETS}/s", None),
        ("list", "GET", SECRETS, None),
        ("list", "GET", f"{SECRETS}?resourceVersion=8&resourceVersionMatch=Exact", None),
        ("watch", "GET", f"{SECRETS}?watch=true&timeoutSeconds=1", None),
    ],
)
def test_reads_of_secrets_leave_a_line(
    server: Running, world: Operator, verb: str, method: str, target: str, body: Any
) -> None:
    def lines() -> int:
        return sum(
            each["verb"] == verb and each["object"].get("resource") == "secrets" for each in audited(server)
        )

    before = lines()
    status, _ = server.request(method, target, body)
    assert (status, lines()) in ((200, before + 1), (410, before))
    assert server.request("GET", "/api/v1/namespaces")[0] == 200
    assert lines() <= before + 1


def test_strangers_displace_nothing(server: Running, world: Operator) -> None:
    before = len(audited(server))
    for _ in range(30):
        assert server.request("GET", SECRETS, token=None)[0] == 401
        assert server.request("GET", SECRETS, token="guess")[0] == 401
    assert len(audited(server)) == before
    strangers = eventually(lambda: audited(server, "strangers"))
    assert {each["user"] for each in strangers} == {"system:anonymous"}
    assert server.request("GET", "/fairlead/v1/audit?stream=nope")[0] == 400


def test_a_write_that_changes_nothing_leaves_a_line_if_it_shows_a_secret(
    server: Running, world: Operator
) -> None:
    world("create configmap plain")
    before = len(audited(server))
    world('patch configmap plain --type merge -p \'{"data": {"a": "b"}}\' --dry-run=server')
    world("create configmap other --dry-run=server")
    world("auth can-i list pods")
    assert audited(server)[before:] == []
    patch = f"{SECRETS}/s"
    merge = {"Content-Type": "application/merge-patch+json"}
    assert server.request("PATCH", f"{patch}?dryRun=All", {"type": "Opaque"}, headers=merge)[0] == 200
    assert server.request("PATCH", patch, {}, headers=merge)[0] == 200
    assert [
        (each["verb"], each["object"]["name"], "changed" in each) for each in audited(server)[before:]
    ] == [
        ("patch", "s", False),
        ("patch", "s", False),
    ]
