"""What SchedulerOverrides cost the scheduler: placements in processor time, with none, 100 of others, 100 of its own.

    python bench/overrides.py [--json] [--nodes 1000] [--pods 2000] [--rounds 5]

The same pods of 40 workloads are placed on the same nodes of five zones, by the scheduler's own snapshot and cycle, in
blocks that take turns. `others`: overrides of workloads that have no pods here; `own`: each workload avoids one zone by
two or three overrides, and ten pools are cordoned that have no nodes. What counts is the ratio to `none`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import msgspec

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.views import NODES, OVERRIDES, Node, Pod, SchedulerOverride
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot

WORKLOADS, ZONES, COUNT = 40, 5, 100
NOW = 1_800_000_000.0
HASH = "5d9f8c7b6d"


def node(number: int) -> Node:
    labels = {"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"z{number % ZONES}"}
    status = {
        "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "220"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    meta = {"name": f"n{number}", "uid": f"n{number}", "labels": labels}
    return msgspec.convert({"metadata": meta, "status": status}, Node)


def pod(number: int) -> Pod:
    app = f"app-{number % WORKLOADS}"
    owner = {"kind": "ReplicaSet", "name": f"{app}-{HASH}", "uid": app, "controller": True}
    meta = {
        "name": f"{app}-{number}",
        "namespace": "default",
        "uid": f"p{number}",
        "labels": {"app": app, "pod-template-hash": HASH},
        "ownerReferences": [owner],
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return msgspec.convert({"metadata": meta, "spec": {"containers": [container]}}, Pod)


def override(number: int, target: str, changes: Json, namespace: str = "default") -> SchedulerOverride:
    meta = {"name": f"o{number}", "namespace": namespace, "uid": f"o{number}"}
    spec = {"target": target, "expiresAt": timestamp(NOW + 3600), "changes": changes}
    return msgspec.convert({"metadata": meta, "spec": spec}, SchedulerOverride)


def overrides(case: str) -> list[SchedulerOverride]:
    if case == "none":
        return []
    if case == "others":
        return [override(each, f"deployment/other-{each}", {"avoidZones": ["z0"]}) for each in range(COUNT)]
    own = [
        override(each, f"deployment/app-{each % WORKLOADS}", {"avoidZones": [f"z{each % WORKLOADS % ZONES}"]})
        for each in range(COUNT - 10)
    ]
    places = [override(1000 + each, f"pool/p{each}", {"cordon": True}, "kube-system") for each in range(10)]
    return own + places


def measure(case: str, nodes: list[Node], pods: list[Pod]) -> float:
    snapshot = Snapshot()
    for each in nodes:
        snapshot.observe(NODES.name, None, each)
    for laid in overrides(case):
        snapshot.observe(OVERRIDES.name, None, laid)
    cycle = Cycle(snapshot, default_policy())
    begun = time.process_time()
    for number, each in enumerate(pods):
        if number % 64 == 0:
            snapshot.overrides.expire(NOW)
        assert cycle.place(each).node
    return (time.process_time() - begun) / len(pods) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    nodes, pods = [node(each) for each in range(options.nodes)], [pod(each) for each in range(options.pods)]
    cases = ("none", "others", "own")
    found: dict[str, list[float]] = {case: [] for case in cases}
    for number in range(options.rounds):
        for case in cases[number % 3 :] + cases[: number % 3]:
            found[case].append(measure(case, nodes, pods))
    median = {case: statistics.median(values) for case, values in found.items()}
    least = {case: min(values) for case, values in found.items()}
    told = {
        "bench": "overrides",
        "nodes": options.nodes,
        "pods": options.pods,
        "us_per_pod": {case: round(value, 1) for case, value in median.items()},
        "ratio_to_none": {case: round(least[case] / least["none"], 3) for case in cases},
    }
    print(json.dumps(told) if options.json else json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
