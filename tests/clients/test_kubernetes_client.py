"""The `kubernetes` package as its documentation uses it: typed and dynamic clients, watches that resume, informers,
leader election, manifests from a file."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from fairlead.testing import Plane
from tests.clients.converging import eventually, present

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def api(fairlead_shared_plane: Plane) -> Iterator[client.ApiClient]:
    with config.new_client_from_config_dict(fairlead_shared_plane.client_config()) as made:
        yield made


@pytest.fixture
def v1(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def settings(name: str, **labels: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name=name, labels=labels or None), data={"colour": "blue"}
    )


# The typed client


def test_objects_are_created_read_replaced_patched_and_deleted(
    v1: client.CoreV1Api, fairlead_namespace: str
) -> None:
    space = fairlead_namespace
    made = v1.create_namespaced_config_map(space, settings("web"))
    assert v1.read_namespaced_config_map("web", space) == made
    present(made.data)["colour"] = "red"
    replaced = v1.replace_namespaced_config_map("web", space, made)
    assert replaced.data == {"colour": "red"}
    with pytest.raises(client.ApiException) as stale:
        v1.replace_namespaced_config_map("web", space, made)
    assert stale.value.status == 409
    assert v1.patch_namespaced_config_map("web", space, {"data": {"size": "3"}}).data == {
        "colour": "red",
        "size": "3",
    }
    removal = [{"op": "remove", "path": "/data/size"}]
    assert v1.patch_namespaced_config_map("web", space, removal).data == {"colour": "red"}
    v1.delete_namespaced_config_map("web", space)
    with pytest.raises(client.ApiException) as gone:
        v1.read_namespaced_config_map("web", space)
    assert gone.value.status == 404


def test_a_list_is_read_in_pages_of_one_moment(v1: client.CoreV1Api, fairlead_namespace: str) -> None:
    for number in range(7):
        v1.create_namespaced_config_map(fairlead_namespace, settings(f"page-{number}"))
    page = v1.list_namespaced_config_map(fairlead_namespace, limit=3)
    v1.create_namespaced_config_map(fairlead_namespace, settings("page-later"))
    pages = [page]
    while token := present(pages[-1].metadata)._continue:
        pages.append(v1.list_namespaced_config_map(fairlead_namespace, limit=3, _continue=token))
    assert [len(each.items) for each in pages] == [3, 3, 1]
    assert present(pages[0].metadata).remaining_item_count == 4
    assert {present(each.metadata).name for page in pages for each in page.items} == {
        f"page-{n}" for n in range(7)
    }


def test_selectors_choose_what_is_listed(v1: client.CoreV1Api, fairlead_namespace: str) -> None:
    for name, tier in (("a", "front"), ("b", "back")):
        v1.create_namespaced_config_map(fairlead_namespace, settings(name, tier=tier))
    by_label = v1.list_namespaced_config_map(fairlead_namespace, label_selector="tier in (front)")
    by_field = v1.list_namespaced_config_map(fairlead_namespace, field_selector="metadata.name=b")
    assert [present(each.metadata).name for each in by_label.items] == ["a"]
    assert [present(each.metadata).name for each in by_field.items] == ["b"]


# Watches


def test_a_watch_goes_on_where_a_stream_ended(v1: client.CoreV1Api, fairlead_namespace: str) -> None:
    """Each request may last a second: the generator asks again from the last revision that it saw."""
    revision = present(v1.list_namespaced_config_map(fairlead_namespace).metadata).resource_version
    for number in range(3):
        v1.create_namespaced_config_map(fairlead_namespace, settings(f"seen-{number}"))
    watching = watch.Watch()
    seen: list[str] = []
    for event in watching.stream(
        v1.list_namespaced_config_map, fairlead_namespace, resource_version=revision
    ):
        seen.append(f"{event['type']} {event['object'].metadata.name}")
        if len(seen) == 3:
            v1.delete_namespaced_config_map("seen-1", fairlead_namespace)
        if len(seen) == 4:
            watching.stop()
    assert seen == ["ADDED seen-0", "ADDED seen-1", "ADDED seen-2", "DELETED seen-1"]


def test_a_watch_from_a_revision_that_is_gone_is_told_so(
    fairlead_shared_plane: Plane, v1: client.CoreV1Api, fairlead_namespace: str
) -> None:
    revision = present(v1.list_namespaced_config_map(fairlead_namespace).metadata).resource_version
    v1.create_namespaced_config_map(fairlead_namespace, settings("later"))
    fairlead_shared_plane.expire_history()
    with pytest.raises(client.ApiException) as gone:
        next(
            watch.Watch().stream(v1.list_namespaced_config_map, fairlead_namespace, resource_version=revision)
        )
    assert gone.value.status == 410


class Followed:
    """An informer, and all that it told."""

    def __init__(self, list_func: Callable[..., Any], **options: Any) -> None:
        self.events: list[tuple[str, str]] = []
        self.errors: list[Any] = []
        self.informer = SharedInformer(list_func, **options)
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            self.informer.add_event_handler(
                kind, lambda obj, kind=kind: self.events.append((kind, obj.metadata.name))
            )
        self.informer.add_event_handler("ERROR", self.errors.append)

    def __enter__(self) -> Followed:
        self.informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.informer.stop()

    def has_told(self, event: tuple[str, str]) -> bool:
        return event in self.events

    def has(self, *names: str) -> bool:
        return {obj.metadata.name for obj in self.informer.cache.list()} == set(names)


@pytest.fixture
def quiet_informers() -> Iterator[None]:
    """They log the loss of a connection, which here is meant, with a traceback."""
    logger = logging.getLogger("kubernetes.informer.informer")
    logger.disabled = True
    yield
    logger.disabled = False


@pytest.mark.usefixtures("quiet_informers")
def test_an_informer_resumes_after_a_dropped_connection_without_missing_or_repeating(
    fairlead_shared_plane: Plane, v1: client.CoreV1Api, fairlead_namespace: str
) -> None:
    space = fairlead_namespace
    v1.create_namespaced_config_map(space, settings("before"))
    with Followed(v1.list_namespaced_config_map, namespace=space) as followed:
        eventually(lambda: followed.has("before"))
        for round_ in range(3):
            fairlead_shared_plane.drop_watches()
            v1.create_namespaced_config_map(space, settings(f"during-{round_}"))
            eventually(partial(followed.has_told, ("ADDED", f"during-{round_}")))
        v1.delete_namespaced_config_map("before", space)
        eventually(lambda: followed.has("during-0", "during-1", "during-2"))
    assert followed.events == [
        ("ADDED", "before"),
        *(("ADDED", f"during-{round_}") for round_ in range(3)),
        ("DELETED", "before"),
    ]
    assert not [error for error in followed.errors if isinstance(error, client.ApiException)]


@pytest.mark.usefixtures("quiet_informers")
def test_an_informer_lists_again_after_410(
    fairlead_shared_plane: Plane, v1: client.CoreV1Api, fairlead_namespace: str
) -> None:
    """It follows one label; what others do moves history on, until its own last revision is gone."""
    space = fairlead_namespace
    v1.create_namespaced_config_map(space, settings("mine", app="a"))
    with Followed(v1.list_namespaced_config_map, namespace=space, label_selector="app=a") as followed:
        eventually(lambda: followed.has("mine"))
        for number in range(3):
            v1.create_namespaced_config_map(space, settings(f"other-{number}", app="b"))
        fairlead_shared_plane.expire_history()
        eventually(lambda: [error.status for error in followed.errors if hasattr(error, "status")] == [410])
        v1.create_namespaced_config_map(space, settings("new", app="a"))
        eventually(lambda: followed.has("mine", "new"))
    # Listed again, "mine" is told as modified: that is how this informer tells what it knew already.
    assert followed.events == [("ADDED", "mine"), ("MODIFIED", "mine"), ("ADDED", "new")]


@pytest.mark.usefixtures("quiet_informers")
def test_an_informer_survives_a_crash_of_the_server(fairlead_plane: Plane) -> None:
    with config.new_client_from_config_dict(fairlead_plane.client_config()) as api:
        v1 = client.CoreV1Api(api)
        v1.create_namespaced_config_map("default", settings("before"))
        with Followed(v1.list_namespaced_config_map, namespace="default") as followed:
            eventually(lambda: followed.has("before"))
            fairlead_plane.crash()
            v1.create_namespaced_config_map("default", settings("after"))
            eventually(lambda: followed.has("before", "after"))
    assert followed.events == [("ADDED", "before"), ("ADDED", "after")]


# The dynamic client


@pytest.fixture
def anything(api: client.ApiClient, tmp_path: Path) -> dynamic.DynamicClient:
    # Its cache is named after the address, and ports are used again.
    return dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovered.json"))


def test_the_dynamic_client_finds_kinds_by_discovery(
    anything: dynamic.DynamicClient, fairlead_namespace: str
) -> None:
    maps = anything.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "1"}}
    maps.create(body=body, namespace=fairlead_namespace)
    body["data"] = {"a": "2"}
    maps.patch(body=body, namespace=fairlead_namespace, content_type="application/merge-patch+json")
    assert maps.get(name="web", namespace=fairlead_namespace).data.a == "2"
    assert [each.metadata.name for each in maps.get(namespace=fairlead_namespace).items] == ["web"]
    deployments = anything.resources.get(kind="Deployment", group="apps")
    assert sorted(deployments.subresources) == ["scale", "status"]
    assert anything.resources.get(short_names=["deploy"], kind="Deployment") == deployments
    assert anything.version["kubernetes"]["major"] == "1"
    maps.delete(name="web", namespace=fairlead_namespace)
    with pytest.raises(NotFoundError):
        maps.get(name="web", namespace=fairlead_namespace)


def test_the_dynamic_client_watches(anything: dynamic.DynamicClient, fairlead_namespace: str) -> None:
    maps = anything.resources.get(api_version="v1", kind="ConfigMap")
    for name in ("one", "two"):
        maps.create(
            body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
            namespace=fairlead_namespace,
        )
    events = maps.watch(namespace=fairlead_namespace, name="two", timeout=1)
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "two")]


def test_the_dynamic_client_applies_on_the_server(
    anything: dynamic.DynamicClient, fairlead_namespace: str
) -> None:
    maps = anything.resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager: str, colour: str, force: bool = False) -> Any:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "shared"},
            "data": {"colour": colour},
        }
        return maps.server_side_apply(
            body=body, namespace=fairlead_namespace, field_manager=manager, force_conflicts=force
        )

    apply("one", "blue")
    assert apply("one", "green").data.colour == "green"
    with pytest.raises(ConflictError) as conflict:
        apply("two", "red")
    assert json.loads(present(conflict.value.body))["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.colour"}
    ]
    taken = apply("two", "red", force=True)
    assert taken.data.colour == "red"
    assert {entry.manager: entry.operation for entry in taken.metadata.managedFields}["two"] == "Apply"


# Manifests and leaders


def test_a_manifest_of_many_kinds_is_created(api: client.ApiClient, fairlead_namespace: str) -> None:
    documents = [
        document
        for file in sorted(EXAMPLES.glob("0*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
        if document["kind"] not in ("Namespace", "Node")
    ]
    kinds = {document["kind"] for document in documents}
    assert len(kinds) >= 12
    for document in documents:
        if document["kind"] != "PriorityClass":
            document["metadata"]["namespace"] = fairlead_namespace
    made = utils.create_from_yaml(api, yaml_objects=documents)
    assert {each.kind for group in made for each in group} == kinds


def test_a_leader_renews_and_steps_down_when_another_holds_the_lease(
    fairlead_shared_plane: Plane, fairlead_namespace: str
) -> None:
    config.load_kube_config(str(fairlead_shared_plane.kubeconfig))  # locks use the default client
    leases = client.CoordinationV1Api()
    happened: list[str] = []
    election = electionconfig.Config(
        LeaseLock("the-one", fairlead_namespace, "first"),
        lease_duration=15,  # a busy machine must not look like a leader that is gone
        renew_deadline=10,
        retry_period=1,
        onstarted_leading=lambda: happened.append("leads"),
        onstopped_leading=lambda: happened.append("stopped"),
    )
    candidate = threading.Thread(target=leaderelection.LeaderElection(election).run, daemon=True)
    candidate.start()
    eventually(lambda: happened == ["leads"])

    def spec() -> Any:
        return leases.read_namespaced_lease("the-one", fairlead_namespace).spec

    lease = spec()
    assert (lease.holder_identity, lease.lease_duration_seconds) == ("first", 15)
    found, record = LeaseLock("the-one", fairlead_namespace, "second").get("the-one", fairlead_namespace)
    assert found
    assert record.holder_identity == "first"
    eventually(lambda: spec().renew_time > lease.renew_time)
    leases.patch_namespaced_lease("the-one", fairlead_namespace, {"spec": {"holderIdentity": "second"}})
    candidate.join(120)
    assert happened == ["leads", "stopped"]
