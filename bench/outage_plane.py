"""The plane that `outage.py` takes away: a server, two nodes, small web servers behind a Service. Found again by its
directory, so that an outage may last longer than the process that began it.

A server is taken away in one of three ways: killed, stopped with SIGSTOP, or left without a byte on its disk (which is
its nodes' disk as well). While it is away agents can be killed and started again, as whoever looks after a machine would:
by the server, where that is alive, else from here with the command that they had.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from bench.pieces import Json
from tests.e2e.testimony import agent_pid, end_all

FAIRLEAD = str(Path(sys.executable).with_name("fairlead"))
PORT = 8080
PROGRAM = (
    "import http.server as h, os; "
    "h.ThreadingHTTPServer((os.environ['POD_IP'], 8080), h.SimpleHTTPRequestHandler).serve_forever()"
)
DISK = "192m"
NODES = ("local-1", "local-2")
_WAIT_SECONDS = 120.0


def _container() -> Json:
    return {
        "name": "web",
        "image": "process",
        "command": ["python3", "-c", PROGRAM],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m"}},
    }


def _workload(kind: str, name: str, replicas: int, **more: Any) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [_container()]}},
            **more,
        },
    }


def manifest(pods: int, with_one: bool) -> str:
    """`with_one`: and a pod of which at most one may run; it answers as long as leases are renewed."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": PORT}]},
    }
    items = [_workload("Deployment", "web", pods), service]
    if with_one:
        items.append(_workload("StatefulSet", "one", 1, serviceName="one"))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def until(holds: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < end:
        with suppress(subprocess.CalledProcessError, OSError):
            if holds():
                return
        time.sleep(0.2)
    raise AssertionError(f"not seen within {_WAIT_SECONDS:g} s: {what}")


class Plane:
    """`folder` has all of it: the data, the log and, for a full disk, the mount."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder, self.how = folder, how
        self.data = folder / "disk" / "data" if how == "full" else folder / "data"
        self._config = self.data / "kubeconfig"

    @classmethod
    def begin(cls, how: str, pods: int) -> Plane:
        plane = cls(Path(tempfile.mkdtemp(prefix="fairlead-outage-")), how)
        if how == "full":
            disk = plane.folder / "disk"
            disk.mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "tmpfs", str(disk)]
            subprocess.run(mount, check=True)
        try:
            plane._start(0)
            plane.kubectl("apply", "-f", "-", stdin=manifest(pods, with_one=how == "full"))
            wanted = pods + (how == "full")
            until(lambda: sum(map(is_ready, plane.pods())) == wanted, f"{wanted} pods that are ready")
        except BaseException:
            plane.end()
            raise
        return plane

    def kubectl(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["kubectl", "--kubeconfig", str(self._config), *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def pods(self) -> list[Json]:
        found: list[Json] = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
        return found

    def nodes_ready(self) -> int:
        found = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        return sum(map(is_ready, found))

    @property
    def url(self) -> str:
        return self.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")

    def _start(self, port: int) -> None:
        words = ["up", "--data-dir", str(self.data), "--port", str(port), "--nodes", "2", "--no-sample"]
        with (self.folder / "log").open("ab") as log:
            # A session of its own: one that is stopped is not continued when whoever started it ends.
            started = subprocess.Popen([FAIRLEAD, *words], stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(started.pid))
        until(lambda: self.kubectl("get", "--raw", "/readyz") == "ok", "a server that is ready")

    @property
    def _pid(self) -> int:
        return int((self.folder / "pid").read_text())

    # Away and back

    def take_away(self) -> None:
        (self.folder / "url").write_text(self.url)
        if self.how == "full":
            self.fill()
            until(self.refuses_writes, "a write that is refused")
            self.fill()
        else:
            os.kill(self._pid, signal.SIGKILL if self.how == "kill" else signal.SIGSTOP)

    def fill(self) -> None:
        """Take whatever is free, to the last byte; also what the server gave up a moment ago."""
        with (self.folder / "disk" / "filler").open("ab", buffering=0) as filler:
            for size in (1 << 20, 4096, 1):
                with suppress(OSError):
                    while filler.write(bytes(size)):
                        pass

    def refuses_writes(self) -> bool:
        """Not asked with kubectl, which tries again for a minute. What is preallocated takes some writes."""
        metadata = {"name": f"c{time.monotonic_ns()}"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "z" * 500_000}}
        tls = ssl.create_default_context(cafile=self.data / "identity" / "ca.crt")
        host = self.url.removeprefix("https://")
        token = self.kubectl("config", "view", "--raw", "-o", "jsonpath={.users[0].user.token}")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(http.client.HTTPSConnection(host, timeout=30, context=tls)) as connection:
            connection.request("POST", "/api/v1/namespaces/default/configmaps", json.dumps(body), headers)
            return connection.getresponse().status in (503, 507)

    def kill_agent(self, node: str) -> None:
        """And have it back. With a full disk the server starts it again, otherwise nobody else would."""
        pid = agent_pid(self.data, node)
        if not pid:
            return  # it is on its way
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        if self.how == "full":
            return
        with (self.folder / "log").open("ab") as log:
            agent = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/", start_new_session=True
            )
        assert agent.stdin is not None
        agent.stdin.write((self.folder / "url").read_bytes() + b"\n")
        agent.stdin.close()

    def bring_back(self) -> None:
        if self.how == "full":
            (self.folder / "disk" / "filler").unlink()
            until(lambda: not self.refuses_writes(), "a write that is taken")
        elif self.how == "stop":
            os.kill(self._pid, signal.SIGCONT)
        else:
            self._start(int((self.folder / "url").read_text().rpartition(":")[2]))

    def end(self) -> None:
        """All that was started and made; also what an earlier process left."""
        end_all(self.data)
        if self.how == "full":
            subprocess.run(["umount", "--lazy", str(self.folder / "disk")], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def is_ready(found: Json) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
