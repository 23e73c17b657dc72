"""Plans and explanations that take long, before a running server: it answers others meanwhile, and turns away who is too
many, with the time to come back."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "300")
PODS = 2000


def question(number: int = PODS) -> dict[str, Any]:
    """Pods that keep away from each other: each changes what the next may do."""
    away = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    spec = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}},
    }
    pod = {
        "metadata": {"name": "x", "uid": "x", "namespace": "default", "labels": {"app": "x"}},
        "spec": spec,
    }
    return {"items": [{"pod": pod, "names": [f"x-{place}" for place in range(number)]}]}


def under_way(server: Running) -> int:
    _, text = server.request("GET", "/metrics")
    (line,) = (each for each in text.splitlines() if each.startswith("fairlead_answers_under_way "))
    return int(line.split()[1])


def asked(server: Running, told: list[tuple[int, Any, str]]) -> threading.Thread:
    def ask() -> None:
        connection = server.connect(timeout=250)
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        connection.request("POST", "/fairlead/v1/plan", json.dumps(question()).encode(), headers)
        answer = connection.getresponse()
        told.append((answer.status, json.loads(answer.read()), answer.headers.get("retry-after") or ""))
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_long_plan_keeps_nobody_waiting_and_too_many_are_told_to_come_back(
    server: Running, kubectl: Operator
) -> None:
    eventually(lambda: len(json.loads(kubectl.asked("get nodes -o json"))["items"]) == 300)
    told: list[tuple[int, Any, str]] = []
    answered = 0
    for _ in range(20):  # on a fast machine one plan is over after an answer or two
        thread = asked(server, told)
        while thread.is_alive():
            if under_way(server):  # that it says so is an answer beside the plan
                assert server.request("GET", "/api/v1/namespaces/default")[0] == 200
                answered += 1
        thread.join()
        if answered > 2:
            break
    assert answered > 2
    (status, plan, _), told = told[-1], []
    assert status == 200
    assert not plan["fits"]
    assert len({each["node"] for each in plan["items"] if each["node"]}) == 300

    threads = [asked(server, told) for _ in range(12)]
    for thread in threads:
        thread.join()
    refused = [(message["reason"], again) for status, message, again in told if status == 429]
    assert refused
    assert set(refused) == {("TooManyRequests", "1")}
    assert {status for status, _, _ in told} == {200, 429}
    eventually(lambda: under_way(server) == 0)
