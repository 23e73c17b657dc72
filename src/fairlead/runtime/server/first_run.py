"""The first minute of a new plane: its sample workload, what to try next, and how far the sample has come.

Called by `process.py` once the port is open, on a new data directory with nodes. The sample (`first-run.yaml`) is
created through the API like anybody's objects, so it is in the audit log, and can be deleted for good.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from fairlead.core import codec
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.views import Node, Pod
from fairlead.port.request import Request
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import Reader

log = logging.getLogger("fairlead.first-run")

#: bound: plane | the progress of the sample is shown for | -
FIRST_RUN_SECONDS = 60.0
#: bound: plane | the sample waits for its nodes | applied anyhow
NODES_SECONDS = 5.0
NAMESPACE, NAME = "default", "hello"
_LOOK_SECONDS = 0.02
_SAMPLE = Path(__file__).with_name("first-run.yaml")

_TRY_SAMPLE = (
    "curl http://$(kubectl get service hello -o jsonpath='{.spec.clusterIP}'):8080/",
    "kubectl scale deployment hello --replicas=5",
    "fairlead progress deployment/hello",
)

_pod = msgspec.json.Decoder(Pod).decode
_node = msgspec.json.Decoder(Node).decode


def try_next(store: Reader, nodes: int, sample: bool) -> list[str]:
    """Lines that work when they are pasted. `sample`: it is about to be made."""
    if not nodes:
        return ["kubectl get namespaces"]
    exists = sample or store.get(Key("deployments.apps", NAMESPACE, NAME)) is not None
    return ["kubectl get nodes,pods -o wide", *(_TRY_SAMPLE if exists else ())]


def own_programs() -> str:
    """What a shell lacks to find `fairlead` as it is run now; "" if nothing."""
    here = Path(sys.executable).parent
    found = shutil.which("fairlead")
    if not (here / "fairlead").exists() or (found is not None and Path(found).parent == here):
        return ""
    return f" PATH={here}:$PATH"


async def make_sample(host: ServingHost, nodes: int) -> bool:
    """Create what the sample names; what exists is left as it is. True if all of it is there.

    Once the nodes are ready, so that it is spread over them; those that do not come are not waited for long.
    """
    import yaml  # here, because only a first run reads YAML in the server

    kinds = {(kind.api_version, kind.kind): kind for kind in CATALOG}
    documents = list(yaml.safe_load_all(_SAMPLE.read_text()))
    deadline = time.monotonic() + NODES_SECONDS
    while _ready_nodes(host.api.desk.read) < nodes and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_SECONDS)
    for document in documents:
        kind = kinds[document["apiVersion"], document["kind"]]
        body = codec.encode(document)
        reply = await host.call(
            Request("create", kind.group, kind.version, kind.plural, NAMESPACE, body=body)
        )
        if reply.status >= 400 and reply.status != 409:
            log.warning("the sample could not be made: %s", codec.decode(reply.body).get("message", ""))
            return False
    return True


def _ready_nodes(store: Reader) -> int:
    nodes = [_node(entry.data) for entry in store.list("nodes")]
    return sum(node.ready and not node.spec.taints for node in nodes)


class Progress:
    """How many pods of the sample are where; read from the store a few times a second, for at most a minute."""

    def __init__(self, store: Reader, began: float, wanted: int = 3) -> None:
        """`began`: when the plane was ready, by the monotonic clock."""
        self._store = store
        self._began = began
        self._wanted = wanted

    async def tell(self, say: Callable[[str], None], live: bool) -> None:
        began = self._began
        first = 0.0
        shown = ""
        while (spent := time.monotonic() - began) < FIRST_RUN_SECONDS:
            placed, running, ready = self._count()
            if running and not first:
                first = spent
            if ready >= self._wanted:
                break
            line = f"{placed} placed, {running} running, {ready} ready of {self._wanted}"
            if live and line != shown:
                say(f"\r  hello: {_bar(ready, running, placed, self._wanted)} {line} ")
                shown = line
            await asyncio.sleep(_LOOK_SECONDS)
        if live:
            say("\r\033[K")
        if ready >= self._wanted:
            say(
                f"  hello runs: first pod after {first:.1f} s, all {self._wanted} ready after {spent:.1f} s.\n"
            )
        else:
            say(f"  hello is not ready yet ({line}): `fairlead progress deployment/hello` says why.\n")

    def _count(self) -> tuple[int, int, int]:
        placed = running = ready = 0
        for entry in self._store.list("pods", NAMESPACE):
            if entry.key.name.startswith(f"{NAME}-"):
                pod = _pod(entry.data)
                placed += bool(pod.spec.node_name)
                running += pod.status.phase == "Running"
                ready += pod.ready
        return placed, running, ready


def _bar(ready: int, running: int, placed: int, wanted: int) -> str:
    cells = ["█"] * ready + ["▓"] * (running - ready) + ["▒"] * (placed - running)
    return "".join(cells[:wanted]).ljust(wanted, "░")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
