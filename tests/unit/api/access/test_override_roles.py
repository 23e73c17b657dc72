"""Who may do what with SchedulerOverrides, verb by verb, for each role that people have in an incident."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.api.plan import Watch
from fairlead.model.kind import Json
from fairlead.port.request import Request
from tests.unit.api.access.breakglass.world import ANN, BEN, EVE, JANE, JOE, NOBODY, World, bound, person

KUBE_SYSTEM = "/apis/fairlead.dev/v1/namespaces/kube-system/scheduleroverrides"
VIC = person("vic")  # only looks
READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")
APPROVAL = ("get approval", "update approval", "patch approval")
STATUS = ("get status", "update status", "patch status")
VERBS = (*READ, *WRITE, *APPROVAL, *STATUS)
# What each may; everything else is refused.
MAY = (
    (JANE, "operator", {*READ, *WRITE, "get status"}),
    (BEN, "approver", {*READ, *APPROVAL}),
    (ANN, "approver and operator", {*READ, *WRITE, *APPROVAL, "get status"}),
    (EVE, "break-glass", set[str]()),
    (VIC, "viewer", {*READ, "get status"}),
    (NOBODY, "no role", set[str]()),
)


def override(name: str = "works", **spec: Any) -> Json:
    changes = {"cordon": True}
    whole = {"target": "zone/a", "reason": "power works", "expiresAfter": "30m", "changes": changes, **spec}
    meta = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", "metadata": meta, "spec": whole}


def fresh() -> World:
    """Two nodes, one in zone a: whoever closes it needs somebody else. Joe has asked for that."""
    found = World()
    assert found.post("/api/v1/namespaces", {"metadata": {"name": "kube-system"}})[0] in (201, 409)
    binding = bound("vic", "fairlead:viewer")
    assert found.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)[0] == 201
    for name, zone in (("n1", "a"), ("n2", "b")):
        labels = {"topology.kubernetes.io/zone": zone}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        assert found.post("/api/v1/nodes", node)[0] == 201
    status, made = found.post(KUBE_SYSTEM, override(), user=JOE)
    assert (status, bool(made["spec"].get("approval"))) == (201, True), made
    return found


@pytest.fixture
def world() -> World:
    return fresh()


def approved(world: World) -> Json:
    _, found = world.get(f"{KUBE_SYSTEM}/works")
    condition = {"type": "Approved", "status": "True", "reason": "Approved", "message": "fine"}
    return {**found, "status": {**(found.get("status") or {}), "conditions": [condition]}}


def ask(world: World, verb: str, user: User) -> int:
    one = f"{KUBE_SYSTEM}/works"
    word, _, subresource = verb.partition(" ")
    path = f"{one}/{subresource}" if subresource else one
    if word == "watch":
        watched = Request("watch", "fairlead.dev", "v1", "scheduleroverrides", "kube-system")
        reply = world.send(watched, user)
        return 200 if isinstance(reply, Watch) else int(reply.status)
    if word == "create":
        return world.post(KUBE_SYSTEM, override("more"), user=user)[0]
    if word == "update":
        return world.put(path, approved(world) if subresource else world.get(one)[1], user=user)[0]
    if word == "patch":
        change = (
            {"status": approved(world)["status"]} if subresource else {"metadata": {"labels": {"a": "b"}}}
        )
        return world.patch(path, change, user=user)[0]
    if word in ("delete", "deletecollection"):
        return world.delete(one if word == "delete" else KUBE_SYSTEM, user=user)[0]
    return world.get(path if word == "get" else KUBE_SYSTEM, user=user)[0]


@pytest.mark.parametrize(("user", "role", "may"), MAY, ids=[each[1] for each in MAY])
def test_each_role_may_what_it_is_for_and_nothing_else(user: User, role: str, may: set[str]) -> None:
    said = {verb: ask(fresh(), verb, user) for verb in VERBS}
    allowed = {verb for verb, code in said.items() if code in (200, 201)}
    assert allowed == may, said
    assert {code for verb, code in said.items() if verb not in may} <= {403}, said


def test_an_approver_approves_what_another_asked_for_and_nobody_their_own(world: World) -> None:
    path = f"{KUBE_SYSTEM}/works/approval"
    assert world.post(KUBE_SYSTEM, override("own"), user=ANN)[0] == 201
    own = f"{KUBE_SYSTEM}/own"
    status, refused = world.patch(f"{own}/approval", {"status": approved(world)["status"]}, user=ANN)
    assert (status, '"ann" asked for it' in refused["message"]) == (403, True)
    status, found = world.patch(path, {"status": approved(world)["status"]}, user=BEN)
    assert status == 200, found
    (condition,) = found["status"]["conditions"]
    assert condition["message"] == "by ben"


def test_whoever_may_write_an_override_approves_none_by_it(world: World) -> None:
    one = f"{KUBE_SYSTEM}/works"
    world.put(one, approved(world), user=JANE)
    world.patch(one, {"status": approved(world)["status"]}, user=JANE)
    assert "conditions" not in (world.get(one)[1].get("status") or {})
    made = {**override("born"), "status": approved(world)["status"]}
    assert world.post(KUBE_SYSTEM, made, user=JANE)[0] == 201
    assert "conditions" not in (world.get(f"{KUBE_SYSTEM}/born")[1].get("status") or {})


def test_an_approval_changes_nothing_else(world: World) -> None:
    path = f"{KUBE_SYSTEM}/works/approval"
    sneaky = approved(world)
    sneaky["spec"] = {**sneaky["spec"], "expiresAfter": "4h", "target": "zone/b"}
    sneaky["status"] = {**sneaky["status"], "residue": ["x"]}
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}  # with which it would go
    sneaky["metadata"] = {**sneaky["metadata"], "labels": {"a": "b"}, "ownerReferences": [owner]}
    status, said = world.put(path, sneaky, user=BEN)
    assert status == 200, said
    _, found = world.get(f"{KUBE_SYSTEM}/works")
    assert (found["spec"]["expiresAfter"], found["spec"]["target"]) == ("30m", "zone/a")
    assert "residue" not in (found.get("status") or {})
    assert not {"labels", "ownerReferences"} & set(found["metadata"])


@pytest.mark.parametrize(("verb", "told"), [("create", "create"), ("patch approval", "patch")])
def test_a_refusal_names_the_verb_and_the_resource(world: World, verb: str, told: str) -> None:
    body, path = override("more"), KUBE_SYSTEM
    if verb == "create":
        _, refused = world.post(path, body, user=BEN)
        resource = "scheduleroverrides"
    else:
        _, refused = world.patch(f"{path}/works/approval", {"status": approved(world)["status"]}, user=JANE)
        resource = "scheduleroverrides/approval"
    assert refused["reason"] == "Forbidden"
    assert told in refused["message"]
    assert f'"{resource}"' in refused["message"]
