"""A data directory's identity: certificate authority, server certificate, token table, admin kubeconfig.

    DIR/kubeconfig                     how to reach this server as admin; no other file has the admin's token
    DIR/identity/ca.crt, ca.key        made once, valid ten years
    DIR/identity/server.crt, .key      remade when near its end or when a host is missing from it
    DIR/identity/plane.crt, .key       how nodes know the plane that asks them for logs; remade when near its end
    DIR/identity/server.json, plane.json   what the certificate says, so that a start need not parse it
    DIR/identity/tokens.json           digests of tokens, and whom they stand for
    DIR/identity/accounts.key          what tokens of service accounts are signed with; removed, all of them end

`ensure` is called at every start, before the port is opened. It makes what is missing, keeps what is good,
and says in one sentence what to do about what is damaged. `cryptography` is imported only to make something.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.core.errors import DataDirectoryError, UsageError
from fairlead.runtime.credentials import kubeconfig
from fairlead.runtime.credentials.token_file import ADMIN_NAME, TokenFile, new_token
from fairlead.runtime.private_files import make_private_directory, read_private, write_private

if TYPE_CHECKING:
    from fairlead.runtime.credentials.certificates import Pair

#: bound: tokens | a certificate of the server is renewed this long before its end | -
RENEW_BEFORE_SECONDS = 30 * 24 * 3600
PLANE_NAME = "system:fairlead"  # the common name that nodes open their endpoints to
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
# The line as `kubeconfig.render` writes it: most starts need no YAML parser.
_OWN_TOKEN = re.compile(rb'^    token: "(fairlead_[\w-]+)"$', re.MULTILINE)
# Of the Service that leads to the server: runtime/server/own_service.py.
_SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_KEY_BYTES = 32
_UNSPECIFIED = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Identity:
    """Where the files are. `created`: this start made the authority, so the directory is new."""

    directory: Path
    kubeconfig: Path
    tokens: TokenFile
    created: bool = False

    @property
    def ca_certificate(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        return self.directory / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.directory / "server.key"

    @property
    def plane_certificate(self) -> Path:
        """Not there where the authority's key is kept elsewhere: nodes then cannot be asked for logs and usage."""
        return self.directory / "plane.crt"

    @property
    def plane_key(self) -> Path:
        return self.directory / "plane.key"

    @property
    def signing_key_file(self) -> Path:
        return self.directory / "accounts.key"

    def signing_key(self) -> bytes:
        """What tokens of service accounts are signed with."""
        key = read_private(self.signing_key_file)
        if not key or len(key) < _KEY_BYTES:
            raise DataDirectoryError(
                f"{self.signing_key_file} is damaged: restore it from a backup, or remove it: a new one is "
                "made at the next start, and pods get new tokens"
            )
        return key

    def lead_to(self, host: str, port: int, now: float) -> None:
        """The system chose the port: from now on the kubeconfig names it."""
        _ensure_admin(self, host, port, now)

    def renew(self, host: str, now: float, address: str = "") -> bool:
        """Make anew what ends soon of the server's and the plane's certificates; whether there was any.

        `address`: of the Service that leads to the server. Clients that know only that address trust it too.
        """
        files = (self.server_certificate, self.plane_certificate)
        before = [read_private(each) for each in files]
        _ensure_server(self, host, now, address)
        _ensure_plane(self, now)
        return [read_private(each) for each in files] != before


def new_signing_key() -> bytes:
    return secrets.token_bytes(_KEY_BYTES)


def of(data_dir: Path) -> Identity:
    """The identity of a data directory, as paths; nothing is read or made."""
    directory = data_dir / "identity"
    return Identity(directory, data_dir / "kubeconfig", TokenFile(directory / "tokens.json"))


def ensure(data_dir: Path, host: str, port: int, now: float) -> Identity:
    """Everything a server needs to open its port and an admin to reach it. `host` is where it listens."""
    identity = of(data_dir)
    make_private_directory(data_dir)
    make_private_directory(identity.directory)
    created = _ensure_authority(identity, now)
    _ensure_server(identity, host, now)
    _ensure_plane(identity, now)
    _ensure_admin(identity, host, port, now)
    if not identity.signing_key_file.exists():
        write_private(identity.signing_key_file, new_signing_key())
    return Identity(identity.directory, identity.kubeconfig, identity.tokens, created)


def _ensure_authority(identity: Identity, now: float) -> bool:
    """True if it was made now. The key is written first: a certificate without a key is somebody's choice."""
    if identity.ca_certificate.exists():
        return False
    from fairlead.runtime.credentials import certificates

    authority = certificates.new_authority(now)
    write_private(identity.directory / "ca.key", authority.key)
    write_private(identity.ca_certificate, authority.certificate)
    return True


def _ensure_server(identity: Identity, host: str, now: float, address: str = "") -> None:
    named = "" if host in LOCAL_HOSTS or host in _UNSPECIFIED else host
    hosts = (*LOCAL_HOSTS, *_SERVICE_NAMES, *filter(None, (named, address)))
    described = _described(identity, "server")
    told = tuple(str(known) for known in described.get("hosts", ()))
    lasts = now < float(described.get("notAfter", 0)) - RENEW_BEFORE_SECONDS
    if lasts and set(hosts) <= set(told):
        return
    authority, key = read_private(identity.ca_certificate), read_private(identity.directory / "ca.key")
    if (authority is None or key is None) and lasts and {*hosts} - {*told} == {address}:
        return  # the authority's key is kept elsewhere: its owner may add the Service's address
    if authority is None or key is None:
        raise DataDirectoryError(
            f"the server certificate must be renewed, but {identity.directory} has no ca.key: put it back, or"
            " remove ca.crt to make a new authority (every kubeconfig must then be made anew)"
        )
    from fairlead.runtime.credentials import certificates

    # An address that the Service no longer has is another Service's by now.
    former = str(described.get("address", ""))
    hosts = tuple(dict.fromkeys((*hosts, *(each for each in told if not address or each != former))))
    try:
        pair = certificates.new_server(authority, key, hosts, now)
    except ValueError as error:
        raise DataDirectoryError(
            f"the certificate authority in {identity.directory} is damaged ({error}): restore it from a"
            " backup, or remove ca.crt to make a new one (every kubeconfig must then be made anew)"
        ) from error
    said = {"hosts": list(hosts), "address": address or former}
    _write_pair(identity, "server", pair, authority, said)


def _ensure_plane(identity: Identity, now: float) -> None:
    if now < float(_described(identity, "plane").get("notAfter", 0)) - RENEW_BEFORE_SECONDS:
        return
    authority, key = read_private(identity.ca_certificate), read_private(identity.directory / "ca.key")
    if authority is None or key is None:
        return
    from fairlead.runtime.credentials import certificates

    try:
        pair = certificates.new_client(authority, key, PLANE_NAME, now)
    except ValueError:
        return  # a damaged authority is no reason not to serve; who asks for logs is told
    _write_pair(identity, "plane", pair, authority, {})


def _write_pair(identity: Identity, name: str, pair: Pair, authority: bytes, more: dict[str, Any]) -> None:
    description = {
        "certificate": sha256(pair.certificate).hexdigest(),
        "key": sha256(pair.key).hexdigest(),
        "authority": sha256(authority).hexdigest(),
        **more,
        "notAfter": pair.not_after,
    }
    write_private(identity.directory / f"{name}.key", pair.key)
    write_private(identity.directory / f"{name}.crt", pair.certificate)
    # Last: until it is there the pair does not count, so a crash in between only makes it anew.
    write_private(identity.directory / f"{name}.json", json.dumps(description, indent=2).encode() + b"\n")


def _described(identity: Identity, name: str) -> dict[str, Any]:
    """What NAME.json says, if it speaks of the very files that are there; otherwise nothing."""
    text = read_private(identity.directory / f"{name}.json")
    try:
        described = json.loads(text or b"{}")
    except ValueError:
        return {}  # torn: the pair is made anew
    if not isinstance(described, dict):
        return {}
    files = (("certificate", f"{name}.crt"), ("key", f"{name}.key"), ("authority", "ca.crt"))
    for field, file in files:
        content = read_private(identity.directory / file)
        if content is None or described.get(field) != sha256(content).hexdigest():
            return {}
    return described


def _ensure_admin(identity: Identity, host: str, port: int, now: float) -> None:
    """The kubeconfig keeps its token from start to start; server address and CA follow the truth."""
    authority = (read_private(identity.ca_certificate) or b"").decode()
    server = kubeconfig.server_url("127.0.0.1" if host in _UNSPECIFIED or host == "localhost" else host, port)
    token = _kept_token(identity.kubeconfig)
    if token and identity.tokens.tokens().user_of(token) is None and identity.tokens.entries():
        token = ""  # revoked by hand: it stays out
    if not token:
        token = new_token()
    if identity.tokens.tokens().user_of(token) is None:
        identity.tokens.admit(token, "admin", ADMIN_NAME, now)
    text = kubeconfig.render(server, authority, ADMIN_NAME, token).encode()
    # Ours as we wrote it is the usual case, and told without reading YAML.
    if read_private(identity.kubeconfig) != text and not _says(identity.kubeconfig, server, authority, token):
        write_private(identity.kubeconfig, text)


def _says(path: Path, server: str, authority: str, token: str) -> bool:
    """Whether the kubeconfig leads here already: then what its owner changed in it (a namespace, say) is kept."""
    try:
        known = kubeconfig.load(path)
    except UsageError:
        return False
    return (known.server, known.ca, known.token) == (server, authority, token)


def _kept_token(path: Path) -> str:
    text = read_private(path)
    if text is None:
        return ""
    own = _OWN_TOKEN.search(text)
    if own is not None:
        return own[1].decode()
    try:
        return kubeconfig.load(path).token
    except UsageError as error:
        raise DataDirectoryError(f"{error}; or remove it, and the next start writes a new one") from error
