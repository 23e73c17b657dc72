"""Changes told to many watchers over HTTPS: how late each learns of them, and what it costs the server.

    python bench/watch.py [--json] [--watchers 1000] [--rounds 30] [--changes 10000] [--few 50]

Starts `fairlead up --without-controllers` on a fresh directory. Three runs, each on a ConfigMap namespace of its own:

    fan_out     one change, told to all of `--watchers`; the next one when all have it; `--rounds` times
    stream      `--changes` changes by 16 writers as fast as they are acknowledged, told to `--few` watchers
    unwatched   the same changes with nobody watching: what the writes alone cost

Watchers are in a process of their own, on the loopback. `latency_ms` is from when a writer sends a change until a
watcher has read it, so it holds the durable write as well; `write_ms` is that write alone. `server_cpu_us_per_event` is
the server's CPU time per change and watcher, that of the writes not counted where they were measured alone (`stream`).
Wall-clock figures mean something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import api
import uvloop

WRITERS = 16
QUIET_SECONDS = 120.0
_STAMP = b'"sent":"'


def percentiles(values: list[float]) -> dict[str, float]:
    """In milliseconds, of values in nanoseconds."""
    ordered = sorted(values)
    if not ordered:
        return {}
    found = {
        f"p{share:g}": ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]
        for share in (50, 90, 99, 99.9)
    }
    return {name: round(value / 1e6, 3) for name, value in {**found, "max": ordered[-1]}.items()}


def trusting(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)


class Watcher(asyncio.Protocol):
    """One stream. Every frame ends in a newline; its change carries when it was sent."""

    def __init__(self, request: bytes, latencies: list[int], seen: dict[bytes, int]) -> None:
        self._request = request
        self._latencies = latencies
        self._seen = seen
        self._rest = b""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if not self.begun.done() and b"\r\n\r\n" in data:
            self.begun.set_result(None)
        now = time.monotonic_ns()
        text, position = self._rest + data, 0
        while True:
            found = text.find(_STAMP, position)
            end = text.find(b'"', found + len(_STAMP)) if found >= 0 else -1
            if end < 0:
                break
            position, stamp = end, text[found + len(_STAMP) : end]
            self.count += 1
            self._latencies.append(now - int(stamp))
            self._seen[stamp] = self._seen.get(stamp, 0) + 1
        # A stamp, or the word before it, may be cut: its beginning waits for the next piece.
        self._rest = text[found:] if found >= 0 else text[position:][1 - len(_STAMP) :]


async def watch(url: str, token: str, ca: str, namespace: str, watchers: int) -> None:
    """The watchers' process: says `ready`, then answers each line it is given with what was seen since."""
    loop = asyncio.get_running_loop()
    host, _, port = url.removeprefix("https://").partition(":")
    request = (
        f"GET /api/v1/namespaces/{namespace}/configmaps?watch=1&timeoutSeconds=3600 HTTP/1.1\r\n"
        f"host: {host}\r\nauthorization: Bearer {token}\r\naccept: application/json\r\n\r\n"
    ).encode()
    latencies: list[int] = []
    seen: dict[bytes, int] = {}
    context = trusting(ca)
    opened: list[Watcher] = []
    for first in range(0, watchers, 50):
        made = [
            await loop.create_connection(
                lambda: Watcher(request, latencies, seen), host, int(port), ssl=context, server_hostname=host
            )
            for _ in range(first, min(first + 50, watchers))
        ]
        opened += [watcher for _, watcher in made]
        await asyncio.gather(*(watcher.begun for _, watcher in made))
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        expected = int(line) * watchers
        deadline = loop.time() + QUIET_SECONDS
        while len(latencies) < expected and loop.time() < deadline:
            await asyncio.sleep(0.002)
        told = {
            "delivered": len(latencies),
            "expected": expected,
            "each_once": set(seen.values()) <= {watchers},
            "latency_ms": percentiles([float(each) for each in latencies]),
        }
        latencies.clear()
        seen.clear()
        print(json.dumps(told), flush=True)


class Watchers:
    """That process, from outside."""

    def __init__(self, plane: api.Plane, namespace: str, count: int) -> None:
        words = [plane.url, plane.token, str(plane.ca), namespace, str(count)]
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--as-watchers", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise SystemExit("the watchers could not begin")

    def seen(self, changes: int) -> dict[str, Any]:
        """What they saw, once each has seen this many changes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{changes}\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


async def write(plane: api.Plane, namespace: str, changes: int, writers: int) -> list[float]:
    """That many changes to `writers` ConfigMaps; nanoseconds each took."""
    host, _, port = plane.url.removeprefix("https://").partition(":")
    context = trusting(str(plane.ca))
    took: list[float] = []
    left = changes

    async def one(number: int) -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname=host)
        head = (
            f"PATCH /api/v1/namespaces/{namespace}/configmaps/shared-{number} HTTP/1.1\r\nhost: {host}\r\n"
            f"authorization: Bearer {plane.token}\r\ncontent-type: application/merge-patch+json\r\n"
        )
        while left > 0:
            left -= 1
            began = time.monotonic_ns()
            body = json.dumps({"data": {"sent": str(began)}}, separators=(",", ":"))
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in answer[:20]:
                raise SystemExit(f"a change was refused: {answer[:200]!r}")
            length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            took.append(float(time.monotonic_ns() - began))
        writer.close()

    await asyncio.gather(*(one(number) for number in range(writers)))
    return took


def make(plane: api.Plane, namespace: str, count: int) -> None:
    """A namespace with ConfigMaps of about 600 bytes."""
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    requests = [["POST", "/api/v1/namespaces", json.dumps(named)]]
    for number in range(count):
        labels = {"app": "web", "tier": "front", "team": "payments"}
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"shared-{number}", "labels": labels},
            "data": {"settings": "x" * 300},
        }
        requests.append(["POST", f"/api/v1/namespaces/{namespace}/configmaps", json.dumps(obj)])
    for request in requests:
        plane.load([request], 1, 1)


def fan_out(plane: api.Plane, watchers: int, rounds: int) -> dict[str, Any]:
    make(plane, "fan-out", 1)
    pid = plane.process.pid
    before_mb = api.resident_mb(pid)
    many = Watchers(plane, "fan-out", watchers)
    try:
        open_mb = api.resident_mb(pid)
        lasts: list[float] = []
        found: list[dict[str, Any]] = []
        cpu = api.cpu_seconds(pid)
        for _ in range(rounds):
            uvloop.run(write(plane, "fan-out", 1, 1))
            found.append(many.seen(1))
            lasts.append(found[-1]["latency_ms"].get("max", 0.0) * 1e6)
        used = api.cpu_seconds(pid) - cpu
        delivered = sum(each["delivered"] for each in found)
        return {
            "watchers": watchers,
            "changes": rounds,
            "delivered": delivered,
            "lost": watchers * rounds - delivered,
            "each_once": all(each["each_once"] for each in found),
            "latency_ms_p50_of_rounds": percentiles([each["latency_ms"]["p50"] * 1e6 for each in found]),
            "latency_ms_last_watcher": percentiles(lasts),
            "server_cpu_us_per_event": round(used / max(1, delivered) * 1e6, 2),
            "resident_mb": {"before": before_mb, "watchers_open": open_mb, "after": api.resident_mb(pid)},
        }
    finally:
        many.close()


def stream(plane: api.Plane, watchers: int, changes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    pid = plane.process.pid
    make(plane, "unwatched", WRITERS)
    make(plane, "stream", WRITERS)
    cpu = api.cpu_seconds(pid)
    alone = uvloop.run(write(plane, "unwatched", changes, WRITERS))
    writes = api.cpu_seconds(pid) - cpu
    before_mb = api.resident_mb(pid)
    few = Watchers(plane, "stream", watchers)
    try:
        cpu, began = api.cpu_seconds(pid), time.perf_counter()
        took = uvloop.run(write(plane, "stream", changes, WRITERS))
        seen = few.seen(changes)
        seconds = time.perf_counter() - began
        used = api.cpu_seconds(pid) - cpu
    finally:
        few.close()
    told = {
        "watchers": watchers,
        "changes": changes,
        "delivered": seen["delivered"],
        "lost": seen["expected"] - seen["delivered"],
        "each_once": seen["each_once"],
        "events_per_second": round(seen["delivered"] / seconds),
        "latency_ms": seen["latency_ms"],
        "write_ms": percentiles(took),
        "server_cpu_us_per_event": round((used - writes) / max(1, seen["delivered"]) * 1e6, 2),
        "resident_mb": {"before": before_mb, "after": api.resident_mb(pid)},
    }
    return told, {
        "changes": changes,
        "write_ms": percentiles(alone),
        "server_cpu_us_per_write": round(writes / changes * 1e6, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--as-watchers", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_watchers:
        url, token, ca, namespace, count = options.as_watchers
        uvloop.run(watch(url, token, ca, namespace, int(count)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        plane = api.Plane(Path(scratch) / "data", "--without-controllers")
        try:
            result = {"fan_out": fan_out(plane, options.watchers, options.rounds)}
            result["stream"], result["unwatched"] = stream(plane, options.few, options.changes)
        finally:
            plane.process.terminate()
            plane.process.wait(30)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, figures in result.items():
            print(name)
            for key, value in figures.items():
                print(f"  {key:<28} {value}")
    lost = result["fan_out"]["lost"] + result["stream"]["lost"]
    return 1 if lost or not result["stream"]["each_once"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
