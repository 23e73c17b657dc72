"""Approves by rule and signs certificate requests, beside the API and like any client of it.

Fed by `serving.py` with every change. What is approved by rule, and who else may approve, is decided in
`api/access/certificate_rights.py`; here requests for the signers of this plane are read, signed with the authority of
the data directory, and told why where that cannot be. Requests for other signers are left alone.

    kubernetes.io/kube-apiserver-client          anybody's; approved by people alone. Never a member of system:masters
    kubernetes.io/kube-apiserver-client-kubelet  a node's: CN=system:node:NAME, O=system:nodes; by people or by rule
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairlead.api.access.certificate_rights import approving_rule
from fairlead.api.access.users import MASTERS, NODE_PREFIX, NODES
from fairlead.api.sound_reader import sound_entries
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.certificatesigningrequest import (
    APPROVED,
    CLIENT,
    DENIED,
    FAILED,
    KIND,
    KUBELET_CLIENT,
    condition_of,
    is_true,
)
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.credentials.identity import PLANE_NAME, Identity
from fairlead.runtime.private_files import read_private
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import DELETED, CommittedChange

if TYPE_CHECKING:
    from fairlead.runtime.credentials.requests import RequestSubject

log = logging.getLogger("fairlead.signing")

_SIGNERS = frozenset({CLIENT, KUBELET_CLIENT})
#: bound: objects | certificate requests that wait to be looked at | those that came first are looked at later, by name
WAITING_MAX = 1000
#: bound: tokens | a certificate that could not be issued is tried again after | -
AGAIN_SECONDS = 5.0


class Signing:
    """Fed by `observe`, worked by `run`."""

    def __init__(self, host: ServingHost, known: Identity, clock: Callable[[], float]) -> None:
        self._host, self._known, self._clock = host, known, clock
        self._waiting: dict[Key, None] = {}
        self._stirred = asyncio.Event()

    def learn_all(self) -> None:
        for entry in sound_entries(self._host.api.desk.read, KIND.resource):
            self._note(entry.key)

    def observe(self, changes: tuple[CommittedChange, ...]) -> None:
        for change in changes:
            if change.entry.key.resource == KIND.resource and change.type != DELETED:
                self._note(change.entry.key)

    def _note(self, key: Key) -> None:
        if len(self._waiting) < WAITING_MAX:
            self._waiting[key] = None
        self._stirred.set()

    async def run(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            while self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                try:
                    await self._look_at(key)
                except Exception:
                    log.exception("certificate request %s could not be dealt with", key.name)
            if self._note_rest():
                await asyncio.sleep(AGAIN_SECONDS)

    def _note_rest(self) -> bool:
        """Those that are approved and have no certificate: they found no room, or it could not be written."""
        for entry in sound_entries(self._host.api.desk.read, KIND.resource):
            request: Json = codec.decode(entry.data)
            if _needs_us(request) and is_true(request, APPROVED):
                self._note(entry.key)
        return bool(self._waiting)

    async def _look_at(self, key: Key) -> None:
        entry = self._host.api.desk.sound.get(key)
        request: Json = codec.decode(entry.data) if entry is not None else {}
        if not request or not _needs_us(request):
            return
        from fairlead.runtime.credentials.requests import RequestError, read_subject

        try:
            pem = b64decode(request["spec"]["request"])
            subject = await asyncio.to_thread(read_subject, pem)
            _check_subject(request["spec"]["signerName"], subject)
            if is_true(request, APPROVED):
                await self._sign(key, request, pem)
            else:
                await self._approve(key, request, subject)
        except RequestError as error:
            await self._tell(key, request, condition_of(FAILED, "SigningFailed", str(error), self._clock()))

    async def _approve(self, key: Key, request: Json, subject: RequestSubject) -> None:
        why = approving_rule(request, subject, self._host.api.desk.authorizer)
        if why:
            await self._tell(key, request, condition_of(APPROVED, "AutoApproved", why, self._clock()))

    async def _sign(self, key: Key, request: Json, pem: bytes) -> None:
        from fairlead.runtime.credentials import requests

        authority = read_private(self._known.ca_certificate)
        secret = read_private(self._known.directory / "ca.key")
        if authority is None or secret is None:
            raise requests.RequestError(
                "this server has no key of its authority (identity/ca.key) to sign with"
            )
        seconds = request["spec"].get("expirationSeconds") or requests.CERTIFICATE_SECONDS
        made = await asyncio.to_thread(requests.sign, authority, secret, pem, seconds, self._clock())
        await self._write(key, request, {"certificate": b64encode(made).decode()})

    async def _tell(self, key: Key, request: Json, condition: Json) -> None:
        kept = (request.get("status") or {}).get("conditions") or []
        await self._write(key, request, {"conditions": [*kept, condition]})

    async def _write(self, key: Key, request: Json, status: Json) -> None:
        version = request["metadata"]["resourceVersion"]
        body = codec.encode({"metadata": {"resourceVersion": version}, "status": status})
        at = (KIND.group, KIND.version, KIND.plural, "", key.name, "status")
        reply = await self._host.call(Request("patch", *at, body=body, content_type=MERGE_PATCH))
        if reply.status >= 400 and reply.status not in (
            404,
            409,
        ):  # changed or gone: it is looked at again, or never
            log.warning("certificate request %s: %s", key.name, codec.decode(reply.body).get("message", ""))


def _needs_us(request: Json) -> bool:
    done = (
        is_true(request, DENIED)
        or is_true(request, FAILED)
        or (request.get("status") or {}).get("certificate")
    )
    return not done and request["spec"].get("signerName") in _SIGNERS


def _check_subject(signer: str, subject: RequestSubject) -> None:
    from fairlead.runtime.credentials.requests import RequestError

    if not subject.name:
        raise RequestError("it names nobody: the subject needs a common name (CN)")
    if subject.name == PLANE_NAME:
        raise RequestError(f"{PLANE_NAME} is the plane itself, to whom nodes open their endpoints")
    if MASTERS in subject.groups:
        raise RequestError(f"no certificate is issued to members of {MASTERS}")
    if signer == KUBELET_CLIENT and (subject.groups != (NODES,) or not subject.name.startswith(NODE_PREFIX)):
        raise RequestError(f"a node's certificate needs the subject O={NODES}, CN={NODE_PREFIX}NAME")
