"""Pods under traffic while their control plane is away: how many requests failed that a pod could have answered.

Starts a plane with two nodes and a Deployment of small web servers behind a Service, then takes the server away (killed,
or stopped with SIGSTOP) for as long as is asked, and brings it back. Meanwhile a client asks the Service and every pod by
turns. Prints JSON: requests and failures of each kind, restarts before and after, and how long the Service's address did
not answer, if ever. Loopback only; it ends what it started.

    python bench/outage.py --seconds 600 --pods 20 --how kill
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FAIRLEAD = str(Path(sys.executable).with_name("fairlead"))
PORT = 8080
PROGRAM = (
    "import http.server as h, os; "
    "h.ThreadingHTTPServer((os.environ['POD_IP'], 8080), h.SimpleHTTPRequestHandler).serve_forever()"
)
_WAIT_SECONDS = 120.0


def kubectl(config: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(config), *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def manifest(pods: int) -> str:
    container = {
        "name": "web",
        "image": "process",
        "command": ["python3", "-c", PROGRAM],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m"}},
    }
    labels = {"app": "web"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"port": PORT}]},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [deployment, service]})


class Plane:
    def __init__(self, directory: Path, port: int = 0) -> None:
        self.data = directory / "data"
        self.config = self.data / "kubeconfig"
        self._log = (directory / "log").open("ab")
        words = ["up", "--data-dir", str(self.data), "--port", str(port), "--nodes", "2", "--no-sample"]
        self.process = subprocess.Popen([FAIRLEAD, *words], stdout=self._log, stderr=self._log)
        until(lambda: kubectl(self.config, "get", "--raw", "/readyz") == "ok")

    @property
    def port(self) -> int:
        server = kubectl(self.config, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
        return int(server.rpartition(":")[2])


def until(holds: Any) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < end:
        try:
            if holds():
                return
        except (subprocess.CalledProcessError, OSError):
            pass
        time.sleep(0.2)
    raise SystemExit("the plane did not come as far as it should within two minutes")


def answers(address: str) -> bool:
    connection = http.client.HTTPConnection(address, PORT, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def pods_of(config: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kubectl(config, "get", "pods", "-l", "app=web", "-o", "json"))[
        "items"
    ]
    return found


def restarts(pods: list[dict[str, Any]]) -> int:
    return sum(each["status"]["containerStatuses"][0]["restartCount"] for each in pods)


def asked_while_away(service: str, addresses: list[str], seconds: float) -> dict[str, Any]:
    told: dict[str, Any] = {"service_requests": 0, "service_failed": 0, "pod_requests": 0, "pod_failed": 0}
    first_failed = last_failed = 0.0
    start = time.monotonic()
    turn = 0
    while (now := time.monotonic()) < start + seconds:
        told["service_requests"] += 1
        if not answers(service):
            told["service_failed"] += 1
            first_failed = first_failed or now
            last_failed = now
        told["pod_requests"] += 1
        told["pod_failed"] += not answers(addresses[turn % len(addresses)])
        turn += 1
        time.sleep(0.1)
    told["service_silent_seconds"] = round(last_failed - first_failed, 1) if first_failed else 0.0
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="how long the server is away")
    parser.add_argument("--pods", type=int, default=20)
    parser.add_argument("--how", choices=("kill", "stop"), default="kill")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        plane = Plane(directory)
        try:
            kubectl(plane.config, "apply", "-f", "-", stdin=manifest(options.pods))
            kubectl(plane.config, "rollout", "status", "deployment/web", "--timeout=300s")
            service = kubectl(plane.config, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
            until(lambda: answers(service))
            pods, port = pods_of(plane.config), plane.port
            addresses = [each["status"]["podIP"] for each in pods]
            before = restarts(pods)
            os.kill(plane.process.pid, signal.SIGKILL if options.how == "kill" else signal.SIGSTOP)
            told = asked_while_away(service, addresses, options.seconds)
            if options.how == "kill":
                plane.process.wait()
                plane = Plane(directory, port)
            else:
                os.kill(plane.process.pid, signal.SIGCONT)
            kubectl(plane.config, "wait", "--for=condition=Ready", "pods", "-l", "app=web", "--timeout=120s")
            after = pods_of(plane.config)
            told["restarts"] = restarts(after) - before
            told["same_pods"] = {each["metadata"]["uid"] for each in after} == {
                each["metadata"]["uid"] for each in pods
            }
            print(
                json.dumps(
                    {"how": options.how, "seconds": options.seconds, "pods": options.pods, **told}, indent=2
                )
            )
        finally:
            plane.process.send_signal(signal.SIGCONT)
            plane.process.terminate()
            plane.process.wait(60)


if __name__ == "__main__":
    main()
