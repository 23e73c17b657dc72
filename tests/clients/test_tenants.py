"""Two tenants on one plane: each is told of its own by name, and of the other by number. A stranger is told nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "2")
NODE = "hollow-0"
PLANE = "/fairlead/v1"
SECRET_WORDS = ("team-b", "ledger")  # what jane must not read anywhere
DOCUMENTS = (
    f"{PLANE}/explain/team-a/web",
    f"{PLANE}/explain/team-a/web?all=true",
    f"{PLANE}/why-not/team-a/web/{NODE}",
    f"{PLANE}/audit",
    f"{PLANE}/decisions",
    f"{PLANE}/queues",
    f"{PLANE}/revision?at=2100-01-01T00:00:00Z",
)


def pod(space: str, name: str, priority: str = "") -> dict[str, Any]:
    """Of which one fits on a hollow node."""
    resources = {"requests": {"cpu": "20", "memory": "1Gi"}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "x:1", "resources": resources}]}
    spec |= {"terminationGracePeriodSeconds": 0} | ({"priorityClassName": priority} if priority else {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space}, "spec": spec}


class Tenant(NamedTuple):
    server: Running
    token: str
    kubeconfig: Path

    def get(self, path: str) -> tuple[int, Any]:
        return self.server.request("GET", path, token=self.token)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.server.request("POST", path, body, token=self.token)

    def fairlead(self, *words: str) -> tuple[str, str]:
        """What a command printed, and said beside."""
        done = subprocess.run(
            [nursery.command(), *words, "--kubeconfig", self.kubeconfig],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr


def person(server: Running, name: str, *groups: str) -> Tenant:
    file = server.directory.parent / f"{name}.kubeconfig"
    words = ["token", "create", "--name", name, "-o", str(file), "--data-dir", str(server.directory)]
    for group in groups:
        words += ["--group", group]
    subprocess.run([nursery.command(), *words], check=True, capture_output=True, timeout=120)
    return Tenant(server, file.read_text().split("token:")[1].split()[0].strip('"'), file)


@pytest.fixture(scope="module")
def stage(server: Running, kubectl: Operator) -> Running:
    """A pod of team-a has taken the place of one of team-b; another of team-b is still there."""
    for space in ("team-a", "team-b"):
        kubectl(f"create namespace {space}")
    kubectl("create priorityclass important --value=1000")
    kubectl("create rolebinding edit --clusterrole=edit --group=people-of-a -n team-a")
    for name in ("ledger-1", "ledger-2"):
        kubectl("create -f -", pod("team-b", name))
    kubectl("wait --for=condition=PodScheduled pod --all -n team-b --timeout=90s")
    kubectl("create -f -", pod("team-a", "web", "important"))
    kubectl("wait --for=condition=PodScheduled pod/web -n team-a --timeout=90s")
    return server


@pytest.fixture(scope="module")
def jane(stage: Running) -> Tenant:
    return person(stage, "jane", "people-of-a")


@pytest.fixture(scope="module")
def stranger(stage: Running) -> Tenant:
    return person(stage, "stranger")


def names_nothing_of_others(told: Any) -> None:
    text = told if isinstance(told, str) else json.dumps(told)
    assert not [word for word in SECRET_WORDS if word in text], text


def victims(told: Any) -> list[Any]:
    return [each["key"] for attempt in told["attempts"] for each in attempt.get("victims") or ()]


def test_her_pod_is_explained_and_the_victims_of_others_have_no_names(jane: Tenant, stage: Running) -> None:
    path = f"{PLANE}/explain/team-a/web?all=true"
    status, told = jane.get(path)
    assert (status, victims(told)) == (200, [["pods", "*", "*"]])
    names_nothing_of_others(told)
    _, whole = stage.request("GET", path)
    assert [key[:2] for key in victims(whole)] == [["pods", "team-b"]]
    for attempt in told["attempts"]:
        status, one = jane.get(f"{PLANE}/explain/team-a/web?attempt={attempt['number']}")
        assert (status, one["number"]) == (200, attempt["number"])
        names_nothing_of_others(one)


@pytest.mark.parametrize(
    "path", ["explain/team-b/ledger-1", "explain/team-b/nothing", f"why-not/team-b/ledger-1/{NODE}"]
)
def test_what_is_of_others_is_not_explained_to_her_there_or_not(jane: Tenant, path: str) -> None:
    status, answer = jane.get(f"{PLANE}/{path}")
    assert (status, answer["reason"]) == (403, "Forbidden")


def test_what_she_reads_names_nothing_of_others(jane: Tenant) -> None:
    for path in DOCUMENTS:
        status, told = jane.get(path)
        assert status == 200, (path, told)
        names_nothing_of_others(told)


@pytest.mark.parametrize("log", ["audit", "decisions"])
def test_of_a_log_she_sees_her_lines_and_how_many_there_are_beside(
    jane: Tenant, stage: Running, log: str
) -> None:
    _, told = jane.get(f"{PLANE}/{log}")
    _, whole = stage.request("GET", f"{PLANE}/{log}")
    numbers = {each["sequence"] for each in told["items"]}
    assert numbers
    assert told["hidden"] > 0
    upto = [each for each in whole["items"] if each["sequence"] <= told["last"]]
    assert len(told["items"]) + told["hidden"] == len(upto)
    assert numbers < {each["sequence"] for each in upto}
    out, beside = jane.fairlead(log)
    assert "web" in out
    assert "more are about objects that you may not read." in beside
    names_nothing_of_others(out + beside)


def test_a_plan_for_her_evicts_pods_without_names(jane: Tenant, stage: Running) -> None:
    body = pod("team-a", "next", "important")
    status, wanted = jane.post("/api/v1/namespaces/team-a/pods?dryRun=All", body)
    assert status == 201, wanted
    question = {"items": [{"pod": wanted, "names": ["next"]}]}
    status, told = jane.post(f"{PLANE}/plan", question)
    assert (status, [each["evicts"] for each in told["items"]]) == (200, [["*/*"]])
    names_nothing_of_others(told)
    _, whole = stage.request("POST", f"{PLANE}/plan", question)
    assert whole["items"][0]["evicts"][0].startswith("team-b/ledger-")
    question["items"][0]["pod"]["metadata"]["namespace"] = "team-b"
    assert jane.post(f"{PLANE}/plan", question)[0] == 403


def test_whoever_has_no_role_is_told_nothing(stranger: Tenant) -> None:
    for path in DOCUMENTS:
        assert stranger.get(path)[0] == 403, path
    assert stranger.post(f"{PLANE}/plan", {"items": [{"pod": pod("team-a", "x"), "names": ["x"]}]})[0] == 403


def test_a_role_counts_from_the_moment_it_is_bound_until_it_is_not(stage: Running, kubectl: Operator) -> None:
    late = person(stage, "late")
    assert late.get(f"{PLANE}/audit")[0] == 403
    kubectl("create rolebinding late --clusterrole=view --user=late -n team-a")
    assert late.get(f"{PLANE}/audit")[0] == 200
    assert late.get(f"{PLANE}/explain/team-a/web")[0] == 200
    kubectl("delete rolebinding late -n team-a")
    eventually(lambda: late.get(f"{PLANE}/audit")[0] == 403)
    assert late.get(f"{PLANE}/explain/team-a/web")[0] == 403
