"""SchedulerOverrides as they come in: what is stamped, what is refused and with which words, who may approve."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.api.conversation import Conversation
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Transaction
from fairlead.store.events import RoomLost
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


@pytest.mark.parametrize(("target", "noted"), [("deployment/web", 5), ("namespace", 3)])
def test_a_workload_that_is_named_asks_for_what_was_noted_when_the_override_begins(
    plane: InProcess, target: str, noted: int
) -> None:
    body = codec.encode(override(target, changes={"pauseExpansion": True}))
    request = Request("create", "fairlead.dev", "v1", "scheduleroverrides", "default", body=body)
    conversation = Conversation(plane.api, request, plane.context())
    step = conversation.begin()
    plane.patch("/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 5}})
    while isinstance(step, Transaction):
        step = conversation.resolved(plane.commit(step))
    assert isinstance(step, Reply)
    held = codec.decode(step.body)["status"]["held"]
    assert [each["replicas"] for each in held if each["name"] == "web"] == [noted]


REFUSED = (
    (override(lasts="5h"), "default", "at most 4h0m0s here"),
    (override(lasts="25h"), "default", "must be between 1s and 24h"),
    (override(lasts="soon"), "default", "spec.expiresAfter"),
    (override(reason=" "), "default", "spec.reason: Required value: say why"),
    (override("deployment/nope"), "default", "there are deployment/db, deployment/web"),
    (override("zone/a", changes={"cordon": True}), "default", "reaches beyond namespace default"),
    (override("zone/x", changes={"cordon": True}), "kube-system", "there is no such zone; there are a, b"),
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
    assert status == 422
    assert "spec.expiresAfter" in answer["message"]
    assert answer["message"].endswith("make another whose spec.replaces is calm")


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


@pytest.mark.parametrize(
    ("spec", "field", "told"),
    [
        (
            {"changes": {"avoidZones": ["a", "z"]}},
            "spec.changes.avoidZones",
            '"z": no node is there; there are a, b',
        ),
        (
            {"changes": {"trafficWeights": [{"zone": "z", "weight": 0}]}},
            "spec.changes.trafficWeights",
            "are a, b",
        ),
        ({"scope": "zone/z"}, "spec.scope", '"zone/z": no node is there; there are a, b'),
        ({"lasts": "2d"}, "spec.expiresAfter", "such as 45m, 2h or 1h30m"),
    ],
)
def test_a_name_that_is_nobodys_is_refused_with_those_that_there_are(
    plane: InProcess, spec: Json, field: str, told: str
) -> None:
    status, answer = made(plane, override(**spec))
    assert status == 422
    assert field in answer["message"]
    assert told in answer["message"]


def test_a_capacity_class_that_is_not_in_use_is_refused_or_warned_of(plane: InProcess) -> None:
    lends = override(changes={"allowReservedCapacityClass": "recover", "reservedReplicas": 1})
    path = OVERRIDES.format("default")
    where = ("fairlead.dev", "v1", "scheduleroverrides", "default")
    reply = plane.send(Request("create", *where, body=codec.encode(lends)))
    assert isinstance(reply, Reply)
    assert reply.status == 201
    assert [each for each in reply.warnings if "no capacity class recover is in use" in each]
    assert plane.delete(f"{path}/calm")[0] == 200
    classes = [{"name": "recovery", "nodeSelector": {"matchLabels": {"tier": "recovery"}}}]
    for kind, plural, name, body in (
        ("SchedulingPolicy", "schedulingpolicies", "classes", {"capacityClasses": classes}),
        ("PlaneSettings", "planesettings", "default", {"schedulingPolicy": "classes"}),
    ):
        whole = {"apiVersion": "fairlead.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": body}
        assert plane.post(f"/apis/fairlead.dev/v1/{plural}", whole)[0] == 201
    status, answer = made(plane, lends)
    assert (status, answer["message"].rpartition("; ")[2]) == (422, "there are recovery")
    lends["spec"]["changes"]["allowReservedCapacityClass"] = "recovery"
    assert made(plane, lends)[0] == 201


@pytest.mark.parametrize(
    ("target", "namespace", "changes", "told"),
    [
        ("node/n1", "kube-system", {"drain": True}, "pods that it takes away are not made again yet: "),
        (
            "deployment/web",
            "default",
            {"trafficWeights": [{"zone": "a", "weight": 0}]},
            "traffic goes on as it",
        ),
        ("deployment/web", "default", {"pauseExpansion": True}, ""),
        ("node/n1", "kube-system", {"cordon": True}, ""),
    ],
)
def test_on_a_full_disk_a_warning_says_what_it_cannot_do(
    plane: InProcess, target: str, namespace: str, changes: Json, told: str
) -> None:
    """It is taken, and what rests on ordinary writes waits for room."""
    body = codec.encode(override(target, changes=changes))
    request = Request("create", "fairlead.dev", "v1", "scheduleroverrides", namespace, body=body)
    plane.store.handle(RoomLost("the disk is full: free some", 100_000))
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 201, reply.body
    warned = [each for each in reply.warnings if "the disk is full: free some" in each]
    assert [each[: len(told)] for each in warned] == ([told] if told else [])


def _operators(plane: InProcess, *verbs: str) -> None:
    """Everybody who is signed in may do these to overrides."""
    rule = {"apiGroups": ["fairlead.dev"], "resources": ["scheduleroverrides"], "verbs": list(verbs)}
    role = {"kind": "ClusterRole", "metadata": {"name": "operators"}, "rules": [rule]}
    bound = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "operators"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "operators"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}
        ],
    }
    for plural, body in (("clusterroles", role), ("clusterrolebindings", bound)):
        api = "rbac.authorization.k8s.io/v1"
        assert plane.post(f"/apis/{api}/{plural}", {"apiVersion": api, **body})[0] == 201


JANE, ANN = (User(name, groups=("system:authenticated",)) for name in ("jane", "ann"))


def test_each_releases_only_its_own(plane: InProcess) -> None:
    _operators(plane, "create", "get", "delete", "deletecollection")
    path = OVERRIDES.format("default")
    assert made(plane, override(name="janes"), user=JANE)[0] == 201
    assert made(plane, override(name="anns"), user=ANN)[0] == 201
    status, answer = plane.delete(f"{path}/janes", user=ANN)
    assert status == 403
    assert 'it is held by "jane" until ' in answer["message"]
    assert "(a drill): ask them to end it" in answer["message"]
    assert plane.delete(path, user=ANN)[0] == 403
    assert {each["metadata"]["name"] for each in plane.get(path)[1]["items"]} >= {"janes"}
    assert plane.delete(f"{path}/janes", user=JANE)[0] == 200


def test_a_team_releases_what_is_its_own_and_anybody_what_has_ended(plane: InProcess) -> None:
    _operators(plane, "create", "get", "delete")
    path = OVERRIDES.format("default")
    member = User("eve", groups=("system:authenticated", "on-call"))
    assert made(plane, override(name="teams", owner="on-call"), user=JANE)[0] == 201
    assert plane.delete(f"{path}/teams", user=ANN)[0] == 403
    assert plane.delete(f"{path}/teams", user=member)[0] == 200
    assert made(plane, override(name="janes"), user=JANE)[0] == 201
    plane.now += 1800
    assert plane.delete(f"{path}/janes", user=ANN)[0] == 200


def test_who_may_bypass_ends_what_is_anothers_and_is_told_whose_it_was(plane: InProcess) -> None:
    _operators(plane, "create", "get", "delete", "bypass")
    assert made(plane, override(name="janes"), user=JANE)[0] == 201
    where = ("fairlead.dev", "v1", "scheduleroverrides", "default", "janes")
    reply = plane.send(Request("delete", *where), user=ANN)
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert 'it is held by "jane"' in reply.warnings[0]
