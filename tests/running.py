"""A real `fairlead up` in a process of its own (`nursery.py`), for tests that need sockets, files, signals or kubectl."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import nursery

KUBECTL = shutil.which("kubectl")
FAIRLEAD = Path(sys.executable).parent / "fairlead"
START_SECONDS = 120
STOP_SECONDS = 60


def need_kubectl() -> str:
    """kubectl's path. Without it tests skip; where CI=true its absence is a failure."""
    if KUBECTL is None:
        if os.environ.get("CI") == "true":
            pytest.fail("kubectl is not on the PATH, and CI=true demands it")
        pytest.skip("kubectl is not on the PATH: install it to run this test")
    return KUBECTL


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """One server process. `stop` is SIGTERM, `kill` is SIGKILL; both wait for the end."""

    def __init__(
        self,
        directory: Path,
        port: int = 0,
        *,
        arguments: tuple[str, ...] = (),
        program: tuple[str | Path, ...] = (),
    ) -> None:
        """`program`: what takes the words of `fairlead` in its place (`tests/e2e/hasty.py`)."""
        self.directory = directory
        self.log = directory.parent / f"{directory.name}.log"
        with open(self.log, "ab") as log:
            said_before = log.tell()
            words = [
                *(program or (FAIRLEAD,)),
                "up",
                "--data-dir",
                directory,
                "--port",
                str(port),
                *arguments,
            ]
            self.process: subprocess.Popen[bytes] | nursery.Born = (
                subprocess.Popen(words, stdout=log, stderr=log) if program else nursery.start(words, log)
            )
        # 0: the system chooses one as it is taken. One that was free a moment ago may be somebody else's by now.
        self.port = port or int(self._await(lambda: self._announced(said_before)))
        self._await(self._is_ready)
        self.kubeconfig = directory / "kubeconfig"
        self.tls = ssl.create_default_context(cafile=directory / "identity" / "ca.crt")
        self.token = self.kubeconfig.read_text().split("token:")[1].split()[0].strip('"')
        if "--hollow-nodes" in arguments:  # which are made by a controller, after the API serves
            number = int(arguments[arguments.index("--hollow-nodes") + 1])
            self._await(lambda: "yes" if self._ready_nodes("hollow-") >= number else "")

    def _await(self, look: Callable[[], str]) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(
                    f"fairlead up ended with {self.process.returncode}: {self.log.read_text()[-2000:]}"
                )
            if found := look():
                return found
            time.sleep(0.01)
        self.kill()
        raise AssertionError(
            f"fairlead up did not become ready within {START_SECONDS} s: {self.log.read_text()[-2000:]}"
        )

    def _announced(self, said_before: int) -> str:
        """The port that it says it serves; "" while it has not said so."""
        found = re.search(rb"serves https://\S*:(\d+) ", self.log.read_bytes()[said_before:])
        return found[1].decode() if found else ""

    def _is_ready(self) -> str:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=5, context=ssl._create_unverified_context()
        )
        try:
            connection.request("GET", "/readyz")
            return "yes" if connection.getresponse().status == 200 else ""
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def _ready_nodes(self, prefix: str) -> int:
        _, listed = self.request("GET", "/api/v1/nodes")
        conditions = (
            each
            for node in listed["items"]
            if node["metadata"]["name"].startswith(prefix)
            for each in node.get("status", {}).get("conditions", ())
        )
        return sum(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def connect(self, timeout: float = 60) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)

    def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
        connection: http.client.HTTPSConnection | None = None,
    ) -> tuple[int, Any]:
        """(status, body: decoded if it is JSON, else text)."""
        used = connection or self.connect()
        sent = {"Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        used.request(method, target, raw, sent)
        answer = used.getresponse()
        text = answer.read()
        if connection is None:
            used.close()
        if "json" in (answer.headers.get("content-type") or ""):
            return answer.status, json.loads(text)
        return answer.status, text.decode()

    def kubectl(self, *words: str, stdin: str = "", check: bool = True, **environment: str) -> str:
        """Standard output of a kubectl command; fails with its output when it fails."""
        done = subprocess.run(
            [need_kubectl(), *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                **os.environ,
                "KUBECONFIG": str(self.kubeconfig),
                "HOME": str(self.directory.parent),
                **environment,
            },
        )
        if check and done.returncode:
            raise AssertionError(
                f"kubectl {' '.join(words)} failed ({done.returncode}): {done.stdout}{done.stderr}"
            )
        return done.stdout if check else done.stdout + done.stderr

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_SECONDS)
