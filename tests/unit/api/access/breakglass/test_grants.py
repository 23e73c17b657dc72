"""AccessGrants: what they allow and for how long, who may ask, approve, revoke and review, and what none can give."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.contract import Attributes
from fairlead.api.access.users import User
from fairlead.api.conversation import Conversation
from fairlead.api.plan import Watch
from fairlead.core.times import timestamp
from fairlead.port.request import Request
from fairlead.store.contract import PreconditionFailed, Transaction
from tests.inprocess import ADMIN
from tests.unit.api.access.breakglass.world import (
    ANN,
    BEN,
    EVE,
    GRANTS,
    JANE,
    JOE,
    NOBODY,
    PLANE,
    RBAC,
    World,
    grant,
    person,
)

HALF_AN_HOUR = 1800.0


@pytest.fixture
def world() -> World:
    return World()


def test_a_request_alone_grants_nothing(world: World) -> None:
    assert world.ask()[0] == 201
    assert world.write() == 403


def test_an_approved_grant_allows_what_its_role_allows_where_it_says(world: World) -> None:
    world.approved()
    assert world.write() == 201
    assert world.write(namespace="bank") == 403
    assert world.write(user=JOE) == 403
    assert world.get("/api/v1/namespaces/shop/secrets", user=JANE)[0] == 200
    assert world.get("/api/v1/secrets", user=JANE)[0] == 403


def test_it_ends_at_its_second(world: World) -> None:
    world.approved()
    world.now += HALF_AN_HOUR - 0.001
    assert world.write(name="last") == 201
    world.now += 0.001
    status, body = world.post(
        "/api/v1/namespaces/shop/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}},
        user=JANE,
    )
    assert status == 403
    assert 'AccessGrant "night" ended at' in body["message"]


def test_a_clock_that_is_set_back_does_not_bring_the_unapproved_to_life(world: World) -> None:
    world.ask()
    world.now -= 3600
    assert world.write() == 403


def test_time_counts_from_the_approval(world: World) -> None:
    world.ask()
    world.now += 3600
    world.decide("Approved")
    assert world.stored()["status"]["expiresAt"] == timestamp(world.now + HALF_AN_HOUR)
    assert world.write() == 201


def test_a_revoked_and_a_deleted_grant_allow_nothing(world: World) -> None:
    world.approved()
    assert world.decide("Revoked", user=BEN)[0] == 200
    assert world.write() == 403
    world.approved(name="second")
    assert world.write() == 201
    assert world.delete(f"{GRANTS}/second", user=PLANE)[0] == 200
    assert world.write(name="other") == 403


def test_a_group_gets_what_is_granted_to_it(world: World) -> None:
    world.approved(subject={"kind": "Group", "name": "on-call"})
    assert world.write(user=JOE) == 201
    assert world.write(user=NOBODY) == 403


def test_one_object_is_all_that_a_narrow_grant_reaches(world: World) -> None:
    world.write(user=ADMIN, name="menu")
    world.write(user=ADMIN, name="other")
    world.approved(namespaces=None, object={"resource": "configmaps", "namespace": "shop", "name": "menu"})
    at = "/api/v1/namespaces/shop/configmaps"
    assert world.patch(f"{at}/menu", {"data": {"a": "b"}}, user=JANE)[0] == 200
    assert world.patch(f"{at}/other", {"data": {"a": "b"}}, user=JANE)[0] == 403
    assert world.write(name="third") == 403


def test_a_role_that_is_gone_grants_nothing(world: World) -> None:
    world.approved()
    world.delete(f"{RBAC}/clusterroles/edit")
    assert world.write() == 403


def test_a_role_of_the_namespace_is_looked_for_there(world: World) -> None:
    for space, verbs in (("shop", ["create"]), ("bank", ["get"])):
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]
        body = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "r"},
            "rules": rules,
        }
        assert world.post(f"{RBAC}/namespaces/{space}/roles", body)[0] == 201
    world.ask(role={"kind": "Role", "name": "r"}, namespaces=["shop", "bank"])
    assert world.decide("Approved", user=ADMIN)[0] == 200
    assert world.write() == 201
    assert world.write(namespace="bank") == 403


def test_a_question_without_an_instant_is_answered_as_if_there_were_no_grants(world: World) -> None:
    world.approved()
    asked = Attributes(JANE, "create", version="v1", plural="configmaps", namespace="shop")
    assert not world.desk.authorizer.authorize(asked).allowed


def test_can_i_knows_of_grants(world: World) -> None:
    world.approved()
    spec = {"resourceAttributes": {"verb": "create", "resource": "configmaps", "namespace": "shop"}}
    question = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    at = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert world.post(at, question, user=JANE)[1]["status"]["allowed"] is True
    world.now += HALF_AN_HOUR
    assert world.post(at, question, user=JANE)[1]["status"]["allowed"] is False


# What is done under one


def lines(world: World) -> list[dict[str, object]]:
    return [json.loads(note.body) for _, _, note in world.journal.notes("audit", 0, 10_000)]


def test_a_write_that_only_the_grant_allows_is_stamped_with_it(world: World) -> None:
    world.approved()
    world.write(name="one")
    world.write(name="two")
    world.write(user=ADMIN, name="three")
    stamped = {line["object"]["name"]: line.get("grant") for line in lines(world)[-3:]}  # type: ignore[index]
    assert stamped == {"one": "night", "two": "night", "three": None}


def test_what_another_role_allows_is_not_done_under_the_grant(world: World) -> None:
    world.ask(subject={"kind": "User", "name": "joe"})
    world.decide("Approved")
    assert world.patch("/api/v1/nodes/none", {"status": {}}, user=JOE)[0] == 404  # operators may patch nodes
    assert all("grant" not in line for line in lines(world) if line["user"] == "joe")


def test_a_write_under_a_grant_that_is_revoked_meanwhile_is_judged_anew(world: World) -> None:
    world.approved()
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "slow"}}).encode()
    request = Request("create", "", "v1", "configmaps", "shop", body=body)
    conversation = Conversation(world.api, request, world.context(JANE))
    planned = conversation.begin()
    assert isinstance(planned, Transaction)
    world.decide("Revoked")
    outcome = world.commit(planned)
    assert isinstance(outcome, PreconditionFailed)
    answered = conversation.resolved(outcome)
    assert getattr(answered, "status", 0) == 403


def test_a_watch_ends_with_the_grant_that_opened_it(world: World) -> None:
    world.approved()
    request = Request("watch", "", "v1", "secrets", "shop", query={"timeoutSeconds": "3000"})
    step = world.plan(request, JANE)
    assert isinstance(step, Watch)
    assert step.grant == "night"
    assert step.timeout_seconds == HALF_AN_HOUR
    mine = world.plan(request, ADMIN)
    assert isinstance(mine, Watch)
    assert (mine.grant, mine.timeout_seconds) == ("", 3000)


# What none gives

ALMIGHTY = "cluster-admin"
GUARDED = [
    ("POST", GRANTS, grant("more")),
    ("POST", f"{RBAC}/namespaces/shop/rolebindings", {"kind": "RoleBinding"}),
    ("POST", f"{RBAC}/namespaces/shop/roles", {"kind": "Role"}),
    ("POST", "/api/v1/namespaces/shop/serviceaccounts/default/token", {"kind": "TokenRequest"}),
    ("DELETE", "/apis/fairlead.dev/v1/planesettings/default", None),
]


@pytest.mark.parametrize(("method", "target", "body"), GUARDED, ids=[each[1] for each in GUARDED])
def test_no_grant_reaches_the_guard_or_gives_what_outlasts_it(
    world: World, method: str, target: str, body: object
) -> None:
    asker = person("zoe")
    world.ask(
        user=JANE, subject={"kind": "User", "name": "zoe"}, role={"kind": "ClusterRole", "name": ALMIGHTY}
    )
    assert world.decide("Approved", user=ADMIN)[0] == 200
    assert world.write(user=asker) == 201
    assert world.request(method, target, body, user=asker)[0] == 403


@pytest.mark.parametrize("verb", ["impersonate", "bind", "escalate", "approve", "break-glass", "bypass"])
def test_no_grant_gives_a_right_over_rights(world: World, verb: str) -> None:
    world.ask(role={"kind": "ClusterRole", "name": ALMIGHTY})
    assert world.decide("Approved", user=ADMIN)[0] == 200
    asked = Attributes(JANE, verb, version="v1", plural="serviceaccounts", namespace="shop", now=world.now)
    assert not world.desk.authorizer.authorize(asked).allowed


# Who may


ALONE = {"subject": {"kind": "User", "name": "eve"}, "selfApproved": True}


@pytest.mark.parametrize(
    ("user", "status"),
    [(JANE, 201), (EVE, 201), (ANN, 201), (BEN, 403), (NOBODY, 403)],
    ids=lambda v: str(v)[:20],
)
def test_who_may_ask(world: World, user: User, status: int) -> None:
    assert world.ask(user=user)[0] == status


@pytest.mark.parametrize(
    ("user", "status", "words"),
    [
        (ANN, 200, ""),
        (BEN, 200, ""),
        (ADMIN, 200, ""),
        (JANE, 403, "needs the verb approve"),
        (JOE, 403, "needs the verb approve"),
        (EVE, 403, "needs the verb approve"),
        (NOBODY, 403, "cannot patch"),
    ],
    ids=lambda v: v.name if isinstance(v, User) else str(v),
)
@pytest.mark.parametrize("decision", ["Approved", "Denied"])
def test_who_may_decide(world: World, user: User, status: int, words: str, decision: str) -> None:
    world.ask()
    got, body = world.decide(decision, user=user)
    assert got == status
    assert words in str(body.get("message", ""))
    known = world.stored().get("status", {})
    assert known.get("decidedBy") == (user.name if status == 200 else None)


@pytest.mark.parametrize("subject", [{"kind": "User", "name": "jane"}, {"kind": "User", "name": "ann"}])
def test_who_asks_does_not_approve(world: World, subject: dict[str, str]) -> None:
    world.ask(user=ANN, subject=subject)
    status, body = world.decide("Approved", user=ANN)
    assert status == 403
    assert "ask somebody else" in body["message"]
    assert world.decide("Approved", user=BEN)[0] == 200


def test_who_gets_it_does_not_approve_by_name_or_by_group(world: World) -> None:
    world.ask(subject={"kind": "User", "name": "ann"})
    assert world.decide("Approved", user=ANN)[0] == 403
    member = person("ann", "on-call")
    world.ask(name="group", subject={"kind": "Group", "name": "on-call"})
    assert world.decide("Approved", user=member, name="group")[0] == 403


def test_an_administrator_does_not_approve_what_they_asked_for(world: World) -> None:
    world.ask(user=ADMIN)
    assert world.decide("Approved", user=ADMIN)[0] == 403


def test_nobody_approves_what_they_neither_hold_nor_may_bind(world: World) -> None:
    rules = [
        {"apiGroups": ["fairlead.dev"], "resources": ["accessgrants/status"], "verbs": ["patch"]},
        {"apiGroups": ["fairlead.dev"], "resources": ["grantedroles"], "verbs": ["approve"]},
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "weak"}}
    world.post(f"{RBAC}/clusterroles", {**role, "rules": rules})
    from tests.unit.api.access.breakglass.world import bound

    world.post(f"{RBAC}/clusterrolebindings", bound("weak", "weak"))
    world.ask()
    status, body = world.decide("Approved", user=person("weak"))
    assert status == 403
    assert "does not hold what the role allows" in body["message"]
    world.ask(name="wide", role={"kind": "ClusterRole", "name": ALMIGHTY})
    assert world.decide("Approved", user=ANN, name="wide")[0] == 403  # approvers know of view, edit and admin


def test_what_was_decided_is_not_decided_again(world: World) -> None:
    world.ask()
    assert world.decide("Denied")[0] == 200
    assert world.decide("Approved", user=BEN)[0] == 403
    world.approved(name="other")
    assert world.decide("Denied", name="other")[0] == 403
    assert world.decide("Revoked", name="other")[0] == 200
    assert world.decide("Approved", name="other")[0] == 403


def test_who_breaks_the_glass_has_it_at_once_and_is_warned(world: World) -> None:
    status, body = world.ask(user=EVE, **ALONE)
    assert status == 201, body
    assert body["status"]["decidedBy"] == "eve"
    assert any("alarm" in each for each in world.warnings)
    assert world.write(user=EVE) == 201
    marked = [line for line in lines(world) if line.get("annotations")]
    assert marked[0]["annotations"] == {"fairlead.dev/break-glass": "self-approved"}


@pytest.mark.parametrize("user", [JANE, ANN], ids=lambda user: user.name)
def test_breaking_the_glass_needs_its_verb(world: World, user: User) -> None:
    status, body = world.ask(user=user, subject={"kind": "User", "name": user.name}, selfApproved=True)
    assert status == 403
    assert "needs the verb break-glass on grantedroles.fairlead.dev" in body["message"]


def test_who_breaks_the_glass_does_so_for_themselves_and_not_in_the_planes_own(world: World) -> None:
    assert world.ask(user=EVE, selfApproved=True)[0] == 403
    status, body = world.ask(user=EVE, **ALONE, namespaces=["kube-system"])
    assert status == 403
    assert "a second person must approve" in body["message"]
    assert world.ask(user=EVE, **ALONE, role={"kind": "ClusterRole", "name": ALMIGHTY})[0] == 403


def test_nobody_acts_as_somebody_else_here(world: World) -> None:
    from msgspec import structs

    world.ask()
    body = json.dumps({"status": {"decision": "Approved"}}).encode()
    request = Request(
        "patch", "fairlead.dev", "v1", "accessgrants", "", "night", "status",
        body=body, content_type="application/merge-patch+json",
    )  # fmt: skip
    context = structs.replace(world.context(ANN), impersonator=JANE)
    answered = Conversation(world.api, request, context).begin()
    assert "under one's own name" in str(answered)


# Its status and review


def test_nobody_writes_who_decided_or_when_it_ends(world: World) -> None:
    sent = {
        "status": {
            "decision": "Approved",
            "decidedBy": "admin",
            "expiresAt": "2099-01-01T00:00:00Z",
            "writes": 7,
        }
    }
    world.ask()
    world.patch(f"{GRANTS}/night/status", sent, user=ANN)
    status = world.stored()["status"]
    assert status["decidedBy"] == "ann"
    assert status["expiresAt"] == timestamp(world.now + HALF_AN_HOUR)
    assert "writes" not in status
    world.patch(f"{GRANTS}/night/status", {"status": {"expiresAt": "2099-01-01T00:00:00Z"}}, user=ANN)
    assert world.stored()["status"] == status
    assert world.patch(f"{GRANTS}/night/status", {"status": None}, user=ANN)[0] == 200
    assert world.stored()["status"] == status


def test_a_status_that_comes_with_the_request_is_dropped(world: World) -> None:
    body = {**grant(), "status": {"decision": "Approved", "expiresAt": "2099-01-01T00:00:00Z"}}
    body["spec"]["requestedBy"] = "ann"
    assert world.post(GRANTS, body, user=JANE)[0] == 201
    assert "status" not in world.stored()
    assert world.stored()["spec"]["requestedBy"] == "jane"


def test_the_spec_never_changes(world: World) -> None:
    world.ask()
    status, body = world.patch(f"{GRANTS}/night", {"spec": {"expiresAfter": "8h"}})
    assert status == 422
    assert "ask anew" in body["message"]


def test_a_review_is_closed_by_somebody_else_when_it_has_ended(world: World) -> None:
    world.approved()
    assert world.review()[0] == 403
    world.now += HALF_AN_HOUR
    assert world.review(user=JANE)[0] == 403
    assert world.review(user=BEN, note="  ")[0] == 200  # says nothing, and closes nothing
    assert "review" not in world.stored()["status"]
    assert world.review(user=BEN)[0] == 200
    closed = world.stored()["status"]["review"]
    assert closed == {"state": "Closed", "by": "ben", "note": "fine", "at": timestamp(world.now)}
    assert world.review(note="again")[0] == 403


def test_the_plane_opens_the_review_and_says_how_much_was_written(world: World) -> None:
    world.approved()
    world.now += HALF_AN_HOUR
    sent = {"status": {"writes": 3, "review": {"state": "Open"}, "expiresAt": "2099-01-01T00:00:00Z"}}
    assert world.patch(f"{GRANTS}/night/status", sent, user=PLANE)[0] == 200
    status = world.stored()["status"]
    assert (status["writes"], status["review"]) == (3, {"state": "Open"})
    assert status["expiresAt"] == timestamp(world.now)


def test_what_was_approved_is_not_deleted_before_its_review(world: World) -> None:
    world.approved()
    status, body = world.delete(f"{GRANTS}/night")
    assert status == 403
    assert "review" in body["message"]
    world.now += HALF_AN_HOUR
    world.review()
    assert world.delete(f"{GRANTS}/night")[0] == 200
    world.ask(name="never")
    assert world.delete(f"{GRANTS}/never")[0] == 200


def test_whoever_asked_may_give_it_up(world: World) -> None:
    world.ask(user=ANN, subject={"kind": "User", "name": "jane"})
    assert world.decide("Revoked", user=ANN)[0] == 200


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no reason": ({"reason": " "}, "spec.reason"),
    "no end": ({"expiresAfter": None}, "spec.expiresAfter"),
    "no duration": ({"expiresAfter": "soon"}, "spec.expiresAfter"),
    "too long": ({"expiresAfter": "9h"}, "between 1m and 8h"),
    "too short": ({"expiresAfter": "1s"}, "between 1m and 8h"),
    "nowhere": ({"namespaces": None}, "give namespaces or object"),
    "two places": ({"object": {"resource": "nodes", "name": "n"}}, "give namespaces or object"),
    "everywhere": ({"namespaces": ["*"]}, "spec.namespaces[0]"),
    "too many": ({"namespaces": [f"n{i}" for i in range(17)]}, "spec.namespaces"),
    "no name": ({"subject": {"kind": "User", "name": ""}}, "spec.subject.name"),
    "everybody": ({"subject": {"kind": "Group", "name": "system:authenticated"}}, "name people"),
    "what": ({"subject": {"kind": "ServiceAccount", "name": "x"}}, "spec.subject.kind"),
    "no role": ({"role": {"kind": "ClusterRole", "name": ""}}, "spec.role.name"),
    "a Role nowhere": (
        {
            "namespaces": None,
            "object": {"resource": "nodes", "name": "n"},
            "role": {"kind": "Role", "name": "r"},
        },
        "needs a ClusterRole",
    ),
    "long": ({"reason": "x" * 1025}, "spec.reason"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_request_is_named(world: World, case: str) -> None:
    spec, words = WRONG[case]
    status, body = world.ask(**spec)
    assert status == 422
    assert words in body["message"]


def test_the_table_tells_what_it_is_now(world: World) -> None:
    def phase() -> str:
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        return str(world.get(f"{GRANTS}/night", accept=accept)[1]["rows"][0]["cells"][4])

    world.ask()
    assert phase() == "Pending"
    world.decide("Approved")
    assert phase() == "Active"
    world.now += HALF_AN_HOUR
    assert phase() == "Expired"
