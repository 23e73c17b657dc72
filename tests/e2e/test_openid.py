"""People sign in with tokens of an identity provider: a local issuer over HTTPS, and a server that knows it."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from fairlead.runtime.credentials import certificates
from tests.running import Running

WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Issuer:
    """Two keys, one of each sort; the second is published later."""

    def __init__(self, directory: Path) -> None:
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.published = ["rsa"]
        authority = certificates.new_authority(time.time())
        server = certificates.new_server(authority.certificate, authority.key, ("127.0.0.1",), time.time())
        self.authority = directory / "issuer-ca.crt"
        self.authority.write_bytes(authority.certificate)
        (directory / "issuer.pem").write_bytes(server.certificate + server.key)
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(issuer.document(self.path)).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing to tell."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "issuer.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def document(self, path: str) -> dict[str, Any]:
        if path.endswith("openid-configuration"):
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        plain, curved = self.rsa.public_key().public_numbers(), self.ec.public_key().public_numbers()
        keys = {
            "rsa": {"kid": "rsa", "kty": "RSA", "n": number(plain.n, 256), "e": number(plain.e, 3)},
            "ec": {
                "kid": "ec",
                "kty": "EC",
                "crv": "P-256",
                "x": number(curved.x, 32),
                "y": number(curved.y, 32),
            },
        }
        return {"keys": [keys[each] for each in self.published]}

    def token(self, name: str, key: str = "rsa", **claims: Any) -> str:
        told = {"iss": self.url, "aud": "plane", "sub": name, "exp": int(time.time()) + 600, **claims}
        head = {"alg": "RS256" if key == "rsa" else "ES256", "kid": key}
        signed = ".".join(packed(json.dumps(each).encode()) for each in (head, told))
        if key == "rsa":
            signature = self.rsa.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        else:
            first, second = utils.decode_dss_signature(
                self.ec.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
            )
            signature = first.to_bytes(32, "big") + second.to_bytes(32, "big")
        return f"{signed}.{packed(signature)}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def packed(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, length: int) -> str:
    return packed(value.to_bytes(length, "big"))


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    made = Issuer(tmp_path_factory.mktemp("issuer"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    arguments = (
        "--oidc-issuer-url", issuer.url, "--oidc-client-id", "plane", "--oidc-ca-file", str(issuer.authority),
        "--oidc-username-prefix", "people:", "--oidc-groups-claim", "groups",
    )  # fmt: skip
    made = Running(tmp_path_factory.mktemp("plane") / "data", arguments=arguments)
    yield made
    made.stop()


def whoami(server: Running, token: str) -> tuple[int, Any]:
    return server.request("POST", WHO_AM_I, b"{}", token=token)


def signed_in(server: Running, token: str) -> Any:
    """Keys are fetched in the background: the first try may come too early."""
    for _ in range(300):
        status, body = whoami(server, token)
        if status == 201:
            return body["status"]["userInfo"]
        time.sleep(0.1)
    raise AssertionError(body)


def test_a_person_signs_in_and_may_what_is_granted(server: Running, issuer: Issuer) -> None:
    user = signed_in(server, issuer.token("ada", groups=["devs", "system:masters"]))
    assert (user["username"], user["groups"]) == ("people:ada", ["devs", "system:authenticated"])
    token = issuer.token("ada", groups=["devs"])
    assert server.request("GET", "/api/v1/namespaces/default/pods", token=token)[0] == 403
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "devs"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    assert server.request("POST", bindings, json.dumps(binding).encode())[0] == 201
    assert server.request("GET", "/api/v1/namespaces/default/pods", token=token)[0] == 200


def test_a_key_that_is_published_later_is_found(server: Running, issuer: Issuer) -> None:
    status, body = whoami(server, issuer.token("bob", "ec"))
    assert status == 401
    assert "not signed with a key of its issuer" in body["message"]
    issuer.published.append("ec")
    assert signed_in(server, issuer.token("bob", "ec"))["username"] == "people:bob"


def test_tokens_that_are_not_for_this_plane_let_nobody_in(server: Running, issuer: Issuer) -> None:
    signed_in(server, issuer.token("ada"))
    for claims in ({"aud": "others"}, {"exp": 1}, {"iss": "https://elsewhere.example"}):
        assert whoami(server, issuer.token("eve", **claims))[0] == 401
