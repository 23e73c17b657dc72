"""Ways round a right that one does not have: an owner that takes an object with it, a token of an account for a person."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.contract import NO_OPINION, AccessRules, AccessVerdict, Attributes
from fairlead.api.access.second_person import may_act_as
from fairlead.api.access.users import User, service_account_groups, service_account_name
from fairlead.model.kind import Json
from tests.unit.api.access.breakglass.world import ANN, EVE, GRANTS, JANE, PLANE, RBAC, World, bound, person

GONE = {"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "nobody"}
SHOP = "/apis/fairlead.dev/v1/namespaces/shop/scheduleroverrides"
NODE = "/api/v1/nodes/n1"
BOT = User(service_account_name("shop", "bot"), groups=service_account_groups("shop"))
LEAD = person("lead")  # approves, and works in shop
APPROVED: Json = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}


@pytest.fixture
def world() -> World:
    found = World()
    for name in ("n1", "n2"):
        labels = {"kubernetes.io/hostname": name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        assert found.post("/api/v1/nodes", node)[0] == 201
    assert found.post(f"{RBAC}/clusterrolebindings", bound("lead", "fairlead:approver"))[0] == 201
    assert found.post(f"{RBAC}/clusterrolebindings", bound("patcher", "fairlead:operator"))[0] == 201
    for name in ("lead", BOT.name):
        binding = {
            **bound(name, "edit"),
            "kind": "RoleBinding",
            "metadata": {"name": name.rpartition(":")[2]},
        }
        assert found.post(f"{RBAC}/namespaces/shop/rolebindings", binding)[0] == 201
    return found


def tie(world: World, path: str, sort: str, user: User) -> tuple[int, Any]:
    tied: Json = {"metadata": {"ownerReferences": [GONE]}}
    if sort == "merge-patch":
        return world.patch(path, tied, user=user)
    found = world.get(path)[1]
    if sort == "apply-patch":
        body = {"apiVersion": found["apiVersion"], "kind": found["kind"], **tied}
        return world.request(
            "PATCH", f"{path}?fieldManager=x", body, "application/apply-patch+yaml", user=user
        )
    found["metadata"]["ownerReferences"] = [GONE]
    return world.put(path, found, user=user)


@pytest.mark.parametrize("sort", ["merge-patch", "apply-patch", "update"])
def test_who_may_not_delete_a_node_ties_it_to_nothing_with_which_it_would_go(world: World, sort: str) -> None:
    """An operator may change nodes, and delete none: the garbage collector would, for an owner that is gone."""
    assert world.delete(NODE, user=JANE)[0] == 403
    status, answer = tie(world, NODE, sort, JANE)
    assert (status, "cannot delete resource" in answer["message"]) == (403, True), answer
    assert world.patch(NODE, {"spec": {"unschedulable": True}}, user=JANE)[0] == 200
    assert tie(world, NODE, "merge-patch", PLANE)[0] == 200
    assert world.patch(NODE, {"metadata": {"labels": {"a": "b"}}}, user=JANE)[0] == 200, (
        "what it had it keeps"
    )


def test_a_grant_is_tied_to_no_object_with_which_it_would_go_unreviewed(world: World) -> None:
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "AccessGrant",
        "metadata": {"name": "dark", "ownerReferences": [GONE]},
        "spec": {
            "subject": {"kind": "User", "name": "eve"},
            "role": {"kind": "ClusterRole", "name": "edit"},
            "namespaces": ["shop"],
            "reason": "dark",
            "expiresAfter": "10m",
            "selfApproved": True,
        },
    }
    status, answer = world.post(GRANTS, body, user=EVE)
    assert (status, "metadata.ownerReferences" in answer["message"]) == (403, True), answer
    world.approved()
    status, answer = tie(world, f"{GRANTS}/night", "merge-patch", PLANE)
    assert (status, "metadata.ownerReferences" in answer["message"]) == (403, True), answer


def closing() -> Json:
    """Of every node, for all of shop: somebody has to approve it."""
    nodes = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}
    spec = {"target": "namespace", "reason": "x", "expiresAfter": "30m", "changes": {"avoidNodes": nodes}}
    meta = {"name": "all", "namespace": "shop"}
    return {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", "metadata": meta, "spec": spec}


def test_who_may_have_a_token_of_an_account_does_not_approve_what_it_asked_for(world: World) -> None:
    """A token carries no name of who had it made: one person could ask with it, and say yes as oneself."""
    status, made = world.post(SHOP, closing(), user=BOT)
    assert (status, bool(made["spec"].get("approval"))) == (201, True), made
    status, answer = world.patch(f"{SHOP}/all/approval", APPROVED, user=LEAD)
    assert (status, f"may act as {BOT.name}" in answer["message"]) == (403, True), answer
    assert world.patch(f"{SHOP}/all/approval", APPROVED, user=ANN)[0] == 200, "who may not is a second person"


def test_nor_the_grant_that_it_asked_for(world: World) -> None:
    asks = {**bound(BOT.name, "fairlead:operator"), "metadata": {"name": "bot"}}
    assert world.post(f"{RBAC}/clusterrolebindings", asks)[0] == 201
    assert world.ask(user=BOT, subject={"kind": "User", "name": "joe"})[0] == 201
    status, answer = world.decide("Approved", user=LEAD)
    assert (status, "does not approve it" in answer["message"]) == (403, True), answer
    assert world.decide("Approved", user=ANN)[0] == 200


class _Noting:
    """Allows nothing, and keeps when it was asked."""

    def __init__(self) -> None:
        self.asked_at: list[float] = []

    def authorize(self, asked: Attributes) -> AccessVerdict:
        self.asked_at.append(asked.now)
        return NO_OPINION

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        raise NotImplementedError


def test_rights_that_a_grant_gives_for_a_while_are_rights_to_act_as_an_account() -> None:
    noting = _Noting()
    assert not may_act_as(noting, JANE, service_account_name("shop", "robot"), 1_800_000_000.0)
    assert set(noting.asked_at) == {1_800_000_000.0}
