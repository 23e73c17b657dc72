"""POST: names given and made up, namespaces, and what is refused before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core import ids
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, NAMESPACES, PODS, causes, configmap, made, pod


def _unnamed(prefix: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}}


def test_a_name_is_made_of_the_prefix() -> None:
    plane = InProcess()
    names = {made(plane, CONFIGMAPS, _unnamed("settings-"))["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("settings-") and len(name) == len("settings-") + 5 for name in names)


def test_a_long_prefix_is_cut_so_that_the_name_fits() -> None:
    name = made(InProcess(), CONFIGMAPS, _unnamed("a" * 80))["metadata"]["name"]
    assert len(name) == ids.GENERATED_NAME_MAX


def test_a_made_up_name_that_is_taken_is_made_up_again() -> None:
    plane = InProcess()
    entropy = (plane._requests + 3).to_bytes(16, "big")  # of the request after the two below
    for attempt in (0, 1):
        made(plane, CONFIGMAPS, configmap(ids.generated_name("x-", entropy, attempt)))
    created = made(plane, CONFIGMAPS, _unnamed("x-"))
    assert created["metadata"]["name"] == ids.generated_name("x-", entropy, 2)


def test_when_every_made_up_name_is_taken_the_client_is_told() -> None:
    plane = InProcess()
    context = plane.context()
    for attempt in range(16):
        made(plane, CONFIGMAPS, configmap(ids.generated_name("x-", context.entropy, attempt)))
    plane.context = lambda user=None: context  # type: ignore[method-assign]
    status, body = plane.post(CONFIGMAPS, _unnamed("x-"))
    assert (status, body["reason"]) == (409, "AlreadyExists")
    assert "not able to generate a unique name" in body["message"]
    status, body = plane.post(f"{CONFIGMAPS}?dryRun=All", _unnamed("x-"))
    assert (status, body["reason"]) == (409, "AlreadyExists")


@pytest.mark.parametrize("prefix", ["Upper-", "under_", "-x", "a..b-"])
def test_a_prefix_that_makes_no_name_is_invalid(prefix: str) -> None:
    status, body = InProcess().post(CONFIGMAPS, _unnamed(prefix))
    assert status == 422
    assert ("FieldValueInvalid", "metadata.generateName") in causes(body)


@pytest.mark.parametrize("metadata", [None, {}, {"name": ""}, {"name": None}, {"generateName": ""}])
def test_an_object_needs_a_name(metadata: Any) -> None:
    status, body = InProcess().post(
        CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    )
    assert status == 422
    assert causes(body) == [("FieldValueRequired", "metadata.name")]


def test_a_name_that_is_taken_is_told_in_kubernetes_words() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    status, body = plane.post(CONFIGMAPS, configmap())
    assert status == 409
    assert body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "settings" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "settings", "kind": "configmaps"},
        "code": 409,
    }


def test_an_object_for_another_namespace_is_refused() -> None:
    status, body = InProcess().post(CONFIGMAPS, configmap(namespace="kube-system"))
    assert (status, body["reason"]) == (400, "BadRequest")
    assert "does not match the namespace" in body["message"]


def test_a_namespace_that_does_not_exist_is_not_found() -> None:
    status, body = InProcess().post("/api/v1/namespaces/nowhere/configmaps", configmap())
    assert (status, body["reason"]) == (404, "NotFound")
    assert body["details"] == {"name": "nowhere", "kind": "namespaces"}
    assert body["message"].startswith('namespaces "nowhere" not found')


def test_nothing_is_created_in_a_namespace_that_is_going() -> None:
    plane = InProcess()
    made(plane, NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}})
    plane.delete(f"{NAMESPACES}/shop")
    status, body = plane.post("/api/v1/namespaces/shop/configmaps", configmap())
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == (
        'configmaps "settings" is forbidden: unable to create new content in namespace shop '
        "because it is being terminated"
    )
    assert body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace shop is being terminated",
            "field": "metadata.namespace",
        }
    ]


def test_a_namespace_that_goes_while_a_create_is_under_way_refuses_it() -> None:
    plane = InProcess()
    made(plane, NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}})
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        plane.delete(f"{NAMESPACES}/shop")
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    status, body = plane.post("/api/v1/namespaces/shop/configmaps", configmap())
    assert (status, body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    assert not plane.store.list("configmaps")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", f"{CONFIGMAPS}/settings"),
        ("PUT", CONFIGMAPS),
        ("PATCH", CONFIGMAPS),
        ("POST", "/api/v1/configmaps"),
    ],
)
def test_a_verb_at_the_wrong_address_is_not_allowed(method: str, target: str) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    before = plane.store.revision
    status, body = plane.request(method, target, configmap("other"), content_type="application/json")
    assert (status, body["reason"]) == (405, "MethodNotAllowed")
    assert plane.store.revision == before


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"null", "application/json", 400),
        (b'"text"', "application/json", 400),
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"- a", "application/yaml", 400),
        (b"{}", "text/plain", 415),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, content_type: str, status: int) -> None:
    assert InProcess().post(CONFIGMAPS, body, content_type=content_type)[0] == status


@pytest.mark.parametrize(
    ("level", "status", "warned"),
    [("Ignore", 201, False), ("Warn", 201, True), ("", 201, True), ("Strict", 400, False)],
)
def test_unknown_fields_are_treated_as_the_client_asks(level: str, status: int, warned: bool) -> None:
    plane = InProcess()
    obj = {**configmap(), "dataa": {}}
    answer, body = plane.post(f"{CONFIGMAPS}?fieldValidation={level}", obj)
    assert answer == status
    assert plane.warnings == (('unknown field "dataa"',) if warned else ())
    assert "dataa" not in body, "what is not known is not kept"
    if status == 400:
        assert 'strict decoding error: unknown field "dataa"' in body["message"]


def test_an_answer_that_cannot_be_given_is_refused_before_the_write() -> None:
    plane = InProcess()
    before = plane.store.revision
    for accept in ("application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v9;g=meta.k8s.io"):
        status, body = plane.post(CONFIGMAPS, configmap(), accept=accept)
        assert (status, body["reason"]) == (406, "NotAcceptable")
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    status, _ = plane.post(f"{CONFIGMAPS}?includeObject=Everything", configmap(), accept=table)
    assert status == 400
    assert plane.store.revision == before


def test_all_problems_are_told_at_once() -> None:
    obj = pod("Bad Name", labels={"a b": "c d"})
    obj["spec"]["containers"] = [{"name": "X!", "image": ""}]
    status, body = InProcess().post(PODS, obj)
    assert status == 422
    fields = {field for _, field in causes(body)}
    assert {
        "metadata.name",
        "metadata.labels",
        "spec.containers[0].name",
        "spec.containers[0].image",
    } <= fields
    assert body["details"]["kind"] == "Pod"
    assert body["message"].startswith('Pod "Bad Name" is invalid: [')


def test_an_unknown_resource_is_not_found() -> None:
    reply = InProcess().send(Request("list", "", "v1", "widgets"))
    assert isinstance(reply, Reply)
    assert reply.status == 404
