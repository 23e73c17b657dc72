"""Pods from their create to a durable binding, with the settings of `fairlead up`.

    python bench/scheduling.py --nodes 500 --pods 1000 [--bare] [--spread | --anti-affinity | --preempt] [--json]

Starts `fairlead up` on a fresh directory. `--hollow` (the default): with hollow nodes, which write the status of each
pod that they get, as agents do. `--bare`: with Node objects that nobody runs, as scheduler_perf of Kubernetes has them. Another process creates the pods over 64 connections and
watches until each has a node (`bound.py`). Then the server is killed with SIGKILL, started again, and what it has is
counted. Prints one JSON object: `pods_per_second` is pods by the time from the first create to the last binding;
`cpu_us_per_pod` is what the server's process used in that time, by stage (`stages.py`). Everything on the loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import api

from fairlead.agent.hollow.decider import ALLOCATABLE

ZONES = 3
PODS = "/api/v1/namespaces/default/pods"
STILL_WRITES = 5
START_SECONDS = 300.0
# Nodes that nobody runs are marked as silent after a while, and pods on them: that is work, and takes two minutes.
IDLE_SETTLE_SECONDS = 200.0
# Four of these fill a hollow node.
_WHOLE_QUARTER = "8"


def pod(name: str, options: argparse.Namespace, number: int, priority: str = "", cpu: str = "100m") -> str:
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/web:1.25.3",
                "ports": [{"containerPort": 8080}],
                "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}},
            }
        ]
    }
    labels = {"app": "web"}
    if options.spread:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": labels},
            }
        ]
    if options.anti_affinity:
        # As many groups as it takes for each to need no more than half of the nodes.
        labels = {"app": f"web-{number % -(-2 * options.pods // options.nodes)}"}
        spec["affinity"] = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
                ]
            }
        }
    if priority:
        spec["priorityClassName"] = priority
    meta = {"name": name, "labels": labels}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


class Plane(api.Plane):
    """The same `fairlead up`, sampled."""

    def __init__(self, directory: Path, nodes: int, records: bool = True) -> None:
        """`nodes`: hollow ones. `records`: whether decisions are recorded and a tape is kept."""
        self._records = records
        self.counted = directory.parent / "stages.json"
        super().__init__(directory, *(("--hollow-nodes", str(nodes)) if nodes else ()))
        self._tls = ssl.create_default_context(cafile=self.ca)

    def command(self) -> list[str]:
        # -P: `queue.py` beside it is not the one that the library means.
        words = [sys.executable, "-P", str(api.HERE / "stages.py"), str(self.counted)]
        return words if self._records else [*words, "--without-records"]

    def get(self, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, context=self._tls, timeout=60) as answer:
            read: bytes = answer.read()
            return read

    def await_nodes(self, nodes: int) -> float:
        """Until all nodes are there and ready, and hardly anything moves any more: to read all of them takes seconds on
        a busy machine, in which a lease or a status is renewed."""
        began, revision = time.perf_counter(), 0
        while time.perf_counter() - began < START_SECONDS:
            time.sleep(0.5)
            seen = json.loads(self.get("/api/v1/nodes?limit=1"))["metadata"]
            if seen.get("remainingItemCount", 0) + 1 >= nodes:
                ready = sum(
                    each["status"] == "True"
                    for node in json.loads(self.get("/api/v1/nodes"))["items"]
                    for each in node.get("status", {}).get("conditions", ())
                    if each["type"] == "Ready"
                )
                if ready == nodes and int(seen["resourceVersion"]) - revision <= STILL_WRITES:
                    return round(time.perf_counter() - began, 1)
            revision = int(seen["resourceVersion"])
        raise SystemExit(f"the nodes were not ready within {START_SECONDS} s")

    def register(self, nodes: int) -> None:
        """Node objects like those of hollow nodes, without leases: of one whose lease nobody renews it is said after a
        while that it is silent, and to register all takes longer than that on a busy machine."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        requests = []
        for name in (f"hollow-{number}" for number in range(nodes)):
            ready = {"type": "Ready", "status": "True", "reason": "Bare", "lastHeartbeatTime": now[:19] + "Z"}
            node = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {
                    "allocatable": dict(ALLOCATABLE),
                    "capacity": dict(ALLOCATABLE),
                    "conditions": [ready],
                },
            }
            requests.append(["POST", "/api/v1/nodes", json.dumps(node)])
        self.load(requests, len(requests), 16)

    def bind(self, pods: list[tuple[str, str]], connections: int) -> dict[str, Any]:
        """Create these and wait until each has a node."""
        plan = {
            "requests": [["POST", PODS, body] for _, body in pods],
            "names": [name for name, _ in pods],
            "watch": f"{PODS}?watch=1",
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(plan, file)
            file.flush()
            command = [sys.executable, str(api.HERE / "bound.py"), "--url", self.url, "--plan", file.name]
            command += ["--connections", str(connections), "--token", self.token, "--ca", str(self.ca)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise SystemExit(f"the load process failed: {done.stderr[-500:]}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def sampled(self) -> dict[str, Any]:
        self.process.send_signal(signal.SIGUSR2)
        for _ in range(200):
            if self.counted.exists():
                counted: dict[str, Any] = json.loads(self.counted.read_text())
                return counted
            time.sleep(0.05)
        return {"samples": 0, "stages": {}, "lines": {}}

    def count(self) -> dict[str, int]:
        items = json.loads(self.get(PODS))["items"]
        return {"pods": len(items), "bound": sum("nodeName" in each["spec"] for each in items)}


def prepared(plane: Plane, options: argparse.Namespace) -> list[tuple[str, str]]:
    """The world the pods come to, and the pods."""
    if options.spread:
        patches = []
        for number in range(options.nodes):
            labels = {"topology.kubernetes.io/zone": f"zone-{number % ZONES}"}
            patches.append(
                ["PATCH", f"/api/v1/nodes/hollow-{number}", json.dumps({"metadata": {"labels": labels}})]
            )
        plane.load(patches, len(patches), 16)
    priority = cpu = ""
    if options.preempt:
        priority, cpu = "urgent", _WHOLE_QUARTER
        urgent = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": priority},
            "value": 1000,
        }
        plane.load([["POST", "/apis/scheduling.k8s.io/v1/priorityclasses", json.dumps(urgent)]], 1, 1)
        names = [f"filler-{number:05d}" for number in range(4 * options.nodes)]
        fillers = [(name, pod(name, options, n, cpu=_WHOLE_QUARTER)) for n, name in enumerate(names)]
        filled = plane.bind(fillers, options.connections)
        if filled["bound"] != len(fillers):
            raise SystemExit(f"only {filled['bound']} of {len(fillers)} pods that fill the nodes were bound")
    names = [f"web-{number:05d}" for number in range(options.pods)]
    return [(name, pod(name, options, n, priority, cpu or "100m")) for n, name in enumerate(names)]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    kind = [name for name in ("spread", "anti_affinity", "preempt") if getattr(options, name)]
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "data"
        hollow = 0 if options.bare else options.nodes
        plane = Plane(directory, hollow, not options.without_records)
        try:
            if options.bare:
                plane.register(options.nodes)
            out: dict[str, Any] = {
                "run_by": "nobody" if options.bare else "hollow",
                "nodes": options.nodes,
                "pods": options.pods,
                "kind": kind[0] if kind else "plain",
                "load_average": os.getloadavg()[0],
                "nodes_ready_seconds": plane.await_nodes(options.nodes),
                "rss_mb_before": api.resident_mb(plane.process.pid),
            }
            pods = prepared(plane, options)
            if options.settle:
                time.sleep(options.settle)
            cpu = api.cpu_seconds(plane.process.pid)
            plane.process.send_signal(signal.SIGUSR1)
            result = plane.bind(pods, options.connections)
            used = api.cpu_seconds(plane.process.pid) - cpu
            counted = plane.sampled()
            out["pods_per_second"] = result.pop("per_second")
            out["rss_mb"] = api.resident_mb(plane.process.pid)
            out["latency_ms"] = result.pop("latency_ms")
            out["cpu_us_per_pod"] = _per_pod(counted, used, options.pods)
            out["server_busy"] = round(used / result["seconds"], 2)
            out["load_average_after"] = os.getloadavg()[0]
            out["run"] = result
            if options.idle:
                out["idle"] = _idle(plane, options.idle)
            if options.lines:
                out["lines"] = dict(list(counted["lines"].items())[: options.lines])
            before = plane.count()
        finally:
            plane.process.send_signal(signal.SIGKILL)
            plane.process.wait()
        again = Plane(directory, hollow)
        try:
            after = again.count()
            out["after_kill"] = {"before": before, "after": after, "ready_seconds": again.ready_seconds}
        finally:
            again.process.terminate()
            again.process.wait(30)
    return out


def _idle(plane: Plane, seconds: float) -> dict[str, Any]:
    """What the server uses when nothing happens: Events and leases of before are through, and no sampler counts."""
    time.sleep(IDLE_SETTLE_SECONDS)
    cpu, began = api.cpu_seconds(plane.process.pid), time.perf_counter()
    time.sleep(seconds)
    used, took = api.cpu_seconds(plane.process.pid) - cpu, time.perf_counter() - began
    return {"seconds": round(took, 1), "cpu_percent_of_a_core": round(100 * used / took, 2)}


def _per_pod(counted: dict[str, Any], used: float, pods: int) -> dict[str, float]:
    each = used / pods * 1e6
    share = each / max(1, counted["samples"])
    return {"all": round(each, 1)} | {name: round(n * share, 1) for name, n in counted["stages"].items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1000)
    run_by = parser.add_mutually_exclusive_group()
    run_by.add_argument("--bare", action="store_true", help="Node objects that nobody runs")
    run_by.add_argument("--hollow", action="store_true", help="hollow nodes (the default)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--spread", action="store_true", help="maxSkew 1 over three zones, required")
    kind.add_argument("--anti-affinity", action="store_true", help="required, by host name")
    kind.add_argument("--preempt", action="store_true", help="nodes that are full of pods of lower priority")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--settle", type=float, default=0.0, help="seconds to wait before the pods come")
    parser.add_argument(
        "--idle", type=float, default=0.0, help="then measure so many seconds without any work"
    )
    parser.add_argument(
        "--without-records", action="store_true", help="decisions are not recorded, and no tape is kept"
    )
    parser.add_argument("--lines", type=int, default=0, help="also print the functions most often at work")
    parser.add_argument("--json", action="store_true", help="on one line instead of many")
    options = parser.parse_args()
    out = measure(options)
    print(json.dumps(out, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
