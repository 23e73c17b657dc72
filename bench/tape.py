"""What the tape of a plane costs: CPU of the server for each pod, with the tape and without it, in turns.

    PYTHONPATH=. python -P bench/tape.py [--pods 300] [--rounds 3] [--json]

A server with hollow nodes gets a Deployment; what its process used (user and system) from then until all replicas are
ready is divided by their number. `python bench/tape.py plane off ...` is how it starts a server without a tape.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.running import Running, need_kubectl

_TICKS = os.sysconf("SC_CLK_TCK")


def _plane(arguments: list[str]) -> int:
    from fairlead.cli.main import main
    from fairlead.runtime.server import serving

    made = serving.PlaneDriver
    if arguments[0] == "off":
        serving.PlaneDriver = lambda *given: made(*given[:-1], False)  # type: ignore[assignment,misc]
    return main(arguments[1:])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure(pods: int, tape: str) -> float:
    """Microseconds of CPU for each pod."""
    kubectl = need_kubectl()
    program = (sys.executable, "-P", Path(__file__), "plane", tape)
    with tempfile.TemporaryDirectory() as scratch:
        nodes = ("--hollow-nodes", "20", "--no-sample")
        server = Running(Path(scratch, "data"), arguments=nodes, program=program)
        try:
            environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
            time.sleep(3)
            before = _cpu_seconds(server.process.pid)
            create = ("create", "deployment", "web", "--image=i", f"--replicas={pods}")
            subprocess.run([kubectl, *create], env=environment, check=True, stdout=subprocess.DEVNULL)
            ready = (f"--for=jsonpath={{.status.readyReplicas}}={pods}", "--timeout=300s")
            subprocess.run(
                [kubectl, "wait", "deployment/web", *ready],
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            return (_cpu_seconds(server.process.pid) - before) / pods * 1e6
        finally:
            server.stop()


def main() -> int:
    if sys.argv[1:2] == ["plane"]:
        return _plane(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(2 * options.rounds):
        tape = ("on", "off")[(number + number // 2) % 2]
        found[tape].append(round(measure(options.pods, tape), 1))
    middle = {tape: statistics.median(each) for tape, each in found.items()}
    told: dict[str, Any] = {
        "pods": options.pods,
        "us_per_pod": found,
        "ratio": round(middle["on"] / middle["off"], 3),
    }
    print(json.dumps(told) if options.json else told)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
