"""What records cost, and how quickly they are found.

    python bench/records.py find [--lines 1000000] [--json]

`find` fills the log of decisions of a fresh store, as a plane writes it, follows it with the index and asks for the
decisions that touch an object, for one decision by its id, and for the last attempt to place a pod: milliseconds each,
with the lines read from the database. It fails if the slowest takes longer than `ASK_MS_MAX`, or if the default budget
of bytes did not keep all lines.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairlead.core import codec
from fairlead.explain.asking import answered
from fairlead.explain.index import id_key
from fairlead.explain.records import attempts_of, touching
from fairlead.runtime.data.decision_index import FILE, DecisionIndexFile
from fairlead.runtime.data.log_bounds import LOGS
from fairlead.store.contract import Batch, Note
from fairlead.store.log_reader import LogReader
from fairlead.store.sqlite import SqliteJournal

ASK_MS_MAX = 200.0
_BATCH = 1_000
_READS = {f"resources{number}.fairlead.dev": [918_812, 918_946] for number in range(6)}


def lines(count: int, pods: int) -> Iterator[bytes]:
    """Half are attempts to place pods, half decisions of a controller that touches a pod."""
    for number in range(count):
        pod = number % pods
        common = {
            "id": f"3fa94c01-{number}",
            "time": "2026-11-18T00:25:05.048892Z",
            "uid": "0b7e6a52-1f7e-4c53-9d4e-2f8f3c1c9a77",
            "generation": 1,
            "waited": 0.001234,
            "digest": "0123456789abcdef",
            "reads": _READS,
        }
        if number % 2:
            yield codec.encode(
                {
                    **common,
                    "controller": "scheduler",
                    "object": f"pods/default/web-{pod}",
                    "about": [f"nodes/node-{pod % 5000}"],
                    "verdict": "Placed",
                    "attempt": 1,
                    "batch": number // 64,
                    "position": number % 64,
                    "nodes": 5000,
                    "node": f"node-{pod % 5000}",
                }
            )
        else:
            yield codec.encode(
                {
                    **common,
                    "controller": "replicaset",
                    "object": f"replicasets.apps/default/web-{pod // 10}",
                    "about": [f"pods/default/web-{pod}"],
                    "verdict": "Settled",
                    "effects": ["Create replicaset/0b7e6a52/create/web"],
                }
            )


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
    pods = max(2, count // 40 * 2)
    odd = min(pods, 5000) // 2
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
            "node": asked(
                lambda n: answered(touching(journal, index, [f"nodes/node-{n % odd * 2 + 1}"])), 200
            ),
            "id": asked(lambda n: answered(touching(journal, index, [id_key(f"3fa94c01-{n % count}")])), 200),
            "attempt": asked(
                lambda n: answered(attempts_of(journal, index, "default", f"web-{n % pods // 2 * 2 + 1}")),
                200,
            ),
        }
        index.close()
        journal.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["find"])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = find(options.lines)
    print(json.dumps(found) if options.json else json.dumps(found, indent=2))
    slowest = max(each["slowest_ms"] for each in found.values() if isinstance(each, dict))
    if slowest > ASK_MS_MAX or found["kept"] < found["lines"]:
        raise SystemExit(
            f"slowest {slowest} ms (at most {ASK_MS_MAX}), {found['kept']} of {found['lines']} lines kept"
        )


if __name__ == "__main__":
    main()
