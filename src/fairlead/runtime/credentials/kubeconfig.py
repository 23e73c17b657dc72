"""Kubeconfig files: written for the server's own data directory, read for the command line.

Written with TLS and a token, because kubectl sends no token to an http:// server. Read as far as our client
needs it: server, CA, token, client certificate, the insecure switch. Anything else in a file is ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairlead.core.errors import UsageError
from fairlead.runtime.private_files import write_private

CLUSTER = "fairlead"


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How to reach a server and as whom. Certificates are PEM text; "" where there is none."""

    server: str
    ca: str = ""
    token: str = ""
    client_certificate: str = ""
    client_key: str = ""
    insecure: bool = False
    namespace: str = "default"


def server_url(host: str, port: int) -> str:
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def render(server: str, ca_pem: str, user: str, token: str) -> str:
    """The text of a kubeconfig with one cluster, user and context."""
    quoted = {key: json.dumps(value) for key, value in (("server", server), ("user", user), ("token", token))}
    authority = base64.b64encode(ca_pem.encode()).decode()
    return f"""apiVersion: v1
kind: Config
clusters:
- name: {CLUSTER}
  cluster:
    server: {quoted["server"]}
    certificate-authority-data: {authority}
users:
- name: {quoted["user"]}
  user:
    token: {quoted["token"]}
contexts:
- name: {CLUSTER}
  context:
    cluster: {CLUSTER}
    user: {quoted["user"]}
current-context: {CLUSTER}
"""


def write(path: Path, server: str, ca_pem: str, user: str, token: str) -> None:
    write_private(path, render(server, ca_pem, user, token).encode())


def load(path: Path) -> ServerAccess:
    """The current context of a kubeconfig. UsageError names what is missing and where."""
    try:
        text = path.read_text()
    except OSError as error:
        raise UsageError(
            f"cannot read kubeconfig {path}: {error.strerror}; name another with --kubeconfig, or start a"
            " server with `fairlead up`"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"kubeconfig {path} is not text: name another with --kubeconfig") from error
    return parse(text, path)


def parse(text: str, path: Path) -> ServerAccess:
    """`path` is for messages and for file references, which are relative to it."""
    document = _yaml(text, path)
    context_name = document.get("current-context")
    if not context_name:
        raise UsageError(
            f"kubeconfig {path} has no current-context: set one with `kubectl config use-context NAME`"
        )
    context = _named(document, "contexts", "context", context_name, path)
    cluster = _named(document, "clusters", "cluster", context.get("cluster"), path)
    user = _named(document, "users", "user", context["user"], path) if context.get("user") else {}
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("http://", "https://")):
        raise UsageError(f"kubeconfig {path}: server must be an http:// or https:// address, not {server!r}")
    try:
        _ = urlsplit(server).port
    except ValueError as error:
        raise UsageError(f"kubeconfig {path}: server {server!r} has no valid port: correct it") from error
    if "exec" in user or "auth-provider" in user:
        raise UsageError(
            f"kubeconfig {path}: its user signs in with a plugin, which fairlead cannot run:"
            " use one with a token"
        )
    if any(str(key) == "as" or str(key).startswith("as-") for key in user):
        raise UsageError(
            f"kubeconfig {path}: its user acts as somebody else (`as`), which only kubectl does here: use a"
            " kubeconfig of that user's own, or remove it"
        )
    token = str(user.get("token") or _file(user, "tokenFile", path).strip())
    if not (token.isascii() and token.isprintable()):
        raise UsageError(f"kubeconfig {path}: its token is not one line of plain text")
    return ServerAccess(
        server=server.rstrip("/"),
        ca=_data_or_file(cluster, "certificate-authority", path),
        token=token,
        client_certificate=_data_or_file(user, "client-certificate", path),
        client_key=_data_or_file(user, "client-key", path),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
        namespace=str(context.get("namespace") or "default"),
    )


def _yaml(text: str, path: Path) -> dict[str, Any]:
    import yaml  # here, because a command without a kubeconfig need not pay for it

    try:
        document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where else ""
        raise UsageError(f"kubeconfig {path} is not YAML{line}: name another with --kubeconfig") from error
    if not isinstance(document, dict):
        raise UsageError(f"kubeconfig {path} is empty or no kubeconfig: name another with --kubeconfig")
    return document


def _named(document: dict[str, Any], plural: str, singular: str, name: Any, path: Path) -> dict[str, Any]:
    entries = document.get(plural)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(singular), dict):
            found: dict[str, Any] = entry[singular]
            return found
    raise UsageError(f"kubeconfig {path} has no {singular} named {name!r}: correct it, or name another file")


def _data_or_file(section: dict[str, Any], key: str, path: Path) -> str:
    data = section.get(f"{key}-data")
    if not data:
        return _file(section, key, path)
    try:
        return base64.b64decode(str(data), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UsageError(f"kubeconfig {path}: {key}-data is not base64 of PEM text") from error


def _file(section: dict[str, Any], key: str, path: Path) -> str:
    name = section.get(key)
    if not name:
        return ""
    file = path.parent / str(name)
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"kubeconfig {path}: cannot read its {key} {file}: {error}") from error
