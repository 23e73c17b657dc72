"""Nobody grants what they do not have: writes of roles and bindings on a whole API, as a table of who and what."""

from __future__ import annotations

import pytest

from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.unit.api.access.rbac.notation import binding, role, subject, user

BASE = "/apis/rbac.authorization.k8s.io/v1"
WRITE = "get,create,update,patch,delete {} @rbac.authorization.k8s.io"
EVERY = WRITE.format("roles,rolebindings,clusterroles,clusterrolebindings")
# What each user has, everywhere or (NAMESPACE/NAME) in a namespace. All may write roles and bindings.
USERS = {
    "plain": "get,list pods",
    "named": "get pods =web",
    "escalator": "escalate roles,clusterroles @rbac.authorization.k8s.io",
    "escalator-of-one": "escalate clusterroles @rbac.authorization.k8s.io =there",
    "binder": "bind roles,clusterroles @rbac.authorization.k8s.io",
    "binder-of-one": "bind clusterroles @rbac.authorization.k8s.io =secrets",
    "almighty": "* * @* ; * ~*",
    "almost": "get,list,watch,create,update,patch,delete,deletecollection * @* ; * ~*",
    "default/local": "get,list pods",
    "default/local-binder": "bind clusterroles @rbac.authorization.k8s.io",
}


def _plane() -> InProcess:
    plane = InProcess()
    for name, text in USERS.items():
        namespace, _, bare = name.rpartition("/")
        _make(plane, role(f"of-{bare}", f"{EVERY} ; {text}", namespace))
        kind = "Role" if namespace else "ClusterRole"
        _make(plane, binding(f"of-{bare}", f"{kind}/of-{bare}", [subject(f"User/{bare}")], namespace))
        if namespace:
            _make(plane, role(f"writes-{bare}", EVERY))
            _make(
                plane,
                binding(f"writes-{bare}", f"ClusterRole/writes-{bare}", [subject(f"User/{bare}")], namespace),
            )
    _make(plane, role("there", "get pods"))
    _make(plane, role("secrets", "get secrets"))
    _make(plane, role("pods", "list pods"))
    _make(plane, role("labelled", "get secrets", labels={"to-all": "true"}))
    _make(plane, {**role("gathering", ""), "aggregationRule": _gathers("to-all")})
    _make(plane, role("there", "get pods", "default"))
    _make(plane, role("secrets", "get secrets", "default"))
    return plane


def _gathers(label: str) -> Json:
    return {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}


def _address(obj: Json) -> str:
    namespace = obj["metadata"].get("namespace")
    plural = f"{obj['kind'].lower()}s"
    return f"{BASE}/namespaces/{namespace}/{plural}" if namespace else f"{BASE}/{plural}"


def _make(plane: InProcess, obj: Json) -> None:
    status, answer = plane.post(_address(obj), obj)
    assert status == 201, answer


CREATED = [
    ("plain", role("new", "get pods"), 201),
    ("plain", role("new", "get,list pods =web"), 201),
    ("plain", role("new", "get pods ; list pods"), 201),
    ("plain", role("new", ""), 201),
    ("plain", role("new", "watch pods"), 403),
    ("plain", role("new", "get secrets"), 403),
    ("plain", role("new", "get pods @*"), 403),
    ("plain", role("new", "get *"), 403),
    ("plain", role("new", "get ~/metrics"), 403),
    ("plain", role("new", "get pods", "default"), 201),
    ("plain", role("new", "get secrets", "default"), 403),
    ("named", role("new", "get pods =web"), 201),
    ("named", role("new", "get pods"), 403),
    ("escalator", role("new", "* * @*"), 201),
    ("escalator", role("new", "* * @*", "default"), 201),
    ("escalator-of-one", role("there-too", "get secrets"), 403),
    ("almighty", role("new", "* * @* ; get ~*"), 201),
    ("almost", role("new", "* * @*"), 403),
    ("almost", role("new", "get,delete * @* ; get ~/metrics"), 201),
    ("almighty", {**role("new", ""), "aggregationRule": _gathers("x")}, 201),
    ("almost", {**role("new", ""), "aggregationRule": _gathers("x")}, 403),
    ("plain", {**role("new", ""), "aggregationRule": _gathers("x")}, 403),
    ("escalator", {**role("new", ""), "aggregationRule": _gathers("x")}, 201),
    ("local", role("new", "get pods", "default"), 201),
    ("local", role("new", "get secrets", "default"), 403),
    ("local", role("new", "get pods", "kube-system"), 403),
    ("local", role("new", "get pods"), 403),
    ("plain", binding("new", "ClusterRole/pods", [subject("User/x")]), 201),
    ("plain", binding("new", "ClusterRole/pods", [subject("User/x")], "default"), 201),
    ("plain", binding("new", "Role/there", [subject("User/x")], "default"), 201),
    ("plain", binding("new", "ClusterRole/secrets", [subject("User/x")]), 403),
    ("plain", binding("new", "ClusterRole/secrets", []), 403),
    ("plain", binding("new", "ClusterRole/secrets", [subject("User/plain")], "default"), 403),
    ("plain", binding("new", "Role/secrets", [subject("User/plain")], "default"), 403),
    ("plain", binding("new", "ClusterRole/gone", [subject("User/x")]), 404),
    ("plain", binding("new", "Role/gone", [subject("User/x")], "default"), 404),
    ("plain", binding("new", "Role/there", [subject("User/x")]), 422),
    ("plain", binding("new", "Pod/there", [subject("User/x")]), 422),
    ("named", binding("new", "ClusterRole/pods", [subject("User/x")]), 403),
    ("binder", binding("new", "ClusterRole/secrets", [subject("User/x")]), 201),
    ("binder", binding("new", "ClusterRole/gone", [subject("User/x")]), 201),
    ("binder", binding("new", "Role/secrets", [subject("User/x")], "default"), 201),
    ("binder", role("new", "get secrets"), 403),
    ("binder-of-one", binding("new", "ClusterRole/secrets", [subject("User/x")]), 201),
    ("binder-of-one", binding("new", "ClusterRole/labelled", [subject("User/x")]), 403),
    ("binder-of-one", binding("new", "Role/secrets", [subject("User/x")], "default"), 403),
    ("escalator", binding("new", "ClusterRole/secrets", [subject("User/x")]), 403),
    ("local", binding("new", "ClusterRole/pods", [subject("User/x")], "default"), 201),
    ("local", binding("new", "ClusterRole/secrets", [subject("User/x")], "default"), 403),
    ("local", binding("new", "ClusterRole/pods", [subject("User/x")]), 403),
    ("local-binder", binding("new", "ClusterRole/secrets", [subject("User/x")], "default"), 201),
    ("local-binder", binding("new", "ClusterRole/secrets", [subject("User/x")], "kube-system"), 403),
    ("x+system:masters", role("new", "* * @*"), 201),
    ("x+system:masters", binding("new", "ClusterRole/gone", [subject("User/x")]), 201),
]


@pytest.mark.parametrize(("who", "obj", "expected"), CREATED)
def test_who_may_create_what(who: str, obj: Json, expected: int) -> None:
    plane = _plane()
    status, answer = plane.post(_address(obj), obj, user=user(who))
    assert status == expected, answer
    applied = {**obj, "metadata": {**obj["metadata"], "name": "applied"}}
    status, answer = plane.request(
        "PATCH",
        f"{_address(obj)}/applied?fieldManager=t",
        applied,
        content_type="application/apply-patch+yaml",
        user=user(who),
    )
    assert status == expected, answer


RULES = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
# who, which role, what they change of it, the answer
PATCHED = [
    ("plain", "there", {"rules": RULES}, 403),
    ("plain", "there", {"rules": []}, 200),
    ("plain", "there", {"metadata": {"labels": {"to-all": "true"}}}, 200),
    ("plain", "secrets", {"rules": []}, 200),
    ("plain", "secrets", {"metadata": {"labels": {"to-all": "true"}}}, 403),
    ("plain", "secrets", {"metadata": {"annotations": {"a": "b"}}}, 403),
    ("plain", "secrets", {"metadata": {"finalizers": ["example.com/x"]}}, 200),
    (
        "plain",
        "secrets",
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1"}]
            }
        },
        200,
    ),
    ("plain", "secrets", {}, 200),
    ("plain", "labelled", {"metadata": {"labels": {"to-all": None}}}, 403),
    ("plain", "gathering", {"aggregationRule": None}, 403),
    ("plain", "gathering", {"aggregationRule": _gathers("other")}, 403),
    ("almost", "gathering", {"aggregationRule": _gathers("other")}, 403),
    ("almighty", "gathering", {"aggregationRule": _gathers("other")}, 200),
    ("almighty", "gathering", {"aggregationRule": None}, 200),
    ("escalator", "there", {"rules": RULES}, 200),
    ("escalator-of-one", "there", {"rules": RULES}, 200),
    ("escalator-of-one", "pods", {"rules": RULES}, 403),
    ("x+system:masters", "secrets", {"metadata": {"labels": {"to-all": "true"}}}, 200),
]


@pytest.mark.parametrize(("who", "name", "patch", "expected"), PATCHED)
def test_who_may_change_which_role(who: str, name: str, patch: Json, expected: int) -> None:
    status, answer = _plane().patch(f"{BASE}/clusterroles/{name}", patch, user=user(who))
    assert status == expected, answer


@pytest.mark.parametrize(
    ("who", "patch", "expected"),
    [
        ("plain", {"subjects": [subject("User/plain")]}, 403),
        ("plain", {"subjects": None}, 403),
        ("plain", {"metadata": {"labels": {"a": "b"}}}, 403),
        ("plain", {"metadata": {"finalizers": ["example.com/x"]}}, 200),
        ("binder", {"subjects": [subject("User/plain")]}, 200),
        ("binder-of-one", {"subjects": [subject("User/plain")]}, 200),
        ("almighty", {"subjects": [subject("User/plain")]}, 200),
        ("almighty", {"roleRef": {"name": "pods"}}, 422),
    ],
)
def test_who_may_change_a_binding(who: str, patch: Json, expected: int) -> None:
    plane = _plane()
    _make(plane, binding("bound", "ClusterRole/secrets", [subject("User/x")]))
    status, answer = plane.patch(f"{BASE}/clusterrolebindings/bound", patch, user=user(who))
    assert status == expected, answer


def test_a_label_does_not_lead_around() -> None:
    """A role that allows more than one has is not drawn into a role that one has."""
    plane = _plane()
    status, answer = plane.patch(
        f"{BASE}/clusterroles/secrets", {"metadata": {"labels": {"to-all": "true"}}}, user=user("plain")
    )
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert "not currently held" in answer["message"]
    assert '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}' in answer["message"]


def test_deleting_a_role_grants_nothing_and_needs_nothing() -> None:
    status, _ = _plane().delete(f"{BASE}/clusterroles/secrets", user=user("plain"))
    assert status == 200


def test_a_role_that_grants_too_many_single_rights_is_refused() -> None:
    many = ",".join(f"r{number}" for number in range(300))
    names = ",".join(f"n{number}" for number in range(200))
    obj = role("new", f"get {many} ={names}")
    status, answer = _plane().post(_address(obj), obj, user=user("plain"))
    assert status == 403
    assert "more than 50000 single rights" in answer["message"]
    assert _plane().post(_address(obj), obj)[0] == 201
