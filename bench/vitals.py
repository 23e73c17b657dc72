"""What can be seen of a plane from outside: its processes, files, database, metrics, latencies. Used by `longevity.py`."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import statistics
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import api
import churn
from churn_objects import config_map

PROBES = 15

Json = dict[str, Any]


def read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""  # it has ended meanwhile


def processes(mark: str, server: int) -> dict[int, str]:
    """Pid to role, of all that has this directory in its command or environment, and the server."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        words, environment = read(f"{entry}/cmdline"), read(f"{entry}/environ")
        if "\0agent\0" in words and mark in words:
            role = f"agent-{re.search(r'--name.([^ ]+?).--', words.replace(chr(0), ' '))[1]}"  # type: ignore[index]
        elif "supervisor.py" in words and mark in words:
            role = "supervisor"
        elif f"FAIRLEAD_ROOT={mark}" in environment:
            role = "container"
        else:
            continue
        found[int(entry.name)] = role
    return {**found, server: "server"}


def figures_of(pid: int) -> Json:
    status = read(f"/proc/{pid}/status")
    memory, threads = re.search(r"VmRSS:\s+(\d+)", status), re.search(r"Threads:\s+(\d+)", status)
    kinds: Counter[str] = Counter()
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        names = []
    for name in names:
        try:
            kinds[os.readlink(f"/proc/{pid}/fd/{name}").partition(":")[0].partition("/")[0] or "file"] += 1
        except OSError:
            continue
    return {
        "rss_kb": int(memory[1]) if memory else 0,
        "threads": int(threads[1]) if threads else 0,
        "fds": sum(kinds.values()),
        "sockets": kinds["socket"],
        "cpu_seconds": api.cpu_seconds(pid) if status else 0.0,
    }


def files_of(directory: Path) -> Json:
    """Bytes of the server's files by name; of the nodes' how many files, directories of pods and bytes there are."""
    sizes: Json = {}
    nodes: Counter[str] = Counter()
    for root, directories, names in os.walk(directory):
        in_nodes = Path(root).relative_to(directory).parts[:1] == ("nodes",)
        if Path(root).name == "pods":
            nodes["pod_directories"] += len(directories)
        for name in names:
            try:
                size = (Path(root) / name).lstat().st_size
            except OSError:
                continue
            if in_nodes:
                nodes["node_files"] += 1
                nodes["node_bytes"] += size
                if name.startswith("fairlead.log"):
                    nodes["agent_log_bytes"] += size
            else:
                sizes[name] = size
    return {**sizes, **nodes}


def cgroups(uids: set[str]) -> int:
    """Of these pods; other planes on this machine have theirs beside them."""
    found = subprocess.run(
        ["find", "/sys/fs/cgroup", "-path", "*/fairlead/*", "-type", "d"],
        capture_output=True,
        text=True,
        check=False,
    )
    return sum(not uids.isdisjoint(line.split("/")) for line in found.stdout.splitlines())


def database(directory: Path) -> tuple[Json, Json, set[str]]:
    """Rows of each table, objects of each kind, and the pods that history knows."""
    path = next(directory.glob("*.db"))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        rows: Json = {}
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            rows[table] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for stream, count in connection.execute("SELECT stream, count(*) FROM notes GROUP BY stream"):
            rows[f"notes.{stream}"] = count
        for name in ("freelist_count", "page_count"):
            rows[name] = connection.execute(f"PRAGMA {name}").fetchone()[0]
        kinds: Counter[str] = Counter()
        for kind, count in connection.execute("SELECT resource, count(*) FROM objects GROUP BY resource"):
            kinds["(custom)" if kind.startswith("widgets") else kind] += count
        uids = {uid for (uid,) in connection.execute("SELECT DISTINCT uid FROM log WHERE resource = 'pods'")}
    return rows, dict(kinds), uids


def written_after(directory: Path, revision: int) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{next(directory.glob('*.db'))}?mode=ro", uri=True)) as connection:
        statement = "SELECT resource, count(*) FROM log WHERE revision > ? GROUP BY resource"
        return dict(connection.execute(statement, (revision,)).fetchall())


def metrics(caller: churn.Caller) -> Json:
    _, text = caller.call("GET", "/metrics")
    totals: Counter[str] = Counter()
    lines = 0
    for line in text.splitlines():
        if not line.startswith("#"):
            lines += 1
            name, _, value = line.rpartition(" ")
            totals[name.partition("{")[0]] += float(value)  # type: ignore[assignment]
    kept = {
        name: value
        for name, value in totals.items()
        if not name.endswith(("_total", "_bucket", "_sum", "_count"))
    }
    retries = totals["fairlead_queue_retries_total"]
    return {
        **kept,
        "lines": lines,
        "retries_total": retries,
        "loops_total": totals["fairlead_plane_write_loops_total"],
    }


def latencies(caller: churn.Caller, number: int) -> Json:
    took: dict[str, list[float]] = {"get": [], "create": []}
    path = "/api/v1/namespaces/default/configmaps"
    for each in range(PROBES):
        name = f"probe-{number}-{each}"
        for kind, words in (
            ("create", ("POST", path, config_map(name, text="x"))),
            ("get", ("GET", f"{path}/{name}", None)),
        ):
            began = time.perf_counter()
            caller.call(*words)
            took[kind].append((time.perf_counter() - began) * 1000)
        caller.drop(f"{path}/{name}")
    return {f"{kind}_ms": round(statistics.median(values), 2) for kind, values in took.items()}


def managed_fields(caller: churn.Caller) -> Json:
    _, found = caller.call("GET", f"/api/v1/namespaces/{churn.NAMESPACE}/configmaps/applied")
    entries = found.get("metadata", {}).get("managedFields", []) if isinstance(found, dict) else []
    return {"entries": len(entries), "bytes": len(json.dumps(entries))}


def warnings(directory: Path) -> Json:
    """What the server and the agents said that was no mere information, each sentence once, numbers left out."""
    found: Counter[str] = Counter()
    for path in sorted(directory.rglob("fairlead.log*")):
        for line in path.read_text(errors="replace").splitlines():
            said = json.loads(line)
            if said["level"] not in ("info", "debug"):
                found[re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "N", said["message"])[:300]] += 1
    return dict(found)
