"""Large changes told to many watches at once: what that costs other clients in time, and the server in memory.

    python bench/watches.py [--json] [--watches 2000] [--writes 30] [--bytes 300000] [--silent]

Starts `fairlead up --without-controllers` on a fresh directory. A viewer opens `--watches` watches of one namespace, in a
process of its own; an administrator writes a ConfigMap of `--bytes` there `--writes` times, each as soon as the one before
is acknowledged. Meanwhile another client, a third process, asks for `/livez` and for a small object, in turn, every few
milliseconds, until all watches have all changes or are cut. With `--silent` the watches are never read.

    quiet, busy          latencies of that other client: before the writes, and from the first write to the end
      ms                 as it saw them
      machine_ms         of each, for how long server or client, whichever did longer, waited for a processor that others
                         had (schedstat): the least that the machine is to blame for
      own_ms             the difference: the most that the server itself made it wait
      late_ms            by how much the client came late from its pauses
    resident_mb          of the server: before the watches, with them, the most from then on, and at the end
    delivered, ended     changes that the watches have read, watches that were ended

Needs two file descriptors per watch (`ulimit -n`). Wall-clock figures mean something on a quiet machine only.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import api
import uvloop
from watch import percentiles, trusting

NAMESPACE = "default"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SETTLE_SECONDS = 180.0
SILENT_SECONDS = 15.0
PAUSE_SECONDS = 0.005
_ENDS = b"}\n\r\n"


class Watch(asyncio.Protocol):
    """One stream; of what it reads it counts the ends of frames."""

    def __init__(self, request: bytes, silent: bool) -> None:
        self._request = request
        self._silent = silent
        self._tail = b""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.count = 0
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        if not self.begun.done() and b"\r\n\r\n" in data:
            self.begun.set_result(None)
            if self._silent:
                self._transport.pause_reading()
        edge = self._tail + data[: len(_ENDS) - 1]
        self.count += edge.count(_ENDS) + data.count(_ENDS)
        self._tail = (
            (self._tail + data)[-(len(_ENDS) - 1) :] if len(data) < len(_ENDS) else data[1 - len(_ENDS) :]
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        if not self.begun.done():
            self.begun.set_result(None)


async def watch(url: str, token: str, ca: str, watches: int, since: str, silent: bool) -> None:
    """The watches' process: says `ready`, and tells at each line it is given how far they are."""
    loop = asyncio.get_running_loop()
    host, _, port = url.removeprefix("https://").partition(":")
    request = (
        f"GET {MAPS}?watch=1&resourceVersion={since} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n"
    ).encode()
    context = trusting(ca)
    opened: list[Watch] = []
    for _ in range(watches):
        _, made = await loop.create_connection(
            lambda: Watch(request, silent), host, int(port), ssl=context, server_hostname=host
        )
        opened.append(made)
    await asyncio.gather(*(each.begun for each in opened))
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        counts = {
            "delivered": sum(each.count for each in opened),
            "ended": sum(each.ended for each in opened),
        }
        print(json.dumps(counts), flush=True)


def waited_ns(thread: str) -> int:
    """For how long a thread was ready to run and did not, since it began."""
    return int(Path(f"/proc/{thread}/schedstat").read_text().split()[1])


def probe(port: str, token: str, ca: str, pid: str) -> None:
    """The other client's process: asks until a line comes, then tells what it saw."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    server, mine = f"{pid}/task/{pid}", f"self/task/{threading.get_native_id()}"
    client = http.client.HTTPSConnection("127.0.0.1", int(port), timeout=300, context=trusting(ca))
    headers = {"Authorization": f"Bearer {token}"}
    seen: list[float] = []
    machine: list[float] = []
    late: list[float] = []
    peak_mb = 0.0
    while not stop.is_set():
        for path in ("/livez", "/api/v1/namespaces/kube-system"):
            before = waited_ns(server), waited_ns(mine)
            began = time.perf_counter_ns()
            client.request("GET", path, headers=headers)
            client.getresponse().read()
            ended = time.perf_counter_ns()
            seen.append(float(ended - began))
            # Both may have waited at once: the longer of the two is the least that the machine is to blame for.
            waited = max(waited_ns(server) - before[0], waited_ns(mine) - before[1])
            machine.append(min(seen[-1], float(waited)))
            paused = time.perf_counter_ns()
            time.sleep(PAUSE_SECONDS)
            late.append(float(time.perf_counter_ns() - paused) - PAUSE_SECONDS * 1e9)
        peak_mb = max(peak_mb, api.resident_mb(int(pid)))
    own = [one - other for one, other in zip(seen, machine, strict=True)]
    told = {"requests": len(seen), "ms": percentiles(seen), "machine_ms": percentiles(machine)}
    told |= {"own_ms": percentiles(own), "late_ms": percentiles(late), "peak_mb": peak_mb}
    print(json.dumps(told), flush=True)


class Other:
    """The other client, from here."""

    def __init__(self, plane: api.Plane) -> None:
        words = [str(plane.port), plane.token, str(plane.ca), str(plane.process.pid)]
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--as-other", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> dict[str, Any]:
        told, _ = self._process.communicate("\n")
        found: dict[str, Any] = json.loads(told)
        return found


class Caller:
    """The administrator's one connection."""

    def __init__(self, plane: api.Plane) -> None:
        self._headers = {"Authorization": f"Bearer {plane.token}", "Content-Type": "application/json"}
        self._client = http.client.HTTPSConnection(
            "127.0.0.1", plane.port, timeout=300, context=trusting(str(plane.ca))
        )

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        self._client.request(method, path, json.dumps(body) if body else None, self._headers)
        answer = self._client.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)


def measure(plane: api.Plane, watches: int, writes: int, size: int, silent: bool) -> dict[str, Any]:
    pid, call = plane.process.pid, Caller(plane)
    made = call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}})
    command = [str(api.FAIRLEAD), "token", "create", "--role", "viewer", "--name", "many"]
    command += ["--data-dir", str(plane.directory)]
    token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    before_mb = api.resident_mb(pid)
    words = [
        plane.url,
        token,
        str(plane.ca),
        str(watches),
        made["metadata"]["resourceVersion"],
        str(int(silent)),
    ]
    watching = subprocess.Popen(
        [sys.executable, __file__, "--as-watches", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdin is not None
    assert watching.stdout is not None
    try:
        if watching.stdout.readline() != "ready\n":
            raise SystemExit("the watches could not begin")
        open_mb = api.resident_mb(pid)
        quiet = Other(plane)
        time.sleep(3)
        told = {"watches": watches, "writes": writes, "bytes": size, "silent": silent, "quiet": quiet.stop()}
        told["quiet"].pop("peak_mb")
        busy, cpu, began = Other(plane), api.cpu_seconds(pid), time.perf_counter()
        took: list[float] = []
        for number in range(writes):
            made["data"] = {"text": chr(97 + number % 26) * size}
            start = time.perf_counter_ns()
            made = call("PUT", f"{MAPS}/large", made)
            took.append(float(time.perf_counter_ns() - start))
        counts: dict[str, int] = {}
        deadline = time.monotonic() + (SILENT_SECONDS if silent else SETTLE_SECONDS)
        while time.monotonic() < deadline:
            watching.stdin.write("\n")
            watching.stdin.flush()
            counts = json.loads(watching.stdout.readline())
            if not silent and counts["delivered"] >= (watches - counts["ended"]) * writes:
                break
            time.sleep(0.2)
        seconds = time.perf_counter() - began
        told |= {"busy": busy.stop(), "write_ms": percentiles(took), "seconds": round(seconds, 1), **counts}
        told["server_cpu_seconds"] = round(api.cpu_seconds(pid) - cpu, 1)
        told["resident_mb"] = {
            "before": before_mb,
            "watches_open": open_mb,
            "most": max(told["busy"].pop("peak_mb"), api.resident_mb(pid)),
            "end": api.resident_mb(pid),
        }
        return told
    finally:
        watching.kill()
        watching.wait()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--watches", type=int, default=2000)
    parser.add_argument("--writes", type=int, default=30)
    parser.add_argument("--bytes", type=int, default=300_000)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--as-watches", nargs=6, help=argparse.SUPPRESS)
    parser.add_argument("--as-other", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_other:
        probe(*options.as_other)
        return 0
    if options.as_watches:
        url, token, ca, count, since, silent = options.as_watches
        uvloop.run(watch(url, token, ca, int(count), since, silent == "1"))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        plane = api.Plane(Path(scratch) / "data", "--without-controllers")
        try:
            told = measure(plane, options.watches, options.writes, options.bytes, options.silent)
        finally:
            plane.process.terminate()
            plane.process.wait(30)
    if options.json:
        print(json.dumps(told, indent=2))
    else:
        for key, value in told.items():
            print(f"{key:<20} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
