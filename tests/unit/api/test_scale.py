"""The scale subresource: one number of many kinds, with the revision and the rules of its parent."""

from __future__ import annotations

import pytest

from fairlead.store.contract import CommitOutcome, Transaction
from tests.inprocess import InProcess
from tests.unit.api.things import (
    DEPLOYMENTS,
    KINDS,
    METADATA,
    TABLE,
    causes,
    collection,
    deployment,
    made,
    plane_with_everything,
    sample,
)

ONE = f"{DEPLOYMENTS}/web"
SCALED = sorted(name for name, kind in KINDS.items() if "scale" in kind.subresources)


@pytest.mark.parametrize("name", SCALED)
def test_every_kind_that_has_replicas_has_a_scale(name: str) -> None:
    plane = plane_with_everything()
    one = f"{collection(KINDS[name], 'shop')}/{sample(name)['metadata']['name']}"
    parent = plane.get(one)[1]
    status, scale = plane.get(f"{one}/scale")
    assert status == 200
    assert scale["spec"] == {"replicas": parent["spec"]["replicas"]}
    assert scale["status"]["selector"] == "app=web"
    status, scale = plane.patch(f"{one}/scale", {"spec": {"replicas": 11}})
    assert (status, scale["kind"], scale["spec"]) == (200, "Scale", {"replicas": 11})
    after = plane.get(one)[1]
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (11, 2)


def test_a_scale_shows_its_parent() -> None:
    plane = InProcess()
    obj = deployment()
    obj["spec"]["selector"]["matchExpressions"] = [{"key": "app", "operator": "In", "values": ["web", "api"]}]
    parent = made(plane, DEPLOYMENTS, obj)
    plane.patch(f"{ONE}/status", {"status": {"replicas": 1}})
    _, scale = plane.get(f"{ONE}/scale")
    kept = ("name", "namespace", "uid", "creationTimestamp")
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            **{field: parent["metadata"][field] for field in kept},
            "resourceVersion": str(plane.store.revision),
        },
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "app in (api,web),app=web"},
    }


def test_a_put_replaces_the_number() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    _, scale = plane.get(f"{ONE}/scale")
    status, after = plane.put(f"{ONE}/scale", {**scale, "spec": {"replicas": 5}})
    assert (status, after["spec"]) == (200, {"replicas": 5})
    assert after["metadata"]["resourceVersion"] == str(plane.store.revision)
    status, body = plane.put(f"{ONE}/scale", {**scale, "spec": {"replicas": 6}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert plane.put(f"{ONE}/scale", {"spec": {"replicas": 6}})[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"metadata": {"name": "other"}, "spec": {"replicas": 1}}, 400),
        ({"metadata": {"uid": "11111111-2222-4333-8444-555555555555"}, "spec": {"replicas": 1}}, 409),
        ({"kind": "Deployment", "spec": {"replicas": 1}}, 400),
        ({"spec": {"replicas": -1}}, 422),
        ({"spec": {"replicas": "many"}}, 400),
    ],
)
def test_a_scale_that_does_not_fit_is_refused(body: dict[str, object], status: int) -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    answer, shown = plane.put(f"{ONE}/scale", body)
    assert answer == status
    assert plane.get(ONE)[1]["spec"]["replicas"] == 2
    if status == 422:
        assert causes(shown) == [("FieldValueInvalid", "spec.replicas")]
        assert shown["details"]["kind"] == "Scale"


def test_a_patch_of_the_number_is_applied_again_to_what_others_wrote() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    commit = plane.commit

    def meanwhile(transaction: Transaction) -> CommitOutcome:
        plane.commit = commit  # type: ignore[method-assign]
        plane.patch(ONE, {"metadata": {"labels": {"theirs": "1"}}})
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert plane.patch(f"{ONE}/scale", {"spec": {"replicas": 4}})[0] == 200
    after = plane.get(ONE)[1]
    assert (after["spec"]["replicas"], after["metadata"]["labels"]) == (4, {"theirs": "1"})


def test_a_scale_comes_in_every_form() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    _, table = plane.get(f"{ONE}/scale", accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Desired",
        "Available",
        "Age",
    ]
    assert table["rows"][0]["cells"][:3] == ["web", 2, 0]
    _, table = plane.patch(f"{ONE}/scale", {"spec": {"replicas": 4}}, accept=TABLE)
    assert table["rows"][0]["cells"][:3] == ["web", 4, 0]
    _, partial = plane.get(f"{ONE}/scale", accept=METADATA)
    assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "web")


def test_what_has_no_number_has_no_scale() -> None:
    status, body = InProcess().get("/api/v1/namespaces/default/configmaps/x/scale")
    assert (status, body["reason"]) == (404, "NotFound")
