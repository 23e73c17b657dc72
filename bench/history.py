"""The history of benchmarks, as data and as a drawing.

    python bench/api.py --json | python bench/history.py add          append a run's figures
    python bench/history.py add --note "busy machine" < scheduling.json
    python bench/history.py draw                                      draw them again

`bench/results/history.jsonl` has a line for each figure: when it was measured, the commit (of older ones: the one that
wrote it down), the machine, the bench and its case. `add` knows what `bench/api.py`, `bench/scheduling.py`,
`bench/turns.py` and `bench/growth.py` print, and draws. The drawing is `docs/concepts/performance-history.svg`: a panel for each case that was
measured twice, from left to right in the order of the file. Runs with a note are hollow: they do not compare.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "bench/results/history.jsonl"
DRAWING = ROOT / "docs/concepts/performance-history.svg"

COLUMNS = 3
WIDTH, HEIGHT = 300, 150  # of a panel
LEFT, TOP, RIGHT, BOTTOM = 14, 44, 70, 26  # of a panel, around its curve


class Figure(NamedTuple):
    date: str
    commit: str
    bench: str
    case: str
    unit: str
    figure: float
    machine: str
    note: str = ""


def read(path: Path) -> list[Figure]:
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines()]


def figures_of(run: dict[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Bench, case, unit and figure of what a bench printed."""
    if "fairlead" in run:
        plane = run["fairlead"]
        yield "api", "creates", "per second", plane["creates"]["per_second"]
        yield "api", "creates with controllers", "per second", run["creates_with_controllers"]["per_second"]
        yield "api", "gets", "per second", plane["gets"]["per_second"]
        yield "api", f"list of {run['pods']:,} pods", "ms", plane["lists"]["p50_ms"]
        yield "api", f"resident with {run['pods']:,} pods", "MB", plane["resident_mb"]
        yield "api", "puts of the raw store", "per second", run["store"]["per_second"]
        if isinstance(run["etcd"], dict):
            yield "api", "puts of etcd", "per second", run["etcd"]["per_second"]
    elif "pods_per_second" in run:
        kind = run["kind"].replace("_", "-") + (", bare" if run["run_by"] == "nobody" else "")
        case = f"{run['nodes']:,} x {run['pods']:,} {kind}"
        yield "scheduling", case, "pods per second", run["pods_per_second"]
        yield "scheduling", case, "us per pod", run["cpu_us_per_pod"]["all"]
    elif "phases" in run:
        for name, phase in run["phases"].items():
            case = f"create {run['deployments']:,} Deployments" if name == "create" else name
            yield "turns", case, "us per turn", phase["microseconds_per_turn"]
    elif "acts" in run:
        small, large = run["deployments"]
        for name, act in run["acts"].items():
            yield "growth", f"{name}, {large:,} beside {small:,}", "times the time", act["times"]
            yield "growth", f"{name}, {large:,} beside {small:,}", "times the calls", act["calls_times"]
    else:
        raise SystemExit(
            "this is not what bench/api.py, scheduling.py, turns.py or growth.py print with --json"
        )


def measured_now(run: dict[str, Any], note: str) -> list[Figure]:
    version = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, CPython {platform.python_version()}"
    date = time.strftime("%Y-%m-%d", time.gmtime())
    return [
        Figure(date, version.stdout.strip() or "unknown", *found, machine, note) for found in figures_of(run)
    ]


def drawing(figures: Sequence[Figure]) -> str:
    """An SVG; the same figures give the same bytes."""
    series: dict[tuple[str, str, str], list[Figure]] = {}
    for each in figures:
        series.setdefault((each.bench, each.case, each.unit), []).append(each)
    panels = [found for found in series.values() if len(found) > 1]
    width, height = COLUMNS * WIDTH, -(-len(panels) // COLUMNS) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        lines += _panel(panel, number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT)
    return "\n".join([*lines, "</svg>", ""])


def _panel(figures: Sequence[Figure], left: int, top: int) -> Iterable[str]:
    first, last = figures[0], figures[-1]
    highest = max(each.figure for each in figures)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(number: int) -> tuple[float, float]:
        across = number / (len(figures) - 1)
        return left + LEFT + across * wide, top + TOP + high - figures[number].figure / highest * high

    ground = top + TOP + high
    yield f'<text x="{left + LEFT}" y="{top + 18}" font-weight="bold">{escape(first.case)}</text>'
    yield f'<text x="{left + LEFT}" y="{top + 32}" fill="#666">{escape(f"bench/{first.bench}.py, {first.unit}")}</text>'
    yield f'<path d="M{left + LEFT} {ground}H{left + LEFT + wide}" stroke="#ccc"/>'
    yield f'<text x="{left + LEFT}" y="{ground + 14}" fill="#666">{first.date}</text>'
    if last.date != first.date:
        yield f'<text x="{left + LEFT + wide}" y="{ground + 14}" fill="#666" text-anchor="end">{last.date}</text>'
    compared = [at(number) for number, each in enumerate(figures) if not each.note]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in compared)
    yield f'<polyline points="{points}" fill="none" stroke="#3f51b5" stroke-width="1.5"/>'
    for number, each in enumerate(figures):
        x, y = at(number)
        told = f"{each.figure:,g} on {each.date}, {each.commit}" + (f": {each.note}" if each.note else "")
        fill = "#fff" if each.note else "#3f51b5"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}" stroke="#3f51b5"><title>{escape(told)}</title></circle>'
        )
    x, y = at(len(figures) - 1)
    yield f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{last.figure:,g}</text>'


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("draw", help="draw what is kept")
    add = verbs.add_parser("add", help="append what a bench printed, from standard input, and draw")
    add.add_argument("--note", default="", help="why this run does not compare with others: a busy machine")
    options = parser.parse_args(arguments)
    if options.verb == "add":
        found = measured_now(json.load(sys.stdin), options.note)
        with ROWS.open("a") as file:
            file.writelines(json.dumps(each._asdict()) + "\n" for each in found)
    DRAWING.write_text(drawing(read(ROWS)))


if __name__ == "__main__":
    main()
