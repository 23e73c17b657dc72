"""Each type of metric: where its numbers come from, and what follows from them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.marks import DRIVER, HOLLOW_LOAD, NODE_LEASES, USAGE, USAGE_WANTED_UNTIL
from fairlead.model.views import DEPLOYMENTS, LEASES, NODES, PODS
from fairlead.port.usage import (
    TOLD_BYTES_MAX,
    Amount,
    ContainerUsage,
    NodeUsage,
    PodUsage,
    read_usage,
    usage_text,
)
from fairlead.reconcile.autoscaling.targets import CONFIG_MAPS
from tests.unit.reconcile.autoscaling.scaling import (
    condition,
    follow,
    look,
    message,
    replicas,
    scaled,
    status,
    use,
)
from tests.unit.reconcile.world import World

Json = dict[str, Any]
WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def of_object(name: str, **target: str) -> Json:
    kind = "Value" if "value" in target else "AverageValue"
    part = {"metric": {"name": name}, "describedObject": WEB, "target": {"type": kind, **target}}
    return {"type": "Object", "object": part}


def external(name: str, selector: Json | None = None, **target: str) -> Json:
    kind = "Value" if "value" in target else "AverageValue"
    metric: Json = {"name": name, **({"selector": selector} if selector else {})}
    return {"type": "External", "external": {"metric": metric, "target": {"type": kind, **target}}}


def publish(world: World, name: str, metric: str, value: str, **labels: str) -> None:
    metadata = {"labels": {"metrics.fairlead.dev/external": metric, **labels}}
    world.add(CONFIG_MAPS, name, metadata=metadata, data={"value": value})


def test_a_number_in_the_status_of_an_object_is_a_metric() -> None:
    world = scaled(4, metrics=(of_object("readyReplicas", value="2"),))
    look(world)
    assert replicas(world) == 8
    assert status(world)["currentMetrics"][0]["object"]["current"] == {"value": "4"}
    assert message(world, "ScalingActive").endswith("from Deployment metric readyReplicas")


def test_what_is_written_on_an_object_counts_first() -> None:
    world = scaled(4, metrics=(of_object("queued", averageValue="5"),))
    world.edit(DEPLOYMENTS, "web", {"metadata": {"annotations": {"metrics.fairlead.dev/queued": "29500m"}}})
    look(world)
    assert replicas(world) == 6
    assert status(world)["currentMetrics"][0]["object"]["current"] == {"averageValue": "7375m"}


def test_a_metric_that_nobody_writes_is_named() -> None:
    world = scaled(2, metrics=(of_object("queued", value="5"),))
    look(world)
    assert condition(world, "ScalingActive") == ("False", "FailedGetObjectMetric")
    assert "neither a number status.queued nor the annotation metrics.fairlead.dev/queued" in message(
        world, "ScalingActive"
    )


@pytest.mark.parametrize("text", ["many", ""])
def test_a_value_that_is_none_is_no_value(text: str) -> None:
    world = scaled(2, metrics=(of_object("queued", value="5"),))
    world.edit(DEPLOYMENTS, "web", {"metadata": {"annotations": {"metrics.fairlead.dev/queued": text}}})
    look(world)
    assert (replicas(world), condition(world, "ScalingActive")[1]) == (2, "FailedGetObjectMetric")


def test_external_metrics_are_config_maps_and_sum_up() -> None:
    world = scaled(2, metrics=(external("depth", averageValue="10"),))
    publish(world, "one", "depth", "25")
    publish(world, "two", "depth", "20")
    publish(world, "other", "width", "1k")
    look(world)
    assert replicas(world) == 5
    assert status(world)["currentMetrics"][0]["external"]["current"] == {"averageValue": "22500m"}


def test_labels_narrow_an_external_metric_down() -> None:
    chosen = {"matchLabels": {"queue": "mail"}}
    world = scaled(2, metrics=(external("depth", chosen, value="10"),))
    publish(world, "one", "depth", "30", queue="mail")
    publish(world, "two", "depth", "500", queue="news")
    look(world)
    assert replicas(world) == 6
    assert status(world)["currentMetrics"][0]["external"]["current"] == {"value": "30"}


def test_no_external_metric() -> None:
    world = scaled(2, metrics=(external("depth", value="10"),))
    look(world)
    assert condition(world, "ScalingActive") == ("False", "FailedGetExternalMetric")
    assert "no ConfigMap with the label metrics.fairlead.dev/external=depth" in message(
        world, "ScalingActive"
    )


def test_a_load_on_hollow_nodes_is_shared_by_those_that_are_ready() -> None:
    world = scaled(4)
    names = [pod.metadata.name for pod in world.list(PODS)]
    for name in names:
        world.edit(PODS, name, {"metadata": {"annotations": {HOLLOW_LOAD: "cpu=400m"}}})
    (used,) = look(world).inputs
    assert (replicas(world), set(used["pods"].values())) == (8, {"100m"})


# Real nodes


def told(world: World, at: float, milli: int, containers: tuple[str, ...] = ("main",)) -> str:
    """What the node tells of every pod, as its lease has it."""
    each = tuple(ContainerUsage(name, Amount(milli * 10**6, 32 * 2**20)) for name in containers)
    pods = tuple(PodUsage(pod.metadata.uid, at, 10.0, each) for pod in world.list(PODS))
    return usage_text(NodeUsage(at, 10.0, Amount(0, 0), pods))


def on_a_real_node(world: World, text: str) -> None:
    world.add(NODES, "node-1", metadata={"labels": {DRIVER: "process"}})
    spec = {"holderIdentity": "node-1", "leaseDurationSeconds": 40}
    world.add(LEASES, "node-1", NODE_LEASES, metadata={"annotations": {USAGE: text}}, spec=spec)


def test_what_a_node_tells_with_its_lease_is_used() -> None:
    world = scaled(2)
    on_a_real_node(world, told(world, world.now - 5, 90))
    look(world)
    assert replicas(world) == 4


def test_what_is_old_counts_as_not_measured_and_a_script_does_not_count_there() -> None:
    world = scaled(2)
    on_a_real_node(world, told(world, world.now - 61, 90))
    use(world, "90m")
    look(world)
    assert (replicas(world), condition(world, "ScalingActive")[1]) == (2, "FailedGetResourceMetric")


def test_one_container_alone_is_measured() -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    part = {"name": "cpu", "container": "main", "target": target}
    world = scaled(2, metrics=({"type": "ContainerResource", "containerResource": part},))
    on_a_real_node(world, told(world, world.now, 90, ("main", "beside")))
    look(world)
    assert replicas(world) == 4
    assert status(world)["currentMetrics"][0]["containerResource"] == {
        "container": "main",
        "name": "cpu",
        "current": {"averageUtilization": 90, "averageValue": "90m"},
    }


def test_memory_is_told_in_bytes() -> None:
    target = {"type": "AverageValue", "averageValue": "16Mi"}
    world = scaled(2, metrics=({"type": "Resource", "resource": {"name": "memory", "target": target}},))
    on_a_real_node(world, told(world, world.now, 1))
    look(world)
    assert replicas(world) == 4
    assert status(world)["currentMetrics"][0]["resource"]["current"] == {"averageValue": "33554432"}


def test_nodes_are_asked_for_usage_once_an_hour_and_only_where_somebody_needs_it() -> None:
    world = scaled(2)
    on_a_real_node(world, told(world, world.now, 50))
    look(world)
    annotations = world.objects[Key(NODES.name, "", "node-1")]["metadata"]["annotations"]
    assert annotations[USAGE_WANTED_UNTIL] == timestamp(world.now + 3600)
    before = len([each for each in world.writes if each.resource == NODES.name])
    for _ in range(10):
        look(world, 15)
    assert len([each for each in world.writes if each.resource == NODES.name]) == before == 1
    other = scaled(2, metrics=(of_object("readyReplicas", value="2"),))
    on_a_real_node(other, "")
    look(other)
    assert not [each for each in other.writes if each.resource == NODES.name]


def test_the_text_of_a_lease_is_bounded_and_reads_back() -> None:
    pods = tuple(
        PodUsage(f"uid-{number}", 5.0, 10.0, (ContainerUsage("c", Amount(number, 7)),))
        for number in range(5000)
    )
    text = usage_text(NodeUsage(5.0, 10.0, Amount(0, 0), pods))
    assert len(text) <= TOLD_BYTES_MAX
    found = read_usage(text)
    assert found is not None
    assert 500 < len(found.pods) < 5000
    assert found.pods["uid-3"] == {"c": Amount(3, 7)}
    assert read_usage("{}") is None
    assert read_usage(msgspec.json.encode([1]).decode()) is None


def test_cpu_of_a_pod_that_has_just_started_does_not_count() -> None:
    world = scaled(1)
    use(world, "50m")
    old = {pod.metadata.name for pod in world.list(PODS)}
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 2}})
    follow(world)
    young = {pod.metadata.name for pod in world.list(PODS)} - old
    use(world, "500m", young)
    look(world, 5)
    assert replicas(world) == 2
    look(world, 15)
    assert replicas(world) == 6
