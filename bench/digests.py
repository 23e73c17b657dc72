"""What digests cost: two servers, one with digests and one without, that get the same creates in turn, in one run.

    python bench/api.py --digests [--pods 10000]     the comparison
    python bench/api.py --chain [--pods 10000]       the same for the chain of the audit log
    python bench/digests.py up ...                   `fairlead up ...` without digests, as the comparison starts it
    python bench/digests.py --chain up ...           the same with digests, and without the chain

Each server gets a block of creates, then the other, in an order that changes from round to round; blocks are compared
in pairs. What counts is the CPU time of the server's process, which other load on the machine changes least. Without
digests means that none is computed, of rows and of the mark: zeros are written in their place.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BLOCK = 250  # creates


def without_digests(arguments: list[str]) -> int:
    sys.path.remove(str(HERE))  # its queue.py is not the one that programs mean
    from fairlead.cli.main import main
    from fairlead.runtime.data.revision_mark import RevisionMark
    from fairlead.store import bounded_logs, sqlite
    from fairlead.store.seal import Seal

    for module, name in (
        (sqlite, "version_digest"),
        (sqlite, "pointer_digest"),
        (bounded_logs, "note_digest"),
    ):
        setattr(module, name, lambda *_: 0)
    # The seal is written with each batch, and the mark after it: both are there for the digests' sake.
    for kept, name in ((Seal, "write"), (RevisionMark, "acknowledge")):
        setattr(kept, name, lambda *_: None)
    return main(arguments)


def without_chain(arguments: list[str]) -> int:
    """Nothing is computed of the lines and nothing is written of their chain."""
    sys.path.remove(str(HERE))
    from fairlead.cli.main import main
    from fairlead.store import bounded_logs

    vars(bounded_logs).update(link=lambda *_: b"", _MOVE_HEAD="SELECT ?, ?, ?")
    return main(arguments)


def cpu_ns(pid: int) -> int:
    """Of all threads of a process, in the kernel's own nanoseconds."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks)


def compare(pods: int, connections: int, what: str = "") -> dict[str, object]:
    """Microseconds of CPU for a create, and what of them digests are; `what` is --chain for the chain alone."""
    from api import Plane, pod

    class Without(Plane):
        def command(self) -> list[str]:
            return [sys.executable, str(HERE / "digests.py"), *filter(None, [what])]

    collection = "/api/v1/namespaces/default/pods"
    taken: dict[str, list[float]] = {"on": [], "off": []}
    with tempfile.TemporaryDirectory() as scratch:
        planes = {
            "on": Plane(Path(scratch) / "on", "--without-controllers"),
            "off": Without(Path(scratch) / "off", "--without-controllers"),
        }
        for start in range(-BLOCK, pods, BLOCK):  # the first block warms up
            creates = [
                ["POST", collection, pod(number)] for number in range(start + BLOCK, start + 2 * BLOCK)
            ]
            order = list(planes) if start // BLOCK % 2 else list(reversed(planes))
            for mode in order:
                plane = planes[mode]
                before = cpu_ns(plane.process.pid)
                result = plane.load(creates, BLOCK, connections)
                if result["statuses"] != {"201": BLOCK}:
                    raise SystemExit(f"creates were refused: {result['statuses']}")
                if start >= 0:
                    taken[mode].append((cpu_ns(plane.process.pid) - before) / BLOCK / 1000)
        for plane in planes.values():
            plane.process.terminate()
            plane.process.wait(10)
    ratios = [on / off for on, off in zip(taken["on"], taken["off"], strict=True)]
    quarters = statistics.quantiles(ratios, n=4)
    return {
        "creates_each": pods,
        "block": BLOCK,
        "on_us": round(statistics.median(taken["on"]), 1),
        "off_us": round(statistics.median(taken["off"]), 1),
        "ratio": round(statistics.median(ratios), 4),
        "ratio_of_sums": round(sum(taken["on"]) / sum(taken["off"]), 4),
        "ratio_quartiles": [round(quarters[0], 4), round(quarters[2], 4)],
    }


if __name__ == "__main__":
    chained = sys.argv[1] == "--chain"
    sys.exit(without_chain(sys.argv[2:]) if chained else without_digests(sys.argv[1:]))
