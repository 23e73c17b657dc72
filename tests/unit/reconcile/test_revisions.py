"""The history of StatefulSets and DaemonSets: one revision per template, numbered, claimed, bounded, gone back to."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.requests import request_of
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create
from fairlead.model.files import load_tables
from fairlead.model.key import Key
from fairlead.model.patch.strategic import strategic
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    DAEMONSETS,
    NODES,
    PODS,
    STATEFULSETS,
    ControllerRevision,
    Resource,
)
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.revisions import HASH_LABEL, REVISION_LABEL, in_order, template_in
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World, selector, template

Json = dict[str, Any]
KINDS = [
    pytest.param((STATEFULSETS, statefulset_decider()), id="StatefulSet"),
    pytest.param((DAEMONSETS, daemonset_decider()), id="DaemonSet"),
]
Sort = tuple[Resource[Any], Decider]


def made(sort: Sort, **spec: Any) -> World:
    world = World()
    world.add(NODES, "node-1")
    body: Json = {"selector": selector(), "template": template(image="a:1"), **spec}
    if sort[0] is STATEFULSETS:
        body |= {"replicas": 1, "serviceName": "set"}
    world.add(sort[0], "set", spec=body)
    run(world, sort)
    return world


def run(world: World, sort: Sort) -> None:
    while True:
        world.settle([sort[1]])
        if not world.start_pods() + world.stop_pods():
            return


def change(world: World, sort: Sort, image: str) -> None:
    world.edit(sort[0], "set", {"spec": {"template": template(image=image)}})
    run(world, sort)


def history(world: World) -> list[ControllerRevision]:
    return in_order(world.list(CONTROLLER_REVISIONS))


def numbers(world: World) -> dict[str, int]:
    return {template_in(each)["spec"]["containers"][0]["image"]: each.revision for each in history(world)}


@pytest.mark.parametrize("sort", KINDS)
def test_each_template_gets_a_revision_and_an_old_one_its_own_back(sort: Sort) -> None:
    world = made(sort)
    assert numbers(world) == {"a:1": 1}
    change(world, sort, "a:2")
    assert numbers(world) == {"a:1": 1, "a:2": 2}
    names = [each.metadata.name for each in history(world)]
    change(world, sort, "a:1")
    assert numbers(world) == {"a:2": 2, "a:1": 3}
    assert [each.metadata.name for each in history(world)] == names[::-1], "no new object, a new number"
    writes = len(world.writes)
    run(world, sort)
    assert len(world.writes) == writes


@pytest.mark.parametrize("sort", KINDS)
def test_a_revision_that_kubernetes_made_is_taken_over_and_no_pod_restarts(sort: Sort) -> None:
    world = made(sort)
    (key,) = [key for key in world.objects if key.resource == CONTROLLER_REVISIONS.name]
    pods = {pod.metadata.uid for pod in world.list(PODS)}
    world.overwrite(key, _as_upstream)
    run(world, sort)
    assert {pod.metadata.uid for pod in world.list(PODS)} == pods
    assert [each.metadata.name for each in history(world)] == [key.name]


def _as_upstream(revision: Json) -> None:
    """As upstream's controllers write it."""
    kept = revision["data"]["spec"]["template"]
    kept["metadata"] = {"creationTimestamp": None, **kept["metadata"]}


CONTAINER = {
    "imagePullPolicy": "Always",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


@pytest.mark.parametrize(
    ("metadata", "names", "called"),
    [
        # Names that Kubernetes' own controller gave: in its tests of the change from 1.33 to 1.34, and in a cluster of 2022.
        (
            {"creationTimestamp": None, "labels": {"app": "foo"}, "annotations": {"test": "value"}},
            {"name": "test", "image": "test"},
            "c77f6d978",
        ),
        (
            {"labels": {"app": "nginx-sts"}, "creationTimestamp": None},
            {"image": "nginx", "name": "nginx"},
            "6798d68dcd",
        ),
    ],
)
def test_a_set_s_revision_is_called_as_kubernetes_calls_it(metadata: Json, names: Json, called: str) -> None:
    world, sort = World(), (STATEFULSETS, statefulset_decider())
    wanted = {"metadata": metadata, "spec": {**POD, "containers": [{**CONTAINER, **names}]}}
    spec = {"selector": {"matchLabels": metadata["labels"]}, "template": wanted, "serviceName": "set"}
    world.add(STATEFULSETS, "set", spec={**spec, "replicas": 1})
    # As an API shows it that keeps the null; ours does not.
    world.overwrite(Key(STATEFULSETS.name, "default", "set"), lambda obj: obj["spec"].update(template=wanted))
    run(world, sort)
    (revision,) = history(world)
    assert revision.metadata.name == f"set-{called}"
    assert revision.metadata.labels[HASH_LABEL] == called
    (pod,) = world.list(PODS)
    assert pod.metadata.labels[REVISION_LABEL] == f"set-{called}"


def test_a_revision_is_written_byte_by_byte_as_go_writes_it() -> None:
    """Kubernetes' controllers take a revision for theirs only if `data` has the very bytes that they would write."""
    data = {"spec": {"template": {"b": ["x && y", "<é\u2028>"], "a": None, "$patch": "replace"}}}
    effect = Create(
        identity="i",
        resource=CONTROLLER_REVISIONS.name,
        api_version="apps/v1",
        plural="controllerrevisions",
        namespace="default",
        name="set-1",
        body={"revision": 1, "data": data},
    )
    expected = r'{"$patch":"replace","a":null,"b":["x \u0026\u0026 y","\u003cé\u2028\u003e"]}'
    assert request_of(effect).body.decode() == f'{{"data":{{"spec":{{"template":{expected}}}}},"revision":1}}'


@pytest.mark.parametrize("sort", KINDS)
def test_a_revision_brings_its_template_back_as_a_patch(sort: Sort) -> None:
    world = made(sort)
    (key,) = [key for key in world.objects if key.resource == sort[0].name]
    before = world.objects[key]["spec"]["template"]
    labels = {"app": "web", "more": "yes"}
    world.edit(sort[0], "set", {"spec": {"template": template(labels, image="a:2", hostNetwork=True)}})
    run(world, sort)
    data = history(world)[0].data
    tables = load_tables()
    undone = strategic(world.objects[key], data, tables[sort[0].kind], tables)
    assert undone["spec"]["template"] == before


@pytest.mark.parametrize("sort", KINDS)
def test_a_revision_is_found_by_the_selector_and_its_pods_by_its_label(sort: Sort) -> None:
    world = made(sort)
    (revision,) = world.select(CONTROLLER_REVISIONS, "default", selector())
    (pod,) = world.list(PODS)
    meta = revision.metadata
    assert meta.name.startswith("set-")
    assert meta.controller is not None
    assert (meta.controller.kind, meta.controller.name) == (sort[0].kind, "set")
    expected = meta.name if sort[0] is STATEFULSETS else meta.labels[REVISION_LABEL]
    assert pod.metadata.labels[REVISION_LABEL] == expected
    assert meta.name == f"set-{meta.labels[REVISION_LABEL]}"


@pytest.mark.parametrize("sort", KINDS)
def test_the_reason_for_a_change_is_kept_and_what_was_applied_is_not(sort: Sort) -> None:
    world = made(sort)
    annotations = {
        "kubernetes.io/change-cause": "better",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    world.edit(sort[0], "set", {"metadata": {"annotations": annotations}})
    change(world, sort, "a:2")
    newest = history(world)[-1].metadata.annotations
    assert newest["kubernetes.io/change-cause"] == "better"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in newest


@pytest.mark.parametrize("sort", KINDS)
@pytest.mark.parametrize(("limit", "left"), [(None, [1, 2, 3, 4, 5]), (2, [3, 4, 5]), (0, [5])])
def test_old_revisions_are_kept_up_to_the_limit(sort: Sort, limit: int | None, left: list[int]) -> None:
    world = made(sort, **({"revisionHistoryLimit": limit} if limit is not None else {}))
    for number in range(2, 6):
        change(world, sort, f"a:{number}")
    assert [each.revision for each in history(world)] == left


@pytest.mark.parametrize("sort", KINDS)
def test_a_revision_that_a_pod_is_of_is_kept(sort: Sort) -> None:
    world = made(sort, revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"})
    for image in ("a:2", "a:3"):
        change(world, sort, image)
    assert numbers(world) == {"a:1": 1, "a:3": 3}


@pytest.mark.parametrize("sort", KINDS)
def test_orphans_of_a_set_of_the_same_kind_are_adopted_with_their_history(sort: Sort) -> None:
    world = made(sort)
    (pod,), (revision,) = world.list(PODS), history(world)
    for resource, name in ((PODS, pod.metadata.name), (CONTROLLER_REVISIONS, revision.metadata.name)):
        # As the collector sets them free: people may not, of a pod that was bound for a StatefulSet.
        world.overwrite(
            Key(resource.name, "default", name), lambda obj: obj["metadata"].pop("ownerReferences")
        )
    assert [
        key.name for key in woken(sort[1], CONTROLLER_REVISIONS.name, None, history(world)[0], world)
    ] == ["set"]
    run(world, sort)
    assert [each.metadata.uid for each in history(world)] == [revision.metadata.uid]
    assert [each.metadata.uid for each in world.list(PODS)] == [pod.metadata.uid]
    assert all(each.metadata.controller for each in world.list(PODS))
    assert all(each.metadata.controller for each in history(world))


@pytest.mark.parametrize("sort", KINDS)
def test_a_pod_whose_labels_match_no_more_is_released_and_replaced(sort: Sort) -> None:
    world = made(sort)
    (pod,) = world.list(PODS)
    world.edit(PODS, pod.metadata.name, {"metadata": {"labels": {"app": "other"}}})
    world.settle([sort[1]])
    released = world.get(PODS, "default", pod.metadata.name)
    assert released is not None
    assert released.metadata.owner_references == ()


@pytest.mark.parametrize("sort", KINDS)
def test_a_name_that_a_stranger_has_is_avoided(sort: Sort) -> None:
    name = history(made(sort))[0].metadata.name
    world = World()
    world.add(CONTROLLER_REVISIONS, name, data={}, revision=1)
    world.add(NODES, "node-1")
    body: Json = {"selector": selector(), "template": template(image="a:1")}
    world.add(sort[0], "set", spec=body | ({"serviceName": "set"} if sort[0] is STATEFULSETS else {}))
    run(world, sort)
    mine = [each for each in history(world) if each.metadata.controller]
    assert len(mine) == 1
    assert mine[0].metadata.name != name


@pytest.mark.parametrize("data", [{}, {"spec": None}, {"spec": {"template": "x"}}, {"other": 1}])
def test_a_revision_that_holds_something_else_keeps_no_template(data: Json) -> None:
    world = World()
    world.add(CONTROLLER_REVISIONS, "odd", data=data, revision=1)
    assert template_in(history(world)[0]) == {}
