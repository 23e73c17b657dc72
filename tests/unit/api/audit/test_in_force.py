"""The AuditPolicy that is in force: from its commit, after a restart, and when it cannot be understood."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.api.audit.in_force import PolicyInForce
from fairlead.api.audit.recording import Audit
from fairlead.api.audit.rules import AuditTarget
from fairlead.api.objects import put
from fairlead.model.key import Key
from fairlead.model.kinds.auditpolicy import KIND
from fairlead.store.contract import CommittedChange, Entry, Transaction
from fairlead.store.damage import stand_in
from tests.inprocess import InProcess

PATH = "/apis/fairlead.dev/v1/auditpolicies"
CI = User("ci", groups=(MASTERS,))
POD = AuditTarget("", "pods", "builds", "web")
KEY = Key("auditpolicies.fairlead.dev", "", "default")


def body(*rules: Any) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "AuditPolicy",
        "metadata": {"name": "default"},
        "spec": {"rules": list(rules)},
    }


SILENT = {"level": "None", "users": ["ci"]}


def kept(plane: InProcess, user: User = CI, target: AuditTarget = POD) -> bool:
    return bool(plane.desk.audit.accepted(plane.context(user), "patch", target, 200))


@pytest.fixture
def plane() -> InProcess:
    return InProcess()


def test_a_policy_counts_from_its_commit_until_it_is_gone(plane: InProcess) -> None:
    assert kept(plane)
    assert plane.post(PATH, body(SILENT))[0] == 201
    assert not kept(plane)
    assert kept(plane, User("eve"))
    changed = plane.patch(f"{PATH}/default", {"spec": {"rules": [{"level": "None", "users": ["eve"]}]}})
    assert changed[0] == 200
    assert kept(plane)
    assert not kept(plane, User("eve"))
    assert plane.delete(f"{PATH}/default")[0] == 200
    assert kept(plane, User("eve"))


def test_rules_about_one_object_or_one_namespace_are_about_no_other(plane: InProcess) -> None:
    named = {"level": "None", "resources": [{"resources": ["pods"], "resourceNames": ["web"]}]}
    plane.post(PATH, body(named, {"level": "None", "namespaces": ["junk"]}))
    assert not kept(plane)
    assert kept(plane, target=AuditTarget("", "pods", "builds", "db"))
    assert not kept(plane, target=AuditTarget("", "pods", "junk", "db"))


def test_what_no_rule_matches_is_for_the_built_in_ones(plane: InProcess) -> None:
    plane.post(PATH, body({"level": "Metadata", "verbs": ["get"], "resources": [{"resources": ["nodes"]}]}))
    audit, context = plane.desk.audit, plane.context(CI)
    assert audit.read(context, "get", AuditTarget("", "nodes", name="n1"), 200)
    assert audit.read(context, "get", AuditTarget("", "secrets", "default", "s"), 200)
    assert not audit.read(context, "get", POD, 200)
    assert kept(plane)


def test_a_policy_survives_a_restart(plane: InProcess) -> None:
    plane.post(PATH, body(SILENT))
    audit = Audit()
    assert PolicyInForce(audit).learn(plane.store) == []
    assert audit.accepted(plane.context(CI), "patch", POD, 200) == ()
    assert audit.accepted(plane.context(), "patch", POD, 200)


@pytest.mark.parametrize(
    "data",
    [
        b"not JSON",
        b'{"spec": 7}',
        b'{"spec": {"rules": [{"level": "RequestResponse"}]}}',
        b'{"spec": {"rules": [{"level": "None", "users": "all"}]}}',
        b'{"spec": {"rules": [{"level": "None", "onlyOnSundays": true}]}}',
        stand_in(KEY, 9, "u", "bit rot", b"").data,
    ],
)
def test_what_cannot_be_understood_changes_nothing_and_is_told(plane: InProcess, data: bytes) -> None:
    broken = CommittedChange("MODIFIED", Entry(KEY, "u", 9, data), None)
    (trouble,) = plane.audit_policy.observe([broken])
    assert "audit goes on as before" in trouble
    assert kept(plane)
    plane.post(PATH, body(SILENT))
    assert plane.audit_policy.observe([broken])
    assert not kept(plane)
    assert kept(plane, User("eve"))


def in_force(found: dict[str, Any]) -> tuple[str, str, int]:
    (condition,) = found["status"]["conditions"]
    assert condition["type"] == "InForce"
    assert condition["observedGeneration"] == found["status"]["observedGeneration"]
    return condition["status"], condition["reason"], condition["observedGeneration"]


def test_its_status_says_that_it_is_followed_and_nobody_else_may(plane: InProcess) -> None:
    forged = {"conditions": [{"type": "InForce", "status": "False"}], "observedGeneration": 9}
    made = plane.post(PATH, {**body(SILENT), "status": forged})[1]
    assert in_force(made) == ("True", "Followed", made["metadata"]["generation"])
    changed = plane.patch(f"{PATH}/default", {"spec": {"rules": []}})[1]
    assert in_force(changed) == ("True", "Followed", changed["metadata"]["generation"])
    assert changed["metadata"]["generation"] == made["metadata"]["generation"] + 1
    kept = plane.patch(f"{PATH}/default/status", {"status": forged})[1]
    assert in_force(kept) == in_force(changed)
    again = plane.patch(f"{PATH}/default/status", {"status": {}})[1]
    assert again["metadata"]["resourceVersion"] == kept["metadata"]["resourceVersion"]
    table = plane.get(PATH, accept="application/json;as=Table;v=v1;g=meta.k8s.io")[1]
    assert table["rows"][0]["cells"][:3] == ["default", "True", 0]


def test_one_that_a_newer_version_wrote_is_told_not_to_be_followed(plane: InProcess) -> None:
    made = plane.post(PATH, body(SILENT))[1]
    made["spec"]["rules"][0]["onlyOnSundays"] = True
    plane.commit(Transaction((put(KIND, KEY, made),)))
    for found in (plane.get(f"{PATH}/default")[1], plane.get(PATH)[1]["items"][0]):
        assert in_force(found)[:2] == ("False", "NotUnderstood")
        assert "spec.rules[0].onlyOnSundays is not known" in found["status"]["conditions"][0]["message"]
