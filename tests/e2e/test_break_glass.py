"""Grants and the chain of the audit log on a real server: streams end, restarts lose nothing, what was taken out shows."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests import nursery
from tests.running import Running

GRANTS = "/apis/fairlead.dev/v1/accessgrants"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
MERGE = {"Content-Type": "application/merge-patch+json"}


class Plane:
    """A server, and tokens of people who have roles of an incident."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.server = Running(directory)
        self.tokens = {name: self._token(name) for name in ("jane", "ann", "eve")}
        for name, role in (("jane", "operator"), ("ann", "approver"), ("eve", "break-glass")):
            self.bind(name, f"fairlead:{role}")
        self.ask(
            "POST",
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        )

    def _token(self, name: str) -> str:
        made: list[str | Path] = [
            nursery.command(),
            "token",
            "create",
            "--name",
            name,
            "--data-dir",
            self.directory,
            "-o",
            "json",
        ]
        return str(json.loads(subprocess.run(made, capture_output=True, check=True).stdout)["token"])

    def bind(self, name: str, role: str) -> None:
        group = "rbac.authorization.k8s.io"
        body = {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
        }
        assert self.ask("POST", BINDINGS, body)[0] == 201

    def ask(self, method: str, target: str, body: Any = None, who: str = "") -> tuple[int, Any]:
        headers = MERGE if method == "PATCH" else None
        return self.server.request(
            method, target, body, token=self.tokens[who] if who else "", headers=headers
        )

    def grant(self, name: str, who: str = "jane", **spec: Any) -> None:
        whole = {
            "subject": {"kind": "User", "name": who},
            "role": {"kind": "ClusterRole", "name": "edit"},
            "namespaces": ["shop"],
            "reason": "a test",
            "expiresAfter": "1h",
            **spec,
        }
        body = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "AccessGrant",
            "metadata": {"name": name},
            "spec": whole,
        }
        status, answer = self.ask("POST", GRANTS, body, who)
        assert status == 201, answer

    def decide(self, name: str, decision: str) -> None:
        status, answer = self.ask(
            "PATCH", f"{GRANTS}/{name}/status", {"status": {"decision": decision}}, "ann"
        )
        assert status == 200, answer

    def write(self, name: str, who: str = "jane") -> int:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        return self.ask("POST", "/api/v1/namespaces/shop/configmaps", body, who)[0]

    def verify(self, *words: str) -> tuple[int, Any]:
        told: list[str | Path] = [
            nursery.command(),
            "audit",
            "verify",
            "--data-dir",
            self.directory,
            "-o",
            "json",
            *words,
        ]
        done = subprocess.run(told, capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)


def awaited(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come about within a minute")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    made = Plane(tmp_path_factory.mktemp("plane") / "data")
    yield made
    made.server.stop()


def test_a_watch_that_a_grant_allowed_ends_when_it_is_revoked(plane: Plane) -> None:
    plane.grant("watching")
    plane.decide("watching", "Approved")
    connection = plane.server.connect()
    headers = {"Authorization": f"Bearer {plane.tokens['jane']}"}
    connection.request("GET", "/api/v1/namespaces/shop/secrets?watch=true", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200
    plane.decide("watching", "Revoked")
    answer.read()  # to its end, which comes although nothing happens to Secrets
    connection.close()
    assert plane.ask("GET", "/api/v1/namespaces/shop/secrets", who="jane")[0] == 403


def test_breaking_the_glass_raises_an_alarm(plane: Plane) -> None:
    plane.grant("alone", "eve", selfApproved=True)
    assert plane.write("by-eve", "eve") == 201

    def alarms() -> list[str]:
        events = plane.ask("GET", "/api/v1/namespaces/default/events")[1]["items"]
        return [each["message"] for each in events if each["reason"] == "BreakGlass"]

    assert "eve approved this grant of edit alone" in awaited(alarms)[0]
    assert "BREAK-GLASS: eve" in plane.server.log.read_text()


def test_what_was_written_is_counted_though_the_server_was_killed_in_between(plane: Plane) -> None:
    plane.grant("night")
    plane.decide("night", "Approved")
    assert plane.write("one") == 201
    plane.server.kill()
    assert plane.verify()[0] == 0
    plane.server = Running(plane.directory)
    assert plane.write("two") == 201
    plane.decide("night", "Revoked")
    assert plane.write("three") == 403
    status = awaited(
        lambda: (found := plane.ask("GET", f"{GRANTS}/night")[1]["status"]).get("review") and found
    )
    assert (status["writes"], status["review"]["state"]) == (2, "Open")


def test_what_was_taken_out_of_the_audit_log_shows(plane: Plane) -> None:
    plane.write("more", "jane")
    code, found = plane.verify()
    assert code == 0
    head = found["logs"]["audit"]["head"]
    assert plane.verify("--head", f"audit:{head['line']}:{head['digest']}")[0] == 0
    plane.server.stop()
    connection = apsw.Connection(str(plane.directory / "store.db"))
    connection.execute("DELETE FROM notes WHERE stream = 'audit' AND seq = ?", (head["line"] - 3,))
    connection.close()
    plane.server = Running(plane.directory)
    code, found = plane.verify()
    assert code == 1
    assert found["logs"]["audit"]["broken"][0] == {"line": head["line"] - 3, "what": "the line was removed"}
