"""A finalizer that a person removes: what it guarded is looked for, and told by an Event that commits with the write."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.model.key import Key
from tests.inprocess import InProcess
from tests.unit.api.test_damaged import rot
from tests.unit.api.test_quotas import asking
from tests.unit.api.things import PODS, configmap, made

Json = dict[str, Any]
EVENTS = "/api/v1/namespaces/default/events"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
RESERVATIONS = "/apis/fairlead.dev/v1/namespaces/default/reservations"
TRACKING = "batch.kubernetes.io/job-tracking"
IN_USE = "fairlead.dev/room-in-use"


def told(plane: InProcess) -> list[tuple[str, str, str]]:
    return [
        (each["type"], each["involvedObject"]["name"], each["message"])
        for each in plane.get(EVENTS)[1]["items"]
        if each["reason"] == "FinalizerRemoved"
    ]


def strip(plane: InProcess, address: str, **options: Any) -> Json:
    status, body = plane.patch(address, {"metadata": {"finalizers": None}}, **options)
    assert status == 200
    found: Json = body
    return found


def owner(obj: Json) -> Json:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
    }


def test_dependents_reservations_and_charges_that_are_left_are_named() -> None:
    plane = InProcess()
    parent = made(plane, CONFIGMAPS, configmap("parent"))
    between = configmap("between")
    between["metadata"]["ownerReferences"] = [owner(parent)]
    child = asking("child", "2", "n")
    child["metadata"]["ownerReferences"] = [owner(made(plane, CONFIGMAPS, between))]
    made(plane, PODS, child)
    named = {key: value for key, value in owner(parent).items() if key != "controller"}
    spec = {"owner": named, "intent": "x", "nodeName": "n", "requests": {"cpu": "1"}, "ttlSeconds": 60}
    kept = made(plane, RESERVATIONS, {"metadata": {}, "spec": spec})["metadata"]["name"]
    plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")
    strip(plane, f"{CONFIGMAPS}/parent")
    assert plane.get(f"{CONFIGMAPS}/parent")[0] == 404
    assert told(plane) == [
        (
            "Warning",
            "parent",
            "finalizer foregroundDeletion was removed by admin, which is no finished clean-up; left over: configmap "
            f"between, reservation {kept} (Pending), pod child; 1 of its pods hold what quotas count of nodes: cpu 2",
        )
    ]


def test_what_an_object_in_no_namespace_owns_in_namespaces_is_counted_and_not_named() -> None:
    plane = InProcess()
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    parent = made(plane, path, {"metadata": {"name": "urgent"}, "value": 7})
    child = configmap("secretive")
    child["metadata"]["ownerReferences"] = [owner(parent)]
    made(plane, CONFIGMAPS, child)
    plane.delete(f"{path}/urgent?propagationPolicy=Foreground")
    strip(plane, f"{path}/urgent")
    ((sort, _, message),) = told(plane)
    assert (sort, message.partition("; ")[2]) == ("Warning", "left over: 1 object in namespaces")


def test_where_nothing_is_left_that_is_told_too() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap("parent"))
    plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")
    strip(plane, f"{CONFIGMAPS}/parent")
    ((sort, _, message),) = told(plane)
    assert (sort, message.partition("; ")[2]) == ("Normal", "nothing is left of what it guarded")


def test_a_pod_whose_job_has_not_counted_it_is_told() -> None:
    plane = InProcess()
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}}
    job = made(plane, JOBS, {"metadata": {"name": "job"}, "spec": {"template": template}})
    pod = asking("p", "1", "n")
    pod["metadata"].update(ownerReferences=[owner(job)], finalizers=[TRACKING])
    made(plane, PODS, pod)
    strip(plane, f"{PODS}/p")
    assert told(plane)[0][2].endswith("left over: job job has not counted it, and it still runs on n")


def test_a_reservation_that_a_pod_uses_is_told_and_goes() -> None:
    plane = InProcess()
    pod = made(plane, PODS, asking("p", "1", "n"))
    spec = {
        "owner": {key: value for key, value in owner(pod).items() if key != "controller"},
        "intent": "x",
        "nodeName": "n",
        "capacityClass": "recovery",
        "requests": {"cpu": "1"},
        "ttlSeconds": 60,
    }
    kept = made(plane, RESERVATIONS, {"metadata": {"finalizers": [IN_USE]}, "spec": spec})
    address = f"{RESERVATIONS}/{kept['metadata']['name']}"
    used = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
    status = {"status": {"phase": "Allocated", "nodeName": "n", "allocatedTo": used}}
    assert plane.patch(f"{address}/status", status)[0] == 200
    plane.delete(address)
    assert plane.get(address)[0] == 200  # it stays as long as the finalizer is there
    strip(plane, address)
    assert plane.get(address)[0] == 404
    assert told(plane)[0][2].endswith(
        "left over: pod p uses its room of capacity class recovery on n, and nothing tells so any more"
    )
    mark = plane.get(f"{PODS}/p")[1]["metadata"]["annotations"]["fairlead.dev/guard-removed"]
    assert f"removed {IN_USE} from reservation {kept['metadata']['name']} at " in mark


def test_controllers_that_are_done_and_finalizers_of_others_are_not_told() -> None:
    plane = InProcess()
    for name, finalizer in (("a", TRACKING), ("b", "example.com/theirs")):
        pod = asking(name, "1", "n")
        pod["metadata"]["finalizers"] = [finalizer]
        made(plane, PODS, pod)
    strip(plane, f"{PODS}/b")
    strip(plane, f"{PODS}/a", user=User("system:fairlead:job", groups=("system:masters",)))
    assert told(plane) == []


def test_a_dry_run_warns_and_tells_nobody_else() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap("parent"))
    plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")
    strip(plane, f"{CONFIGMAPS}/parent?dryRun=All")
    assert told(plane) == []


def test_dependents_of_custom_kinds_are_named() -> None:
    plane = InProcess()
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "shop.dev", "names": names, "scope": "Namespaced", "versions": [version]}
    definition = {"metadata": {"name": "widgets.shop.dev"}, "spec": spec}
    made(plane, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    parent = made(plane, CONFIGMAPS, configmap("parent"))
    widget = {"apiVersion": "shop.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}
    widget["metadata"]["ownerReferences"] = [owner(parent)]  # type: ignore[index]
    made(plane, "/apis/shop.dev/v1/namespaces/default/widgets", widget)
    plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")
    strip(plane, f"{CONFIGMAPS}/parent")
    assert told(plane)[0][2].endswith("left over: widget w")


DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_CHARGED = "pod p; 1 of its pods hold what quotas count of nodes: cpu 1"


@pytest.mark.parametrize(
    ("key", "address", "finalizer", "left"),
    [
        (
            Key("configmaps", "default", "other"),
            f"{CONFIGMAPS}/parent",
            "foregroundDeletion",
            f"{_CHARGED}; configmaps could not be searched, of which one is damaged in the store",
        ),
        (
            Key(DEFINITIONS, "", "widgets.example.com"),
            f"{CONFIGMAPS}/parent",
            "foregroundDeletion",
            f"{_CHARGED}; {DEFINITIONS} could not be searched, of which one is damaged in the store",
        ),
        (
            Key("jobs.batch", "default", "job"),
            f"{PODS}/tracked",
            TRACKING,
            f"it is not known what {TRACKING} guarded: jobs.batch default/job is damaged in the store",
        ),
    ],
    ids=["of a neighbour", "of a definition", "of its job"],
)
def test_damage_in_what_is_searched_refuses_nobody_and_is_told(
    key: Key, address: str, finalizer: str, left: str
) -> None:
    plane = InProcess()
    names = {"plural": "widgets", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec: Json = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made(plane, crds, {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    parent = made(plane, CONFIGMAPS, configmap("parent"))
    made(plane, CONFIGMAPS, configmap("other"))
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}}
    job = made(plane, JOBS, {"metadata": {"name": "job"}, "spec": {"template": template}})
    for name, of, finalizers in (("p", parent, []), ("tracked", job, [TRACKING])):
        pod = asking(name, "1", "n")
        pod["metadata"].update(ownerReferences=[owner(of)], finalizers=finalizers)
        made(plane, PODS, pod)
    plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")
    rot(plane, key)
    strip(plane, address)
    ((_, _, message),) = told(plane)
    assert message.startswith(f"finalizer {finalizer} was removed by admin")
    assert f"; left over: {left}" in message


def test_the_search_takes_no_more_steps_for_each_dependent_the_more_there_are() -> None:
    def steps(children: int) -> int:
        plane, counted = InProcess(), 0
        parent = made(plane, CONFIGMAPS, configmap("parent"))
        for number in range(children):
            child = configmap(f"child-{number}")
            child["metadata"]["ownerReferences"] = [owner(parent)]
            made(plane, CONFIGMAPS, child)
        plane.delete(f"{CONFIGMAPS}/parent?propagationPolicy=Foreground")

        def count(frame: FrameType, event: str, arg: object) -> None:
            nonlocal counted
            counted += event == "call"

        sys.setprofile(count)
        try:
            strip(plane, f"{CONFIGMAPS}/parent")
        finally:
            sys.setprofile(None)
        return counted

    few, more, most = map(steps, (20, 120, 220))
    assert most - more < 1.5 * (more - few)
