"""The switch that refuses new work, and freezes: what is refused, to whom, until when; and what goes on all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.users import NODES, User
from fairlead.core.times import parse_time, timestamp
from fairlead.model.freeze_times import next_window, window_at
from fairlead.model.kind import Json
from tests.inprocess import ADMIN
from tests.unit.api.access.breakglass.world import JANE, PLANE, RBAC, World, bound, person

FREEZES = "/apis/fairlead.dev/v1/changefreezes"
SETTINGS = "/apis/fairlead.dev/v1/planesettings"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
DEV = person("dev")


def deployment(name: str = "web", image: str = "web:1") -> Json:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def pod(name: str, owner: Json | None = None) -> Json:
    metadata: Json = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    spec = {"containers": [{"name": "main", "image": "web:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


class Braked(World):
    """Deployments web of shop and bank exist; dev may edit in both."""

    def __init__(self) -> None:
        super().__init__()
        assert self.post(f"{RBAC}/clusterrolebindings", bound("dev", "edit"))[0] == 201
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        for space in ("shop", "bank"):
            assert self.post(f"/api/v1/namespaces/{space}/serviceaccounts", account)[0] == 201
            assert self.post(DEPLOYMENTS.format(space), deployment())[0] == 201

    def freeze(self, name: str = "feast", **spec: Any) -> tuple[int, Any]:
        whole: Json = {
            "reason": "the feast",
            "start": timestamp(self.now),
            "end": timestamp(self.now + 3600),
            **spec,
        }
        given = {field: value for field, value in whole.items() if value is not None}
        body = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "ChangeFreeze",
            "metadata": {"name": name},
            "spec": given,
        }
        return self.post(FREEZES, body)

    def refuse_new_work(self, **refusal: Any) -> tuple[int, Any]:
        whole = {"reason": "the disk is full", "until": timestamp(self.now + 600), **refusal}
        given = {field: value for field, value in whole.items() if value is not None}
        spec = {"admission": {"refuseNewWork": given}}
        body = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "PlaneSettings",
            "metadata": {"name": "default"},
            "spec": spec,
        }
        return self.post(SETTINGS, body)

    def roll_out(self, image: str = "web:2", space: str = "shop", user: User = DEV) -> tuple[int, Any]:
        containers = [{"name": "main", "image": image}]
        body = {"spec": {"template": {"spec": {"containers": containers}}}}
        return self.patch(f"{DEPLOYMENTS.format(space)}/web", body, user=user)

    def create(self, name: str, space: str = "shop", user: User = DEV) -> int:
        return self.post(DEPLOYMENTS.format(space), deployment(name), user=user)[0]

    def may_bypass(self, resource: str, name: str) -> None:
        rule = {
            "apiGroups": ["fairlead.dev"],
            "resources": [resource],
            "resourceNames": [name],
            "verbs": ["bypass"],
        }
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "bypass"},
        }
        assert self.post(f"{RBAC}/clusterroles", {**role, "rules": [rule]})[0] == 201
        assert self.post(f"{RBAC}/clusterrolebindings", bound("dev", "bypass"))[0] == 201


@pytest.fixture
def world() -> Braked:
    return Braked()


# The switch


def test_new_work_is_refused_with_the_reason_and_the_end(world: Braked) -> None:
    assert world.refuse_new_work()[0] == 201
    status, body = world.post(DEPLOYMENTS.format("shop"), deployment("new"), user=DEV)
    assert status == 403
    assert (
        f"the plane takes no new work until {timestamp(world.now + 600)}: the disk is full" in body["message"]
    )
    assert "the verb bypass on planesettings.fairlead.dev" in body["message"]
    world.now += 600
    assert world.create("new") == 201


WORK: dict[str, Json] = {
    "/api/v1/namespaces/shop/pods": pod("bare"),
    "/apis/apps/v1/namespaces/shop/deployments": deployment("new"),
    "/apis/apps/v1/namespaces/shop/replicasets": {**deployment("new"), "kind": "ReplicaSet"},
    "/apis/apps/v1/namespaces/shop/daemonsets": {
        **deployment("new"),
        "kind": "DaemonSet",
        "spec": {field: value for field, value in deployment("new")["spec"].items() if field != "replicas"},
    },
    "/apis/apps/v1/namespaces/shop/statefulsets": {
        **deployment("new"),
        "kind": "StatefulSet",
        "spec": {**deployment("new")["spec"], "serviceName": "new"},
    },
}


@pytest.mark.parametrize("target", WORK)
def test_every_kind_of_work_is_refused(world: Braked, target: str) -> None:
    dry = f"{target}?dryRun=All"
    assert world.post(dry, WORK[target], user=DEV)[0] == 201
    world.refuse_new_work()
    assert world.post(target, WORK[target], user=DEV)[0] == 403
    assert world.post(dry, WORK[target], user=DEV)[0] == 403


def test_what_is_no_work_is_taken(world: Braked) -> None:
    world.refuse_new_work()
    assert world.write(user=DEV) == 201
    assert world.roll_out()[0] == 200
    assert world.patch(f"{DEPLOYMENTS.format('shop')}/web", {"spec": {"replicas": 3}}, user=DEV)[0] == 200
    assert world.delete(f"{DEPLOYMENTS.format('shop')}/web", user=DEV)[0] == 200


def test_a_create_like_one_before_is_judged_all_the_same(world: Braked) -> None:
    pods = "/api/v1/namespaces/shop/pods"
    for name in ("a", "b", "c"):
        assert world.post(pods, pod(name), user=DEV)[0] == 201
    world.freeze(
        start=None, end=None, schedule="0 * * * *", duration="30m", forbids=["Creates"], name="half-hours"
    )
    world.now = (world.now // 3600) * 3600 + 3600 - 60  # a minute before the next
    assert world.post(pods, pod("d"), user=DEV)[0] == 201
    assert world.post(pods, pod("e"), user=DEV)[0] == 201
    world.now += 60
    assert world.post(pods, pod("f"), user=DEV)[0] == 403
    world.now += 1800
    assert world.post(pods, pod("g"), user=DEV)[0] == 201


def test_controllers_go_on_mending(world: Braked) -> None:
    world.refuse_new_work()
    made = world.get(f"{DEPLOYMENTS.format('shop')}/web")[1]
    pods = "/api/v1/namespaces/shop/pods"
    assert world.post(pods, pod("by-the-plane"), user=PLANE)[0] == 201
    owner = {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": made["metadata"]["uid"], "controller": True,
    }  # fmt: skip
    assert world.post(pods, pod("for-web", owner), user=DEV)[0] == 201
    assert world.post(pods, pod("for-another", {**owner, "uid": "other"}), user=DEV)[0] == 403
    assert world.post(pods, pod("for-nobody", {**owner, "name": "gone"}), user=DEV)[0] == 403
    assert world.post(pods, pod("owned", {**owner, "controller": False}), user=DEV)[0] == 403


def test_who_may_bypass_passes_and_it_is_marked(world: Braked) -> None:
    world.refuse_new_work()
    assert world.create("one") == 403
    world.may_bypass("planesettings", "default")
    assert world.create("one") == 201
    assert any("no new work" in each for each in world.warnings)
    last = json.loads(world.journal.notes("audit", 0, 10_000)[-1][2].body)
    assert last["annotations"] == {"fairlead.dev/bypassed": "planesettings/default"}
    assert world.create("two", user=ADMIN) == 201


def test_it_is_off_when_the_settings_say_nothing_of_it(world: Braked) -> None:
    world.refuse_new_work()
    assert world.patch(f"{SETTINGS}/default", {"spec": {"admission": None}})[0] == 200
    assert world.create("new") == 201
    world.delete(f"{SETTINGS}/default")
    world.refuse_new_work()
    assert world.create("newer") == 403
    world.delete(f"{SETTINGS}/default")
    assert world.create("newer") == 201


@pytest.mark.parametrize(("refusal", "field"), [({"reason": " "}, "reason"), ({"until": None}, "until")])
def test_the_switch_needs_a_reason_and_an_end(world: Braked, refusal: Json, field: str) -> None:
    status, body = world.refuse_new_work(**refusal)
    assert status == 422
    assert f"spec.admission.refuseNewWork.{field}" in body["message"]


def test_a_server_that_starts_knows_what_is_in_force(world: Braked) -> None:
    from fairlead.api.brakes.in_force import Brakes

    world.refuse_new_work()
    world.freeze()
    learnt = Brakes()
    assert learnt.learn(world.store) == []
    assert learnt.any
    assert len(list(learnt.on_creates("shop", world.now))) == 1
    assert len(list(learnt.on_rollouts("shop", world.now))) == 1


# Freezes


def test_a_rollout_is_refused_with_the_name_and_the_end(world: Braked) -> None:
    assert world.freeze()[0] == 201
    status, body = world.roll_out()
    assert status == 403
    assert (
        f'ChangeFreeze "feast" is in force until {timestamp(world.now + 3600)}: the feast' in body["message"]
    )
    world.now += 3600
    assert world.roll_out()[0] == 200


def test_before_it_begins_nothing_is_refused(world: Braked) -> None:
    world.freeze(start=timestamp(world.now + 60))
    assert world.roll_out()[0] == 200
    world.now += 60
    assert world.roll_out("web:3")[0] == 403


def test_scaling_creating_and_deleting_are_no_rollouts(world: Braked) -> None:
    world.freeze()
    assert world.patch(f"{DEPLOYMENTS.format('shop')}/web", {"spec": {"replicas": 3}}, user=DEV)[0] == 200
    assert world.roll_out("web:1")[0] == 200  # the same as it is
    assert world.create("new") == 201
    assert world.delete(f"{DEPLOYMENTS.format('shop')}/new", user=DEV)[0] == 200


def test_a_freeze_is_about_its_namespaces(world: Braked) -> None:
    world.freeze(namespaces=["bank"])
    assert world.roll_out()[0] == 200
    assert world.roll_out(space="bank")[0] == 403


def test_creates_are_forbidden_where_it_says_so(world: Braked) -> None:
    world.freeze(forbids=["Creates"])
    assert world.create("new") == 403
    assert world.roll_out()[0] == 200


def test_exceptions_the_plane_and_nodes_are_not_bound(world: Braked) -> None:
    world.freeze(exceptions={"users": ["dev"], "groups": ["on-call"]})
    assert world.roll_out()[0] == 200
    assert world.roll_out("web:3", user=PLANE)[0] == 200
    assert not world.warnings  # it is not bound, which is another thing than being let pass
    world.post(f"{RBAC}/clusterrolebindings", bound("jane", "edit"))
    assert world.roll_out("web:4", user=JANE)[0] == 200
    joe = User("joe", groups=("system:authenticated",))
    world.post(f"{RBAC}/clusterrolebindings", bound("joe", "edit"))
    assert world.roll_out("web:5", user=joe)[0] == 403
    assert User("system:node:n1", groups=(NODES,)).node_name == "n1"


def test_who_may_bypass_one_freeze_does_not_bypass_another(world: Braked) -> None:
    world.freeze()
    world.may_bypass("changefreezes", "feast")
    assert world.roll_out()[0] == 200
    world.freeze("other")
    assert world.roll_out("web:3")[0] == 403


def test_a_freeze_that_is_deleted_refuses_nothing(world: Braked) -> None:
    world.freeze()
    world.delete(f"{FREEZES}/feast")
    assert world.roll_out()[0] == 200


def test_who_works_in_a_namespace_does_not_lift_it(world: Braked) -> None:
    world.freeze()
    assert world.delete(f"{FREEZES}/feast", user=DEV)[0] == 403


WRONG: dict[str, tuple[Json, str]] = {
    "no reason": ({"reason": ""}, "spec.reason"),
    "no end": ({"end": None}, "spec.start"),
    "no time at all": ({"start": None, "end": None}, "spec.start"),
    "ends before it begins": ({"start": "2026-12-24T18:00:00Z", "end": "2026-12-24T17:00:00Z"}, "spec.end"),
    "both": ({"schedule": "0 0 * * *", "duration": "1h"}, "spec.start"),
    "no duration": ({"start": None, "end": None, "schedule": "0 0 * * *"}, "spec.duration"),
    "long": (
        {"start": None, "end": None, "schedule": "0 0 * * *", "duration": "800h"},
        "between 1m and 744h",
    ),
    "no schedule": ({"start": None, "end": None, "schedule": "often", "duration": "1h"}, "spec.schedule"),
    "every": ({"start": None, "end": None, "schedule": "@every 2h", "duration": "1h"}, "@every"),
    "no zone": (
        {"start": None, "end": None, "schedule": "0 0 * * *", "duration": "1h", "timeZone": "Moon"},
        "spec.timeZone",
    ),
    "a duration without a schedule": ({"duration": "1h"}, "spec.duration"),
    "forbids what": ({"forbids": ["Fun"]}, "spec.forbids[0]"),
    "where": ({"namespaces": ["No/Where"]}, "spec.namespaces[0]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_freeze_is_named(world: Braked, case: str) -> None:
    spec, words = WRONG[case]
    status, body = world.freeze(**spec)
    assert status == 422
    assert words in body["message"]


WEEKENDS = {"schedule": "0 18 * * fri", "duration": "62h", "timeZone": "Europe/Berlin"}
WINDOWS = [
    # asked about, in force from, until, next
    ("2026-11-20T16:59:59Z", "", "", "2026-11-20T17:00:00Z"),
    ("2026-11-20T17:00:00Z", "2026-11-20T17:00:00Z", "2026-11-23T07:00:00Z", "2026-11-27T17:00:00Z"),
    ("2026-11-23T06:59:59Z", "2026-11-20T17:00:00Z", "2026-11-23T07:00:00Z", "2026-11-27T17:00:00Z"),
    ("2026-11-23T07:00:00Z", "", "", "2026-11-27T17:00:00Z"),
    ("2026-07-03T16:00:00Z", "2026-07-03T16:00:00Z", "2026-07-06T06:00:00Z", "2026-07-10T16:00:00Z"),
]


@pytest.mark.parametrize(("at", "start", "end", "following"), WINDOWS)
def test_windows_of_a_schedule(at: str, start: str, end: str, following: str) -> None:
    window, after = window_at(WEEKENDS, parse_time(at)), next_window(WEEKENDS, parse_time(at))
    told = ("", "") if window is None else (timestamp(window.start), timestamp(window.end))
    assert told == (start, end)
    assert after is not None
    assert timestamp(after.start) == following


@pytest.mark.parametrize("kind", ["ConfigMap", "ServiceAccount", "Deployment"])
def test_naming_a_controller_that_makes_no_such_thing_is_no_way_round(world: Braked, kind: str) -> None:
    """Anything that is there could be named, and new work would pass for mending."""
    version = "apps/v1" if kind == "Deployment" else "v1"
    made = world.post(
        "/api/v1/namespaces/shop/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}},
    )[1]
    if kind != "ConfigMap":
        path = DEPLOYMENTS if kind == "Deployment" else "/api/v1/namespaces/{}/serviceaccounts"
        name = "web" if kind == "Deployment" else "default"
        made = world.get(f"{path.format('shop')}/{name}")[1]
    assert world.freeze(forbids=["Creates"])[0] == 201
    owner = {
        "apiVersion": version, "kind": kind, "name": made["metadata"]["name"], "uid": made["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    new = deployment("new")
    new["metadata"]["ownerReferences"] = [owner]
    assert world.post(DEPLOYMENTS.format("shop"), new, user=DEV)[0] == 403
    if kind != "Deployment":
        assert world.post("/api/v1/namespaces/shop/pods", pod("new", owner), user=DEV)[0] == 403
