"""What a loud client does to others, and what keeping it in its place costs. Fairness on and off, in one run.

    python bench/fairness.py [--json] [--seconds 8] [--rounds 3] [--connections 200] [--objects 2000] [--creates 3000]
    python bench/fairness.py up ...      `fairlead up ...` without fairness, as the comparison starts it
    python bench/fairness.py switched up ...     one that SIGUSR1 gives no fairness, and SIGUSR2 gives it back

Two servers, one with and one without fairness, get the same in turn, in an order that changes from round to round. The
loud client is a process with many connections: lists of all ConfigMaps and creates, each connection as fast as it is
answered. Beside it a node renews its lease, a person with a role of their own lists a small namespace as `kubectl get`
does, and an admin does the same, fifty times a second each. `quiet` is the same without the loud client. The loud client
runs at the lowest priority of the machine, so that what is measured is whose turn it is in the server, not on the
processors. Then the creates of `bench/api.py`, by blocks: of an admin (who is exempt) and of a user who is not. There is
one server for them, which has fairness in every other block: two servers of one program differ by more than fairness
costs. What counts is the processor time of the server, and, for the one who is not exempt, the creates per second too.
`control` compares blocks that all have it in the same way: what it finds is the error of the measurement.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parent
INTERVAL_SECONDS = 0.02
BLOCK = 500  # creates
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
SMALL, BIG = "small", "big"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/bench-node"


def without_fairness(arguments: list[str], *, switched: bool = False) -> int:
    sys.path.remove(str(HERE))  # its queue.py is not the one that programs mean
    from fairlead.cli.main import main
    from fairlead.wire import flow_driver

    def switch(arrive: Any) -> None:
        setattr(flow_driver.Turns, "arrive", arrive)  # noqa: B010

    def at_once(
        _turns: Any, _exchange: Any, _user: Any, _request: Any, _path: Any, begin: Any, _: Any
    ) -> None:
        begin()

    if switched:
        fair = flow_driver.Turns.arrive
        signal.signal(signal.SIGUSR1, lambda *_: switch(at_once))
        signal.signal(signal.SIGUSR2, lambda *_: switch(fair))
    else:
        switch(at_once)
    return main(arguments)


# The loud client, a process of its own


async def be_loud(
    url: str, token: str, ca: str, connections: int, seconds: float, mark: str
) -> dict[str, Any]:
    from load import Client, Load, encoded

    address = urlsplit(url)

    class Loud(Load):
        """Goes on until its time is over."""

        ends_at = 0.0

        def next_request(self) -> bytes | None:
            if not self.ends_at:
                self.ends_at = time.perf_counter() + seconds
                print("loud", flush=True)
            if time.perf_counter() > self.ends_at:
                return None
            self.sent += 1
            if self.sent % 2:
                return lists
            return encoded([["POST", collection, config_map(f"{mark}-{self.sent}")]], address.netloc, token)[
                0
            ]

    collection = f"/api/v1/namespaces/{BIG}/configmaps"
    lists = encoded([["GET", collection, ""]], address.netloc, token)[0]
    loop = asyncio.get_running_loop()
    load = Loud([], 1, connections)
    tls = ssl.create_default_context(cafile=ca)
    for _ in range(connections):
        await loop.create_connection(lambda: Client(load), address.hostname, address.port, ssl=tls)
    return load.report(await load.ended)


def config_map(name: str) -> str:
    data = {f"key-{number}": "v" * 40 for number in range(16)}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


# Those who must not notice


class Caller:
    """One connection, one request every INTERVAL_SECONDS, whatever became of the one before."""

    def __init__(self, name: str, request: bytes) -> None:
        self.name = name
        self.request = request
        self.taken: list[float] = []
        self.statuses: Counter[int] = Counter()

    async def call(self, address: Any, tls: ssl.SSLContext, seconds: float) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=tls)
        ends_at = time.perf_counter() + seconds
        due = time.perf_counter()
        while due < ends_at:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            writer.write(self.request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
            )
            await reader.readexactly(length)
            self.taken.append(time.perf_counter() - began)
            self.statuses[int(head[9:12])] += 1
            due = max(due + INTERVAL_SECONDS, time.perf_counter())
        writer.close()

    def report(self) -> dict[str, object]:
        ordered = sorted(self.taken)

        def at(share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 2)

        return {
            "count": len(ordered),
            "p50_ms": at(0.5),
            "p90_ms": at(0.9),
            "p99_ms": at(0.99),
            "max_ms": at(1.0),
            "statuses": dict(self.statuses),
        }


async def call_all(url: str, ca: str, callers: list[Caller], seconds: float) -> None:
    tls = ssl.create_default_context(cafile=ca)
    await asyncio.gather(*(each.call(urlsplit(url), tls, seconds) for each in callers))


def head(method: str, path: str, host: str, token: str, accept: str, body: str = "") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        f"Authorization: Bearer {token}",
        f"Accept: {accept}",
    ]
    if body:
        lines += ["Content-Type: application/merge-patch+json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class Bench:
    """One server and its users."""

    def __init__(self, plane: Any, objects: int) -> None:
        self.plane = plane
        self.loud = self._token("viewer", "loud")
        self.person = self._token("viewer", "person")
        self.node = self._token("node", "bench-node")
        host = urlsplit(plane.url).netloc
        listing = f"/api/v1/namespaces/{SMALL}/configmaps?limit=500"
        renewal = json.dumps({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})
        self._requests = {
            "lease": head("PATCH", LEASE, host, self.node, "application/json", renewal),
            "person": head("GET", listing, host, self.person, TABLE),
            "admin": head("GET", listing, host, plane.token, TABLE),
        }
        self._fill(objects)

    def _token(self, role: str, name: str) -> str:
        command = [*self.plane.command(), "token", "create", "--role", role, "--name", name]
        command += ["--data-dir", str(self.plane.directory), "-o", "json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return str(told["token"])

    def _fill(self, objects: int) -> None:
        for name in (SMALL, BIG):
            body = json.dumps({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
            self._create("/api/v1/namespaces", [body])
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "loud"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "loud"}],
        }
        self._create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", [json.dumps(binding)])
        self._create(f"/api/v1/namespaces/{SMALL}/configmaps", [config_map(f"c-{n}") for n in range(20)])
        self._create(f"/api/v1/namespaces/{BIG}/configmaps", [config_map(f"c-{n}") for n in range(objects)])
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bench-node"}}
        self._create("/api/v1/nodes", [json.dumps(node)])  # a lease without a node is cleaned up
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "bench-node"},
            "spec": {"holderIdentity": "bench-node", "leaseDurationSeconds": 40},
        }
        self._create(LEASE.rpartition("/")[0], [json.dumps(lease)])

    def _create(self, collection: str, bodies: list[str]) -> None:
        done = self.plane.load(
            [["POST", collection, body] for body in bodies], len(bodies), min(16, len(bodies))
        )
        if done["statuses"] != {"201": len(bodies)}:
            raise SystemExit(f"{collection}: creates were refused: {done['statuses']}")

    def measure(self, seconds: float, connections: int, mark: str) -> dict[str, Any]:
        """The callers, with so many loud connections beside them (0: none)."""
        callers = [Caller(name, request) for name, request in self._requests.items()]
        out: dict[str, Any] = {}
        loud = None
        if connections:
            command = [sys.executable, __file__, "loud", self.plane.url, self.loud, str(self.plane.ca)]
            command += [str(connections), str(seconds + 2), mark]
            loud = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(19)
            )
            assert loud.stdout is not None
            loud.stdout.readline()  # it has begun
            time.sleep(0.5)
        asyncio.run(call_all(self.plane.url, str(self.plane.ca), callers, seconds))
        if loud is not None:
            told, _ = loud.communicate(timeout=60)
            out["loud"] = json.loads(told)
        return {**out, **{each.name: each.report() for each in callers}}

    def creates(self, token: str, start: int, connections: int) -> tuple[float, float]:
        """A block; microseconds of processor time for each, and how many a second."""
        from api import pod, run_load
        from digests import cpu_ns

        requests = [["POST", "/api/v1/namespaces/default/pods", pod(n)] for n in range(start, start + BLOCK)]
        before = cpu_ns(self.plane.process.pid)
        done = run_load(self.plane.url, requests, BLOCK, connections, token, self.plane.ca)
        used = cpu_ns(self.plane.process.pid) - before
        if done["statuses"] != {"201": BLOCK}:
            raise SystemExit(f"creates were refused: {done['statuses']}")
        return used / BLOCK / 1000, float(str(done["per_second"]))


def compare(options: argparse.Namespace) -> dict[str, Any]:
    from api import Plane

    class Without(Plane):
        def command(self) -> list[str]:
            return [sys.executable, str(HERE / "fairness.py")]

    class Switched(Plane):
        def command(self) -> list[str]:
            return [sys.executable, str(HERE / "fairness.py"), "switched"]

    out: dict[str, Any] = {
        "bench": "fairness",
        "connections": options.connections,
        "objects": options.objects,
    }
    with tempfile.TemporaryDirectory() as scratch:
        benches = {}
        for mode, made in (("on", Plane), ("off", Without)):
            if mode in options.modes:
                benches[mode] = Bench(made(Path(scratch) / mode, *options.options), options.objects)
        try:
            found: dict[str, dict[str, list[Any]]] = {mode: {"quiet": [], "loud": []} for mode in benches}
            for number in range(options.rounds):
                for mode in list(benches) if number % 2 else list(reversed(benches)):
                    for case, connections in (("quiet", 0), ("loud", options.connections)):
                        told = benches[mode].measure(options.seconds, connections, f"{mode}-{number}")
                        found[mode][case].append(told)
            if options.rounds:
                out["rounds"] = found
                out["p99_loud_to_quiet"] = {mode: ratios(found[mode]) for mode in benches}
        finally:
            end(benches)
    if options.creates:
        out["creates"] = compare_creates(options.creates, Switched)
    return out


def end(benches: dict[str, Bench]) -> None:
    for each in benches.values():
        each.plane.process.terminate()
        each.plane.process.wait(20)


def compare_creates(creates: int, plane: Any) -> dict[str, Any]:
    """As `bench/api.py` measures them: an API without controllers."""
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(plane(Path(scratch) / "switched", "--without-controllers"), 20)
        cases = (("exempt", "off"), ("not_exempt", "off"), ("control", "on"))
        try:
            return {
                who: cost(bench, who, other, creates, number * 1_000_000)
                for number, (who, other) in enumerate(cases, 1)
            }
        finally:
            end({"": bench})


def ratios(found: dict[str, list[Any]]) -> dict[str, Any]:
    """Of each caller: the median over the rounds of its p99, loud and quiet, and how they compare."""
    out = {}
    for name in ("lease", "person", "admin"):
        p99 = {case: statistics.median(each[name]["p99_ms"] for each in found[case]) for case in found}
        out[name] = {
            "quiet_ms": p99["quiet"],
            "loud_ms": p99["loud"],
            "ratio": round(p99["loud"] / p99["quiet"], 2),
        }
    return out


def cost(bench: Bench, who: str, other: str, creates: int, start: int) -> dict[str, Any]:
    """Blocks with fairness against blocks with `other`; which comes first changes from pair to pair."""
    taken: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
    token = bench.plane.token if who == "exempt" else bench.loud
    for number in range(-1, creates // BLOCK):  # the first pair warms up
        for place, case in enumerate(("on", "off") if number % 2 else ("off", "on")):
            fair = case == "on" or other == "on"
            os.kill(bench.plane.process.pid, signal.SIGUSR2 if fair else signal.SIGUSR1)
            block = bench.creates(token, start + (2 * (number + 1) + place) * BLOCK, 64)
            if number >= 0:
                taken[case].append(block)
    out: dict[str, Any] = {"creates_each": creates, "block": BLOCK}
    for index, what in enumerate(("cpu_us", "per_second")):
        pairs = [(on[index], off[index]) for on, off in zip(taken["on"], taken["off"], strict=True)]
        out[what] = {
            "on": round(statistics.median(on for on, _ in pairs), 1),
            "off": round(statistics.median(off for _, off in pairs), 1),
            "ratio": round(statistics.median(on / off for on, off in pairs), 4),
            "ratio_of_sums": round(sum(on for on, _ in pairs) / sum(off for _, off in pairs), 4),
        }
    return out


def main() -> None:
    if sys.argv[1:2] == ["up"] or sys.argv[1:2] == ["token"]:
        sys.exit(without_fairness(sys.argv[1:]))
    if sys.argv[1:2] == ["switched"]:
        sys.exit(without_fairness(sys.argv[2:], switched=True))
    if sys.argv[1:2] == ["loud"]:
        import uvloop

        url, token, ca, connections, seconds, mark = sys.argv[2:]
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            told = runner.run(be_loud(url, token, ca, int(connections), float(seconds), mark))
        print(json.dumps(told))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="on one line instead of many")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=200, help="of the loud client")
    parser.add_argument("--objects", type=int, default=2000, help="that it lists")
    parser.add_argument("--creates", type=int, default=10_000, help="of each user, by blocks; 0: none")
    parser.add_argument("--modes", nargs="*", default=["on", "off"])
    parser.add_argument("--options", nargs="*", default=[], help="of `fairlead up`")
    options = parser.parse_args()
    print(json.dumps(compare(options), indent=None if options.json else 1))


if __name__ == "__main__":
    main()
