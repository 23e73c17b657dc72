"""What audit keeps of which request, and what it must never keep."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.access.users import ANONYMOUS, User
from fairlead.api.audit.recording import STRANGERS, STREAM, Audit, AuditMemory, audit_line, audit_record
from fairlead.api.audit.rules import (
    DEFAULT_POLICY,
    AuditLevel,
    AuditPolicy,
    AuditRule,
    AuditTarget,
    Resources,
)
from fairlead.api.plan import Context
from fairlead.store.contract import Note

ADMIN = User("admin", groups=("system:masters",))
NODE = User("system:node:n1", groups=("system:nodes",))
EVENT = AuditTarget("", "events", "default")
POD = AuditTarget(group="", plural="pods", namespace="default", name="web", subresource="", uid="uid-1")
LEASE = AuditTarget("coordination.k8s.io", "leases", "kube-node-lease", "n1")


def context(user: User = ADMIN, now: float = 1_700_000_000.25, **more: Any) -> Context:
    return Context(user, now, b"", **more)


def told(notes: tuple[Note, ...]) -> dict[str, Any]:
    (note,) = notes
    assert note.stream == STREAM
    decoded: dict[str, Any] = json.loads(note.body)
    return decoded


@pytest.mark.parametrize(
    ("verb", "status", "heartbeat", "level"),
    [
        ("create", 201, False, AuditLevel.CHANGES),
        ("update", 200, False, AuditLevel.CHANGES),
        ("patch", 200, False, AuditLevel.CHANGES),
        ("delete", 200, False, AuditLevel.CHANGES),
        ("update", 200, True, AuditLevel.COUNT),
        ("update", 409, True, AuditLevel.METADATA),
        ("create", 422, False, AuditLevel.METADATA),
        ("delete", 404, False, AuditLevel.METADATA),
        ("get", 200, False, AuditLevel.NONE),
        ("watch", 200, False, AuditLevel.NONE),
        ("get", 404, False, AuditLevel.NONE),
        ("get", 401, False, AuditLevel.METADATA),
        ("list", 403, False, AuditLevel.METADATA),
    ],
)
def test_the_default_policy(verb: str, status: int, heartbeat: bool, level: AuditLevel) -> None:
    assert DEFAULT_POLICY.level(verb, POD, ADMIN, status, heartbeat) is level


def test_events_of_the_plane_are_counted_and_those_of_others_recorded() -> None:
    for name, level in (("system:fairlead:events", AuditLevel.COUNT), ("system:fairlead", AuditLevel.COUNT)):
        assert DEFAULT_POLICY.level("create", EVENT, User(name), 201) is level
        assert DEFAULT_POLICY.level("create", EVENT, User(name), 403) is AuditLevel.METADATA
    assert DEFAULT_POLICY.level("create", EVENT, ADMIN, 201) is AuditLevel.CHANGES
    assert DEFAULT_POLICY.level("create", POD, User("system:fairlead:events"), 201) is AuditLevel.CHANGES


@pytest.mark.parametrize(
    "rule",
    [
        AuditRule(AuditLevel.COUNT, verbs=("get",)),
        AuditRule(AuditLevel.COUNT, resources=(Resources("", ("secrets",)),)),
        AuditRule(AuditLevel.COUNT, resources=(Resources("apps", ("pods",)),)),
        AuditRule(AuditLevel.COUNT, resources=(Resources("", ("pods/log", "pods/*", "*/scale")),)),
        AuditRule(AuditLevel.COUNT, resources=(Resources("", ("pods",), ("db",)),)),
        AuditRule(AuditLevel.COUNT, namespaces=("", "kube-system")),
        AuditRule(AuditLevel.COUNT, urls=("*",)),
        AuditRule(AuditLevel.COUNT, users=("bob",)),
        AuditRule(AuditLevel.COUNT, groups=("system:nodes",)),
        AuditRule(AuditLevel.COUNT, statuses=(500,)),
        AuditRule(AuditLevel.COUNT, refused=True),
        AuditRule(AuditLevel.COUNT, heartbeat=True),
    ],
)
def test_the_first_rule_that_matches_decides_and_one_that_does_not_is_passed_over(rule: AuditRule) -> None:
    policy = AuditPolicy((rule, AuditRule(AuditLevel.METADATA), AuditRule(AuditLevel.CHANGES)))
    assert policy.level("create", POD, ADMIN, 201) is AuditLevel.METADATA


@pytest.mark.parametrize(
    ("rule", "target"),
    [
        (AuditRule(AuditLevel.COUNT, resources=(Resources("", ("pods",), ("web",)),)), POD),
        (AuditRule(AuditLevel.COUNT, resources=(Resources(""),)), POD),
        (
            AuditRule(AuditLevel.COUNT, resources=(Resources("", ("*",)),)),
            AuditTarget("", "pods", subresource="log"),
        ),
        (
            AuditRule(AuditLevel.COUNT, resources=(Resources("", ("pods/*",)),)),
            AuditTarget("", "pods", subresource="log"),
        ),
        (
            AuditRule(AuditLevel.COUNT, resources=(Resources("", ("*/log",)),)),
            AuditTarget("", "pods", subresource="log"),
        ),
        (
            AuditRule(AuditLevel.COUNT, resources=(Resources("", ("pods/log",)),)),
            AuditTarget("", "pods", subresource="log"),
        ),
        (AuditRule(AuditLevel.COUNT, namespaces=("",)), AuditTarget("", "nodes")),
        (AuditRule(AuditLevel.COUNT, urls=("/metrics",)), AuditTarget(path="/metrics")),
        (AuditRule(AuditLevel.COUNT, urls=("/fairlead/*",)), AuditTarget(path="/fairlead/v1/audit")),
    ],
)
def test_what_a_rule_is_about(rule: AuditRule, target: AuditTarget) -> None:
    assert AuditPolicy((rule,)).level("get", target, ADMIN, 200) is AuditLevel.COUNT


@pytest.mark.parametrize("about", [{"namespaces": ("",)}, {"resources": (Resources(""),)}])
def test_a_rule_about_resources_is_not_about_other_paths(about: dict[str, Any]) -> None:
    rule = AuditRule(AuditLevel.COUNT, **about)
    assert AuditPolicy((rule,)).level("get", AuditTarget(path="/metrics"), ADMIN, 403) is AuditLevel.NONE


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_no_policy_silences_writes_of_audit_policies(verb: str) -> None:
    target = AuditTarget("fairlead.dev", "auditpolicies", "", "default")
    audit = Audit(AuditPolicy((AuditRule(AuditLevel.NONE),)))
    assert told(audit.accepted(context(), verb, target, 200, changed=["spec.rules"]))["changed"] == [
        "spec.rules"
    ]
    assert told(audit.refused(context(), verb, target, 403, "Forbidden"))["verb"] == verb
    assert audit.read(context(), "get", target, 200) == ()
    assert audit.read(context(), verb, target, 200) == ()  # a dry run
    other = AuditTarget("example.dev", "auditpolicies", "", "default")
    assert audit.accepted(context(), verb, other, 200) == ()


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
def test_writes_that_change_nothing_are_judged_as_reads_of_what_they_show(verb: str) -> None:
    secret = AuditTarget("", "secrets", "default", "s")
    assert told(Audit().read(context(), verb, secret, 200))["verb"] == verb
    assert Audit().read(context(), verb, POD, 200) == ()


def test_a_request_that_no_rule_matches_is_not_kept() -> None:
    assert AuditPolicy(()).level("create", POD, ADMIN, 201) is AuditLevel.NONE


def test_a_write_is_recorded_with_who_what_where_and_which_fields() -> None:
    given_context = context(request_id="r-1", user_agent="kubectl/v1", source="127.0.0.1")
    notes = Audit().accepted(
        given_context, "patch", POD, 200, revision_before=7, changed=["spec.replicas", 'data["password"]']
    )
    assert told(notes) == {
        "time": "2023-11-14T22:13:20.250Z",
        "requestId": "r-1",
        "user": "admin",
        "groups": ["system:masters"],
        "verb": "patch",
        "object": {"resource": "pods", "namespace": "default", "name": "web", "uid": "uid-1"},
        "code": 200,
        "revisionBefore": 7,
        "changed": ["spec.replicas", 'data["password"]'],
        "userAgent": "kubectl/v1",
        "sourceIP": "127.0.0.1",
    }


def test_at_level_metadata_the_fields_are_left_out() -> None:
    audit = Audit(AuditPolicy((AuditRule(AuditLevel.METADATA),)))
    record = told(audit.accepted(context(), "patch", POD, 200, revision_before=7, changed=["spec.a"]))
    assert "changed" not in record
    assert record["revisionBefore"] == 7


def test_a_rule_for_a_group_holds_for_its_members_only_whatever_their_names() -> None:
    audit = Audit(AuditPolicy((AuditRule(AuditLevel.METADATA, groups=("ops",)),)))
    assert audit.accepted(context(User("same", groups=("ops",))), "patch", POD, 200)
    assert not audit.accepted(context(User("same")), "patch", POD, 200)


def test_the_user_agent_is_bounded() -> None:
    record = json.loads(audit_record(context(user_agent="x" * 5000), "update", POD, 200, changed=["spec.a"]))
    assert record["changed"] == ["spec.a"]
    assert len(record["userAgent"]) == 200


def test_heartbeats_are_counted_per_verb_resource_and_role_and_not_recorded() -> None:
    audit = Audit()
    for _ in range(3):
        assert audit.accepted(context(NODE), "update", LEASE, 200, heartbeat=True) == ()
    assert audit.counters == {("update", "leases.coordination.k8s.io", "node"): 3}
    assert told(audit.accepted(context(NODE), "update", LEASE, 200))["user"] == "system:node:n1"


def test_heartbeats_that_a_rule_makes_lines_of_have_a_budget_and_displace_nothing_else() -> None:
    policy = AuditPolicy((AuditRule(AuditLevel.METADATA),), heartbeats_per_second_max=2)
    audit = Audit(policy)
    lines = [audit.accepted(context(NODE), "update", LEASE, 200, heartbeat=True) for _ in range(5)]
    assert [bool(each) for each in lines] == [True, True, False, False, False]
    assert audit.counters == {("update", "leases.coordination.k8s.io", "node"): 3}, "the others are counted"
    assert audit.suppressed["audit"] == 3
    assert audit.accepted(context(NODE), "update", LEASE, 200), (
        "a write that is no heartbeat always has its line"
    )
    assert audit.refused(context(NODE), "get", POD, 403, "Forbidden"), "nor is it at the cost of the user"


def test_counters_are_bounded_whatever_names_are_asked_for() -> None:
    audit = Audit(AuditPolicy((AuditRule(AuditLevel.COUNT),)))
    for number in range(10_000):
        audit.refused(context(), "get", AuditTarget(plural=f"r{number}"), 404, "NotFound")
    assert len(audit.counters) <= 4097
    assert sum(audit.counters.values()) == 10_000
    assert len(audit._known.levels) <= 4096


def test_what_servers_share_is_of_the_policy_that_is_built_in() -> None:
    known = AuditMemory()
    one, other = Audit(built_in=known), Audit(built_in=known)
    first = told(one.accepted(context(), "update", POD, 200, changed=["spec.a"]))
    assert known.lines
    assert told(other.accepted(context(), "update", POD, 200, changed=["spec.a"])) == first
    one.follow(AuditPolicy((AuditRule(AuditLevel.METADATA),)))
    assert "changed" not in told(one.accepted(context(), "update", POD, 200, changed=["spec.a"]))
    assert told(other.accepted(context(), "update", POD, 200, changed=["spec.a"])) == first


def test_a_refused_write_is_recorded_with_its_reason_and_without_fields() -> None:
    record = told(Audit().refused(context(), "create", POD, 422, "Invalid"))
    assert (record["code"], record["reason"]) == (422, "Invalid")
    assert "changed" not in record


def test_a_failed_sign_in_is_recorded_a_failed_read_is_not() -> None:
    audit = Audit()
    (note,) = audit.refused(context(ANONYMOUS), "get", AuditTarget(path="/api"), 401, "Unauthorized")
    assert note.stream == STRANGERS
    record = json.loads(note.body)
    assert (record["user"], record["object"]) == ("system:anonymous", {"path": "/api"})
    assert audit.refused(context(), "get", POD, 404, "NotFound") == ()


def test_a_flood_of_refusals_cannot_fill_the_log() -> None:
    audit = Audit(AuditPolicy(DEFAULT_POLICY.rules, refusals_per_second_max=3))
    kept = [bool(audit.refused(context(now=100.5), "create", POD, 403, "Forbidden")) for _ in range(5)]
    assert kept == [True, True, True, False, False]
    assert audit.suppressed == {STREAM: 2, STRANGERS: 0}
    assert audit.refused(context(now=101.0), "create", POD, 403, "Forbidden")


def test_budgets_are_per_user_and_strangers_have_one_of_their_own() -> None:
    audit = Audit(AuditPolicy(DEFAULT_POLICY.rules, refusals_per_second_max=2, strangers_per_second_max=1))
    eve, now = User("eve", groups=("fairlead:viewers",)), 100.5

    def kept(user: User) -> int:
        return sum(bool(audit.refused(context(user, now), "get", POD, 403, "Forbidden")) for _ in range(5))

    assert (kept(ANONYMOUS), kept(ADMIN), kept(eve)) == (1, 2, 2)
    assert audit.suppressed == {STREAM: 6, STRANGERS: 4}


@pytest.mark.parametrize("verb", ["get", "list", "watch"])
def test_reads_of_secrets_are_recorded_and_others_are_not(verb: str) -> None:
    audit = Audit()
    assert told(audit.read(context(), verb, AuditTarget("", "secrets", "default", "s"), 200))["verb"] == verb
    assert audit.read(context(), verb, POD, 200) == ()
    assert audit.read(context(), verb, AuditTarget("example.com", "secrets"), 200) == ()


def test_what_was_not_recorded_is_told_once() -> None:
    audit = Audit()
    assert audit.made_up(context()) == ()
    audit.lost(2)
    audit.lost(1)
    assert told(audit.made_up(context()))["unrecorded"] == 3
    assert audit.made_up(context()) == ()
    assert audit.unrecorded == 3


def test_of_names_that_nothing_can_have_only_the_beginning_is_kept() -> None:
    target = AuditTarget("", "r" * 60_000, "default", "n" * 60_000)
    record = told(Audit().refused(context(), "delete", target, 403, "Forbidden"))
    assert (len(record["object"]["resource"]), len(record["object"]["name"])) == (253, 253)


@pytest.mark.parametrize(("revision", "extra"), [(0, {}), (12, {"revision": 12})])
def test_a_line_is_numbered_and_carries_the_revision_its_write_got(
    revision: int, extra: dict[str, int]
) -> None:
    body = audit_record(context(), "create", POD, 201)
    line = json.loads(audit_line(5, Note(STREAM, body, revision)))
    assert line == {"sequence": 5, "record": json.loads(body) | extra}


@given(st.text(), st.text(), st.text(), st.lists(st.text(max_size=40), max_size=80))
def test_a_line_is_json_whatever_clients_send(name: str, agent: str, user: str, changed: list[str]) -> None:
    target = AuditTarget("", "pods", "default", name)
    body = audit_record(context(User(user), user_agent=agent), "update", target, 200, changed=changed)
    assert b"\n" not in body
    record = json.loads(audit_line(1, Note(STREAM, body, 3)))["record"]
    assert (record["object"].get("name", ""), record["user"], record["revision"]) == (name, user, 3)
