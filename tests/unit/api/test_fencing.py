"""Writes that carry a fence commit only while the fence has not moved."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import AUTHENTICATED, User
from fairlead.model.premise import FENCES_MAX
from tests.inprocess import InProcess

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
MAPS = "/api/v1/namespaces/default/configmaps"


def fence(plane: InProcess, holder: str) -> str:
    """Write the fence for a holder; what its writes then carry."""
    lease: dict[str, Any] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "fence"},
        "spec": {"holderIdentity": holder},
    }
    status, made = plane.post(LEASES, lease)
    if status == 409:
        status, made = plane.put(f"{LEASES}/fence", lease)
    assert status in (200, 201)
    return f"fence=leases.coordination.k8s.io/kube-system/fence@{made['metadata']['resourceVersion']}"


def config(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_a_former_leader_can_write_nothing_any_more() -> None:
    plane = InProcess()
    first = fence(plane, "a")
    assert plane.post(f"{MAPS}?{first}", config("one"))[0] == 201
    second = fence(plane, "b")
    before = plane.store.revision
    for answer in (
        plane.post(f"{MAPS}?{first}", config("two")),
        plane.patch(f"{MAPS}/one?{first}", {"data": {"x": "y"}}),
        plane.put(f"{MAPS}/one?{first}", {**config("one"), "data": {"x": "y"}}),
        plane.delete(f"{MAPS}/one?{first}"),
        plane.delete(f"{MAPS}?{first}"),
    ):
        assert answer[0] == 409, answer
        fenced, newest = answer[1]["details"]["causes"]
        assert (fenced["reason"], fenced["field"].split("/")[0]) == ("Fenced", "leases.coordination.k8s.io")
        assert newest["message"] == second.rpartition("@")[2]
    assert plane.store.revision == before
    assert plane.patch(f"{MAPS}/one?{second}", {"data": {"x": "y"}})[0] == 200


@pytest.mark.parametrize("moves", [True, False])
def test_a_write_can_be_bound_to_the_absence_of_an_object(moves: bool) -> None:
    plane = InProcess()
    plane.post(MAPS, config("one"))
    if moves:
        plane.post(MAPS, config("owner"))
    status, body = plane.delete(f"{MAPS}/one?fence=configmaps/default/owner@0")
    assert status == (409 if moves else 200)
    if moves:
        assert "configmaps owner is not absent any more" in body["message"]


@pytest.mark.parametrize("text", ["x", "a/b@1", "a/b/c@", "a/b/c@one", f"a/b/c@{'9' * 5000}"])
def test_a_fence_that_cannot_be_read_is_refused(text: str) -> None:
    status, body = InProcess().post(f"{MAPS}?fence={text}", config("one"))
    assert status == 400
    assert "RESOURCE/NAMESPACE/NAME@REVISION" in body["message"]


def test_a_write_can_be_bound_to_several_objects_and_each_of_them_counts() -> None:
    plane = InProcess()
    made = [plane.post(MAPS, config(name))[1] for name in ("owner", "other")]
    bound = ",".join(
        f"configmaps/default/{each['metadata']['name']}@{each['metadata']['resourceVersion']}"
        for each in made
    )
    assert plane.post(f"{MAPS}?fence={bound}", config("one"))[0] == 201
    plane.patch(f"{MAPS}/other", {"data": {"x": "y"}})
    status, body = plane.post(f"{MAPS}?fence={bound}", config("two"))
    assert status == 409
    assert "configmaps other is not at revision" in body["message"]
    plane.delete(f"{MAPS}/owner")
    assert "configmaps owner is not" in plane.delete(f"{MAPS}/one?fence={bound}")[1]["message"]


def test_more_objects_than_anybody_needs_are_refused() -> None:
    many = ",".join(["configmaps/default/owner@1"] * (FENCES_MAX + 1))
    status, body = InProcess().post(f"{MAPS}?fence={many}", config("one"))
    assert status == 400
    assert f"at most {FENCES_MAX} objects" in body["message"]


def test_a_write_that_rests_on_an_object_by_its_uid_commits_while_that_is_there_and_has_not_ended() -> None:
    plane = InProcess()
    _, owner = plane.post(MAPS, config("owner"))
    bound = f"configmaps/default/owner@{owner['metadata']['uid']}!{plane.now + 10}"
    assert plane.post(f"{MAPS}?fence={bound}", config("one"))[0] == 201
    plane.put(f"{MAPS}/owner", {**owner, "data": {"x": "y"}})
    assert plane.post(f"{MAPS}?fence={bound}", config("two"))[0] == 201, "whatever became of it"
    plane.now += 10
    status, body = plane.post(f"{MAPS}?fence={bound}", config("three"))
    assert (status, "configmaps owner has ended" in body["message"]) == (409, True)
    plane.delete(f"{MAPS}/owner")
    plane.post(MAPS, config("owner"))
    ever = bound.partition("!")[0] + "!"
    status, body = plane.post(f"{MAPS}?fence={ever}", config("four"))
    assert (status, "configmaps owner is not there any more" in body["message"]) == (409, True)


def test_who_may_not_read_an_object_is_told_nothing_of_it_by_a_fence() -> None:
    """Otherwise anybody who may write somewhere finds out which objects there are, and at which revisions."""
    plane = InProcess()
    for group, kind, body in (
        ("rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": [RULE]}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", {"roleRef": ROLE, "subjects": [SUBJECT]}),
        ("v1", "Secret", {}),
    ):
        space = "kube-system" if kind == "Secret" else "default"
        where = "/api/v1" if group == "v1" else f"/apis/{group}"
        where += "" if kind == "ClusterRole" else f"/namespaces/{space}"
        obj = {"apiVersion": group, "kind": kind, "metadata": {"name": "some"}, **body}
        assert plane.post(f"{where}/{kind.lower()}s", obj)[0] == 201
    tenant = User("tenant", groups=(AUTHENTICATED,))
    for name in ("some", "none"):
        for version in ("0", "1", "u-1!"):
            status, told = plane.post(
                f"{MAPS}?fence=secrets/kube-system/{name}@{version}", config(f"a-{name}"), user=tenant
            )
            assert status == 403, told
            assert "CurrentVersion" not in str(told)
    assert plane.post(f"{MAPS}?fence=configmaps/default/x@0", config("own"), user=tenant)[0] == 201


RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"]}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "some"}
SUBJECT = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}
