"""Service accounts on a running plane: tokens by kubectl, a pod that calls the API with its own, an operator in a pod."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.drivers.isolating import find_isolation
from tests.clients.converging import rolled_out
from tests.clients.kubectl import Operator
from tests.docs.pages import ROOT
from tests.e2e.testimony import end_all, eventually
from tests.running import Running, need_kubectl

EXAMPLE = ROOT / "examples/operator_in_a_pod"
# Without mounts of its own a pod finds its volumes elsewhere (docs/reference/process-driver.md).
MOUNTED = pytest.mark.skipif(
    not find_isolation().mounts, reason="this user may not have mounts of its own here"
)
# Signs in as a program in a pod does, tells what came of it, and waits to be ended.
CALLER = """
import json, os, ssl, sys, time, urllib.error, urllib.request
HERE = "/var/run/secrets/kubernetes.io/serviceaccount/"
read = lambda name: open(HERE + name).read()
base = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
tls = ssl.create_default_context(cafile=HERE + "ca.crt")
def ask(path):
    asked = urllib.request.Request(base + path, headers={"Authorization": "Bearer " + read("token")})
    try:
        return urllib.request.urlopen(asked, context=tls, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code
own = f"/api/v1/namespaces/{read('namespace')}"
told = {
    "namespace": read("namespace"),
    "token": read("token"),
    "own": ask(own + "/configmaps"),
    "secrets": ask(own + "/secrets"),
    "elsewhere": ask("/api/v1/namespaces/kube-system/configmaps"),
}
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(told, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(3600)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=("--nodes", "1", "--no-sample"))
    try:
        yield server
        assert server.stop() == 0
    finally:
        end_all(server.directory)


def role(team: Operator) -> None:
    """The account `robot`, which may read and watch ConfigMaps here."""
    team("create serviceaccount robot")
    team("create role reader --verb=get,list,watch --resource=configmaps")
    team(f"create rolebinding reader --role=reader --serviceaccount={team.namespace}:robot")


def test_kubectl_gets_a_token_that_is_worth_what_roles_grant(server: Running, team: Operator) -> None:
    role(team)
    token = team("create token robot --duration=20m").strip()
    who = f"system:serviceaccount:{team.namespace}:robot"
    assert json.loads(team(f"auth whoami -o json --token={token}"))["status"]["userInfo"]["username"] == who
    base = f"/api/v1/namespaces/{team.namespace}"
    assert server.request("GET", f"{base}/configmaps", token=token)[0] == 200
    status, answer = server.request("GET", f"{base}/secrets", token=token)
    assert (status, who in answer["message"]) == (403, True)
    assert "duration less than 10 minutes" in team.refused("create token robot --duration=1m")
    team("delete serviceaccount robot")
    assert server.request("GET", f"{base}/configmaps", token=token)[0] == 401


def caller(team: Operator, told: Path) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "process",
        "command": [sys.executable, "-I", "-S", "-c", CALLER, str(told)],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "caller"},
        "spec": {"serviceAccountName": "robot", "containers": [container]},
    }


@MOUNTED
def test_a_pod_calls_the_api_as_its_account_until_it_is_deleted(
    server: Running, team: Operator, tmp_path: Path
) -> None:
    role(team)
    team("create -f -", caller(team, tmp_path / "told"))
    eventually((tmp_path / "told").exists)
    told = json.loads((tmp_path / "told").read_text())
    token = told.pop("token")
    assert told == {"namespace": team.namespace, "own": 200, "secrets": 403, "elsewhere": 403}

    base = f"/api/v1/namespaces/{team.namespace}"
    connection = server.connect()
    connection.request("GET", f"{base}/configmaps?watch=true", headers={"Authorization": f"Bearer {token}"})
    watch = connection.getresponse()
    assert watch.status == 200
    assert server.request("DELETE", f"{base}/pods/caller", {"gracePeriodSeconds": 0})[0] == 200
    status, answer = server.request("GET", f"{base}/configmaps", token=token)
    assert (status, "does not exist any more" in answer["message"]) == (401, True)
    watch.read()  # which ends: the server closes what was opened with the token
    connection.close()


@MOUNTED
def test_a_pod_whose_account_is_not_there_says_so_and_starts_when_it_comes(
    team: Operator, tmp_path: Path
) -> None:
    team("create -f -", caller(team, tmp_path / "told"))

    def waits() -> bool:
        statuses = json.loads(team.asked("get pod caller -o json"))["status"].get("containerStatuses") or [{}]
        return "cannot be had" in statuses[0].get("state", {}).get("waiting", {}).get("message", "")

    eventually(waits)
    role(team)
    eventually((tmp_path / "told").exists)
    team("delete pod caller --now")


@MOUNTED
@pytest.mark.timeout(300)
def test_an_operator_of_one_file_runs_as_a_pod(kubectl: Operator) -> None:
    text = (EXAMPLE / "operator.yaml").read_text().replace("PYTHON", sys.executable)
    kubectl("apply -f -", text)
    harbour = kubectl.inside("harbour")
    harbour(f"create configmap keeper-source --from-file={EXAMPLE / 'keeper.py'}")
    rolled_out(harbour, "deployment/keeper")
    beacon = {
        "apiVersion": "harbour.example.com/v1",
        "kind": "Beacon",
        "metadata": {"name": "mole"},
        "spec": {"colour": "green"},
    }
    kubectl("create -f -", beacon)
    eventually(lambda: kubectl.asked("get beacon mole -o jsonpath={.status.shows}") == "green")
    assert kubectl.asked("get configmap mole-lamp -o jsonpath={.data.colour}") == "green"
    kubectl('patch beacon mole --type=merge -p \'{"spec":{"colour":"red"}}\'')
    eventually(lambda: kubectl.asked("get configmap mole-lamp -o jsonpath={.data.colour}") == "red")
    kubectl("delete beacon mole")
    eventually(lambda: kubectl.run("get configmap mole-lamp").code == 1)
    assert "no" in kubectl.run("auth can-i list secrets --as system:serviceaccount:harbour:keeper").out
    kubectl("delete namespace harbour")
