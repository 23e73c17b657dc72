"""A plane that lives for long under churn: what grows though as many objects live, what wears out, what never rests.

    python bench/longevity.py [--minutes 15] [--hollow-nodes 0] [--slowness 1] [--every 60] [--no-census]

Starts `fairlead up --nodes 3 --zones a,b` (with --hollow-nodes N: that many pretend nodes as well) on a fresh directory,
with three minutes of history and two of Events, so that both are full early. `churn.py` makes, changes and removes things
through the API. A JSON line tells every --every seconds: memory, descriptors and threads of the server and its agents,
processes, files, rows of the database, objects by kind, queues, latencies, and what lives in each process (`census.py`).
Then everything is removed, the plane gets two minutes, and what is still written is counted. The last JSON document sums
up: `growing` names each figure that went up steadily in the later two thirds, by how much an hour, most of its size first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import api
import churn
import vitals

START_SECONDS = 120.0
QUIET_SECONDS = 60.0
SETTLE_SECONDS = 150.0  # Events and history of the churn are gone by then
_SAMPLED_LEAST = 5
_STEADY = 0.8  # of the correlation with time, squared
_LEASES = "leases.coordination.k8s.io"

Json = dict[str, Any]


class Plane(api.Plane):
    """A `fairlead up` with a census in the server and the agents."""

    def __init__(self, scratch: Path, options: argparse.Namespace) -> None:
        self.asked = scratch / "census"
        self.asked.mkdir()
        self._census = options.census
        self.pods: set[str] = set()  # uids of all that ever were
        words = ["--nodes", str(options.nodes), "--zones", "a,b", "--no-sample"]
        words += ["--history", "3m", "--event-ttl", "2m"]
        if options.hollow_nodes:
            words += ["--hollow-nodes", str(options.hollow_nodes)]
        if options.census:
            path = scratch / "path"
            path.mkdir()
            (path / "census.py").write_text((api.HERE / "census.py").read_text())
            (path / "sitecustomize.py").write_text("import census\ncensus.begin()\n")
            os.environ.update(PYTHONPATH=str(path), FAIRLEAD_CENSUS=str(self.asked))
        super().__init__(scratch / "data", *words)
        for name in ("PYTHONPATH", "FAIRLEAD_CENSUS"):
            os.environ.pop(name, None)

    def _await_ready(self, began: float) -> float:
        """As long as it takes on a machine that is busy otherwise."""
        while True:
            try:
                return super()._await_ready(began)
            except SystemExit:
                if self.process.poll() is not None or time.perf_counter() - began > START_SECONDS:
                    self.process.terminate()
                    raise

    def census(self, number: int, pids: dict[str, int]) -> Json:
        """What lives in each of these processes; those that do not answer are left out."""
        if not self._census:
            return {}
        (self.asked / "ask").write_text(str(number))
        told: Json = {}
        deadline = time.monotonic() + 20
        while len(told) < len(pids) and time.monotonic() < deadline:
            time.sleep(0.2)
            for name, pid in pids.items():
                file = self.asked / f"{pid}-{number}.json"
                if name not in told and file.exists():
                    told[name] = json.loads(file.read_text())
        return told


def sample(plane: Plane, caller: churn.Caller, number: int, began: float) -> Json:
    found = vitals.processes(str(plane.directory), plane.process.pid)
    singles = {role: pid for pid, role in found.items() if role == "server" or role.startswith("agent-")}
    supervisors = [vitals.figures_of(pid)["rss_kb"] for pid, role in found.items() if role == "supervisor"]
    rows, kinds, uids = vitals.database(plane.directory)
    plane.pods |= uids
    told: Json = {
        "minute": round((time.monotonic() - began) / 60, 2),
        "processes": dict(Counter("agent" if role.startswith("agent-") else role for role in found.values())),
        "supervisor_rss_kb": round(statistics.mean(supervisors)) if supervisors else 0,
        "cgroups": vitals.cgroups(plane.pods),
        "files": vitals.files_of(plane.directory),
        "rows": rows,
        "objects": kinds,
        "live": sum(kinds.values()),
        "metrics": vitals.metrics(caller),
        "latency": vitals.latencies(caller, number),
        "managed_fields": vitals.managed_fields(caller),
        **{name: vitals.figures_of(pid) for name, pid in singles.items()},
    }
    told["census"] = plane.census(number, singles)
    return told


def flat(value: Any, name: str = "") -> dict[str, float]:
    if isinstance(value, dict):
        found: dict[str, float] = {}
        for key, each in value.items():
            found.update(flat(each, f"{name}/{key}" if name else str(key)))
        return found
    return {name: float(value)} if isinstance(value, int | float) else {}


def growing(samples: list[Json]) -> list[Json]:
    """Figures that rose steadily over the later two thirds: each with its size, its rise an hour and how steady."""
    later = samples[len(samples) // 3 :]
    if len(later) < _SAMPLED_LEAST:
        return []
    minutes = [each["minute"] for each in later]
    table = [flat(each) for each in later]
    found = []
    for name in sorted(set().union(*table)):
        values = [row.get(name, 0.0) for row in table]
        if name.endswith(("cpu_seconds", "_total", "minute")) or len(set(values)) == 1:
            continue
        slope, _ = statistics.linear_regression(minutes, values)
        steady = statistics.correlation(minutes, values) ** 2
        rise, size = slope * (minutes[-1] - minutes[0]), max(statistics.mean(values), 1.0)
        if steady >= _STEADY and rise >= max(3.0, size * 0.01):
            told = {"figure": name, "first": values[0], "last": values[-1]}
            found.append(
                {**told, "per_hour": round(slope * 60, 1), "steady": round(steady, 2), "share": rise / size}
            )
    found.sort(key=lambda each: -each.pop("share"))
    return found


def rest(plane: Plane, caller: churn.Caller, last: Json, options: argparse.Namespace, began: float) -> Json:
    """Remove all of it, wait, and see what is left and what is still written."""
    gone = churn.clear(caller)
    time.sleep(options.settle_seconds)
    _, found = caller.call("GET", "/api/v1/nodes?limit=1")
    revision = int(found["metadata"]["resourceVersion"])
    time.sleep(QUIET_SECONDS)
    after = sample(plane, caller, 10_000, began)
    written = vitals.written_after(plane.directory, revision)
    probes = 2 * vitals.PROBES  # of the latencies, which are configmaps created and deleted
    written["configmaps"] = written.get("configmaps", 0) - probes
    if written.get("nodes", 0) <= options.nodes:
        written.pop("nodes", None)  # each says every five minutes how it is
    return {
        "all_removed": gone,
        "written_in_quiet_minute": {
            kind: count for kind, count in written.items() if count and kind != _LEASES
        },
        "leases_written": written.get(_LEASES, 0),
        "before": {name: last[name] for name in ("processes", "live")},
        "sample": after,
    }


def say(told: Json) -> None:
    print(json.dumps(told), flush=True)


def run(options: argparse.Namespace, scratch: Path) -> Json:
    plane = Plane(scratch, options)
    counts: Counter[str] = Counter()
    caller = churn.Caller(plane, counts)
    samples: list[Json] = []
    busy = churn.Churn(plane, options.slowness)
    try:
        time.sleep(10)  # until nodes are there
        before = vitals.database(plane.directory)[1]
        churn.begin(caller, options.hollow_nodes + options.nodes)
        began = time.monotonic()
        busy.start()
        while time.monotonic() - began < options.minutes * 60:
            time.sleep(
                max(
                    0.0,
                    min((len(samples) + 1) * options.every, options.minutes * 60)
                    - (time.monotonic() - began),
                )
            )
            samples.append(sample(plane, caller, len(samples), began))
            say(samples[-1])
        busy.stop()
        cpu = samples[-1]["server"]["cpu_seconds"] / (samples[-1]["minute"] * 60)
        rested = rest(plane, caller, samples[-1], options, began)
    finally:
        plane.process.terminate()
        plane.process.wait(60)
    time.sleep(2)
    left = vitals.processes(str(plane.directory), -1)
    return {
        "hollow_nodes": options.hollow_nodes,
        "minutes": samples[-1]["minute"],
        "server_core": round(cpu, 3),
        "rounds": dict(busy.rounds),
        "answers": dict(busy.counts),
        "errors": dict(busy.errors),
        "warnings": vitals.warnings(plane.directory),
        "objects_before": before,
        "growing": growing(samples),
        "at_rest": rested,
        "processes_left": len(left) - 1,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between samples")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--hollow-nodes", type=int, default=0)
    parser.add_argument("--slowness", type=float, default=1.0, help="2: half as many rounds a minute")
    parser.add_argument("--settle-seconds", type=float, default=SETTLE_SECONDS)
    parser.add_argument("--no-census", dest="census", action="store_false")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        told = run(options, Path(scratch))
    print(json.dumps(told, indent=1))
    at_rest = told["at_rest"]
    sound = at_rest["all_removed"] and not at_rest["written_in_quiet_minute"] and not told["processes_left"]
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
