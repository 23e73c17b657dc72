"""Durable creates, gets and lists over HTTPS, next to the raw store and to etcd doing the same puts.

    python bench/api.py [--json] [--pods 10000] [--connections 64]
    python bench/api.py --digests                   creates with digests in the store against creates without
    python bench/api.py --chain                     the same for the chain of the audit log

Starts `fairlead up --without-controllers` (what kube-apiserver is: an API and its store) on a fresh directory, loads it from another process, then kills it
with SIGKILL, opens the directory again and counts; then the same creates with all controllers running. etcd (Debian: etcd-server) is started beside it in the same
minute and gets the same values through its JSON gateway; where it is missing its rows are left out, and said so.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
FAIRLEAD = ROOT / ".venv/bin/fairlead"
REFERENCE = {
    "creates_per_second": 970,
    "creates_p99_ms": 180,
    "gets_per_second": 1600,
    "list_pods_per_second": 24300,
}


def pod(number: int) -> str:
    """A pod of about 1.4 KB, as a controller would create it."""
    name = f"web-{number:05d}"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {"app": "web", "tier": "front", "pod-template-hash": "5d9f8c7b6d"},
                "annotations": {"example.com/owner": "payments", "example.com/revision": "42"},
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/web:1.25.3",
                        "args": ["--listen", ":8080", "--log", "json"],
                        "ports": [
                            {"name": "http", "containerPort": 8080},
                            {"name": "metrics", "containerPort": 9090},
                        ],
                        "env": [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(6)],
                        "resources": {
                            "requests": {"cpu": f"{100 * (number % 5 + 1)}m", "memory": "128Mi"},
                            "limits": {"memory": "256Mi"},
                        },
                        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
                        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
                    }
                ],
                "volumes": [{"name": "config", "configMap": {"name": "web-config"}}],
                "tolerations": [{"key": "example.com/spot", "operator": "Exists", "effect": "NoSchedule"}],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "topology.kubernetes.io/zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    }
                ],
            },
        }
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return round(int(found[1]) / 1024, 1) if found else 0.0


class Plane:
    """A `fairlead up` of our own."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.port = free_port()
        began = time.perf_counter()
        self._told = directory.with_suffix(".log")
        with open(self._told, "wb") as told:
            self.process = subprocess.Popen(
                [*self.command(), "up", "--data-dir", directory, "--port", str(self.port), *options],
                stdout=told,
                stderr=told,
            )
        self.url = f"https://127.0.0.1:{self.port}"
        self.ready_seconds = self._await_ready(began)
        text = (directory / "kubeconfig").read_text()
        found = re.search(r"token: *\"?([^\s\"]+)", text)
        assert found is not None
        self.token = found[1]
        self.ca = directory / "identity" / "ca.crt"

    def command(self) -> list[str]:
        return [str(FAIRLEAD)]

    def _await_ready(self, began: float) -> float:
        import ssl

        unchecked = ssl._create_unverified_context()
        for _ in range(2000):
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", context=unchecked, timeout=2):
                    return round(time.perf_counter() - began, 3)
            except OSError:
                if self.process.poll() is not None:
                    told = self._told.read_text()[-2000:]
                    raise SystemExit(f"fairlead ended with {self.process.returncode}: {told}") from None
                time.sleep(0.005)
        self.process.kill()
        raise SystemExit("fairlead did not become ready within 10 s")

    def load(self, requests: list[list[str]], count: int, connections: int) -> dict[str, object]:
        before = cpu_seconds(self.process.pid)
        result = run_load(self.url, requests, count, connections, self.token, self.ca)
        used = cpu_seconds(self.process.pid) - before
        result["server_cpu_us_each"] = round(used / max(1, int(str(result["count"]))) * 1e6, 1)
        return result


def run_load(
    url: str, requests: list[list[str]], count: int, connections: int, token: str = "", ca: Path | None = None
) -> dict[str, object]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as plan:
        json.dump({"requests": requests}, plan)
        plan.flush()
        command = [sys.executable, str(HERE / "load.py"), "--url", url, "--plan", plan.name]
        command += ["--connections", str(connections), "--count", str(count)]
        if token:
            command += ["--token", token, "--ca", str(ca)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"the load process failed: {done.stderr[-500:]}")
        loaded: dict[str, object] = json.loads(done.stdout)
        return loaded


def bench_plane(pods: int, connections: int) -> dict[str, object]:
    collection = "/api/v1/namespaces/default/pods"
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "data"
        plane = Plane(directory, "--without-controllers")
        out: dict[str, object] = {
            "ready_seconds": plane.ready_seconds,
            "resident_mb_empty": resident_mb(plane.process.pid),
        }
        creates = [["POST", collection, pod(n)] for n in range(pods)]
        out["creates"] = plane.load(creates, pods, connections)
        out["resident_mb"] = resident_mb(plane.process.pid)
        gets = [["GET", f"{collection}/web-{n * 7919 % pods:05d}", ""] for n in range(pods)]
        out["gets"] = plane.load(gets, 2 * pods, connections)
        out["lists"] = plane.load([["GET", collection, ""]], 5, 1)
        out["lists_paged_500"] = plane.load([["GET", f"{collection}?limit=500", ""]], 20, 1)
        out["resident_mb_after_lists"] = resident_mb(plane.process.pid)
        plane.process.send_signal(signal.SIGKILL)
        plane.process.wait()
        again = Plane(directory, "--without-controllers")
        out["ready_seconds_with_pods"] = again.ready_seconds
        listed = again.load([["GET", f"{collection}?limit=1", ""]], 1, 1)
        out["after_kill"] = {"pods": count_pods(again, collection), "statuses": listed["statuses"]}
        again.process.terminate()
        again.process.wait(10)
    return out


def bench_controllers(pods: int, connections: int) -> dict[str, object]:
    """The same creates with mirrors, controllers and decision records at work beside the API; no nodes to bind to."""
    with tempfile.TemporaryDirectory() as scratch:
        plane = Plane(Path(scratch) / "data")
        time.sleep(1)  # until it leads
        creates = [["POST", "/api/v1/namespaces/default/pods", pod(n)] for n in range(pods)]
        result = plane.load(creates, pods, connections)
        result["resident_mb"] = resident_mb(plane.process.pid)
        plane.process.terminate()
        plane.process.wait(10)
        return result


def count_pods(plane: Plane, collection: str) -> int:
    import ssl

    request = urllib.request.Request(
        f"{plane.url}{collection}", headers={"Authorization": f"Bearer {plane.token}"}
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=plane.ca)) as answer:
        return len(json.load(answer)["items"])


def bench_store(pods: int, writers: int) -> dict[str, object]:
    """The same values into the store alone: machine and journal in one process, no HTTP, no API."""
    from fairlead.model.key import Key
    from fairlead.store.contract import Absent, Put, Transaction
    from fairlead.store.events import Append, Appended, Flush, Submitted
    from fairlead.store.machine import Store
    from fairlead.store.sqlite import SqliteJournal

    values = [pod(n).encode() for n in range(pods)]
    with tempfile.TemporaryDirectory() as scratch:
        journal = SqliteJournal(str(Path(scratch) / "store.db"))
        store = Store(journal.recover(), journal)
        began, cpu = time.perf_counter(), time.process_time()
        for start in range(0, pods, writers):
            for number in range(start, min(start + writers, pods)):
                key = Key("pods", "default", f"web-{number:05d}")
                operation = Put(
                    key, str(number), b'{"metadata":{"resourceVersion":"', b'"},"x":' + values[number] + b"}"
                )
                store.handle(Submitted(number, Transaction((operation,), (Absent(key),))))
            for instruction in store.handle(Flush(time.time())):
                if isinstance(instruction, Append):
                    journal.append(instruction.batch)
            store.handle(Appended())
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
        journal.close()
    return {"per_second": round(pods / seconds), "cpu_us_each": round(used / pods * 1e6, 1), "batch": writers}


def bench_etcd(pods: int, connections: int) -> dict[str, object] | None:
    binary = shutil.which("etcd")
    if binary is None:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        client, peer = free_port(), free_port()
        command = [binary, "--data-dir", scratch, "--listen-client-urls", f"http://127.0.0.1:{client}"]
        command += ["--advertise-client-urls", f"http://127.0.0.1:{client}"]
        command += ["--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls"]
        command += [f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{client}"
            for _ in range(500):
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=1).read()
                    break
                except OSError:
                    time.sleep(0.02)
            puts = []
            for n in range(pods):
                key = base64.b64encode(f"/registry/pods/default/web-{n:05d}".encode()).decode()
                value = base64.b64encode(pod(n).encode()).decode()
                puts.append(["POST", "/v3/kv/put", json.dumps({"key": key, "value": value})])
            result = run_load(url, puts, pods, connections)
            result["resident_mb"] = resident_mb(process.pid)
            result["through"] = "JSON gateway"
            return result
        finally:
            process.terminate()
            process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--digests", action="store_true", help="what digests cost, and nothing else")
    parser.add_argument("--chain", action="store_true", help="what the chain costs, and nothing else")
    options = parser.parse_args()
    if options.digests or options.chain:
        from digests import compare

        name, what = ("digests", "") if options.digests else ("chain", "--chain")
        print(json.dumps({name: compare(options.pods, options.connections, what)}, indent=1))
        return
    out: dict[str, object] = {
        "pods": options.pods,
        "connections": options.connections,
        "pod_bytes": len(pod(0)),
    }
    print("fairlead ...", file=sys.stderr)
    plane = bench_plane(options.pods, options.connections)
    out["fairlead"] = plane
    print("with controllers ...", file=sys.stderr)
    out["creates_with_controllers"] = bench_controllers(options.pods, options.connections)
    print("raw store ...", file=sys.stderr)
    out["store"] = bench_store(options.pods, options.connections)
    print("etcd ...", file=sys.stderr)
    out["etcd"] = etcd = bench_etcd(options.pods, options.connections) or "not installed (apt: etcd-server)"
    creates, gets = plane["creates"], plane["gets"]
    assert isinstance(creates, dict)
    assert isinstance(gets, dict)
    out["ratios"] = {
        "creates_to_kube_apiserver": round(creates["per_second"] / REFERENCE["creates_per_second"], 2),
        "gets_to_kube_apiserver": round(gets["per_second"] / REFERENCE["gets_per_second"], 2),
        "p99_to_kube_apiserver": round(creates["p99_ms"] / REFERENCE["creates_p99_ms"], 2),
    }
    if isinstance(etcd, dict):
        out["ratios"]["creates_to_etcd_puts"] = round(creates["per_second"] / int(str(etcd["per_second"])), 2)
    if options.json:
        print(json.dumps(out, indent=1))
        return
    for name, row in (("creates", creates), ("gets", gets), ("etcd puts", etcd)):
        if isinstance(row, dict):
            print(f"{name:10} {row['per_second']:>7}/s  p50 {row['p50_ms']:>7} ms  p99 {row['p99_ms']:>7} ms")
    print(json.dumps({key: plane[key] for key in plane if key not in ("creates", "gets")}, indent=1))


if __name__ == "__main__":
    main()
