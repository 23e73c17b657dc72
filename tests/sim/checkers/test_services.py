"""Checkers of Services: addresses and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.checkers.story import Json, Story, pod, told_by


def service(name: str = "web", address: str = "127.96.0.1", **port: Any) -> Json:
    spec = {"clusterIP": address, "selector": {"app": "web"}, "ports": [{"port": 80, **port}]}
    return {"metadata": {"name": name}, "spec": spec}


def cut(*addresses: str, ready: bool = True, name: str = "s") -> Json:
    labels = {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    told = {"ready": ready, "serving": ready, "terminating": False}
    endpoints = [{"addresses": [address], "conditions": told} for address in addresses]
    return {"metadata": {"name": name, "labels": labels}, "endpoints": endpoints}


def with_address(found: Json, address: str, *more: Json) -> Json:
    status = {**found["status"], "podIP": address, "conditions": [*found["status"]["conditions"], *more]}
    meta = {**found["metadata"], "labels": {"app": "web"}, "ownerReferences": []}
    return {**found, "metadata": meta, "status": status}


SLICES = "endpointslices.discovery.k8s.io"


def a_service_and_a_pod(story: Story, *more: Json) -> None:
    story.commit("nodes", {"metadata": {"name": "one"}})
    story.commit("services", service())
    story.commit("pods", with_address(pod("a", node="one"), "127.128.0.1", *more))


def two_services_with_one_address(story: Story) -> None:
    story.commit("services", service("a"))
    story.commit("services", service("b"))


def two_services_with_one_node_port(story: Story) -> None:
    story.commit("services", service("a", "127.96.0.1", nodePort=30000))
    story.commit("services", service("b", "127.96.0.2", nodePort=30000))


def two_nodes_with_one_network(story: Story) -> None:
    for name in ("one", "two"):
        story.commit("nodes", {"metadata": {"name": name}, "spec": {"podCIDR": "127.128.0.0/24"}})


def a_pod_that_no_slice_names(story: Story) -> None:
    a_service_and_a_pod(story)
    story.rest()


def a_slice_that_calls_a_released_pod_ready(story: Story) -> None:
    a_service_and_a_pod(story, {"type": "fairlead.dev/Released", "status": "True"})
    story.commit(SLICES, cut("127.128.0.1"))
    story.rest()


def a_pod_in_two_slices(story: Story) -> None:
    a_service_and_a_pod(story)
    story.commit(SLICES, cut("127.128.0.1"))
    story.commit(SLICES, cut("127.128.0.1", name="t"))
    story.rest()


def a_slice_with_too_much(story: Story) -> None:
    story.commit("services", service())
    story.commit(SLICES, cut(*(f"127.128.0.{number}" for number in range(101))))
    story.rest()


def test_slices_that_tell_the_truth_and_addresses_handed_on_break_nothing() -> None:
    story = Story()
    a_service_and_a_pod(story)
    story.commit(SLICES, cut("127.128.0.1"))
    story.commit("services", service("old", "127.96.0.9"))
    story.commit("services", service("old", "127.96.0.9"), gone=True)
    new = service("new", "127.96.0.9")
    del new["spec"]["selector"]
    story.commit("services", new)
    story.commit("services", new)
    story.seconds = 100
    story.rest()


VIOLATIONS = [
    ("one-address", two_services_with_one_address),
    ("one-address", two_services_with_one_node_port),
    ("one-address", two_nodes_with_one_network),
    ("slices-at-rest", a_pod_that_no_slice_names),
    ("slices-at-rest", a_slice_that_calls_a_released_pod_ready),
    ("slices-at-rest", a_pod_in_two_slices),
    ("slices-at-rest", a_slice_with_too_much),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
