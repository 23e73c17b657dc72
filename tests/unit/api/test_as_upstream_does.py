"""Small habits of Kubernetes' API that its own conformance tests and components count on."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.plan import Watch
from fairlead.core import codec
from fairlead.port.request import Reply, Request
from fairlead.reconcile.deployment.history import REVISION, revision_of
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, definition
from tests.unit.api.things import PODS, made, pod, sample

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("more", [{}, {"metadata": {"annotations": {"example.com/by": "me"}}}])
def test_a_binding_is_no_new_generation(more: dict[str, Any]) -> None:
    """Also where the binder adds annotations, which takes the longer way."""
    plane = InProcess()
    made(plane, PODS, pod())
    target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "node-1"}, **more}
    assert plane.post(f"{PODS}/web/binding", target)[0] == 201
    found = plane.get(f"{PODS}/web")[1]
    assert (found["spec"]["nodeName"], found["metadata"]["generation"]) == ("node-1", 1)


def test_the_limit_in_a_quotas_status_can_be_written_and_limits_nothing() -> None:
    plane = InProcess()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}},
    }
    made(plane, QUOTAS, quota)
    status, found = plane.patch(
        f"{QUOTAS}/q/status", {"status": {"hard": {"pods": "9"}, "used": {"pods": "7"}}}
    )
    assert (status, found["status"]) == (200, {"hard": {"pods": "9"}, "used": {"pods": "0"}})
    assert plane.post(PODS, pod())[0] == 201
    assert plane.post(PODS, {**pod(), "metadata": {"name": "two"}})[0] == 403


def test_conditions_of_a_definition_are_anybodys_but_those_of_its_names() -> None:
    plane = InProcess()
    created = made(plane, CRDS, definition())
    address = f"{CRDS}/{created['metadata']['name']}/status"
    created["status"]["conditions"].append(
        {"type": "", "status": "", "message": "updated", "lastTransitionTime": None}
    )
    status, found = plane.put(address, created)
    assert (status, found["status"]["conditions"][-1]) == (
        200,
        {"type": "", "status": "", "message": "updated"},
    )
    patch = [{"op": "add", "path": "/status/conditions", "value": [{"message": "patched"}]}]
    status, found = plane.patch(address, patch, "json-patch")
    told = [each.get("type") or each["message"] for each in found["status"]["conditions"]]
    assert (status, told) == (200, ["NamesAccepted", "Established", "patched"])


def test_a_set_with_claims_is_refused_in_words_and_one_that_is_there_can_be_changed() -> None:
    plane = InProcess()
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    wanted = sample("StatefulSet")
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    status, found = plane.post(sets, {**wanted, "spec": {**wanted["spec"], "volumeClaimTemplates": claims}})
    assert (status, found["details"]["causes"][0]["field"]) == (422, "spec.volumeClaimTemplates")
    assert "PersistentVolumeClaims are not served here: leave it out" in found["message"]
    assert plane.post(sets, wanted)[0] == 201


def test_lists_that_clients_take_for_granted_are_there_and_stay_empty() -> None:
    plane = InProcess()
    at = "/api/v1/namespaces/default/replicationcontrollers"
    for address in (at, "/api/v1/replicationcontrollers"):
        status, found = plane.get(address)
        assert (status, found["kind"], found["items"]) == (200, "ReplicationControllerList", [])
    assert plane.get(at, accept=TABLE)[1]["kind"] == "Table"
    assert plane.get(f"{at}/web")[0] == 404
    watched = plane.send(Request("watch", "", "v1", "replicationcontrollers", "default"))
    assert isinstance(watched, Watch)
    body = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}}
    status, refused = plane.post(at, body)
    assert (status, refused["message"]) == (
        405,
        "the server does not allow create on replicationcontrollers: there are none here, use a Deployment or a ReplicaSet",
    )


def test_a_review_has_no_columns() -> None:
    plane = InProcess()
    asked: dict[str, Any] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {},
    }
    asked["spec"] = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    status, found = plane.request("POST", REVIEW, asked, accept=TABLE)
    assert (status, found["reason"]) == (406, "NotAcceptable")
    assert plane.request("POST", REVIEW, asked, accept=f"{TABLE},application/json")[0] == 201
    assert plane.request("POST", REVIEW, asked, accept="application/json")[0] == 201


def test_a_status_ends_with_a_newline() -> None:
    plane = InProcess()
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    made(plane, "/api/v1/namespaces/default/configmaps", config)
    for request in (
        Request(verb="get", group="", version="v1", plural="pods", namespace="default", name="nobody"),
        Request(verb="delete", group="", version="v1", plural="configmaps", namespace="default", name="c"),
    ):
        found = plane.send(request)
        assert isinstance(found, Reply)
        assert found.body.endswith(b"}\n")
        assert codec.decode(found.body)["kind"] == "Status"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3546343826724305832", 3546343826724305832),
        ("9223372036854775806", 9223372036854775806),
        ("9223372036854775807", 0),
        ("99999999999999999999", 0),
        ("-1", 0),
        ("x", 0),
    ],
)
def test_a_revision_is_any_number_of_64_bits_that_has_a_next(text: str, number: int) -> None:
    assert revision_of({REVISION: text}) == number


def test_a_gated_pod_says_so_from_its_first_moment() -> None:
    plane = InProcess()
    for name in ("one", "two"):  # the second has a spec that is known
        wanted = {**pod(), "metadata": {"name": name}}
        wanted["spec"] = {**wanted["spec"], "schedulingGates": [{"name": "example.com/wait"}]}
        created = made(plane, PODS, wanted)
        (told,) = created["status"]["conditions"]
        assert (told["type"], told["status"], told["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert "conditions" not in made(plane, PODS, {**pod(), "metadata": {"name": "free"}})["status"]
