"""How one user reaches a plane: address, authority, token, and these as a kubeconfig, for whatever client there is.

Made by `planes.py` for the administrator and for each of `users`. Imports no client library.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fairlead.runtime.credentials.kubeconfig import CLUSTER

_ANSWER_SECONDS = 60.0


class Answer(NamedTuple):
    """`body` is decoded if it is JSON, else text."""

    status: int
    body: Any


class Access:
    """One user's way in. `ca` and `kubeconfig` are files, there as long as the plane is."""

    def __init__(self, user: str, url: str, ca: Path, token: str, kubeconfig: Path) -> None:
        self.user = user
        self.url = url
        self.ca = ca
        self.token = token
        self.kubeconfig = kubeconfig

    def client_config(self, namespace: str = "default") -> dict[str, Any]:
        """The kubeconfig as data, as `kubernetes.config.new_client_from_config_dict`, `lightkube.KubeConfig.from_dict`
        and `kr8s.api` take it."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": CLUSTER, "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}
            ],
            "users": [{"name": self.user, "user": {"token": self.token}}],
            "contexts": [
                {
                    "name": CLUSTER,
                    "context": {"cluster": CLUSTER, "user": self.user, "namespace": namespace},
                }
            ],
            "current-context": CLUSTER,
        }

    @property
    def kubectl_env(self) -> dict[str, str]:
        """This process' environment with which kubectl, and every client that reads KUBECONFIG, finds the plane."""
        # kubectl keeps what it discovered by address, and ports are used again: a cache of the plane's own.
        cache = str(self.kubeconfig.parent / "kubectl-cache")
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": cache}

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Answer:
        """One request, for what needs no client library. `body` is sent as JSON unless it is bytes."""
        connection = http.client.HTTPSConnection(
            urlsplit(self.url).netloc, timeout=_ANSWER_SECONDS, context=self._tls
        )
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json",
            "Content-Type": content_type,
        }
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.headers.get("content-type") or "")
        return Answer(answer.status, json.loads(text) if is_json else text.decode())

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)
