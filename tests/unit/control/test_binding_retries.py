"""A binding that is tried again and again says so: in the pod's conditions with the attempt, in an Event, in the record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment


class Refusing(InProcess):
    """An API that takes no bindings for as long as `refuses`."""

    refuses = True

    def send(self, request: Request, *given: Any, **named: Any) -> Any:
        if self.refuses and request.subresource == "binding":
            told = {"kind": "Status", "reason": "Forbidden", "message": "no bindings today", "code": 403}
            return Reply(403, json.dumps(told).encode())
        return super().send(request, *given, **named)


def scheduled(driver: Driver) -> dict[str, Any]:
    [pod] = driver.live_pods()
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), {})


@pytest.mark.parametrize("how", ["refused", "unanswered"])
def test_a_binding_that_is_tried_again_is_told_with_its_attempt(how: str) -> None:
    api = Refusing()
    api.refuses = how == "refused"
    lost = {"binding"} if how == "unanswered" else set()
    driver = Driver(api, lambda request: "request" if request.subresource in lost else "")
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(20)
    shown = scheduled(driver)
    assert (shown["status"], shown["reason"]) == ("False", "SchedulingRetrying")
    assert "binding to node-" in shown["message"]
    assert "(attempt " in shown["message"]
    events = api.get("/api/v1/namespaces/default/events")[1]["items"]
    assert "SchedulingRetrying" in {each["reason"] for each in events}
    _, web = api.get(f"{DEPLOYMENTS}/web")
    limit = web["status"]["progress"]["limit"]
    assert (limit["stage"], limit["reason"], limit["owner"]) == ("queued", "SchedulingRetrying", "scheduler")
    told = [each for each in driver.records if each.get("verdict") == "NotBound"]
    assert len(told) > 1
    assert all("Bind " in each["reason"] for each in told)
    api.refuses = False
    lost.clear()
    driver.run(60)
    assert scheduled(driver)["status"] == "True"


def test_progress_names_what_pods_that_are_not_there_wait_for_as_the_conditions_do() -> None:
    api = InProcess()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    api.post("/api/v1/namespaces/default/resourcequotas", {**quota, "spec": {"hard": {"pods": "2"}}})
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(5))
    driver.run(30)
    status = api.get(f"{DEPLOYMENTS}/web")[1]["status"]
    [shown] = [each for each in status["conditions"] if each["type"] == "fairlead.dev/WaitingFor"]
    [group] = status["progress"]["pending"]
    assert (group["stage"], group["count"]) == ("desired", 3)
    assert (group["reason"], group["message"]) == (shown["reason"], shown["message"][:256])
    assert group["owner"] == "quota-admin"
    reasons = {each.get("reason") for each in driver.records if {"trouble", "reason"} <= set(each)}
    assert reasons == {shown["reason"]}
