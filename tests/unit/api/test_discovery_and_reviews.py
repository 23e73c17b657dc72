"""What the server says it serves is what it serves, and questions about access are answered through the API."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.api.discovery import Discovery
from fairlead.api.subresources import VERBS
from fairlead.model.catalog import CATALOG
from tests.inprocess import InProcess
from tests.unit.api.access.granting import give_defaults
from tests.unit.api.things import KINDS

ACCESS = "/apis/authorization.k8s.io/v1"
VIEWER = User("looker", groups=("system:authenticated",))


def _listed() -> dict[str, Any]:
    discovery = Discovery(CATALOG)
    documents = [discovery.resources(group, version) for group, version in CATALOG.versions]
    return {each["name"]: each for document in documents if document for each in document["resources"]}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_and_subresource_is_listed(name: str) -> None:
    kind, listed = KINDS[name], _listed()
    entry = listed[kind.plural]
    assert (entry["kind"], entry["namespaced"]) == (kind.kind, kind.namespaced)
    assert ("deletecollection" in entry["verbs"]) is (name not in ("Namespace", "AccessGrant"))
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(entry["verbs"])
    for subresource in kind.subresources:
        assert listed[f"{kind.plural}/{subresource}"]["verbs"] == sorted(VERBS[subresource])


def test_both_shapes_of_discovery_say_the_same() -> None:
    discovery = Discovery(CATALOG)
    seen = {}
    for core in (True, False):
        for group in discovery.aggregated(core)["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    seen[resource["resource"]] = resource["verbs"]
                    for sub in resource.get("subresources", ()):
                        seen[f"{resource['resource']}/{sub['subresource']}"] = sub["verbs"]
    assert seen == {name: each["verbs"] for name, each in _listed().items()}


def test_subresources_that_exchange_another_kind_say_which() -> None:
    listed = _listed()
    scale = listed["deployments/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    eviction = listed["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == ("policy", "v1", "Eviction")
    assert "group" not in listed["pods/status"]


@pytest.mark.parametrize(
    ("user", "verb", "allowed"), [("admin", "delete", True), ("looker", "delete", False)]
)
def test_one_may_ask_what_one_may_do(user: str, verb: str, allowed: bool) -> None:
    plane = InProcess()
    give_defaults(plane.assembly.grants)
    spec = {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default"}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    options = {} if user == "admin" else {"user": VIEWER}
    before = plane.store.revision
    status, answer = plane.post(f"{ACCESS}/selfsubjectaccessreviews", body, **options)
    assert (status, answer["status"]["allowed"]) == (201, allowed)
    assert plane.store.revision == before


def test_one_may_ask_who_one_is() -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    status, answer = InProcess().post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    assert (status, answer["status"]["userInfo"]["username"]) == (201, "admin")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_a_question_can_only_be_posted(method: str) -> None:
    status, body = InProcess().request(method, f"{ACCESS}/selfsubjectaccessreviews", {})
    assert (status, body["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", {"spec": []}, {"kind": "Pod"}])
def test_a_question_that_is_none_is_refused(body: Any) -> None:
    assert InProcess().post(f"{ACCESS}/selfsubjectaccessreviews", body)[0] == 400
