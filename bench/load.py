"""Load from a process of its own: N keep-alive connections, each sends its next request when the last is answered.

    python bench/load.py --url https://127.0.0.1:7443 --token T --ca F --connections 64 --plan PLAN

PLAN is a JSON file: {"requests": [[method, path, body], ...]}; "repeat" wraps around until --count are done.
Prints one JSON line: count, seconds, per second, latency percentiles in ms, answers by status.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import ssl
import time
from collections import Counter
from urllib.parse import urlsplit

import uvloop

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Client(asyncio.Protocol):
    """One connection in closed loop."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.buffer = bytearray()
        self.need = 0
        self.began = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.load.connected(self)

    def send(self) -> None:
        request = self.load.next_request()
        if request is None:
            self.load.finished()
            return
        self.began = time.perf_counter()
        assert self.transport is not None
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        buffer = self.buffer
        buffer += data
        if not self.need:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(buffer, 0, end)
            if length is None:
                if b"chunked" not in buffer[:end]:
                    raise SystemExit("an answer without length")
                self.need = -(end + 4)
            else:
                self.need = end + 4 + int(length[1])
        if (self.need > 0 and len(buffer) < self.need) or (
            self.need < 0 and not buffer.endswith(b"0\r\n\r\n")
        ):
            return
        self.load.answered(time.perf_counter() - self.began, int(buffer[9:12]), len(buffer))
        self.buffer = bytearray()
        self.need = 0
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(exc)


class Load:
    def __init__(self, requests: list[bytes], count: int, connections: int) -> None:
        self.requests, self.count, self.connections = requests, count, connections
        self.sent = self.done = self.bytes = 0
        self.waiting: list[Client] = []
        self.latencies: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.ended = asyncio.get_running_loop().create_future()
        self.running = 0
        self.began = 0.0

    def connected(self, client: Client) -> None:
        self.waiting.append(client)
        if len(self.waiting) == self.connections:
            self.began = time.perf_counter()
            self.running = self.connections
            for each in self.waiting:
                each.send()

    def next_request(self) -> bytes | None:
        if self.sent >= self.count:
            return None
        request = self.requests[self.sent % len(self.requests)]
        self.sent += 1
        return request

    def answered(self, seconds: float, status: int, size: int) -> None:
        self.latencies.append(seconds)
        self.statuses[status] += 1
        self.bytes += size

    def finished(self) -> None:
        self.running -= 1
        if not self.running and not self.ended.done():
            self.ended.set_result(time.perf_counter())

    def lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(SystemExit(f"the server closed a connection: {exc}"))

    def report(self, ended: float) -> dict[str, object]:
        ordered = sorted(self.latencies)
        seconds = ended - self.began

        def at(share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 2)

        return {
            "count": len(ordered),
            "seconds": round(seconds, 3),
            "per_second": round(len(ordered) / seconds),
            "p50_ms": at(0.5),
            "p90_ms": at(0.9),
            "p99_ms": at(0.99),
            "max_ms": at(1.0),
            "statuses": dict(self.statuses),
            "bytes": self.bytes,
        }


def encoded(requests: list[list[str]], host: str, token: str) -> list[bytes]:
    head = f"Host: {host}\r\nAccept: application/json\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    found = []
    for method, path, body in requests:
        payload = body.encode() if body else b""
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        length = f"Content-Type: {form}\r\nContent-Length: {len(payload)}\r\n" if payload else ""
        found.append(f"{method} {path} HTTP/1.1\r\n{head}{length}\r\n".encode() + payload)
    return found


async def run(options: argparse.Namespace) -> dict[str, object]:
    with open(options.plan) as file:
        plan = json.load(file)
    url = urlsplit(options.url)
    requests = encoded(plan["requests"], url.netloc, options.token)
    tls = None
    if url.scheme == "https":
        tls = ssl.create_default_context(cafile=options.ca)
    loop = asyncio.get_running_loop()
    load = Load(requests, options.count or len(requests), options.connections)
    for _ in range(options.connections):
        await loop.create_connection(lambda: Client(load), url.hostname, url.port, ssl=tls)
    return load.report(await load.ended)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--ca")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--plan", required=True)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(run(options))))


if __name__ == "__main__":
    main()
