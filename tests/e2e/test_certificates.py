"""Certificates to sign in with: asked for, approved by people or by rule, signed by the plane, shown by a client."""

from __future__ import annotations

import ssl
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.running import Running

ALL = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT, NODE_CLIENT = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
NODE_USAGES = ["client auth", "digital signature"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("plane") / "data")
    yield made
    made.stop()


def key_and_request(name: str, *groups: str) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in groups]
    parts += [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
    request = (
        x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts)).sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain), request.public_bytes(pem)


def asked(name: str, pem: bytes, signer: str, usages: list[str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"request": b64encode(pem).decode(), "signerName": signer, "usages": usages, **spec},
    }


def approve(server: Running, name: str, **headers: str) -> tuple[int, Any]:
    _, found = server.request("GET", f"{ALL}/{name}")
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
    found["status"] = {"conditions": [*found.get("status", {}).get("conditions", []), condition]}
    return server.request("PUT", f"{ALL}/{name}/approval", found, headers=headers)


def awaited(server: Running, name: str, field: str) -> Any:
    """The status, once it has this field or condition."""
    for _ in range(300):
        status = server.request("GET", f"{ALL}/{name}")[1].get("status", {})
        if status.get(field) or any(each["type"] == field for each in status.get("conditions", ())):
            return status
        time.sleep(0.05)
    raise AssertionError(status)


def connection_with(server: Running, directory: Path, certificate: bytes, key: bytes) -> HTTPSConnection:
    file = directory / "client.pem"
    file.write_bytes(certificate + key)
    tls = ssl.create_default_context(cafile=server.directory / "identity" / "ca.crt")
    tls.load_cert_chain(file)
    return HTTPSConnection("127.0.0.1", server.port, context=tls)


def test_a_person_gets_a_certificate_when_somebody_approves_and_signs_in_with_it(
    server: Running, tmp_path: Path
) -> None:
    key, pem = key_and_request("ada", "devs")
    body = asked("ada", pem, CLIENT, ["client auth"], expirationSeconds=3600, username="root", groups=["x"])
    status, made = server.request("POST", ALL, body)
    assert status == 201
    assert made["spec"]["username"] == "admin"
    assert "x" not in made["spec"]["groups"]
    assert approve(server, "ada")[0] == 200
    certificate = b64decode(awaited(server, "ada", "certificate")["certificate"])
    ends = x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    assert time.time() < ends <= time.time() + 3601
    shown = connection_with(server, tmp_path, certificate, key)
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, answer = server.request("POST", who, {}, token=None, connection=shown)
    user = answer["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("ada", ["devs", "system:authenticated"])
    assert server.request("GET", "/api/v1/pods", token=None, connection=shown)[0] == 403


def test_a_node_that_may_ask_for_itself_waits_for_nobody(server: Running) -> None:
    rules = [
        {
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["certificatesigningrequests"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["certificatesigningrequests/nodeclient"],
            "verbs": ["create"],
        },
    ]
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "boot"}}
    at = "/apis/rbac.authorization.k8s.io/v1"
    server.request("POST", f"{at}/clusterroles", {**rbac, "kind": "ClusterRole", "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "boot"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "boot"}]
    binding = {**rbac, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    server.request("POST", f"{at}/clusterrolebindings", binding)
    _, pem = key_and_request("system:node:n9", "system:nodes")
    body = asked("n9", pem, NODE_CLIENT, NODE_USAGES)
    assert server.request("POST", ALL, body, headers={"Impersonate-User": "boot"})[0] == 201
    status = awaited(server, "n9", "certificate")
    assert [each["reason"] for each in status["conditions"]] == ["AutoApproved"]


@pytest.mark.parametrize(
    ("name", "subject", "signer", "why"),
    [
        (
            "masters",
            ("eve", "system:masters"),
            CLIENT,
            "no certificate is issued to members of system:masters",
        ),
        ("plane", ("system:fairlead",), CLIENT, "system:fairlead is the plane itself"),
        ("nobody", ("",), CLIENT, "it names nobody"),
        ("no-node", ("eve", "system:nodes"), NODE_CLIENT, "a node's certificate needs the subject"),
    ],
)
def test_some_are_issued_to_nobody_whoever_approves(
    server: Running, name: str, subject: tuple[str, ...], signer: str, why: str
) -> None:
    _, pem = key_and_request(*subject)
    usages = NODE_USAGES if signer == NODE_CLIENT else ["client auth"]
    assert server.request("POST", ALL, asked(name, pem, signer, usages))[0] == 201
    failed = [each for each in awaited(server, name, "Failed")["conditions"] if each["type"] == "Failed"]
    assert why in failed[0]["message"]
    approve(server, name)
    assert not server.request("GET", f"{ALL}/{name}")[1]["status"].get("certificate")


def test_who_may_write_the_status_may_not_therefore_approve_or_sign(server: Running) -> None:
    _, pem = key_and_request("mallory")
    server.request("POST", ALL, asked("mallory", pem, CLIENT, ["client auth"]))
    rule = {
        "apiGroups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests", "certificatesigningrequests/*"],
        "verbs": ["*"],
    }
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "clerk"}}
    at = "/apis/rbac.authorization.k8s.io/v1"
    rule["resources"] += ["certificatesigningrequests/status", "certificatesigningrequests/approval"]
    server.request("POST", f"{at}/clusterroles", {**rbac, "kind": "ClusterRole", "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "clerk"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "clerk"}]
    binding = {**rbac, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    server.request("POST", f"{at}/clusterrolebindings", binding)
    clerk = {"Impersonate-User": "clerk"}
    status, answer = approve(server, "mallory", **clerk)
    assert (status, 'cannot approve resource "signers"' in answer["message"]) == (403, True)
    patch = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    merge = {"Content-Type": "application/merge-patch+json"}
    assert server.request("PATCH", f"{ALL}/mallory/status", patch, headers={**clerk, **merge})[0] == 403
    assert approve(server, "mallory")[0] == 200
    forged = {"status": {"certificate": b64encode(b"mine").decode()}}
    status, answer = server.request("PATCH", f"{ALL}/mallory/status", forged, headers={**clerk, **merge})
    assert status in (403, 422)


def test_what_is_no_request_is_refused_by_its_fields(server: Running) -> None:
    body = asked("bad", b"nothing", "nobody", ["flying"], expirationSeconds=5)
    status, answer = server.request("POST", ALL, body)
    assert status == 422
    fields = {each["field"] for each in answer["details"]["causes"]}
    assert fields == {"spec.request", "spec.signerName", "spec.usages[0]", "spec.expirationSeconds"}
