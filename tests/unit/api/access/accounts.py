"""A plane in memory with a service account, pods and tokens for tests of what they are worth."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.users import NODE_PREFIX, NODES, User
from fairlead.api.admission import SERVING_STEPS, AdmissionChain
from fairlead.api.assembly import Remembered
from tests.inprocess import ADMIN, InProcess

CORE = "/api/v1/namespaces/default"
CONTAINER = {"name": "main", "image": "web:1"}


def node_user(name: str) -> User:
    return User(NODE_PREFIX + name, groups=(NODES, "system:authenticated"))


def serving() -> InProcess:
    """With the chain of a server that pods can reach."""
    return InProcess(remembered=Remembered(chain=AdmissionChain(SERVING_STEPS)))


def create(plane: InProcess, kind: str, plural: str, name: str, space: str = "default", **fields: Any) -> Any:
    base = f"/api/v1/namespaces/{space}" if space else "/api/v1"
    metadata = {"name": name, **fields.pop("metadata", {})}
    status, made = plane.post(
        f"{base}/{plural}", {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}
    )
    assert status == 201, made
    return made


def account(plane: InProcess, name: str = "robot", **fields: Any) -> Any:
    return create(plane, "ServiceAccount", "serviceaccounts", name, **fields)


def pod(plane: InProcess, name: str = "web", runs_as: str = "robot", **spec: Any) -> Any:
    return create(
        plane,
        "Pod",
        "pods",
        name,
        spec={"serviceAccountName": runs_as, "containers": [dict(CONTAINER)], **spec},
    )


def request(plane: InProcess, name: str = "robot", user: User = ADMIN, query: str = "", **spec: Any) -> Any:
    """Status and answer of a TokenRequest."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return plane.post(f"{CORE}/serviceaccounts/{name}/token{query}", body, user=user)


def token(plane: InProcess, **options: Any) -> str:
    status, answer = request(plane, **options)
    assert status == 201, answer
    found = answer["status"]["token"]
    assert isinstance(found, str)
    return found


def bound_to(kind: str, name: str, uid: str = "") -> dict[str, str]:
    return {"kind": kind, "apiVersion": "v1", "name": name, **({"uid": uid} if uid else {})}


def tokens_of(plane: InProcess) -> AccountTokens:
    return plane.api.sign_in.accounts


def part(text: str) -> Any:
    """What one part of a token says."""
    return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def packed(said: Any) -> str:
    return urlsafe_b64encode(msgspec.json.encode(said)).rstrip(b"=").decode()
