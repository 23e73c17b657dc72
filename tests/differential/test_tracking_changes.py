"""Who owns what after updates and patches that change, add, remove and reorder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import Ask, apply, json_patch, merge, post, put, strategic
from tests.differential.objects import (
    CM,
    IN_POD,
    POD,
    SERVICE,
    WEB,
    cm,
    deployment,
    item,
    service,
    web,
)
from tests.differential.rows import ABSENT, AtLeast, Not, Row, check, moment
from tests.unit.api.things import PODS

POD_OBJECT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
BIND = Ask(
    "POST",
    f"{PODS}/web/binding?fieldManager=binder",
    {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
    },
)
A, B = {"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}
MADE = post(cm({"a": "1", "b": "1"}))
WHOLE_DATA = ".data .data.a .data.b"


CHANGING = [
    Row(
        "replacing moves what changed",
        (MADE, put(cm({"a": "2", "b": "1"}))),
        owns={"maker Update": ".data .data.b", "two Update": ".data.a"},
        times={"maker Update": 1, "two Update": 2},
    ),
    Row(
        "replacing without a change moves nothing",
        (MADE, put(cm({"a": "1", "b": "1"}))),
        owns={"maker Update": WHOLE_DATA},
        unchanged=True,
    ),
    Row(
        "replacing adds what is new",
        (MADE, put(cm({"a": "1", "b": "1", "c": "1"}))),
        owns={"maker Update": WHOLE_DATA, "two Update": ".data.c"},
    ),
    Row(
        "replacing takes away what is gone",
        (MADE, put(cm({"a": "1"}))),
        owns={"maker Update": ".data .data.a"},
    ),
    Row(
        "a map that is gone is nobody's",
        (MADE, put(cm(None, {"x": "y"}))),
        {"data": ABSENT},
        {"two Update": ".metadata.labels .metadata.labels.x"},
    ),
    Row(
        "a merge patch moves what it changes",
        (MADE, merge(CM, {"data": {"a": "2", "b": "1"}})),
        owns={"maker Update": ".data .data.b", "two Update": ".data.a"},
    ),
    Row(
        "null in a merge patch takes the field from its owner",
        (MADE, merge(CM, {"data": {"a": None}})),
        owns={"maker Update": ".data .data.b"},
    ),
    Row(
        "a strategic merge patch moves what it changes",
        (
            post(deployment()),
            strategic(
                WEB, {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}
            ),
        ),
        {f"{IN_POD}.containers[0].image": "web:2"},
        {"maker Update": Not(web(".image")), "two Update": web(".image")},
    ),
    Row(
        "a merge patch of a keyed list moves only what differs in it",
        (
            post(deployment()),
            merge(WEB, {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}),
        ),
        owns={"maker Update": Not(web(".image")), "two Update": web(".image")},
    ),
    Row(
        "a JSON patch moves what it changes",
        (MADE, json_patch(CM, [{"op": "replace", "path": "/data/a", "value": "2"}])),
        owns={"maker Update": ".data .data.b", "two Update": ".data.a"},
    ),
    Row(
        "a JSON patch that removes takes the field from its owner",
        (MADE, json_patch(CM, [{"op": "remove", "path": "/data/a"}])),
        owns={"maker Update": ".data .data.b"},
    ),
    Row(
        "the first label is owned with the map",
        (MADE, merge(CM, {"metadata": {"labels": {"x": "y"}}})),
        owns={"maker Update": WHOLE_DATA, "two Update": ".metadata.labels .metadata.labels.x"},
    ),
    Row(
        "the second label is owned alone",
        (post(cm(None, {"x": "y"})), merge(CM, {"metadata": {"labels": {"z": "y"}}})),
        owns={"maker Update": ".metadata.labels .metadata.labels.x", "two Update": ".metadata.labels.z"},
    ),
    Row(
        "a new container is owned with all it has",
        (
            post(deployment()),
            strategic(WEB, {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:1"}]}}}}),
        ),
        owns={
            "maker Update": AtLeast(web(".image")),
            "two Update": item(
                f'{POD}.containers[name="b"]',
                "image",
                "imagePullPolicy",
                "name",
                "resources",
                "terminationMessagePath",
                "terminationMessagePolicy",
            ),
        },
    ),
    Row(
        "a list of one piece is owned as such",
        (
            post(deployment()),
            merge(WEB, {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}),
        ),
        owns={"maker Update": Not(f"{POD}.tolerations"), "two Update": f"{POD}.tolerations"},
    ),
    Row(
        "a manager's writes add up in one entry",
        (MADE, merge(CM, {"data": {"a": "2"}}), put(cm({"a": "2", "b": "2"}))),
        owns={"maker Update": ".data", "two Update": ".data.a .data.b"},
        times={"two Update": 3},
    ),
    Row(
        "a port added to a service is owned by its key",
        (
            post(service({"port": 80, "name": "http"})),
            strategic(SERVICE, {"spec": {"ports": [{"port": 443, "name": "https"}]}}),
        ),
        owns={
            "maker Update": AtLeast('.spec.ports .spec.ports[port=80,protocol="TCP"].name'),
            "two Update": AtLeast(item('.spec.ports[port=443,protocol="TCP"]', "name", "port", "protocol")),
        },
    ),
    Row(
        "an order that changes is nobody's",
        (
            apply(deployment({"containers": [A, B]})),
            merge(WEB, {"spec": {"template": {"spec": {"containers": [B, A]}}}}),
        ),
        {f"{IN_POD}.containers[*].name": ["b", "a"]},
        {"one Apply": AtLeast(f'{POD}.containers[name="a"].image {POD}.containers[name="b"].image')},
    ),
    Row(
        "an item that an update removes is taken from its owner, with all that is in it",
        (
            apply(deployment({"containers": [A, B]})),
            merge(WEB, {"spec": {"template": {"spec": {"containers": [A]}}}}),
        ),
        owns={
            "one Apply": ".spec.selector .spec.template.metadata.labels.app "
            + item(f'{POD}.containers[name="a"]', "name", "image")
        },
    ),
    Row(
        "an item that gets another key is a new one",
        (
            apply(deployment({"containers": [A]})),
            json_patch(
                WEB, [{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": "z"}]
            ),
        ),
        owns={
            "one Apply": ".spec.selector .spec.template.metadata.labels.app",
            "two Update": AtLeast(item(f'{POD}.containers[name="z"]', "name", "image", "imagePullPolicy")),
        },
    ),
    Row(
        "a list of one piece that shrinks is the updater's",
        (
            apply(deployment({"containers": [{**A, "args": ["1", "2"]}]})),
            merge(WEB, {"spec": {"template": {"spec": {"containers": [{**A, "args": ["1"]}]}}}}),
        ),
        owns={
            "one Apply": Not(f'{POD}.containers[name="a"].args'),
            "two Update": f'{POD}.containers[name="a"].args',
        },
    ),
    Row(
        "a status sent with what is created is not owned",
        (post({**deployment(), "status": {"replicas": 3}}),),
        owns={"maker Update": Not(".status .status.replicas")},
    ),
    Row(
        "an object made anew has nothing of the entries of the old one",
        (apply(cm({"a": "1"})), Ask("DELETE", CM, None), post(cm({"a": "2"}))),
        owns={"maker Update": ".data .data.a"},
    ),
    Row(
        "a deletion that waits for a finalizer changes no entry",
        (apply(cm({"a": "1"}, finalizers=["example.com/a"])), Ask("DELETE", CM, None)),
        {"metadata.deletionTimestamp": moment(2)},
        {"one Apply": '.data.a .metadata.finalizers[="example.com/a"]'},
    ),
    Row(
        "a dry run leaves no entry",
        (MADE, merge(CM, {"data": {"a": "2"}}, dryRun="All")),
        owns={"maker Update": WHOLE_DATA},
        unchanged=True,
    ),
    Row(
        "a refused update leaves no entry",
        (MADE, put(cm({"a": "2"}, resourceVersion="1"))),
        owns={"maker Update": WHOLE_DATA},
        status=409,
    ),
    Row(
        "an update of what was applied leaves the rest to the applier",
        (apply(cm({"a": "1", "b": "1"})), put(cm({"a": "2", "b": "1", "c": "1"}))),
        owns={"one Apply": ".data.b", "two Update": ".data.a .data.c"},
    ),
    Row(
        "putting a pod on a node changes no managedFields",
        (post(NODE), apply(POD_OBJECT), BIND),
        {"spec.nodeName": "n"},
        {"one Apply": item('.spec.containers[name="web"]', "name", "image")},
    ),
]


@pytest.mark.parametrize("row", [*CHANGING], ids=str)
def test_tracking_changes(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
