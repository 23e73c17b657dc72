"""`kubectl create` with each of its generators, `run`, `expose`, and files of several objects."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.clients.kubectl import Operator, table
from tests.clients.manifests import config, pod, workload

SHARED = True  # the server, with other modules

# What is typed after `kubectl create`, what is printed, and parts of the object that is then stored.
GENERATED = [
    ("configmap c --from-literal=a=b", "configmap/c", {"data": {"a": "b"}}),
    ("secret generic s --from-literal=a=b", "secret/s", {"type": "Opaque", "data": {"a": "Yg=="}}),
    ("secret docker-registry r --docker-server=r.example --docker-username=u --docker-password=p",
     "secret/r", {"type": "kubernetes.io/dockerconfigjson"}),
    ("serviceaccount robot", "serviceaccount/robot", {"kind": "ServiceAccount"}),
    ("deployment web --image=web:1 --replicas=3 --port=80", "deployment.apps/web", {"kind": "Deployment"}),
    ("job once --image=busybox:1 -- echo hi", "job.batch/once", {"kind": "Job"}),
    ("cronjob tick --image=busybox:1 --schedule='*/5 * * * *' -- date", "cronjob.batch/tick", {"kind": "CronJob"}),
    ("quota small --hard=cpu=4,pods=10", "resourcequota/small", {"spec": {"hard": {"cpu": "4", "pods": "10"}}}),
    ("poddisruptionbudget p --selector=app=web --max-unavailable=50%", "poddisruptionbudget.policy/p",
     {"spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}}}),
    ("priorityclass urgent --value=9 --preemption-policy=Never", "priorityclass.scheduling.k8s.io/urgent",
     {"value": 9, "preemptionPolicy": "Never"}),
    ("service clusterip a --tcp=80:8080", "service/a", {"kind": "Service"}),
    ("service nodeport b --tcp=80:8080 --node-port=30001", "service/b", {"kind": "Service"}),
    ("service externalname d --external-name=example.com", "service/d", {"kind": "Service"}),
    ("service loadbalancer e --tcp=80:8080", "service/e", {"kind": "Service"}),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "printed", "stored"), GENERATED, ids=[each[1] for each in GENERATED])
def test_a_generator_creates_and_the_object_is_there(
    team: Operator, typed: str, printed: str, stored: dict[str, object]
) -> None:
    assert team(f"create {typed}") == f"{printed} created\n"
    found = team.yaml(f"get {printed}")
    assert {key: found[key] for key in stored} == stored
    again = team.refused(f"create {typed}")
    assert "already exists" in again


def test_a_namespace_is_active_at_once_and_only_once(kubectl: Operator) -> None:
    assert kubectl("create namespace blue") == "namespace/blue created\n"
    assert (
        kubectl.asked("get ns blue -o jsonpath={.status.phase}/{.spec.finalizers[0]}") == "Active/kubernetes"
    )
    said = kubectl.refused("create namespace blue")
    assert said == 'Error from server (AlreadyExists): namespaces "blue" already exists\n'


def test_a_tls_secret_from_files(team: Operator, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 7)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2040, 1, 1, tzinfo=UTC))
        .sign(key, SHA256())
    )
    (tmp_path / "crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    (tmp_path / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    team(f"create secret tls web --cert={tmp_path}/crt --key={tmp_path}/key")
    assert table(team("get secret web")) == [
        {"NAME": "web", "TYPE": "kubernetes.io/tls", "DATA": "2", "AGE": "AGE"}
    ]


def test_config_from_a_directory_keeps_bytes_that_are_no_text(team: Operator, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("héllo\n")
    (tmp_path / "blob").write_bytes(b"\xff\x00")
    team(f"create configmap files --from-file={tmp_path}")
    found = team.yaml("get cm files")
    assert found["data"] == {"text": "héllo\n"}
    assert base64.b64decode(found["binaryData"]["blob"]) == b"\xff\x00"


def test_a_job_from_a_cronjob_names_it_as_its_controller(team: Operator) -> None:
    team("create cronjob tick --image=busybox:1 --schedule='0 * * * *' -- date")
    assert team("create job now --from=cronjob/tick") == "job.batch/now created\n"
    job = team.yaml("get job now")
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "tick", True)
    assert job["metadata"]["annotations"] == {"cronjob.kubernetes.io/instantiate": "manual"}
    assert job["spec"]["template"]["spec"]["containers"][0]["command"] == ["date"]


def test_services_show_their_type(team: Operator) -> None:
    team("create service externalname out --external-name=example.com")
    team("create service loadbalancer lb --tcp=80:8080")
    assert [(row["TYPE"], row["EXTERNAL-IP"]) for row in table(team("get svc"))] == [
        ("LoadBalancer", "<pending>"),
        ("ExternalName", "example.com"),
    ]


def test_run_makes_a_pod_and_expose_a_service_in_front_of_it(team: Operator) -> None:
    assert team("run one --image=web:1 --labels=app=one --port=80 --env=A=b") == "pod/one created\n"
    assert team("expose pod one --port=80") == "service/one exposed\n"
    found = team.yaml("get svc one")["spec"]
    assert found["selector"] == {"app": "one"}
    assert found["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    team("create -f -", workload("Deployment", "web"))
    assert (
        team("expose deployment web --name=front --port=80 --target-port=8080") == "service/front exposed\n"
    )


def test_a_pod_gets_what_kubernetes_fills_in(team: Operator) -> None:
    team("run one --image=web:latest")
    found = team.yaml("get pod one")
    spec, status = found["spec"], found["status"]
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert (spec["restartPolicy"], spec["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert (spec["schedulerName"], spec["serviceAccountName"]) == ("default-scheduler", "default")
    assert (spec["terminationGracePeriodSeconds"], spec["priority"]) == (30, 0)
    assert status == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_file_of_several_documents_and_a_list_in_it(team: Operator) -> None:
    both = {"apiVersion": "v1", "kind": "List", "items": [config("b"), pod("p")]}
    assert (
        team("create -f -", [config("a"), both])
        == "configmap/a created\nconfigmap/b created\npod/p created\n"
    )
    mixed = team.run("create -f -", [config("a"), config("c")])
    assert (mixed.code, mixed.out) == (1, "configmap/c created\n")
    assert 'configmaps "a" already exists' in mixed.err


def test_a_dry_run_leaves_nothing_behind(team: Operator) -> None:
    assert team("create cm dry --dry-run=server") == "configmap/dry created (server dry run)\n"
    assert team("create cm dry --dry-run=client") == "configmap/dry created (dry run)\n"
    assert json.loads(team("run p --image=x --dry-run=server -o json"))["status"]["phase"] == "Pending"
    assert team.run("get cm,pods").err.startswith("No resources found")
    said = team.refused("create -f - --dry-run=server", config("Bad"))
    assert "metadata.name: Invalid value" in said


def test_generated_names_differ(team: Operator) -> None:
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
    names = set(team("create -f - -o name", [bare, bare]).split())
    assert len(names) == 2
    assert all(name.startswith("configmap/gen-") and len(name) == len("configmap/gen-") + 5 for name in names)


def test_wrong_objects_are_refused_field_by_field(team: Operator) -> None:
    unknown = config("c") | {"bogus": 1}
    said = team.refused("create -f -", unknown)
    assert 'Error from server (BadRequest): error when creating "STDIN": strict decoding error' in said
    assert 'unknown field "bogus"' in said
    warned = team.run("create --validate=warn -f -", unknown)
    assert warned == (0, "configmap/c created\n", 'Warning: unknown field "bogus"\n')
    silent = team.run("create --validate=ignore -f -", config("d") | {"bogus": 1})
    assert silent == (0, "configmap/d created\n", "")
    bad = pod("UPPER")
    bad["spec"]["containers"].append({"name": "main", "image": "", "stdin": True})
    said = team.refused("create -f -", bad)
    assert said.startswith('The Pod "UPPER" is invalid: \n')
    for field in (
        "metadata.name",
        "containers[1].name: Duplicate value",
        "containers[1].image: Required value",
    ):
        assert field in said


def test_kinds_that_this_server_does_not_have(team: Operator) -> None:
    said = team.refused("create -f -", {"apiVersion": "foo/v1", "kind": "Bar", "metadata": {"name": "x"}})
    assert 'no matches for kind "Bar" in version "foo/v1"' in said
    said = team.refused("create ingress i --rule=a.example/*=web:80")
    assert "could not find the requested resource" in said
