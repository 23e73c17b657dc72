"""The runbooks that come with Fairlead, each carried out on the real API to its end, and aborted at every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from fairlead.core.times import timestamp
from fairlead.ledger.override import MADE_FOR
from fairlead.model.key import Key
from fairlead.model.kinds.reservation import name_for
from fairlead.model.views import (
    DEPLOYMENTS,
    NODES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    RESOURCE_QUOTAS,
    Resource,
    Stored,
)
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun
from fairlead.reconcile.runbooks.decider import runbook_decider
from fairlead.store.events import RoomLost
from tests.unit.reconcile.runbooks.book_world import RUNBOOKS, BookWorld
from tests.unit.reconcile.world import template

Json = dict[str, Any]
FOLDER = Path(__file__).parents[4] / "runbooks"
BOOKS: dict[str, Json] = {
    book["metadata"]["name"]: book
    for book in map(yaml.safe_load, map(Path.read_text, sorted(FOLDER.glob("*.yaml"))))
}
OVERRIDES = Resource("scheduleroverrides.fairlead.dev", "fairlead.dev/v1", "SchedulerOverride", Stored)
_READY = {"type": "Ready", "status": "True"}
_ZONE = "topology.kubernetes.io/zone"


class Shipped(BookWorld):
    """A world with three zones, so that one may be closed by one person alone; the run is called run."""

    def __init__(self, namespace: str = "default") -> None:
        super().__init__(ready=1)
        self.space = namespace
        self.decider = runbook_decider(self.plane.desk.catalog)
        for name, zone in (("node-a", "a"), ("node-b", "b"), ("node-c", "c")):
            self.add(NODES, name, "", metadata={"labels": {_ZONE: zone}}, status={"conditions": [_READY]})

    def run(self, name: str = "run") -> RunbookRun:
        found = self.get(RUNBOOK_RUNS, self.space, name)
        assert found is not None
        return found

    def rest(self) -> RunbookRun:
        self.measure({"shortOfRoom": float(bool(self.plane.store.short))})
        for _ in range(60):
            before = self.revision
            self.turn(self.decider, "run", self.space)
            if self.revision == before:
                return self.run()
        raise AssertionError(f"it does not come to rest: {self.run().status}")

    def measure(self, values: Json) -> None:
        """What the server does for runs that name metrics."""
        run = self.run()
        if run.spec.procedure.get("metrics") and run.status.phase not in ("Succeeded", "Failed", "Aborted"):
            readings = {"at": timestamp(self.now), "values": values}
            self.edit_status(RUNBOOK_RUNS, "run", {"readings": readings}, self.space)

    def overrides(self) -> list[Json]:
        plural = "/apis/fairlead.dev/v1/scheduleroverrides"
        found: list[Json] = self.plane.get(plural)[1]["items"]
        return found

    def observe(self) -> None:
        """What the controllers do that take note of overrides."""
        for each in self.overrides():
            meta, condition = each["metadata"], {"type": "SchedulerOverrideObserved", "status": "True"}
            status = {"active": True, "conditions": [condition]}
            self.edit_status(OVERRIDES, meta["name"], status, meta["namespace"])

    def pend(self, name: str) -> None:
        self.add(PODS, name, metadata={"labels": {"app": "web"}}, spec=template()["spec"])
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        self.edit_status(PODS, name, {"phase": "Pending", "conditions": [condition]})

    def silence(self, node: str, status: str = "Unknown") -> None:
        self.edit_status(NODES, node, {"conditions": [{"type": "Ready", "status": status}]}, "")


def _nothing(world: Shipped) -> None:
    """Nothing is needed, or happens."""


Doing = Callable[[Shipped], None]


class Incident(NamedTuple):
    """What the world is like, what people answer, what happens while the run waits at a step, and what it overrides."""

    params: Mapping[str, str]
    before: Doing = _nothing
    answers: Mapping[str, Mapping[str, str]] = {}
    meanwhile: Mapping[str, Doing] = {}
    changes: Json | None = None
    namespace: str = "default"


def _refused(world: Shipped) -> None:
    world.pend("web-1")


def _place(world: Shipped) -> None:
    world.set_pod("web-1", "Running", ready=True, node="node-b")


def _of_zone_a(world: Shipped) -> None:
    world.add(PODS, "web-1", metadata={"labels": {"app": "web"}}, spec=template()["spec"])
    world.set_pod("web-1", "Running", ready=True, node="node-a")


def _leave(world: Shipped) -> None:
    world.delete(PODS, "web-1")
    world.stop_pods()


def _of_both_zones(world: Shipped) -> None:
    _of_zone_a(world)
    world.add(PODS, "web-2", metadata={"labels": {"app": "web"}}, spec=template()["spec"])
    world.set_pod("web-2", "Running", ready=True, node="node-b")


def _silent_pod(world: Shipped) -> None:
    _of_zone_a(world)
    world.silence("node-a")


def _quota(world: Shipped) -> None:
    world.add(RESOURCE_QUOTAS, "small", spec={"hard": {"pods": "1"}})
    world.overwrite(
        Key("resourcequotas", "default", "small"),
        lambda quota: quota.update(status={"hard": {"pods": "1"}, "used": {"pods": "1"}}),
    )


def _raise(world: Shipped) -> None:
    world.overwrite(
        Key("resourcequotas", "default", "small"),
        lambda quota: quota.update(status={"hard": {"pods": "5"}, "used": {"pods": "1"}}),
    )


def _stuck(world: Shipped) -> None:
    uid = world.objects[Key(DEPLOYMENTS.name, "default", "web")]["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}
    made = template({"app": "web", "pod-template-hash": "1"}, image="nginx:1")
    metadata = {"ownerReferences": [owner], "annotations": {"deployment.kubernetes.io/revision": "1"}}
    spec = {"replicas": 1, "selector": {"matchLabels": made["metadata"]["labels"]}, "template": made}
    world.add(REPLICASETS, "web-1", metadata=metadata, spec=spec)
    world.edit(DEPLOYMENTS, "web", {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}})


def _rolled_out(world: Shipped) -> None:
    deployment = world.objects[Key(DEPLOYMENTS.name, "default", "web")]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 3)
    world.edit_status(
        DEPLOYMENTS, "web", {"observedGeneration": deployment["metadata"]["generation"], **counts}
    )


def _backlog(world: Shipped) -> None:
    for number in range(3):
        world.pend(f"web-{number}")


def _worked_off(world: Shipped) -> None:
    for number in range(3):
        world.set_pod(f"web-{number}", "Running", ready=True, node="node-a")


def _all_heard(world: Shipped) -> None:
    world.silence("node-a", "True")


def _seen(world: Shipped) -> None:
    generation = world.objects[Key(DEPLOYMENTS.name, "default", "web")]["metadata"]["generation"]
    world.edit_status(DEPLOYMENTS, "web", {"observedGeneration": generation})


INCIDENTS = {
    "recover-workload": Incident(
        {"workload": "web"},
        _refused,
        {"confirm": {"zone": "a", "region": "eu-west"}},
        {"observed": Shipped.observe, "recovered": lambda world: world.set_ready(3), "resumed": _place},
        {
            "pauseAutoscaler": True,
            "avoidZones": ["a"],
            "allowReservedCapacityClass": "recovery",
            "reservedReplicas": 2,
        },
    ),
    "drain-zone": Incident(
        {"zone": "a"},
        _of_zone_a,
        {"work": {"done": "yes"}},
        {"empty": _leave},
        {"cordon": True, "drain": True},
        "kube-system",
    ),
    "flapping-node": Incident(
        {"node": "node-a"}, answers={"findings": {"sound": "true", "cause": "a cable"}}
    ),
    "rollout-stuck": Incident(
        {"workload": "web"}, _stuck, {"confirm": {"go": "yes"}}, {"complete": _rolled_out}
    ),
    "quota-full": Incident(
        {"workload": "web", "quota": "small"},
        _quota,
        {"decide": {"decision": "raise"}},
        {"room": _raise},
        {"pauseExpansion": True, "pauseAutoscaler": True},
    ),
    "pending-backlog": Incident(
        {"many": "3", "few": "1"},
        _backlog,
        {"decide": {"remedy": "nodes"}},
        {"workedOff": _worked_off},
        {"pauseExpansion": True, "pauseAutoscaler": True},
    ),
    "freeze-autoscaling": Incident(
        {"workload": "web", "ticket": "INC-1"},
        answers={"over": {"over": "yes"}},
        meanwhile={"observed": Shipped.observe},
        changes={"pauseAutoscaler": True},
    ),
    "shift-traffic": Incident(
        {"workload": "web", "away": "a", "to": "b"},
        _of_both_zones,
        {"well": {"well": "yes"}},
        {"observed": Shipped.observe},
        {"trafficWeights": [{"zone": "a", "weight": 0}, {"zone": "b", "weight": 100}]},
    ),
    "release-ambiguous-pod": Incident(
        {"pod": "web-1", "workload": "web", "node": "node-a"},
        _silent_pod,
        {"seen": {"state": "back"}},
        {"decided": _all_heard},
        {"pauseRepair": True},
    ),
    "after-full-disk": Incident(
        {},
        lambda world: world.silence("node-a"),
        {"checked": {"sound": "yes"}},
        {"heard": _all_heard, "observed": _seen},
        {"pauseExpansion": True, "pauseAutoscaler": True},
        "kube-system",
    ),
}


def _begin(name: str, before: Doing = _nothing, **params: str) -> tuple[Shipped, Incident]:
    """`before`: what happens before the run is created."""
    incident = INCIDENTS[name]
    world = Shipped(incident.namespace)
    incident.before(world)
    world.add(RUNBOOKS, name, "", spec=BOOKS[name]["spec"])
    before(world)
    spec = {"runbook": name, "params": {**incident.params, **params}}
    world.add(RUNBOOK_RUNS, "run", incident.namespace, spec=spec)
    return world, incident


def _help(world: Shipped, incident: Incident, run: RunbookRun) -> None:
    """What people and other controllers do while a run waits."""
    step = run.status.step
    if run.status.phase == "Asking":
        answers = [{"step": each.step, "values": each.values} for each in run.spec.answers]
        answers.append({"step": step, "values": dict(incident.answers[step])})
        world.edit(RUNBOOK_RUNS, "run", {"spec": {"answers": answers}}, incident.namespace)
    else:
        assert step in incident.meanwhile, f"it waits at {step}: {run.status.message}"
        incident.meanwhile[step](world)


def test_there_is_an_incident_for_each_and_the_lessons_own_comes_first() -> None:
    assert set(BOOKS) == set(INCIDENTS)
    assert len(BOOKS) >= 8
    assert (next(iter(BOOKS)), len(BOOKS["recover-workload"]["spec"]["steps"])) == ("recover-workload", 8)


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_each_has_a_page_that_says_when_and_how_to_stop_it(name: str) -> None:
    page = BOOKS[name]["spec"]["page"]
    assert all(word in page for word in ("WHEN ", "WHAT IT DOES", "STOP IT"))
    assert max(map(len, page.splitlines())) <= 120


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_each_is_carried_out_to_its_end_and_leaves_nothing(name: str) -> None:
    world, incident = _begin(name)
    overridden = []
    for _ in range(20):
        run = world.rest()
        overridden += [each["spec"]["changes"] for each in world.overrides()]
        if run.status.phase in ("Succeeded", "Failed", "Aborted"):
            break
        _help(world, incident, run)
        world.tick(3)
    assert (run.status.phase, run.status.message) == ("Succeeded", "it helped")
    assert [each.name for each in run.status.steps] == [each["name"] for each in BOOKS[name]["spec"]["steps"]]
    assert world.overrides() == []
    assert incident.changes is None or incident.changes in overridden


@pytest.mark.parametrize("removes", ["true", "false"])
def test_recovery_ends_only_when_nothing_runs_on_lent_capacity(removes: str) -> None:
    """Whether the override was removed or its time was over."""
    world, incident = _begin("recover-workload", remove=removes, lasts="1m")
    while (run := world.rest()).status.step not in ("ended", "residue"):
        if run.status.step == "recovered":
            _lend(world)
        _help(world, incident, run)
        world.tick(3)
    assert (run.status.step, len(world.overrides())) == (
        ("residue", 0) if removes == "true" else ("ended", 1)
    )
    world.tick(60)
    assert world.rest().status.step == "residue"
    world.edit_status(RESERVATIONS, name_for("u-1", "lent"), {"phase": "Released"})
    world.tick(3)
    assert world.rest().status.phase == "Succeeded"


def _lend(world: Shipped) -> None:
    """What the controllers do that give capacity for an override."""
    (override,) = world.overrides()
    mark = f"default/{override['metadata']['name']}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u-1"}
    spec = {
        "owner": owner,
        "intent": "lent",
        "capacityClass": "recovery",
        "requests": {"cpu": "1"},
        "ttlSeconds": 600,
    }
    name = name_for("u-1", "lent")
    world.add(
        RESERVATIONS, name, metadata={"annotations": {MADE_FOR: mark}}, spec={**spec, "nodeName": "node-b"}
    )
    world.edit_status(RESERVATIONS, name, {"phase": "Allocated"})


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_each_is_aborted_at_any_step_and_leaves_nothing(name: str) -> None:
    for waits in range(12):
        world, incident = _begin(name)
        nodes = {key: value["spec"] for key, value in world.objects.items() if key.resource == "nodes"}
        run = world.rest()
        for _ in range(waits):
            if run.status.phase == "Succeeded":
                return
            _help(world, incident, run)
            run = world.rest()
        if run.status.phase == "Succeeded":
            return
        world.edit(RUNBOOK_RUNS, "run", {"spec": {"abort": {"reason": "stop"}}}, incident.namespace)
        run = world.rest()
        assert (run.status.phase, world.overrides()) == ("Aborted", [])
        assert {
            key: value["spec"] for key, value in world.objects.items() if key.resource == "nodes"
        } == nodes
    raise AssertionError("it never ends")


# The others apply to any workload, node or plane.
@pytest.mark.parametrize(
    "name", sorted(BOOKS.keys() - {"freeze-autoscaling", "flapping-node", "after-full-disk"})
)
def test_each_does_nothing_where_it_does_not_apply(name: str) -> None:
    """Without the incident some precondition does not hold, and is named."""
    incident = INCIDENTS[name]
    world = Shipped(incident.namespace)
    if name != "drain-zone":
        world.set_ready(3)
        world.edit_status(DEPLOYMENTS, "web", {"updatedReplicas": 3})
    world.add(RUNBOOKS, name, "", spec=BOOKS[name]["spec"])
    params = {**incident.params, **({"zone": "z"} if name == "drain-zone" else {})}
    world.add(RUNBOOK_RUNS, "run", incident.namespace, spec={"runbook": name, "params": params})
    run = world.rest()
    assert (run.status.phase, run.status.reason, run.status.steps) == ("Failed", "PreconditionFailed", ())


def test_nothing_is_begun_while_the_disk_is_full_and_a_run_ends_when_it_is_full_again() -> None:
    """On a store that is short of room, which refuses all but few writes."""
    world, _ = _begin("after-full-disk", before=_fill)
    run = world.rest()
    assert (run.status.phase, run.status.reason) == ("Failed", "PreconditionFailed")
    assert run.status.message.startswith("nothing was done: hasRoom: the disk is still full")
    world, _ = _begin("after-full-disk")
    assert world.rest().status.step == "checked"
    _fill(world)
    run = world.rest()
    assert (run.status.phase, run.status.message, world.overrides()) == (
        "Aborted",
        "fullAgain: the disk is full again",
        [],
    )


def _fill(world: Shipped) -> None:
    world.plane.store.handle(RoomLost("the disk is full", 1024 * 1024))
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"}}
    assert world.plane.post("/api/v1/namespaces/default/configmaps", made)[0] == 507
