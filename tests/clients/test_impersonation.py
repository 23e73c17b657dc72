"""`kubectl --as`: on every kind of route, with the rights of the impersonated alone, audited with both names."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import config, node, pod
from tests.running import Running

NODE = "--as=system:node:worker-1 --as-group=system:nodes"
VIEWER = "--as=eve --as-group=fairlead:viewers"


@pytest.fixture(scope="module")
def world(kubectl: Operator) -> Operator:
    kubectl("create -f -", [config("c", {"a": "1"}), pod("mine", node="worker-1"), pod("other")])
    kubectl("create secret generic s --from-literal=word=swordfish")
    return kubectl


def new_token(server: Running, role: str, name: str) -> str:
    made = subprocess.run(
        [nursery.command(), "token", "create", "--role", role, "--name", name, "--data-dir", server.directory],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return made.stdout.strip()


@pytest.fixture(scope="module")
def viewer_token(server: Running) -> str:
    return new_token(server, "viewer", "ann")


def audited(server: Running) -> list[dict[str, Any]]:
    _, page = server.request("GET", "/fairlead/v1/audit?limit=1000")
    return [item["record"] for item in page["items"]]


def test_nobody_may_nothing_and_is_told_so(world: Operator) -> None:
    assert 'User "nobody" cannot list resource "pods"' in world.refused("--as=nobody get pods")
    assert 'User "nobody" cannot create resource "configmaps"' in world.refused("--as=nobody create cm x")
    for who in ("nobody", "system:node:worker-1", "system:serviceaccount:default:default"):
        done = world.run(f"--as={who} auth can-i list pods")
        assert (done.code, done.out.split()[0]) == (1, "no")
    assert world(f"{VIEWER} auth can-i list pods") == "yes\n"
    assert world("--as=root --as-group=system:masters auth can-i delete pods") == "yes\n"


def test_whoami_tells_of_the_other(world: Operator) -> None:
    said = table(world("auth whoami --as=eve --as-group=g1 --as-group=g2 --as-uid=7"))
    assert {row["ATTRIBUTE"]: row["VALUE"] for row in said} == {
        "Username": "eve",
        "UID": "7",
        "Groups": "[g1 g2 system:authenticated]",
    }
    account = world("auth whoami --as=system:serviceaccount:shop:builder -o json")
    assert json.loads(account)["status"]["userInfo"]["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    ]
    assert "you do not have permission" in world.refused("auth whoami --as=system:anonymous")
    assert 'User "system:anonymous" cannot' in world.refused("auth can-i list pods --as=system:anonymous")


def test_a_viewer_and_a_node_have_their_own_rights_and_no_others(world: Operator) -> None:
    assert world(f"{VIEWER} get cm c -o jsonpath={{.data.a}}") == "1"
    assert 'User "eve" cannot get resource "secrets"' in world.refused(f"{VIEWER} get secret s")
    world(f"{NODE} create -f -", node("worker-1", role=""))
    assert "mine" in world(f"{NODE} get pods --field-selector spec.nodeName=worker-1")
    for line in ("get pod other", "get secret s", "delete node worker-1"):
        assert 'User "system:node:worker-1" cannot' in world.refused(f"{NODE} {line}")
    # What admission forbids a node it forbids whoever acts as one.
    assert 'node "worker-1" can only write its own Node' in world.refused(
        f"{NODE} create -f -", node("worker-2")
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/pods"),
        ("GET", "/api/v1/pods?watch=true&timeoutSeconds=1"),
        ("GET", "/apis/metrics.k8s.io/v1beta1/nodes"),
        ("GET", "/api/v1/namespaces/default/pods/mine/log"),
        ("GET", "/metrics"),
        ("GET", "/fairlead/v1/audit"),
        ("GET", "/fairlead/v1/decisions"),
        ("GET", "/fairlead/v1/explain/default/mine"),
        ("POST", "/fairlead/v1/plan"),
        ("DELETE", "/api/v1/namespaces/default/configmaps/c"),
    ],
)
def test_every_route_takes_the_request_as_the_others(
    server: Running, world: Operator, viewer_token: str, method: str, path: str
) -> None:
    status, said = server.request(method, path, headers={"Impersonate-User": "nobody"})
    assert status == 403
    assert 'User "nobody" cannot' in said["message"]
    status, said = server.request(method, path, token=viewer_token, headers={"Impersonate-User": "admin"})
    assert status == 403
    assert 'User "ann" cannot impersonate resource "users"' in said["message"]


@pytest.mark.parametrize("path", ["/api", "/apis", "/openapi/v3", "/version", "/readyz"])
def test_also_where_no_right_is_needed(server: Running, viewer_token: str, path: str) -> None:
    anonymous = {"Impersonate-User": "system:anonymous"}
    assert server.request("GET", path, headers=anonymous)[0] == (
        200 if path in ("/version", "/readyz") else 403
    )
    assert server.request("GET", path, headers={"Impersonate-User": "nobody"})[0] == 200
    assert server.request("GET", path, token=viewer_token, headers=anonymous)[0] == 403
    assert server.request("GET", path, headers={"Impersonate-Group": "g"})[0] == 400
    if path in ("/version", "/readyz"):
        assert server.request("GET", path, token=None, headers=anonymous)[0] == 403
    else:
        assert server.request("GET", path, token=None, headers=anonymous)[0] == 401


def test_audit_names_both(server: Running, world: Operator, viewer_token: str) -> None:
    world("--as=root --as-group=system:masters create cm by-root")
    world.run("--as=nobody delete cm by-root")
    server.request("GET", "/api/v1/pods", token=viewer_token, headers={"Impersonate-User": "admin"})
    names = ("root", "nobody", "admin")

    def both() -> set[tuple[str, str, str, int]]:
        lines = [each for each in audited(server) if each.get("impersonatedUser") in names]
        return {(each["user"], each["impersonatedUser"], each["verb"], each["code"]) for each in lines}

    # The line of a refusal is written after the answer.
    eventually(lambda: {("admin", "root", "create", 201), ("ann", "admin", "list", 403)} <= both())
    told = both()
    assert ("admin", "nobody", "delete", 403) in told or ("admin", "nobody", "get", 403) in told
    by_root = next(each for each in audited(server) if each.get("impersonatedUser") == "root")
    assert by_root["impersonatedGroups"] == ["system:masters", "system:authenticated"]
    shown = subprocess.run(
        [nursery.command(), "audit", "--user", "root", "--kubeconfig", server.kubeconfig],
        capture_output=True,
        text=True,
    )
    assert "admin as root" in shown.stdout


def test_a_watch_as_another_ends_with_the_token_it_was_opened_with(server: Running, world: Operator) -> None:
    chief = new_token(server, "admin", "chief")
    sent = {
        "Impersonate-User": "eve",
        "Impersonate-Group": "fairlead:viewers",
        "Authorization": f"Bearer {chief}",
    }
    connection = server.connect()
    connection.request("GET", "/api/v1/configmaps?watch=true", headers=sent)
    stream = connection.getresponse()
    assert stream.status == 200
    assert b'"ADDED"' in stream.readline()
    # Another token comes, and the table of tokens is read again: the stream goes on.
    assert server.request("GET", "/version", token=new_token(server, "viewer", "bob"))[0] == 200
    world("create cm later")
    line = b"-"
    while line and b'"later"' not in line:
        line = stream.readline()
    assert line
    subprocess.run(
        [nursery.command(), "token", "revoke", "chief", "--data-dir", server.directory], check=True
    )
    while stream.readline():
        pass
    connection.close()
