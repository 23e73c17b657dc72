"""What `explain`, `timeline` and `debug` cost a server whose logs are full, in milliseconds of its processor time.

    python bench/views.py [--lines 1000000] [--asks 20] [--json]

A real plane runs a Deployment with replicas that wait and is stopped; its logs are filled as planes and requests fill
them, with so many decisions about others and as many lines of the audit log as it keeps; then it is started again, and
asked. Processor time is that of the whole server, so what it does beside is in it (`idle` is one second of that). The
sum of a verb divided by its asks must stay below `ASK_MS_MAX`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from records import ASK_MS_MAX, fill
from tests.running import FAIRLEAD, Running

from fairlead.core import codec
from fairlead.runtime.data.log_bounds import LOGS
from fairlead.store.bounded_logs import NOTES_MAX
from fairlead.store.contract import Batch, Note
from fairlead.store.sqlite import SqliteJournal

_BATCH = 1_000
_TICKS = os.sysconf("SC_CLK_TCK")


def audit_lines(count: int) -> Iterator[bytes]:
    for number in range(count):
        target = {
            "group": "",
            "version": "v1",
            "resource": "pods",
            "namespace": "default",
            "name": f"old-{number % 4000}",
        }
        yield codec.encode(
            {
                "time": "2026-11-18T00:25:05.048Z",
                "requestId": f"{number:016x}",
                "user": "system:fairlead:replicaset",
                "groups": ["system:masters"],
                "verb": "create",
                "object": {**target, "uid": "0b7e6a52-1f7e-4c53-9d4e-2f8f3c1c9a77"},
                "code": 201,
                "changed": ["metadata", "spec"],
                "decision": f"3fa94c01-{number}",
            }
        )


def fill_logs(directory: Path, count: int) -> None:
    [path] = directory.glob("**/*.db")
    journal = SqliteJournal(str(path), synchronous="OFF", logs=LOGS)
    journal.recover()
    newest = journal.notes("audit", 0, 1)
    assert newest, "this is not the store of a plane"
    fill(journal, count, max(2, count // 40 * 2))
    notes: list[Note] = []
    for body in audit_lines(min(count, NOTES_MAX * 9 // 10)):
        notes.append(Note("audit", body))
        if len(notes) == _BATCH:
            journal.append(Batch((), tuple(notes), time.time()))
            notes.clear()
    journal.close()


def workload(name: str, replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS


def followed(server: Running) -> None:
    """Until the index has taken in both logs: who asks waits for that."""
    server.request("GET", "/fairlead/v1/timeline/nodes/-/hollow-0", connection=server.connect(timeout=1800))


def asked(server: Running, target: str, asks: int) -> float:
    connection = server.connect(timeout=120)
    before = cpu_ms(server.process.pid)
    for _ in range(asks):
        status, told = server.request("GET", target, connection=connection)
        if status != 200:
            raise SystemExit(f"{target}: {told}")
    taken = (cpu_ms(server.process.pid) - before) / asks
    connection.close()
    return round(taken, 1)


def measure(count: int, asks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made) / "plane"
        server = Running(directory, arguments=("--hollow-nodes", "3"), program=(FAIRLEAD,))
        try:
            for name, replicas, cpu in (("web", 6, "1"), ("large", 3, "64")):
                address = "/apis/apps/v1/namespaces/default/deployments"
                server.request("POST", address, workload(name, replicas, cpu))
            time.sleep(8)
        finally:
            server.stop()
        fill_logs(directory, count)
        server = Running(directory, arguments=("--hollow-nodes", "3"), program=(FAIRLEAD,))
        try:
            followed(server)
            _, pods = server.request("GET", "/api/v1/namespaces/default/pods")
            waiting = [each["metadata"]["name"] for each in pods["items"] if not each["spec"].get("nodeName")]
            before = cpu_ms(server.process.pid)
            time.sleep(1)
            idle = cpu_ms(server.process.pid) - before
            place = "deployments.apps/default/large"
            return {
                "lines": count,
                "asks": asks,
                "idle_ms_per_second": round(idle, 1),
                "timeline_ms": asked(server, f"/fairlead/v1/timeline/{place}", asks),
                "timeline_of_one_gone_ms": asked(server, "/fairlead/v1/timeline/pods/default/old-7", asks),
                "debug_ms": asked(server, f"/fairlead/v1/debug/{place}", asks),
                "explain_pod_ms": asked(server, f"/fairlead/v1/explain/default/{waiting[0]}", asks),
                "explain_decisions_ms": asked(server, f"/fairlead/v1/decided/{place}", asks),
                "coupling_ms": asked(server, "/fairlead/v1/coupling/scheduler", asks),
            }
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--asks", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.lines, options.asks)
    print(json.dumps(found) if options.json else json.dumps(found, indent=2))
    shown = {key: found[key] for key in found if key.startswith(("timeline", "debug", "explain"))}
    slow = {key: taken for key, taken in shown.items() if taken > ASK_MS_MAX}
    if slow:
        raise SystemExit(f"more than {ASK_MS_MAX:g} ms of processor time: {slow}")


if __name__ == "__main__":
    main()
