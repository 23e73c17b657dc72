"""`kr8s` as its documentation uses it: objects that know how to scale, wait and be ready, its lookups and watches, in
both of its forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kr8s.asyncio
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.asyncio.objects import APIObject
from kr8s.asyncio.objects import ConfigMap as AsyncConfigMap
from kr8s.asyncio.objects import Deployment as AsyncDeployment
from kr8s.objects import ConfigMap, Deployment, Node, Pod, new_class

from fairlead.testing import Plane
from tests.clients.converging import eventually, present

CRONTABS = Path(__file__).parents[2] / "examples/testing/crontabs.yaml"
CronTab = new_class(
    kind="CronTab", version="stable.example.com/v1", namespaced=True, scalable=True, scalable_spec="replicas"
)
with_nodes = pytest.mark.fairlead(hollow_nodes=3)


def _config(plane: Plane) -> Any:
    """A dictionary: it takes one beside the name of a file, and its types do not say so."""
    return plane.client_config()


@pytest.fixture
def api(fairlead_plane: Plane) -> Iterator[Any]:
    made = kr8s.api(kubeconfig=_config(fairlead_plane))
    yield made
    # It has no public way to close its connections, and Python complains of those that are forgotten.
    as_sync_func(present(made._session).aclose)()


def deployment(replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }


def settings(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": data}


@with_nodes
def test_a_deployment_is_scaled_and_waited_for(api: Any) -> None:
    web = Deployment(deployment(2), api=api)
    web.create()
    web.wait("condition=Available", timeout=90)
    assert web.ready()
    web.scale(4)
    assert web.replicas == 4
    web.wait("jsonpath='{.status.readyReplicas}'=4", timeout=90)
    pods = web.pods()
    assert len(pods) == 4
    assert all(pod.ready() for pod in pods)
    assert {pod.spec.nodeName for pod in pods} <= {f"hollow-{n}" for n in range(3)}
    web.scale(0)
    eventually(lambda: not web.pods())
    web.delete()
    web.wait("delete", timeout=90)
    assert not web.exists()


def test_labels_annotations_and_patches(api: Any) -> None:
    web = ConfigMap(settings("web", colour="blue"), api=api)
    web.create()
    web.label(tier="front", team="shop")
    web.remove_label("team")
    web.annotate({"example.com/note": "seen"})
    web.patch({"data": {"size": "3"}})
    web.patch([{"op": "remove", "path": "/data/colour"}], type="json")
    web.refresh()
    assert (web.labels, web.annotations) == ({"tier": "front"}, {"example.com/note": "seen"})
    assert web.data == {"size": "3"}
    found = [each.name for each in api.get("configmaps", label_selector={"tier": "front"})]
    assert found == ["web"]
    assert ConfigMap.get("web", api=api) == web
    with pytest.raises(kr8s.NotFoundError):
        ConfigMap.get("nothing", api=api)


def test_who_and_what_is_there(api: Any) -> None:
    assert api.whoami() == "admin"
    assert api.version()["major"] == "1"
    resources = {(each["version"], each["kind"]): each for each in api.api_resources()}
    assert resources["apps/v1", "Deployment"]["namespaced"] is True
    assert "get" in resources["v1", "ConfigMap"]["verbs"]
    assert {"v1", "apps/v1", "batch/v1"} <= set(api.api_versions())
    assert api.lookup_kind("deploy") == ("deployment.apps/v1", "deployments", True)
    assert next(iter(api.get("namespaces", "default"))).name == "default"


def test_a_watch_tells_what_is_there_and_what_comes(api: Any) -> None:
    ConfigMap(settings("first"), api=api).create()
    seen = []
    for event, obj in api.watch("configmaps", namespace="default"):
        seen.append((event, obj.name))
        if len(seen) == 1:
            ConfigMap(settings("second"), api=api).create()
        else:
            break
    assert seen == [("ADDED", "first"), ("ADDED", "second")]


@with_nodes
def test_nodes_are_cordoned_and_tainted(api: Any) -> None:
    node = eventually(lambda: next((each for each in api.get("nodes")), None))
    assert isinstance(node, Node)
    node.cordon()
    assert node.unschedulable
    node.uncordon()
    assert not node.unschedulable
    node.taint("example.com/role", "db", effect="NoSchedule")
    assert [taint.key for taint in node.taints] == ["example.com/role"]


@with_nodes
def test_logs_of_a_hollow_node_are_refused_with_a_reason(api: Any) -> None:
    containers = [{"name": "once", "image": "once:1"}]
    pod = Pod(
        {"metadata": {"name": "once", "namespace": "default"}, "spec": {"containers": containers}}, api=api
    )
    pod.create()
    pod.wait("condition=Ready", timeout=90)
    with pytest.raises(kr8s.ServerError, match="hollow nodes only pretend"):
        list(pod.logs())


@pytest.mark.fairlead(crds=[CRONTABS])
def test_a_custom_kind(api: Any) -> None:
    tab = CronTab({"metadata": {"name": "nightly"}, "spec": {"cronSpec": "0 3 * * *"}}, api=api)
    tab.create()
    assert tab.spec == {"cronSpec": "0 3 * * *", "image": "cron:1", "replicas": 1}
    tab.scale(3)
    assert tab.replicas == 3
    tab.patch({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    tab.wait("condition=Ready", timeout=90)
    assert [each.name for each in api.get("ct")] == ["nightly"]  # by its short name
    assert ("stable.example.com/v1", "CronTab") in {
        (each["version"], each["kind"]) for each in api.api_resources()
    }
    tab.delete()
    eventually(lambda: not tab.exists())


@with_nodes
def test_the_same_without_waiting_for_each_other(fairlead_plane: Plane) -> None:
    async def use() -> list[str]:
        api = await kr8s.asyncio.api(kubeconfig=_config(fairlead_plane))
        web = await AsyncDeployment(deployment(1), api=api)
        await web.create()
        await web.wait("condition=Available", timeout=90)
        await web.scale(2)
        await web.wait("jsonpath='{.status.readyReplicas}'=2", timeout=90)
        await asyncio.gather(*[_made(settings(name), api) for name in ("a", "b")])
        names = [each.name async for each in api.get("configmaps") if isinstance(each, APIObject)]
        await present(api._session).aclose()
        return names

    async def _made(spec: dict[str, Any], api: Any) -> None:
        made = await AsyncConfigMap(spec, api=api)
        await made.create()

    assert sorted(asyncio.run(use())) == ["a", "b"]
