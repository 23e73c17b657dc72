"""Thousands of nodes whose leases are renewed over HTTPS, and pods that are placed meanwhile, next to the same without.

    python bench/heartbeats.py --nodes 5000 --seconds 60 [--pods 1000] [--json]

Starts `fairlead up --hollow-nodes N` with its ordinary settings on a fresh directory and, as a process of its own,
`fairlead agent --hollow N --heartbeats-only`, which renews every lease each `--renew` seconds, evenly spread. In order:

    quiet      no heartbeats: the pods are created over HTTP and watched until each has a node (`bound.py`)
    beating    heartbeats alone, for half of the seconds: what they cost
    both       heartbeats for the other half, and as many pods again

`late_ms` is from when a renewal was due until its acknowledgement arrived, in the heartbeat process. CPU is from /proc, in
cores. `stored_bytes_per_renewal` is what the server's threads but the first wrote: SQLite's, and nothing else of it.
`pods_ratio` is pods per second with heartbeats by pods per second without, in this run. Everything on the loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import api
import scheduling

REGISTER_SECONDS = 300.0


class Plane(scheduling.Plane):
    """Not sampled."""

    def command(self) -> list[str]:
        return api.Plane.command(self)


class Hearts:
    """The process that renews."""

    def __init__(self, plane: Plane, nodes: int, renew: float) -> None:
        command = [
            api.FAIRLEAD,
            "agent",
            "--kubeconfig",
            plane.directory / "kubeconfig",
            "--hollow",
            str(nodes),
        ]
        command += [
            "--heartbeats-only",
            "--renew-seconds",
            f"{renew:g}",
            "--report-every",
            "1h",
            "-o",
            "json",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def told(self) -> dict[str, Any]:
        """What happened since this was last asked."""
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGUSR1)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the heartbeat process ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def await_all(self, nodes: int, renew: float) -> float:
        """Until every node has a lease."""
        began = time.perf_counter()
        time.sleep(max(3.0, renew))  # a signal before it listens would end it
        while time.perf_counter() - began < REGISTER_SECONDS:
            if self.told()["leases"] == nodes:
                return round(time.perf_counter() - began, 1)
            time.sleep(0.5)
        raise SystemExit(f"not every node had a lease within {REGISTER_SECONDS} s")


def stored_bytes(pid: int) -> int:
    """What the threads but the first have written: those of the store."""
    written = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if int(task.name) != pid:
            text = (task / "io").read_text()
            written += int(text.split("wchar:")[1].split()[0])
    return written


class Meter:
    """Of a stretch of time: what the two processes used."""

    def __init__(self, plane: Plane, hearts: Hearts | None) -> None:
        self._pids = {"server": plane.process.pid} | ({"hearts": hearts.process.pid} if hearts else {})
        self._server, self._hearts = plane.process.pid, hearts
        if hearts is not None:
            hearts.told()
        self._began, self._cpu = time.perf_counter(), self._used()
        self._stored = stored_bytes(self._server)

    def _used(self) -> dict[str, float]:
        return {name: api.cpu_seconds(pid) for name, pid in self._pids.items()}

    def read(self) -> dict[str, Any]:
        took = time.perf_counter() - self._began
        used = {name: now - self._cpu[name] for name, now in self._used().items()}
        stored = stored_bytes(self._server) - self._stored
        out: dict[str, Any] = {"seconds": round(took, 1)}
        out["cpu_cores"] = {name: round(each / took, 3) for name, each in used.items()}
        out["rss_mb"] = {name: api.resident_mb(pid) for name, pid in self._pids.items()}
        if self._hearts is not None:
            told = self._hearts.told()
            names = ("renewals", "renewals_per_second", "late_ms", "failed", "missed")
            out |= {name: told[name] for name in names}
            out["cpu_us_per_renewal"] = {
                name: round(each / max(1, told["renewals"]) * 1e6, 1) for name, each in used.items()
            }
            out["stored_bytes_per_renewal"] = round(stored / max(1, told["renewals"]))
        out["load_average"] = round(os.getloadavg()[0], 2)
        return out


def pods_of(prefix: str, options: argparse.Namespace) -> list[tuple[str, str]]:
    names = [f"{prefix}-{number:05d}" for number in range(options.pods)]
    return [(name, scheduling.pod(name, options, number)) for number, name in enumerate(names)]


def bound(plane: Plane, prefix: str, options: argparse.Namespace) -> dict[str, Any]:
    result = plane.bind(pods_of(prefix, options), options.connections)
    return {"bound": result["bound"], "per_second": result["per_second"], "latency_ms": result["latency_ms"]}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {"bench": "heartbeats", "nodes": options.nodes, "renew_seconds": options.renew}
    with tempfile.TemporaryDirectory() as scratch:
        plane, hearts = Plane(Path(scratch) / "data", options.nodes), None
        try:
            out["nodes_ready_seconds"] = plane.await_nodes(options.nodes)
            bound(plane, "warm", argparse.Namespace(**{**vars(options), "pods": 100}))
            meter = Meter(plane, None)
            out["quiet"] = {"pods": bound(plane, "quiet", options)} | meter.read()
            hearts = Hearts(plane, options.nodes, options.renew)
            out["leases_seconds"] = hearts.await_all(options.nodes, options.renew)
            meter = Meter(plane, hearts)
            time.sleep(options.seconds / 2)
            out["beating"] = meter.read()
            meter, began = Meter(plane, hearts), time.perf_counter()
            pods = bound(plane, "both", options)
            time.sleep(max(0.0, options.seconds / 2 - (time.perf_counter() - began)))
            out["both"] = {"pods": pods} | meter.read()
            out["pods_ratio"] = round(pods["per_second"] / out["quiet"]["pods"]["per_second"], 2)
            out["nodes_suspected"] = sum(
                bool(node["spec"].get("taints")) for node in json.loads(plane.get("/api/v1/nodes"))["items"]
            )
        finally:
            for process in (hearts.process if hearts else None, plane.process):
                if process is not None:
                    process.terminate()
                    process.wait(30)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--renew", type=float, default=10.0, help="seconds between renewals of a node")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", action="store_true", help="on one line instead of many")
    parser.set_defaults(spread=False, anti_affinity=False, preempt=False)
    options = parser.parse_args()
    out = measure(options)
    print(json.dumps(out, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
