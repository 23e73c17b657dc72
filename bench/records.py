"""What records cost, and how quickly they are found.

    python bench/records.py find [--lines 1000000] [--json]
    python bench/records.py again [--decisions 10000] [--json]
    python bench/records.py day [--namespaces 12] [--json]
    python bench/records.py cost [--nodes 5000] [--pods 4000] [--rounds 3] [--json]

`find` fills the log of decisions of a fresh store, as a plane writes it, follows it with the index and asks for the
decisions that touch an object, for one decision by its id, and for the last attempt to place a pod: milliseconds each,
with the lines read from the database. It fails if the slowest takes longer than `ASK_MS_MAX`, or if the default budget
of bytes did not keep all lines.

`again` puts a real plane under load, namespace by namespace (every sort of workload, quotas, an autoscaler, overrides,
a custom kind, nodes that go and nodes that flap, deletions, kill -9 of the server), until it has decided so often, captures that and runs all of it again. It fails if one decision
comes out otherwise, or if one could not be run.

`day` puts a plane under the same load, where every pod is made, placed, run and removed and some wait for long, and
tells what it recorded for each pod that was made: lines, bytes, and how many pods a day fit into the default budget of
bytes if all of a day is to be kept. It fails if that is fewer than `PODS_A_DAY_MIN`.

`cost` has pods placed (`scheduling.py --bare`) with records and the tape of captures and without both, by turns, and
compares what the server's process used for each pod: by the least of each, which a busy machine moves least, and by the
medians. It fails if the former is more than `COST_MAX` above.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.running import FAIRLEAD, Running
from tests.unit.replay import load

from fairlead.core import codec
from fairlead.explain.asking import answered
from fairlead.explain.index import id_key
from fairlead.explain.records import attempts_of, touching
from fairlead.replay.artifact import read_artifact
from fairlead.replay.replaying import replay
from fairlead.runtime.data.decision_index import FILE, DecisionIndexFile
from fairlead.runtime.data.log_bounds import LOGS
from fairlead.store.contract import Batch, Note
from fairlead.store.log_reader import LogReader
from fairlead.store.sqlite import SqliteJournal

ASK_MS_MAX = 200.0
SPACES_MAX = 80
KILLED_EVERY = 5  # namespaces
PODS_A_DAY_MIN = 50_000
COST_MAX = 0.10
_BATCH = 1_000
_READS = {f"resources{number}.fairlead.dev": [918_812, 918_946] for number in range(6)}


_TIME = "2026-11-18T00:25:05.048892Z"
_UID = "0b7e6a52-1f7e-4c53-9d4e-2f8f3c1c9a77"
_CROWD = 10_000  # pods in the last batch, with a line of others among them


def batch_line(number: int) -> bytes:
    """What attempts share, as `control/attempts.py` writes it before them."""
    shared = {"policy": ["default", 1], "reads": _READS, "pods": [], "assumed": []}
    return codec.encode({"time": _TIME, "controller": "scheduler", "batch": number, **shared})


def attempt_line(number: int, name: str, node: str, batch: int, position: int) -> bytes:
    return codec.encode(
        {
            "id": f"3fa94c01-{number}",
            "time": _TIME,
            "controller": "scheduler",
            "object": f"pods/default/{name}",
            "uid": _UID,
            "generation": 1,
            "about": [f"nodes/{node}"],
            "verdict": "Placed",
            "attempt": 1,
            "waited": 0.001234,
            "batch": batch,
            "position": position,
            "nodes": 5000,
            "node": node,
        }
    )


def decision_line(number: int, pod: int) -> bytes:
    return codec.encode(
        {
            "id": f"3fa94c01-{number}",
            "time": _TIME,
            "controller": "replicaset",
            "object": f"replicasets.apps/default/web-{pod // 10}",
            "uid": _UID,
            "generation": 1,
            "about": [f"pods/default/web-{pod}"],
            "verdict": "Settled",
            "waited": 0.001234,
            "digest": "0123456789abcdef",
            "reads": _READS,
            "effects": ["Create replicaset/0b7e6a52/create/web"],
        }
    )


def lines(count: int, pods: int) -> Iterator[bytes]:
    """Half are attempts to place pods, in batches that follow their line, some with lines of others among them; half
    decisions of a controller that touches a pod; then a batch of very many."""
    for number in range(count - _CROWD):
        pod = number % pods
        batch, place = divmod(number, 64)
        if not place:
            yield batch_line(batch)
        elif place > 32 or (place == 20 and batch % 4 == 0):
            yield decision_line(number, pod)
        elif place == 7 and batch % 8 == 1:
            yield attempt_line(number, "often", "node-1", batch, place - 1)
        else:
            yield attempt_line(number, f"web-{pod}", f"node-{pod % 5000}", batch, place - 1)
    batch = 1 << 30
    yield batch_line(batch)
    yield decision_line(count, 2)
    for place in range(_CROWD - 2):
        yield attempt_line(count - _CROWD + 2 + place, f"crowd-{place}", "node-1", batch, place)


def fill(journal: SqliteJournal, count: int, pods: int) -> int:
    """Returns how many bytes they have."""
    notes: list[Note] = []
    size = 0
    for body in lines(count, pods):
        size += len(body)
        notes.append(Note("decisions", body))
        if len(notes) == _BATCH:
            journal.append(Batch((), tuple(notes), time.time()))
            notes.clear()
    journal.append(Batch((), tuple(notes), time.time()))
    return size


def asked(ask: Callable[[int], object], count: int) -> dict[str, float]:
    chance, taken = random.Random(1), []
    for _ in range(count):
        number = chance.randrange(1 << 30)
        began = time.perf_counter()
        assert ask(number), "nothing was found"
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    return {"p50_ms": round(taken[count // 2], 2), "slowest_ms": round(taken[-1], 2)}


def find(count: int) -> dict[str, Any]:
    pods = max(3, count // 40 * 2 + 1)  # not a multiple of a batch: each is tried now and then
    nodes = min(pods, 5000)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "store.db"
        journal = SqliteJournal(str(path), synchronous="OFF", logs=LOGS)
        journal.recover()
        began = time.process_time()
        size = fill(journal, count, pods)
        filled = time.process_time() - began
        index = DecisionIndexFile(Path(directory) / FILE, LogReader(str(path)))
        began = time.process_time()
        index.sequences([id_key("none")])
        followed = time.process_time() - began
        found: dict[str, Any] = {
            "lines": count,
            "kept": count - journal.notes("decisions", 0, 1)[0][0] + 1,
            "bytes_per_line": round(size / count),
            "store_mb": round(path.stat().st_size / 1e6),
            "index_mb": round((Path(directory) / FILE).stat().st_size / 1e6),
            "fill_us_per_line": round(filled / count * 1e6, 1),
            "index_us_per_line": round(followed / count * 1e6, 1),
            "object": asked(
                lambda n: answered(touching(journal, index, [f"pods/default/web-{n % pods}"], 0, 1000)), 200
            ),
            "node": asked(lambda n: answered(touching(journal, index, [f"nodes/node-{n % nodes}"])), 200),
            "id": asked(
                lambda n: answered(
                    touching(journal, index, [id_key(f"3fa94c01-{n % (count - _CROWD) // 64 * 64 + 40}")])
                ),
                200,
            ),
            "attempt": asked(
                lambda n: answered(attempts_of(journal, index, "default", f"web-{n % pods}")),
                200,
            ),
            "often": asked(lambda n: answered(touching(journal, index, ["pods/default/often"], 0, 1000)), 20),
            "crowd": asked(
                lambda n: answered(attempts_of(journal, index, "default", f"crowd-{n % (_CROWD - 2)}")), 100
            ),
        }
        index.close()
        journal.close()
    return found


def do(server: Running, acts: Iterator[load.Act]) -> None:
    for verb, target, body in acts:
        headers = {"Content-Type": "application/merge-patch+json"} if verb == "patch" else None
        status, told = server.request(verb.upper(), target, body, headers=headers)
        if status >= 300:
            raise SystemExit(f"{verb} {target}: {told}")


def lines_written(server: Running) -> int:
    """The newest sequences of both logs together: about as many decisions there were."""
    count = 0
    for stream in ("", "&stream=turns"):
        after, step = 0, 1 << 20
        while step:
            _, page = server.request("GET", f"/fairlead/v1/decisions?after={after + step}&limit=1{stream}")
            if page["items"]:
                after += step
            else:
                step //= 2
        count += after + 1
    return count


def again(wanted: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        # As a process of its own: a fork would take `bench/queue.py` for the module of that name.
        arguments = ("--hollow-nodes", "6")
        server = Running(Path(directory) / "plane", arguments=arguments, program=(FAIRLEAD,))
        try:
            began, spaces = time.monotonic(), 0
            do(server, load.prepare())
            while lines_written(server) < wanted * 1.1 and spaces < SPACES_MAX:
                space = f"shop-{spaces}"
                spaces += 1
                do(server, load.begin(space))
                time.sleep(2)
                do(server, load.disturb(space))
                do(server, load.intervene(space, f"hollow-{spaces % 6}"))
                if spaces % KILLED_EVERY == 0:
                    server.kill()
                    server = Running(server.directory, arguments=arguments, program=(FAIRLEAD,))
                if spaces % 4 == 0:
                    server.request("DELETE", f"/api/v1/nodes/hollow-{spaces // 4 % 6}")
                if spaces > 2:
                    do(server, load.end(f"shop-{spaces - 3}"))
            loaded = time.monotonic() - began
            file = Path(directory) / "it.incident"
            words = ("incident", "capture", "--since", "1h", "-o", file, "--kubeconfig", server.kubeconfig)
            subprocess.run([FAIRLEAD, *words], check=True, stdout=subprocess.DEVNULL)
            size = file.stat().st_size
            artifact = read_artifact(file.read_bytes())
        finally:
            server.stop()
    began = time.process_time()
    found = replay(artifact)
    took = time.process_time() - began
    return {
        "decisions": found.decisions,
        "equal": found.equal,
        "different": found.different,
        "skipped": found.skipped,
        "first_divergence": None if found.first_divergence is None else found.first_divergence._asdict(),
        "controllers": found.controllers,
        "namespaces": spaces,
        "load_seconds": round(loaded, 1),
        "capture_mb": round(size / 1e6, 1),
        "us_per_decision": round(took / max(1, found.decisions) * 1e6),
    }


def day(spaces: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        server = Running(Path(directory) / "plane", arguments=("--hollow-nodes", "6"), program=(FAIRLEAD,))
        try:
            for number in range(spaces):
                do(server, load.begin(f"shop-{number}"))
                time.sleep(2)
                do(server, load.disturb(f"shop-{number}"))
                if number > 2:
                    do(server, load.end(f"shop-{number - 3}"))
            time.sleep(10)
        finally:
            server.stop()
        [path] = Path(directory).glob("plane/*.db")
        with closing(sqlite3.connect(path)) as store:
            grouped = "SELECT stream, count(*), sum(length(body)) FROM notes GROUP BY stream"
            logs = {stream: (count, size) for stream, count, size in store.execute(grouped)}
            audit = (
                codec.decode(row[0]) for row in store.execute("SELECT body FROM notes WHERE stream = 'audit'")
            )
            made = {("create", "pods", "", 201): 0}
            for line in audit:
                target = line["object"]
                key = (line["verb"], target.get("resource"), target.get("subresource", ""), line["code"])
                made[key] = made.get(key, 0) + 1
    pods = made["create", "pods", "", 201]
    lines, size = logs["decisions"]
    return {
        "pods": pods,
        "decisions_per_pod": round(lines / pods, 1),
        "bytes_per_pod": round(size / pods),
        "turns_per_pod": round(logs["turns"][0] / pods, 1),
        "budget_mb": round(LOGS["decisions"].bytes_max / 1e6),
        "pods_a_day_in_budget": LOGS["decisions"].bytes_max * pods // size,
    }


def placed(nodes: int, pods: int, *without: str) -> tuple[float, float]:
    """Microseconds of CPU for each pod, and pods placed in a second."""
    words = [Path(__file__).with_name("scheduling.py"), "--bare", "--json", "--nodes", str(nodes)]
    command = [sys.executable, *words, "--pods", str(pods), *without]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    told = json.loads(done.stdout)
    return told["cpu_us_per_pod"]["all"], told["pods_per_second"]


def cost(nodes: int, pods: int, rounds: int) -> dict[str, Any]:
    found: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
    for number in range(2 * rounds):
        how = ("on", "off")[(number + number // 2) % 2]
        found[how].append(placed(nodes, pods, *(("--without-records",) if how == "off" else ())))
    used = {how: [each[0] for each in runs] for how, runs in found.items()}
    medians = {how: statistics.median(each) for how, each in used.items()}
    return {
        "nodes": nodes,
        "pods": pods,
        "cpu_us_per_pod": used,
        "pods_per_second": {how: [each[1] for each in runs] for how, runs in found.items()},
        "more_by_the_least": round(min(used["on"]) / min(used["off"]) - 1, 3),
        "more_by_the_median": round(medians["on"] / medians["off"] - 1, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["find", "again", "day", "cost"])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--namespaces", type=int, default=12)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.part == "cost":
        told = cost(options.nodes, options.pods, options.rounds)
        print(json.dumps(told) if options.json else json.dumps(told, indent=2))
        if told["more_by_the_least"] > COST_MAX:
            raise SystemExit(f"records cost {100 * told['more_by_the_least']:.1f} % more")
        return
    if options.part == "day":
        told = day(options.namespaces)
        print(json.dumps(told) if options.json else json.dumps(told, indent=2))
        if told["pods_a_day_in_budget"] < PODS_A_DAY_MIN:
            raise SystemExit(f"a day of {PODS_A_DAY_MIN} pods does not fit the budget of bytes")
        return
    if options.part == "again":
        told = again(options.decisions)
        print(json.dumps(told) if options.json else json.dumps(told, indent=2))
        if told["different"] or told["skipped"] or told["decisions"] < options.decisions:
            raise SystemExit(f"{told['equal']} of {told['decisions']} equal, {told['skipped']} not run")
        return
    found = find(options.lines)
    print(json.dumps(found) if options.json else json.dumps(found, indent=2))
    slowest = max(each["slowest_ms"] for each in found.values() if isinstance(each, dict))
    if slowest > ASK_MS_MAX or found["kept"] < found["lines"]:
        raise SystemExit(
            f"slowest {slowest} ms (at most {ASK_MS_MAX}), {found['kept']} of {found['lines']} lines kept"
        )


if __name__ == "__main__":
    main()
