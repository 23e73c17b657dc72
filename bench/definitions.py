"""Large CustomResourceDefinitions: what each write of one costs the server, and how long its loop stands still for it.

    python bench/definitions.py [--json] [--sizes 100,600,1500,2500] [--shapes described,versions] [--profile PHASE]

A server with all controllers in a thread of this process, its store on disk; a client that only sends and reads bytes.
Per shape (`definition_shapes.py`) and size in kB, each step until the server is quiet again:

    create       POST
    touch        PUT of what is stored, with one annotation changed
    grow         PUT with one field more in the schema of one version
    unchanged    PUT of what is stored
    label        a merge patch of one label
    annotate     a strategic merge patch of one annotation, as `kubectl apply` sends it
    condition    a merge patch of the status, as a controller writes it
    apply        server-side apply of the whole by another manager, with force
    apply_again  the same once more
    refused      POST of one with a mistake deep inside
    openapi      GET /openapi/v3, which names the new documents, and the document itself
    swagger      GET /openapi/v2 as protobuf
    object       POST of an object of the kind
    delete       DELETE, until it is gone

`busy_ms` is the CPU time of the loop's thread, `held_ms` the most of it between two turns of the loop, seen by a timer
in that thread: meanwhile no lease is renewed and no watch told. Both are CPU time, so they hold on a busy machine too.
`--profile` prints where the time of one step goes.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import cProfile
import gc
import http.client
import json
import pstats
import ssl
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.pop(0)  # this folder, which has a queue.py
sys.path.insert(0, str(Path(__file__).parent.parent))

from bench import definition_shapes as shapes

from fairlead.runtime.server.settings import ServeSettings
from fairlead.testing.in_process import InProcess
from fairlead.testing.planes import Plane

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON, MERGE, STRATEGIC, APPLY = (
    "application/json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_TICK_SECONDS = 0.001
_IDLE_TICK_SECONDS = 0.0003  # of CPU: less than this is the timer itself
_QUIET_SECONDS = 0.3
_QUIET_TURNS = 20
_GONE_SECONDS = 60.0
_QUIET_CPU_SECONDS = 0.003


class Probe:
    """On the server's loop: how long it did not turn, in CPU time of its thread."""

    def __init__(self) -> None:
        self.busy = self.held = 0.0
        self.turns = 0
        self.profile: cProfile.Profile | None = None

    async def run(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.thread_time()
            self.turns += 1
            if now - last > _IDLE_TICK_SECONDS:
                self.busy += now - last
                self.held = max(self.held, now - last)
            last = time.thread_time()

    async def begin(self) -> None:
        self.busy = self.held = 0.0

    async def start_profile(self) -> None:
        self.profile = cProfile.Profile()
        self.profile.enable()

    async def stop_profile(self) -> None:
        assert self.profile is not None
        self.profile.disable()
        pstats.Stats(self.profile).sort_stats("tottime").print_stats(30)


class Client:
    def __init__(self, url: str, token: str, ca: Path) -> None:
        self._token = token
        context = ssl.create_default_context(cafile=ca)
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, timeout=120, context=context)

    def ask(
        self, method: str, path: str, body: bytes | None = None, content_type: str = JSON, accept: str = JSON
    ) -> tuple[int, bytes]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": accept,
            "Content-Type": content_type,
            "User-Agent": "bench/1",
        }
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


class Bench:
    def __init__(self, backend: InProcess, client: Client, profiled: str) -> None:
        self._backend = backend
        self._client = client
        self._profiled = profiled
        self._probe = Probe()
        self._backend.do(self._install())
        self._quiet()

    async def _install(self) -> None:
        self._running = asyncio.create_task(self._probe.run())

    async def remove(self) -> None:
        self._running.cancel()

    def of(self, shape: str, size: int) -> dict[str, Any]:
        wanted = shapes.definition(shape, size)
        name = wanted["metadata"]["name"]
        at, encoded = f"{DEFINITIONS}/{name}", _encoded(wanted)
        results: dict[str, Any] = {"bytes": len(encoded), "schemas": shapes.schemas_in(wanted)}

        def stored() -> Any:
            return json.loads(self._ask(200, "GET", at)[1])

        def measured(step: str, act: Callable[[], None]) -> None:
            results[step] = self._measured(step, act)
            print(f"{shape} {size // 1000} kB: {step} {results[step]}", file=sys.stderr)

        measured("create", lambda: self._sent(201, "POST", DEFINITIONS, encoded))
        touched = stored()
        touched["metadata"]["annotations"] = {"touched": "1"}
        body = _encoded(touched)
        measured("touch", lambda: self._sent(200, "PUT", at, body))
        grown = stored()
        schema = grown["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"]["grown"] = {"type": "string"}
        grown_body = _encoded(grown)
        measured("grow", lambda: self._sent(200, "PUT", at, grown_body))
        same_body = _encoded(stored())
        measured("unchanged", lambda: self._sent(200, "PUT", at, same_body))
        label = _encoded({"metadata": {"labels": {"app": "bench"}}})
        measured("label", lambda: self._sent(200, "PATCH", at, label, MERGE))
        note = _encoded(
            {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}
        )
        measured("annotate", lambda: self._sent(200, "PATCH", at, note, STRATEGIC))
        conditions = stored()["status"]["conditions"]
        own = {"type": "Ready", "status": "True", "reason": "Bench", "message": "measured"}
        told = _encoded({"status": {"conditions": [*conditions, own]}})
        measured("condition", lambda: self._sent(200, "PATCH", f"{at}/status", told, MERGE))
        applied = f"{at}?fieldManager=bench-apply&force=true"
        measured("apply", lambda: self._sent(200, "PATCH", applied, encoded, APPLY))
        measured("apply_again", lambda: self._sent(200, "PATCH", applied, encoded, APPLY))
        refused = _encoded(_mistaken(wanted))
        measured("refused", lambda: self._sent(422, "POST", DEFINITIONS, refused))
        measured("openapi", lambda: self._documents())
        asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        measured("swagger", lambda: self._sent(200, "GET", "/openapi/v2", None, JSON, asked))
        plural = wanted["spec"]["names"]["plural"]
        one = {"apiVersion": f"{shapes.GROUP}/v1", "kind": wanted["spec"]["names"]["kind"]}
        obj = _encoded({**one, "metadata": {"name": "one"}, "spec": {}})
        objects = f"/apis/{shapes.GROUP}/v1/namespaces/default/{plural}"
        measured("object", lambda: self._sent(201, "POST", objects, obj))
        measured("delete", lambda: self._sent(200, "DELETE", at))
        deadline = time.monotonic() + _GONE_SECONDS
        while self._client.ask("GET", at)[0] != 404:
            time.sleep(0.1)
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} was not gone after {_GONE_SECONDS:.0f} s")
        return results

    def _documents(self) -> None:
        index = json.loads(self._ask(200, "GET", "/openapi/v3")[1])
        address = index["paths"][f"apis/{shapes.GROUP}/v1"]["serverRelativeURL"]
        self._ask(200, "GET", address)

    def _sent(self, expected: int, *request: Any) -> None:
        self._ask(expected, *request)

    def _ask(self, expected: int, *request: Any) -> tuple[int, bytes]:
        status, text = self._client.ask(*request)
        if status != expected:
            raise SystemExit(f"{request[:2]} was answered with {status}: {text[:500]!r}")
        return status, text

    def _measured(self, step: str, act: Callable[[], None]) -> dict[str, float]:
        gc.collect()
        self._backend.do(self._probe.begin())
        if step == self._profiled:
            self._backend.do(self._probe.start_profile())
        act()
        self._quiet()
        if step == self._profiled:
            self._backend.do(self._probe.stop_profile())
        return {"busy_ms": round(self._probe.busy * 1000, 1), "held_ms": round(self._probe.held * 1000, 1)}

    def _quiet(self) -> None:
        """Until the server has nothing to do."""
        while True:
            busy, turns = self._probe.busy, self._probe.turns
            time.sleep(_QUIET_SECONDS)
            if self._probe.turns - turns > _QUIET_TURNS and self._probe.busy - busy < _QUIET_CPU_SECONDS:
                return


def _encoded(tree: Any) -> bytes:
    return json.dumps(tree, separators=(",", ":")).encode()


def _mistaken(wanted: shapes.Json) -> shapes.Json:
    """A definition of another name whose last field of the last version has no type."""
    found = copy.deepcopy(wanted)
    names = found["spec"]["names"]
    for field in names:
        names[field] = f"Other{names[field]}" if field.lower().endswith("kind") else f"other{names[field]}"
    found["metadata"]["name"] = f"{names['plural']}.{shapes.GROUP}"
    schema = found["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["properties"]["mistaken"] = {"description": "no type"}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", default="100,600,1500,2500", help="in kB, with commas between them")
    parser.add_argument("--shapes", default=",".join(shapes.SHAPES))
    parser.add_argument("--profile", default="", metavar="STEP")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "data"
        directory.mkdir(mode=0o700)
        settings = ServeSettings(directory, "127.0.0.1", 0, banner=False, sample=False)
        backend = InProcess(settings, {}, True)
        plane = Plane(backend, directory)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)  # as runtime/server/process.py does
        try:
            admin = plane.user("admin")
            bench = Bench(backend, Client(admin.url, admin.token, admin.ca), options.profile)
            for shape in options.shapes.split(","):
                for size in options.sizes.split(","):
                    results[f"{shape} {size} kB"] = bench.of(shape, int(size) * 1000)
            backend.do(bench.remove())
        finally:
            plane.close()
    if options.json:
        print(json.dumps(results, indent=2))
        return 0
    for name, steps in results.items():
        print(f"{name}: {steps.pop('bytes'):,} bytes, {steps.pop('schemas'):,} schemas")
        for step, figures in steps.items():
            print(f"  {step:<12} busy {figures['busy_ms']:>9,} ms   held {figures['held_ms']:>9,} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
