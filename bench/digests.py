"""What digests cost: the same creates into the same journal, with digests and with none, in turn, in one run.

    python bench/digests.py [--creates 20000] [--server-us 400]

Prints microseconds of CPU for each create with its audit line, on against off, and the share of what a create costs the
server as a whole (`server_cpu_us_each` of bench/api.py, given with --server-us).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from api import pod

from fairlead.store import lines, sqlite
from fairlead.store.contract import ADDED, Batch, Change, Entry, Key, Note
from fairlead.store.sqlite import SqliteJournal

DIGESTS = ((sqlite, "version_digest"), (sqlite, "pointer_digest"), (lines, "note_digest"))
BATCH = 32


def run(directory: str, creates: int) -> float:
    journal = SqliteJournal(f"{directory}/store.db", synchronous="OFF")
    journal.recover()
    body = pod(1).encode()
    line = b'{"verb":"create","user":"admin","resource":"pods","namespace":"default","name":"web","code":201}'
    began = time.process_time()
    for start in range(1, creates + 1, BATCH):
        changes = tuple(
            Change(ADDED, Entry(Key("pods", "default", f"web-{each}"), "0" * 36, each, body), None)
            for each in range(start, start + BATCH)
        )
        journal.append(Batch(changes, tuple(Note("audit", line, start) for _ in changes), 1.0))
    used = time.process_time() - began
    journal.close()
    return used / creates * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--creates", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server-us", type=float, default=0.0)
    options = parser.parse_args()
    real = [getattr(module, name) for module, name in DIGESTS]
    taken: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(options.rounds):
        for mode in taken:
            for (module, name), digest in zip(DIGESTS, real, strict=True):
                setattr(module, name, digest if mode == "on" else lambda *_: 0)
            with tempfile.TemporaryDirectory() as directory:
                taken[mode].append(run(directory, options.creates))
    on, off = (statistics.median(taken[mode]) for mode in ("on", "off"))
    told = {"on_us": round(on, 1), "off_us": round(off, 1), "digests_us": round(on - off, 1)}
    if options.server_us:
        told["percent_of_a_create"] = round((on - off) / options.server_us * 100, 2)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
