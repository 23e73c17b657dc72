"""SchedulerOverrides as they come in: what is stamped, what is refused and with which words, who may approve."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from tests.inprocess import ADMIN, InProcess

OVERRIDES = "/apis/fairlead.dev/v1/namespaces/{}/scheduleroverrides"
OTHER = User("jane", groups=(MASTERS, "system:authenticated"))
PLANE = User("system:fairlead:override-capacity", groups=(MASTERS,))


def override(target: str = "deployment/web", lasts: str = "30m", **spec: Any) -> Json:
    changes = spec.pop("changes", {"pauseRollout": True})
    name = spec.pop("name", "calm")
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulerOverride",
        "metadata": {"name": name},
        "spec": {"target": target, "reason": "a drill", "expiresAfter": lasts, "changes": changes, **spec},
    }


@pytest.fixture
def plane() -> InProcess:
    found = InProcess()
    for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "b"), ("n4", "b")):
        labels = {"topology.kubernetes.io/zone": zone}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        assert found.post("/api/v1/nodes", node)[0] == 201
    for name, replicas in (("web", 3), ("db", 1)):
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        assert found.post("/apis/apps/v1/namespaces/default/deployments", body)[0] == 201
    return found


def made(plane: InProcess, body: Json, namespace: str = "default", user: User = ADMIN) -> tuple[int, Json]:
    return plane.post(OVERRIDES.format(namespace), body, user=user)


def test_who_and_until_when_are_stamped_whatever_is_sent(plane: InProcess) -> None:
    sent = override(expiresAt="2099-01-01T00:00:00Z", requestedBy="somebody", approval="none")
    status, found = made(plane, sent)
    assert status == 201, found
    spec = found["spec"]
    assert spec["expiresAt"] == timestamp(plane.now + 1800)
    assert (spec["requestedBy"], spec["owner"], "approval" in spec) == ("admin", "admin", False)


def test_the_sizes_that_are_to_stay_are_noted_as_it_is_made(plane: InProcess) -> None:
    _, found = made(plane, override("namespace", changes={"pauseExpansion": True}))
    assert {(each["name"], each["replicas"]) for each in found["status"]["held"]} == {("web", 3), ("db", 1)}


REFUSED = (
    (override(lasts="5h"), "default", "at most 14400s here"),
    (override(lasts="25h"), "default", "must be between 1s and 24h"),
    (override(lasts="soon"), "default", "spec.expiresAfter"),
    (override(reason=" "), "default", "spec.reason: Required value: say why"),
    (override("deployment/nope"), "default", "there are deployment/db, deployment/web"),
    (override("zone/a", changes={"cordon": True}), "default", "reaches beyond namespace default"),
    (override("zone/x", changes={"cordon": True}), "kube-system", "no node is there; there are a, b"),
    (override("namespace/other"), "default", "make it in other"),
    (override(changes={}), "default", "say what changes"),
    (override(changes={"drain": True}), "default", "is about places"),
    (override("zone/a", changes={"pauseRollout": True}), "kube-system", "is about workloads"),
    (override(changes={"avoidNodes": {}}), "default", "an empty one would close every node"),
    (override(changes={"reservedReplicas": 2}), "default", "allowReservedCapacityClass: Required value"),
    (override(replaces="nope"), "default", "no such override is active"),
    (
        override(changes={"approveRepair": {"kind": "Pod", "name": "p", "uid": "u", "namespace": "other"}}),
        "default",
        "reaches beyond namespace default",
    ),
    (override(scope="planet/mars"), "default", 'spec.scope: Unsupported value: "planet/mars"'),
)


@pytest.mark.parametrize(("body", "namespace", "told"), REFUSED)
def test_what_cannot_be_is_refused_with_what_to_change(
    plane: InProcess, body: Json, namespace: str, told: str
) -> None:
    status, answer = made(plane, body, namespace)
    assert (status, told in answer["message"]) == (422, True), answer["message"]


def test_no_more_may_be_active_than_the_settings_say(plane: InProcess) -> None:
    settings = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"overrides": {"activeMax": 1}},
    }
    assert plane.post("/apis/fairlead.dev/v1/planesettings", settings)[0] == 201
    assert made(plane, override(lasts="1m"))[0] == 201
    status, answer = made(plane, override(name="second"))
    assert status == 422
    assert "the next to end is default/calm" in answer["message"]
    assert made(plane, override(name="second", replaces="calm"))[0] == 201
    plane.now += 3600
    assert made(plane, override(name="third"))[0] == 201


def test_what_cannot_stand_beside_another_names_it(plane: InProcess) -> None:
    class_ = {"allowReservedCapacityClass": "recovery"}
    assert made(plane, override(changes=class_))[0] == 201
    status, answer = made(plane, override("workload/web", name="second", changes=class_))
    assert status == 422
    assert "default/calm lets deployment/web use class recovery already" in answer["message"]
    assert made(plane, override("deployment/db", name="third", changes=class_))[0] == 201


def test_nothing_of_it_can_be_changed(plane: InProcess) -> None:
    _, found = made(plane, override())
    path = OVERRIDES.format("default") + "/calm"
    whole = override()
    whole["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    assert plane.put(path, whole)[0] == 200, "who sends it again need not know what was stamped"
    whole["spec"]["expiresAfter"] = "3h"
    whole["metadata"].pop("resourceVersion")
    status, answer = plane.put(path, whole)
    assert (status, "field is immutable" in answer["message"]) == (422, True)


def test_what_reaches_far_waits_for_a_second_person(plane: InProcess) -> None:
    _, found = made(plane, override("zone/b", changes={"cordon": True}), "kube-system")
    assert found["spec"]["approval"] == "it closes 3 of 4 nodes, and spec.overrides.nodesShareMax is 0.34"
    path = OVERRIDES.format("kube-system") + "/calm/approval"
    body = {**found, "status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    status, answer = plane.put(path, body)
    assert (status, '"admin" asked for it' in answer["message"]) == (403, True)
    status, after = plane.put(path, body, user=OTHER)
    assert status == 200, after
    assert after["status"]["conditions"][0]["message"] == "by jane"
    assert after["spec"] == found["spec"]


def test_nobody_but_the_plane_writes_its_status(plane: InProcess) -> None:
    _, found = made(plane, override())
    status, answer = plane.put(
        OVERRIDES.format("default") + "/calm/status", {**found, "status": {"active": True}}
    )
    assert (status, "written by the plane alone" in answer["message"]) == (403, True)


def reservation(name: str, made_for: str) -> Json:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Reservation",
        "metadata": {"annotations": {"fairlead.dev/override": made_for}},
        "spec": {
            "owner": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u"},
            "intent": name,
            "nodeName": "n1",
            "capacityClass": "recovery",
            "requests": {"cpu": "1"},
            "ttlSeconds": 60,
        },
    }


def test_no_more_reservations_are_made_for_one_than_it_allows(plane: InProcess) -> None:
    path = "/apis/fairlead.dev/v1/namespaces/default/reservations"
    changes = {"allowReservedCapacityClass": "recovery", "reservedReplicas": 2}
    made(plane, override(changes=changes))
    assert plane.post(path, reservation("one", "default/calm"), user=PLANE)[0] == 201
    assert plane.post(path, reservation("two", "default/calm"), user=PLANE)[0] == 201
    status, answer = plane.post(path, reservation("three", "default/calm"), user=PLANE)
    assert (status, "allows 2 replicas" in answer["message"]) == (403, True)
    assert plane.post(path, reservation("four", "default/nope"), user=PLANE)[0] == 403
    plane.now += 1800
    status, answer = plane.post(path, reservation("five", "default/calm"), user=PLANE)
    assert (status, "does not hold" in answer["message"]) == (403, True)


def test_zones_that_are_not_named_have_a_weight_and_a_place_has_no_services(plane: InProcess) -> None:
    weights = {"trafficWeights": [{"zone": "a", "weight": 0}]}
    status, found = made(plane, override(changes=weights))
    assert status == 201, found
    status, found = made(plane, override("zone/a", changes=weights, name="there"), "kube-system")
    assert status == 422
    assert "spec.changes.trafficWeights" in found["message"]


def test_one_that_prolongs_another_keeps_its_sizes_and_allows_no_more_than_one_of_them(
    plane: InProcess,
) -> None:
    path = "/apis/fairlead.dev/v1/namespaces/default/reservations"
    changes = {"allowReservedCapacityClass": "recovery", "reservedReplicas": 1, "pauseExpansion": True}
    made(plane, override(changes=changes))
    assert plane.post(path, reservation("one", "default/calm"), user=PLANE)[0] == 201
    plane.patch("/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 9}})
    _, longer = made(plane, override(name="longer", lasts="1h", replaces="calm", changes=changes))
    assert [each["replicas"] for each in longer["status"]["held"]] == [3]
    assert plane.post(path, reservation("two", "default/longer"), user=PLANE)[0] == 403
    plane.now += 1800
    assert plane.post(path, reservation("two", "default/longer"), user=PLANE)[0] == 201


FORESEEN = {
    "outcome": "Made",
    "revision": "7",
    "moved": 2,
    "workloads": [{"workload": "deployment/web", "moved": 2}],
}


def test_what_was_foreseen_is_kept_as_it_was_sent_and_nobody_changes_it(plane: InProcess) -> None:
    status, found = made(plane, override(preview=FORESEEN))
    assert status == 201, found
    assert found["spec"]["preview"] == FORESEEN
    path = OVERRIDES.format("default") + "/calm"
    status, refused = plane.patch(path, {"spec": {"preview": {"moved": 9}}})
    assert (status, "spec.preview" in refused["message"]) == (422, True)
    again = {**found, "spec": {key: value for key, value in found["spec"].items() if key != "preview"}}
    status, kept = plane.put(path, again)
    assert (status, kept["spec"]["preview"]) == (200, FORESEEN)  # who sends it whole need not know it


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (None, "Skipped: whoever made it sent none"),
        ({"outcome": "TooSlow", "message": "it took longer than 10 s"}, "TooSlow: it took longer than 10 s"),
        ({"outcome": "Failed", "message": "its process ended"}, "Failed: its process ended"),
        ({"outcome": "Made"}, None),
    ],
)
def test_one_that_nobody_looked_ahead_for_says_so_and_its_audit_line(
    plane: InProcess, sent: Json | None, told: str | None
) -> None:
    body = override(changes={"avoidZones": ["a"]})
    if sent is not None:
        body["spec"]["preview"] = sent
    status, found = made(plane, body)
    assert status == 201, found
    preview = found["spec"]["preview"]
    assert preview == (sent or {"outcome": "Skipped", "message": "whoever made it sent none"})
    lines = [codec.decode(note.body) for _, _, note in plane.journal.notes("audit", 0, 10_000)]
    (line,) = [each for each in lines if each["object"].get("name") == "calm"]
    assert (line.get("annotations") or {}).get("fairlead.dev/preview") == told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pauseAutoscaler": True, "pauseRollout": True}, "it moves nothing"),
        ({"pauseAutoscaler": True, "avoidZones": ["a"]}, "whoever made it sent none"),
    ],
)
def test_what_moves_nothing_says_why_nothing_was_foreseen(
    plane: InProcess, changes: Json, message: str
) -> None:
    status, found = made(plane, override(changes=changes))
    assert (status, found["spec"]["preview"]) == (201, {"outcome": "Skipped", "message": message})


@pytest.mark.parametrize(
    ("preview", "field"),
    [
        ({"outcome": "Guessed"}, "spec.preview.outcome"),
        ({"outcome": "Skipped"}, "spec.preview.message"),
        ({"outcome": "Made", "moved": -1}, "spec.preview.moved"),
        ({"outcome": "Made", "workloads": [{"workload": "x"}] * 21}, "spec.preview.workloads"),
        ({"outcome": "Made", "room": [{"zone": "z" * 600}]}, "spec.preview.room[0].zone"),
    ],
)
def test_a_preview_is_bounded(plane: InProcess, preview: Json, field: str) -> None:
    status, refused = made(plane, override(preview=preview))
    assert status == 422
    assert field in refused["message"]
