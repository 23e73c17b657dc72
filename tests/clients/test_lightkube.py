"""`lightkube` as its documentation uses it: typed objects, lists, patches, apply on the server, watch, wait,
subresources, generic resources, and the asynchronous client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig, codecs
from lightkube.core.exceptions import ObjectDeleted
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Node, Pod
from lightkube.types import CascadeType, PatchType, on_error_retry

from fairlead.testing import Plane
from tests.clients.converging import eventually, present

CRONTABS = Path(__file__).parents[2] / "examples/testing/crontabs.yaml"
CronTab = create_namespaced_resource("stable.example.com", "v1", "CronTab", "crontabs")
with_nodes = pytest.mark.fairlead(hollow_nodes=2)
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""


@pytest.fixture
def client(fairlead_shared_plane: Plane, fairlead_namespace: str) -> Iterator[Client]:
    config = KubeConfig.from_dict(fairlead_shared_plane.client_config(fairlead_namespace))
    with Client(config, field_manager="tests") as made:
        yield made


@pytest.fixture
def own_client(fairlead_plane: Plane) -> Iterator[Client]:
    with Client(KubeConfig.from_dict(fairlead_plane.client_config()), field_manager="tests") as made:
        yield made


def settings(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"of": "tests"}), data=data)


def test_the_kubeconfig_file_will_do_as_well(fairlead_shared_plane: Plane) -> None:
    with Client(KubeConfig.from_file(fairlead_shared_plane.kubeconfig)) as client:
        assert "default" in [present(each.metadata).name for each in client.list(Namespace)]


def test_objects_are_created_read_replaced_and_deleted(client: Client) -> None:
    made = client.create(settings("web", colour="blue"))
    assert client.get(ConfigMap, "web") == made
    made.data = {"colour": "red"}
    assert client.replace(made).data == {"colour": "red"}
    with pytest.raises(ApiError) as stale:
        client.replace(made)
    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")
    client.delete(ConfigMap, "web")
    with pytest.raises(ApiError) as gone:
        client.get(ConfigMap, "web")
    assert gone.value.status.code == 404


def test_lists_come_in_chunks_and_by_selectors(client: Client) -> None:
    for number in range(5):
        client.create(settings(f"page-{number}"))
    assert [present(each.metadata).name for each in client.list(ConfigMap, chunk_size=2)] == [
        f"page-{n}" for n in range(5)
    ]
    assert len(list(client.list(ConfigMap, labels={"of": "tests"}))) == 5
    assert [
        present(each.metadata).name for each in client.list(ConfigMap, fields={"metadata.name": "page-3"})
    ] == ["page-3"]
    client.deletecollection(ConfigMap)
    assert not list(client.list(ConfigMap))


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (PatchType.STRATEGIC, {"data": {"size": "3"}}),
        (PatchType.MERGE, {"data": {"size": "3"}}),
        (PatchType.JSON, [{"op": "add", "path": "/data/size", "value": "3"}]),
        (PatchType.APPLY, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": "3"}}),
    ],
    ids=lambda given: given.name if isinstance(given, PatchType) else "",
)
def test_every_type_of_patch(client: Client, kind: PatchType, patch: dict[str, object]) -> None:
    client.create(settings("web", colour="blue"))
    assert client.patch(ConfigMap, "web", patch, patch_type=kind).data == {"colour": "blue", "size": "3"}


def test_apply_creates_then_changes_what_is_its_own(client: Client) -> None:
    client.apply(settings("web", colour="blue", size="3"))
    assert client.apply(settings("web", colour="red")).data == {"colour": "red"}  # size was given up


def test_apply_meets_another_manager(client: Client) -> None:
    client.apply(settings("web", colour="blue"))
    with pytest.raises(ApiError) as conflict:
        client.apply(settings("web", colour="red"), field_manager="other")
    assert conflict.value.status.code == 409
    assert [
        (cause.reason, cause.field) for cause in present(present(conflict.value.status.details).causes)
    ] == [("FieldManagerConflict", ".data.colour")]
    taken = client.apply(settings("web", colour="red"), field_manager="other", force=True)
    assert taken.data == {"colour": "red"}
    assert {entry.manager for entry in present(present(taken.metadata).managedFields)} >= {"other"}


def test_a_conflict_of_scale_names_the_version_of_the_scale(client: Client) -> None:
    [web] = codecs.load_all_yaml(DEPLOYMENT)
    client.create(web, field_manager="maker")
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web"},
        "spec": {"replicas": 9},
    }
    with pytest.raises(ApiError) as conflict:
        client.patch(Deployment.Scale, "web", scale, patch_type=PatchType.APPLY, field_manager="scaler")
    assert [
        (cause.message, cause.field) for cause in present(present(conflict.value.status.details).causes)
    ] == [('conflict with "maker" using autoscaling/v1', ".spec.replicas")]


def test_a_watch_gives_what_is_there_and_what_comes(client: Client) -> None:
    client.create(settings("first"))
    seen = []
    for event, obj in client.watch(ConfigMap):
        seen.append((event, present(obj.metadata).name))
        if len(seen) == 1:
            client.create(settings("second"))
        if len(seen) == 2:
            client.delete(ConfigMap, "first")
        if len(seen) == 3:
            break
    assert seen == [("ADDED", "first"), ("ADDED", "second"), ("DELETED", "first")]


def test_a_watch_goes_on_after_its_time_and_after_a_dropped_connection(
    fairlead_shared_plane: Plane, client: Client
) -> None:
    """Requests last a second, and one is cut: the generator asks again from the last revision that it saw."""
    revision = present(client.create(settings("first")).metadata).resourceVersion
    dropped = threading.Timer(0.5, fairlead_shared_plane.drop_watches)
    later = threading.Timer(2.5, lambda: client.create(settings("second")))
    for timer in (dropped, later):
        timer.start()
    for event, obj in client.watch(
        ConfigMap, resource_version=revision, server_timeout=1, on_error=on_error_retry
    ):
        assert (event, present(obj.metadata).name) == ("ADDED", "second")
        break
    for timer in (dropped, later):
        timer.join()


@with_nodes
def test_waiting_scaling_and_the_status(own_client: Client) -> None:
    client = own_client
    [web] = codecs.load_all_yaml(DEPLOYMENT)
    client.create(web)
    ready = client.wait(Deployment, "web", for_conditions=["Available"])
    assert present(ready.status).readyReplicas == 2
    assert client.get(Deployment.Scale, "web").spec == ScaleSpec(replicas=2)
    client.patch(Deployment.Scale, "web", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE)
    for _, obj in client.watch(Deployment, fields={"metadata.name": "web"}):
        if present(obj.status).readyReplicas == 3:
            break
    assert len(list(client.list(Pod, labels={"app": "web"}))) == 3
    node = client.get(Node, "hollow-0")
    capacity = present(present(node.status).capacity)
    capacity["example.com/gpu"] = "4"
    client.patch(Node.Status, "hollow-0", {"status": {"capacity": capacity}}, patch_type=PatchType.MERGE)
    changed = present(client.get(Node, "hollow-0").status)
    assert present(changed.capacity)["example.com/gpu"] == "4"
    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)
    with pytest.raises((ObjectDeleted, ApiError)):
        client.wait(Deployment, "web", for_conditions=["Never"])
    eventually(lambda: not list(client.list(Pod, labels={"app": "web"})))


@pytest.mark.fairlead(crds=[CRONTABS])
def test_generic_resources_of_a_custom_kind(own_client: Client) -> None:
    client = own_client
    tab = client.create(
        CronTab(metadata=ObjectMeta(name="nightly", namespace="default"), spec={"cronSpec": "0 3 * * *"})
    )
    assert tab["spec"] == {"cronSpec": "0 3 * * *", "image": "cron:1", "replicas": 1}
    client.patch(CronTab.Status, "nightly", {"status": {"phase": "Idle"}}, patch_type=PatchType.MERGE)
    assert client.get(CronTab, "nightly")["status"] == {"phase": "Idle"}
    client.patch(CronTab.Scale, "nightly", {"spec": {"replicas": 4}}, patch_type=PatchType.MERGE)
    assert [each["spec"]["replicas"] for each in client.list(CronTab)] == [4]
    other_image = CronTab(metadata=ObjectMeta(name="nightly", namespace="default"), spec={"image": "cron:2"})
    with pytest.raises(ApiError, match='conflict with "tests"'):  # who creates is another than who applies
        client.apply(other_image)
    applied = client.apply(other_image, force=True)
    assert (applied["spec"]["image"], applied["spec"]["replicas"]) == ("cron:2", 4)
    with pytest.raises(ApiError) as invalid:
        client.create(CronTab(metadata=ObjectMeta(name="bad"), spec={"cronSpec": "nightly"}))
    assert invalid.value.status.code == 422
    load_in_cluster_generic_resources(client)  # reads the definitions from the API
    client.delete(CronTab, "nightly")
    assert not list(client.list(CronTab))


def test_the_asynchronous_client(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    async def use() -> list[str]:
        config = KubeConfig.from_dict(fairlead_shared_plane.client_config(fairlead_namespace))
        async with AsyncClient(config, field_manager="tests") as client:
            await client.apply(settings("one", a="1"))
            await client.create(settings("two"))
            return [present(present(each.metadata).name) async for each in client.list(ConfigMap)]

    assert asyncio.run(use()) == ["one", "two"]
