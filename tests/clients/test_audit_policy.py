"""An AuditPolicy on a real server: it counts at once and after kill -9, and cannot silence its own change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests import nursery
from tests.clients.kubectl import Operator
from tests.clients.test_audit_reads import audited
from tests.running import Running, need_kubectl

ARGUMENTS = ("--without-controllers",)
EVERYTHING = {"level": "None"}


def policy(*rules: Any) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "AuditPolicy",
        "metadata": {"name": "default"},
        "spec": {"rules": list(rules)},
    }


def people(server: Running) -> list[tuple[str, str, str]]:
    """(user, verb, object) of each line of people."""
    return [
        (each["user"], each["verb"], f"{each['object']['resource']}/{each['object'].get('name', '')}")
        for each in audited(server)
        if each["user"] in ("admin", "ci") and each["object"].get("resource")
    ]


def test_a_policy_is_changed_restarted_with_and_deleted(tmp_path: Path) -> None:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=ARGUMENTS)
    try:
        path = tmp_path / "ci.kubeconfig"
        named = ["--role", "admin", "--name", "ci", "--data-dir", str(server.directory), "-o", str(path)]
        subprocess.run([nursery.command(), "token", "create", *named], check=True, capture_output=True)
        admin, robot = Operator(server.kubeconfig), Operator(path)
        robot("create -f -", [policy({"level": "None", "users": ["ci"]})])
        robot("create configmap unseen")
        admin("create configmap seen")
        everything = json.dumps({"spec": {"rules": [EVERYTHING]}})
        robot(f"patch auditpolicy default --type merge -p '{everything}'")
        admin("create configmap unseen-too")
        server.kill()
        server = Running(server.directory, server.port, arguments=ARGUMENTS)
        admin("create configmap unseen-again")
        assert "values never reach" in admin.refused(
            "patch auditpolicy default --type merge -p "
            '\'{"spec": {"rules": [{"level": "RequestResponse"}]}}\''
        )
        robot("delete auditpolicy default --dry-run=server")
        robot("delete auditpolicy default")
        robot("create configmap seen-again")
        assert people(server) == [
            ("ci", "create", "auditpolicies/default"),
            ("admin", "create", "configmaps/seen"),
            ("ci", "patch", "auditpolicies/default"),
            ("admin", "patch", "auditpolicies/default"),
            ("ci", "delete", "auditpolicies/default"),
            ("ci", "create", "configmaps/seen-again"),
        ]
    finally:
        server.stop()
