"""Who am I, what may I do, what is here: auth, discovery, and kubectl with a viewer's and a node's token."""

from __future__ import annotations

import subprocess

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator, columns, table
from tests.clients.manifests import config, node, pod
from tests.running import Running


@pytest.fixture(scope="module")
def world(kubectl: Operator) -> Operator:
    kubectl("create -f -", [config("c", {"a": "1"}), pod("mine", node="worker-1"), pod("other")])
    kubectl("create secret generic s --from-literal=word=swordfish")
    return kubectl


def _with_token(server: Running, role: str, name: str) -> Operator:
    """kubectl with a token of its own. A running server learns of it within a second."""
    made = subprocess.run(
        [nursery.command(), "token", "create", "--role", role, "--name", name, "-o", "kubeconfig",
         "--data-dir", server.directory],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    home = server.directory.parent / f"home-{name}"
    home.mkdir()
    path = home / "kubeconfig"
    path.write_text(made.stdout)
    someone = Operator(path)
    eventually(lambda: someone.run("auth whoami").code == 0)
    return someone


@pytest.fixture(scope="module")
def viewer(server: Running, world: Operator) -> Operator:
    return _with_token(server, "viewer", "eve")


@pytest.fixture(scope="module")
def worker(server: Running, world: Operator) -> Operator:
    return _with_token(server, "node", "worker-1")


def test_whoami(kubectl: Operator, viewer: Operator, worker: Operator) -> None:
    said = {row["ATTRIBUTE"]: row["VALUE"] for row in table(kubectl("auth whoami"))}
    assert said.pop("Extra: authentication.kubernetes.io/credential-id").startswith("[SHA256=")
    assert said == {"Username": "admin", "Groups": "[system:masters system:authenticated]"}
    assert table(viewer("auth whoami"))[0]["VALUE"] == "eve"
    assert table(worker("auth whoami"))[0]["VALUE"] == "system:node:worker-1"


def test_can_i(kubectl: Operator, viewer: Operator, worker: Operator) -> None:
    assert kubectl("auth can-i delete pods") == "yes\n"
    assert kubectl("auth can-i '*' '*'") == "yes\n"
    assert viewer("auth can-i list pods -A") == "yes\n"
    for someone, line in ((viewer, "create pods"), (viewer, "get secrets"), (worker, "delete nodes")):
        done = someone.run(f"auth can-i {line}")
        assert (done.code, done.out.partition(" ")[0].strip()) == (1, "no")


def test_can_i_list(kubectl: Operator, viewer: Operator) -> None:
    assert columns(kubectl("auth can-i --list")) == [
        "Resources",
        "Non-Resource URLs",
        "Resource Names",
        "Verbs",
    ]
    rows = {row["Resources"]: row["Verbs"] for row in table(viewer("auth can-i --list"))}
    assert rows["deployments.apps"] == "[get list watch]"
    assert "secrets" not in rows


def test_a_viewer_reads_everything_but_secrets_and_writes_nothing(viewer: Operator) -> None:
    assert viewer("get cm c -o jsonpath={.data.a}") == "1"
    assert "Events:" in viewer("describe pod other")
    assert 'User "eve" cannot list resource "secrets"' in viewer.refused("get secrets")
    for line in ("create cm new", "delete cm c", "label cm c x=1", "annotate cm c x=1",
                 "run p --image=x --dry-run=server", "patch cm c -p '{}'"):  # fmt: skip
        assert "is forbidden" in viewer.refused(line)
    assert "(Forbidden)" in viewer.refused("apply -f -", config("c", {"a": "2"}))
    assert viewer("get cm c -o jsonpath={.data.a}") == "1"


def test_a_node_touches_its_own_node_and_the_pods_bound_to_it(worker: Operator, world: Operator) -> None:
    worker("create -f -", node("worker-1", role=""))
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Up"}]}}'
    worker(f"patch node worker-1 --subresource=status --type=merge -p '{ready}'")
    assert "(Forbidden)" in worker.refused("create -f -", node("worker-2"))
    assert worker("get pod mine -o name") == "pod/mine\n"
    assert "(Forbidden)" in worker.refused("get pod other")
    assert "(Forbidden)" in worker.refused("get pods -A")
    assert worker("get pods -A --field-selector=spec.nodeName=worker-1 -o name") == "pod/mine\n"
    worker('patch pod mine --subresource=status --type=merge -p \'{"status":{"phase":"Running"}}\'')
    assert "(Forbidden)" in worker.refused("delete pod other")
    assert "(Forbidden)" in worker.refused("get secret s")
    assert "(Forbidden)" in worker.refused("taint node worker-1 a=b:NoSchedule")
    assert 'pod "mine" force deleted' in worker.run("delete pod mine --force --wait=false").out
    assert "(NotFound)" in world.refused("get pod mine")


def test_a_wrong_token_is_told_what_to_do(kubectl: Operator) -> None:
    said = kubectl.refused("get cm --token=nonsense")
    assert said.startswith("error: You must be logged in to the server (")
    assert "fairlead token create" in said


def test_the_secret_is_readable_by_the_administrator_only(world: Operator, viewer: Operator) -> None:
    assert world("get secret s -o jsonpath={.data.word}") == "c3dvcmRmaXNo"
    assert "swordfish" not in viewer.run("get secret s -o yaml").err


def test_what_the_server_serves(kubectl: Operator) -> None:
    rows = {
        row["NAME"]: row
        for row in table(kubectl("api-resources -o wide"))
        if row["APIVERSION"] != "metrics.k8s.io/v1beta1"
    }
    assert rows["deployments"] == {
        "NAME": "deployments", "SHORTNAMES": "deploy", "APIVERSION": "apps/v1", "NAMESPACED": "true",
        "KIND": "Deployment", "VERBS": "create,delete,deletecollection,get,list,patch,update,watch",
        "CATEGORIES": "all",
    }  # fmt: skip
    assert (rows["nodes"]["NAMESPACED"], rows["pods"]["SHORTNAMES"]) == ("false", "po")
    assert kubectl("api-resources --api-group=policy -o name") == "poddisruptionbudgets.policy\n"
    versions = kubectl("api-versions").split()
    assert versions == sorted(versions)
    assert {"v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1"} <= set(versions)


def test_version_and_cluster_info(kubectl: Operator, server: Running) -> None:
    assert "Server Version: v1." in kubectl("version")
    assert kubectl.yaml("version")["serverVersion"]["gitVersion"].startswith("v1.")
    assert f"is running at https://127.0.0.1:{server.port}\n" in kubectl("cluster-info")
    seen = kubectl.yaml("config view")
    assert seen["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{server.port}"
    assert seen["users"][0]["user"] == {"token": "REDACTED"}


def test_explain_knows_fields_and_their_types(kubectl: Operator) -> None:
    said = kubectl("explain pod.spec.containers.image")
    assert said.splitlines()[:2] == ["KIND:       Pod", "VERSION:    v1"]
    assert "FIELD: image <string>" in said
    assert "replicas\t<integer>" in kubectl("explain deployment.spec --recursive")
    assert 'field "nosuch" does not exist' in kubectl.refused("explain pod.spec.nosuch")
