"""Two placements that went wrong elsewhere, step by step: a decision repeated by the next leader, and a quota that was
full by the time the decision arrived. What a mirror shows is held back where the story wants it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.sim.lagging import Lagging

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
QUOTAS = "/apis/fairlead.dev/v1/namespaces/default/placementquotas"


def pod(name: str, cpu: str) -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


@pytest.fixture
def api() -> InProcess:
    return InProcess()


def test_a_placement_whose_answer_was_lost_is_found_by_the_next_leader_and_not_made_again(
    api: InProcess,
) -> None:
    def dies(request: Request) -> str:
        if request.subresource != "binding":
            return ""
        first.stopped = True  # before it can look
        return "reply"

    first = Lagging(api, dies, "first")
    first.run(30)
    second = Lagging(api, identity="second")  # follows: its mirrors are warm
    second.run(1)
    assert not second.plane.leadership.leads

    second.held.add("pods")  # its watch is late from here on
    api.post(PODS, pod("fraud", "20"))
    first.run(5)
    assert [each.subresource for each in first.sent[-1:]] == ["binding"]
    bound = api.get(f"{PODS}/fraud")[1]
    assert bound["spec"]["nodeName"]

    second.run(120)
    assert second.plane.leadership.leads
    assert second.bindings() == []  # what it knows may be older than what the former leader did

    second.held.clear()
    second.run(30)
    assert second.bindings() == []
    assert second.records_of("fraud") == []
    now = api.get(f"{PODS}/fraud")[1]
    assert (now["metadata"]["uid"], now["spec"]["nodeName"]) == (
        bound["metadata"]["uid"],
        bound["spec"]["nodeName"],
    )


def test_a_quota_that_fills_up_between_the_look_and_the_binding_is_not_exceeded_and_the_records_say_so(
    api: InProcess,
) -> None:
    """Read at one revision, committed against a later one: the records show both."""

    def race(request: Request) -> str:
        if request.subresource == "binding" and not at_refusal:
            assert api.post(f"{PODS}/other/binding", by_hand)[0] == 201
            at_refusal.append(_revision(api))
            plane.held.add("placementquotas.fairlead.dev")
        return ""

    at_refusal: list[int] = []
    by_hand = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "other"},
        "target": {"name": "node-0"},
    }
    plane = Lagging(api, race)
    plane.run(30)
    quota = {"apiVersion": "fairlead.dev/v1", "kind": "PlacementQuota", "metadata": {"name": "team"}}
    api.post(QUOTAS, {**quota, "spec": {"hard": {"cpu": "6"}}})
    other = pod("other", "4")
    other["spec"]["schedulerName"] = "by-hand"
    api.post(PODS, other)
    plane.run(5)

    api.post(PODS, pod("fraud", "4"))
    plane.run(30)
    plane.held.clear()
    plane.run(30)
    assert _used(api) == "4"
    assert "nodeName" not in api.get(f"{PODS}/fraud")[1]["spec"]

    placed, failed, *_, last = plane.records_of("fraud")
    assert (placed["verdict"], failed["verdict"], last["verdict"]) == ("Placed", "NotBound", "Unschedulable")
    assert "exceeded quota: team" in failed["reason"]
    read, _ = placed["reads"]["placementquotas.fairlead.dev"]
    assert read < at_refusal[0] <= last["reads"]["placementquotas.fairlead.dev"][0]
    assert "PlacementQuota" in {refusal["plugin"] for refusal in last["refusals"]}

    api.delete(f"{PODS}/other")
    plane.run(60)
    assert api.get(f"{PODS}/fraud")[1]["spec"]["nodeName"]
    assert _used(api) == "4"


def _revision(api: InProcess) -> int:
    return int(api.get(f"{QUOTAS}/team")[1]["metadata"]["resourceVersion"])


def _used(api: InProcess) -> str:
    return str(api.get(f"{QUOTAS}/team")[1]["status"]["used"]["cpu"])
