"""Creates pods and waits until each is bound, from a process of its own. Started by `scheduling.py`.

    python bench/bound.py --url https://127.0.0.1:7443 --token T --ca F --connections 64 --plan PLAN

PLAN is a JSON file: {"requests": [[method, path, body], ...], "names": [...], "watch": path}. A pod counts from the
moment its create is sent until a watch shows it with a node, which is after its binding has reached the disk.
Prints one JSON line: pods bound, seconds from the first create to the last binding, latencies, answers by status.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import time
from urllib.parse import urlsplit

import msgspec
import uvloop
from load import Client, Load, encoded

QUIET_SECONDS = 30.0


class _Meta(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct):
    nodeName: str = ""  # noqa: N815 (as it is spelled on the wire)


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Bound(asyncio.Protocol):
    """One watch: when each pod was first seen with a node, and where that was."""

    def __init__(self, request: bytes) -> None:
        self.at: dict[str, float] = {}
        self.nodes: dict[str, str] = {}
        self.moved = 0  # seen with another node than before: must stay 0
        self.opened = asyncio.get_running_loop().create_future()
        self._request = request
        self._rest = b""
        self._event = msgspec.json.Decoder(_Event).decode
        self._pod = msgspec.json.Decoder(_Pod).decode

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            if int(data[9:12]) != 200:
                raise SystemExit(f"the watch was refused: {data[:500]!r}")
            self.opened.set_result(None)
        now = time.perf_counter()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"{"):  # the rest is the length of a chunk, or empty
                self._see(line, now)

    def _see(self, line: bytes, now: float) -> None:
        event = self._event(line)
        if event.type not in ("ADDED", "MODIFIED"):
            return
        pod = self._pod(event.object)
        name, node = pod.metadata.name, pod.spec.nodeName
        if node:
            self.at.setdefault(name, now)
            self.moved += self.nodes.setdefault(name, node) != node


class Timed(Load):
    """A load that remembers when each of its requests was sent."""

    def __init__(self, requests: list[bytes], connections: int) -> None:
        super().__init__(requests, len(requests), connections)
        self.sent_at: list[float] = []

    def next_request(self) -> bytes | None:
        request = super().next_request()
        if request is not None:
            self.sent_at.append(time.perf_counter())
        return request


async def run(options: argparse.Namespace) -> dict[str, object]:
    with open(options.plan) as file:
        plan = json.load(file)
    url = urlsplit(options.url)
    tls = ssl.create_default_context(cafile=options.ca)
    loop = asyncio.get_running_loop()
    (watch,) = encoded([["GET", plan["watch"], ""]], url.netloc, options.token)
    bound = Bound(watch)
    await loop.create_connection(lambda: bound, url.hostname, url.port, ssl=tls)
    await bound.opened
    load = Timed(encoded(plan["requests"], url.netloc, options.token), options.connections)
    for _ in range(options.connections):
        await loop.create_connection(lambda: Client(load), url.hostname, url.port, ssl=tls)
    creates = load.report(await load.ended)
    names = plan["names"]
    await _all_bound(bound, names)
    latencies = sorted(bound.at[n] - load.sent_at[i] for i, n in enumerate(names) if n in bound.at)
    if not latencies:
        raise SystemExit("no pod was bound")
    seconds = max(bound.at[name] for name in names if name in bound.at) - load.began
    return {
        "bound": len(latencies),
        "moved": bound.moved,
        "seconds": round(seconds, 3),
        "per_second": round(len(latencies) / seconds, 1),
        "latency_ms": {
            name: round(latencies[min(len(latencies) - 1, int(len(latencies) * share))] * 1000, 1)
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        },
        "nodes_used": len(set(bound.nodes.values())),
        "creates": creates,
    }


async def _all_bound(bound: Bound, names: list[str]) -> None:
    """Until all are, or nothing has moved for a while."""
    wanted, seen, moved_at = set(names), -1, time.perf_counter()
    while not wanted <= bound.at.keys() and time.perf_counter() - moved_at < QUIET_SECONDS:
        if len(bound.at) != seen:
            seen, moved_at = len(bound.at), time.perf_counter()
        await asyncio.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--ca")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--plan", required=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
