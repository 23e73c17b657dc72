"""Certificates and files of planes in memory: made once in a process, copied into each plane's directory.

Used by `in_process.py` where no data directory is named. Making an authority, and importing what makes it, takes longer
than everything else in a start; no sync is waited for, because what a power cut takes was only a test's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fairlead.api.access.authn import token_digest
from fairlead.core.times import timestamp
from fairlead.runtime.credentials import identity, kubeconfig
from fairlead.runtime.credentials.identity import Identity, new_signing_key
from fairlead.runtime.credentials.token_file import ADMIN_NAME, TokenEntry, check_name, new_token, render


class _Material(NamedTuple):
    authority: bytes
    certificate: bytes
    key: bytes


_making = threading.Lock()


def _material() -> _Material:
    with _making:  # the first planes of a process may start together: they must agree
        return _made()


@cache
def _made() -> _Material:
    """One authority for all planes of this process; its key is kept nowhere."""
    from fairlead.runtime.credentials import certificates

    now = time.time()
    authority = certificates.new_authority(now)
    server = certificates.new_server(authority.certificate, authority.key, identity.LOCAL_HOSTS, now)
    return _Material(authority.certificate, server.certificate, server.key)


@dataclass(frozen=True, slots=True)
class LightIdentity(Identity):
    """Files as every server has them, written without waiting for the disk."""

    secrets: Mapping[str, str] = field(default_factory=dict)  # user -> token

    def lead_to(self, host: str, port: int, now: float) -> None:
        authority = _material().authority.decode()
        server, token = kubeconfig.server_url(host, port), self.secrets[ADMIN_NAME]
        _write(self.kubeconfig, kubeconfig.render(server, authority, ADMIN_NAME, token).encode())

    def renew(self, host: str, now: float, address: str = "") -> bool:
        """No plane in memory lives that long."""
        return False


def make(directory: Path, roles: Mapping[str, str]) -> LightIdentity:
    """`roles`: of users beside the administrator."""
    plain = identity.of(directory)
    plain.directory.mkdir(mode=0o700)
    _write(plain.ca_certificate, _material().authority)
    _write(plain.server_certificate, _material().certificate)
    _write(plain.server_key, _material().key)
    now = timestamp(time.time())
    secrets, entries = {}, []
    for name, role in {ADMIN_NAME: "admin", **roles}.items():
        check_name(role, name)
        secrets[name] = new_token()
        entries.append(TokenEntry(name, role, token_digest(secrets[name]), now))
    _write(plain.tokens.path, render(entries))
    _write(plain.signing_key_file, new_signing_key())
    return LightIdentity(plain.directory, plain.kubeconfig, plain.tokens, True, secrets)


def admit(known: Identity, roles: Mapping[str, str]) -> dict[str, str]:
    """Tokens of a data directory's users: the administrator's as it is, new ones for these."""
    secrets = {ADMIN_NAME: kubeconfig.load(known.kubeconfig).token, **{name: new_token() for name in roles}}
    for name, role in roles.items():
        known.tokens.admit(secrets[name], role, name, time.time())
    return secrets


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, and nobody else's to read: the directory is the owner's alone."""
    partial = path.with_name(f".{path.name}.new")
    partial.write_bytes(data)
    partial.replace(path)
