"""Which writes belong to an override, and what it cost others, from lines of the two logs."""

from __future__ import annotations

from typing import Any

from fairlead.cli.override.deeds import Deeds, PlaceContents

Json = dict[str, Any]
UID = "f80c0933-d036-4b7a-aa1b-5de047f455f5"
PLACE = PlaceContents(frozenset({"n1"}), frozenset({("default", "web-1"), ("default", "db-1")}))


def override(target: str = "zone/a", namespace: str = "kube-system", **spec: Any) -> Json:
    meta = {"name": "dr", "namespace": namespace, "uid": UID, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": meta, "spec": {"target": target, "expiresAt": "2026-01-01T01:00:00Z", **spec}}


def line(path: str, verb: str = "patch", second: int = 5, **more: Any) -> Json:
    resource, namespace, name, subresource = path.split("/")
    about = {"resource": resource, "namespace": namespace, "name": name, "subresource": subresource}
    user = "system:fairlead:override-drain" if "decision" in more else "jane"
    time = f"2026-01-01T00:00:{second:02}.000Z"
    return {"time": time, "user": user, "verb": verb, "object": about, "code": 200, **more}


def record(id_: str, object_: str, controller: str = "override-drain", **more: Any) -> Json:
    time = "2026-01-01T00:00:05.000000Z"
    return {
        "id": id_,
        "time": time,
        "controller": controller,
        "object": object_,
        "verdict": "Waiting",
        **more,
    }


def written(deeds: Deeds) -> list[str]:
    return [each["object"] for each in deeds.writes()]


def test_writes_of_decisions_that_carry_its_uid_or_name_it_are_its_own() -> None:
    records = [
        record("t-1", "pods/default/web-1", effects=[f"Delete override-drain/x/evict/{UID}"]),
        record(
            "t-2", "pods/default/other-1", message="SchedulerOverride kube-system/dr, kube-system/b pauses it"
        ),
        record("t-3", "pods/default/other-2", message="SchedulerOverride kube-system/dr-2 pauses it"),
        record("t-4", "pods/default/other-3", message="SchedulerOverride my-kube-system/dr pauses it"),
        record("t-5", "pods/default/new-1", "scheduler", node="n1", verdict="Placed"),
    ]
    lines = [
        line(f"pods/default/{name}/", decision=id_)
        for id_, name in (("t-1", "a"), ("t-2", "b"), ("t-3", "c"), ("t-4", "d"), ("t-5", "e"), ("t-6", "f"))
    ]
    deeds = Deeds(override(), "2026-01-01T01:00:00Z", lines, records, PLACE)
    assert written(deeds) == ["pods/a", "pods/b", "pods/e"]


def test_a_place_is_its_nodes_and_the_pods_that_were_there() -> None:
    lines = [
        line("nodes//n1/"),
        line("nodes//n2/"),
        line("pods/default/web-1/"),
        line("pods/other/web-1/"),
        line("pods/default/db-1/status", user="system:node:n1"),
        line("pods/default/db-1/status", user="ben"),
        line("pods/default/db-1/", verb="get"),
        line("scheduleroverrides/kube-system/dr/", group="fairlead.dev"),
    ]
    lines[-1]["object"]["group"] = "fairlead.dev"
    late = {**line("nodes//n1/"), "time": "2026-01-01T00:10:01.000Z"}
    deeds = Deeds(override(), "2026-01-01T00:10:00.500Z", [*lines, late], [], PLACE)
    assert written(deeds) == ["nodes/n1", "pods/web-1", "pods/db-1/status", "scheduleroverrides/dr"]


def test_a_workload_is_what_has_its_name_in_its_namespace() -> None:
    lines = [line("pods/default/web-1/"), line("pods/other/web-1/"), line("pods/default/webs/")]
    deeds = Deeds(override("deployment/web", "default"), "2026-01-01T01:00:00Z", lines, [], PlaceContents())
    assert written(deeds) == ["pods/web-1"]


def test_the_cost_of_a_drain_is_who_left_who_was_kept_and_who_has_no_node() -> None:
    evict: Json = {"effects": [f"Delete override-drain/x/evict/{UID}"]}
    closed = {
        "refusals": [{"plugin": "SchedulerOverrides", "reason": "closed by SchedulerOverride kube-system/dr"}]
    }
    attempt: Json = {"attempt": 1, "verdict": "Unschedulable", **closed}
    records = [
        record("t-1", "pods/default/web-1", **evict),
        record("t-2", "pods/default/db-1", **evict),
        {**record("", "pods/default/db-1"), "of": "t-2", "outcome": "refused"},
        record("t-3", "pods/default/was", **evict),
        {**record("", "pods/default/was"), "of": "t-3", "outcome": "refused"},
        record("t-4", "pods/default/was", **evict),
        record("t-5", "pods/default/pinned", "scheduler", **attempt),
        record("t-6", "pods/default/lucky", "scheduler", **attempt),
        record("t-7", "pods/default/lucky", "scheduler", attempt=2, verdict="Placed", node="n2"),
        record("t-8", "pods/default/poor", "scheduler", attempt=1, verdict="Unschedulable", reason="no cpu"),
    ]
    for each in records:
        if "of" in each:
            del each["id"]
    lines = [
        line("pods/default/web-1/eviction", "create", decision="t-1"),
        line("pods/default/db-1/eviction", "create", decision="t-2", code=429),
        line("pods/default/was/eviction", "create", decision="t-4"),
        line("pods/default/gone/", "delete", decision="t-9"),
    ]
    cost = Deeds(override(), "2026-01-01T01:00:00Z", lines, records, PLACE).cost()
    assert cost.evicted == ("pods/default/web-1", "pods/default/was")
    assert cost.refused == ("pods/default/db-1",)
    assert cost.pending == ("pods/default/pinned",)
    assert (cost.displaced, cost.held) == ((), ())


def test_writes_of_a_controller_that_heeds_it_are_told_where_their_decisions_are_not_kept() -> None:
    """On a full disk no decision is recorded, and history is short: nothing else tells of a pod that was evicted."""
    lines = [
        line("pods/default/web-1/eviction", "create", decision="t-1"),
        line("pods/default/was/eviction", "create", decision="t-2"),
        line("pods/default/kept/eviction", "create", decision="t-2", code=429),
        line("pods/default/other/", "delete", decision="t-2", user="system:fairlead:garbage-collector"),
        line("scheduleroverrides/kube-system/dr/status", decision="t-3"),
    ]
    found = {**override(), "status": {"affectedControllers": ["override-drain", "scheduler"]}}
    records = [record("t-1", "pods/default/web-1", effects=[f"Delete override-drain/x/evict/{UID}"])]
    deeds = Deeds(found, "2026-01-01T01:00:00Z", lines, records, PlaceContents())
    assert [each["object"] for each in deeds.unexplained()] == ["pods/was/eviction"]
    assert deeds.cost().evicted == ("pods/default/web-1",)


def test_a_priority_costs_those_below_it_and_a_pause_who_waits() -> None:
    victims = [
        {"key": ["pods", "batch", "low"], "uid": "1", "priority": 10},
        {"key": ["pods", "batch", "high"], "uid": "2", "priority": 2000},
        {"key": ["pods", "batch", "leaves"], "uid": "3", "priority": 10, "leaving": True},
    ]
    records = [
        record("t-1", "pods/default/web-1", "scheduler", attempt=1, verdict="Unschedulable", victims=victims),
        record("t-2", "pods/default/stranger", "scheduler", attempt=1, victims=victims),
        record(
            "t-3",
            "deployments.apps/default/web",
            "deployment",
            message="SchedulerOverride default/dr pauses it",
        ),
    ]
    found = override("deployment/web", "default", priority={"value": 1000})
    cost = Deeds(found, "2026-01-01T01:00:00Z", [], records, PlaceContents()).cost()
    assert (cost.displaced, cost.held) == (("pods/batch/low",), ("deployments.apps/default/web",))
    told = cost.as_json(found)
    assert told["displaced"] == [{"object": "pods/batch/low", "own": False}]
    assert told["held"] == [{"object": "deployments.apps/default/web", "own": True}]


def test_edits_by_people_of_what_it_holds_or_past_a_controller_are_told_apart_from_those_of_controllers() -> (
    None
):
    def of(path: str, *changed: str, **more: Any) -> Json:
        found = line(path, changed=list(changed), **more)
        found["object"]["group"] = "" if path.startswith(("pods", "nodes")) else "apps"
        return found

    lines = [
        of("deployments/default/web/", "spec.template.spec.containers[0].image"),
        of("deployments/default/web/", "spec.template.spec.containers[0].image", decision="t-1"),
        {**of("deployments/default/web/", "spec.template.spec.containers[0].image"), "code": 409},
        of("deployments/default/web/", "metadata.labels.a"),
        of("deployments/default/other/", "spec.template.spec.containers[0].image"),
        of("pods/default/web-1/", verb="delete", annotations={"fairlead.dev/past": "replicaset"}),
    ]
    found = override("deployment/web", "default", changes={"pauseRollout": True, "drain": False})
    deeds = Deeds(found, "2026-01-01T01:00:00Z", lines, [], PlaceContents())
    told = [(each["object"], each["held"], each["past"], each["override"]) for each in deeds.edits()]
    assert told == [
        ("deployments/web", ["spec.template (pauseRollout)"], "", "default/dr"),
        ("pods/web-1", [], "replicaset", "default/dr"),
    ]
    assert [each["object"] for each in deeds.edits("pods/default/web-1")] == ["pods/web-1"]


def test_what_was_made_for_it_is_its_own_and_so_are_edits_of_that() -> None:
    made = line("reservations/default/r/", "create", decision="t-1")
    edit = line("reservations/default/r/", "delete")
    for each in (made, edit):
        each["object"]["group"] = "fairlead.dev"
    records = [record("t-1", "scheduleroverrides.fairlead.dev/default/dr", "override-capacity")]
    found = override("deployment/web", "default", changes={"allowReservedCapacityClass": "recovery"})
    deeds = Deeds(found, "2026-01-01T01:00:00Z", [made, edit], records, PlaceContents())
    assert [each["held"] for each in deeds.edits()] == [["the object (allowReservedCapacityClass)"]]
