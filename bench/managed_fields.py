"""What keeping managedFields costs: CPU and bytes of the writes that a plane does most, in one process without a loop.

    python bench/managed_fields.py [--json] [--writes 3000]

Pods from one template under distinct names, their statuses patched as an agent does, leases renewed, deployments
replaced. CPU is the process's own; the store is in memory, so that no disk is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.api import pod
from tests.inprocess import InProcess

from fairlead.port.request import MERGE_PATCH, Reply, Request

_ROUNDS = 3
_STRETCH = 50


def status(turn: int, number: int) -> bytes:
    """What an agent reports of a pod: at first all of it, then that it is ready or not. Each pod has its address, which
    is a part of the name of a field (`k:{"ip":"10.1.0.7"}`)."""
    address = f"10.1.{number // 250}.{number % 250 + 1}"
    at = f"2027-01-15T08:{turn % 60:02d}:00Z"
    ready = "True" if turn % 2 == 0 else "False"
    return json.dumps(
        {
            "status": {
                "phase": "Running",
                "hostIP": "10.0.0.1",
                "podIP": address,
                "podIPs": [{"ip": address}],
                "startTime": "2027-01-15T08:00:00Z",
                "conditions": [
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"},
                    {"type": "Initialized", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"},
                    {"type": "ContainersReady", "status": ready, "lastTransitionTime": at},
                    {"type": "Ready", "status": ready, "lastTransitionTime": at},
                ],
                "containerStatuses": [
                    {
                        "name": "main",
                        "image": "registry.example/web:1.25.3",
                        "imageID": "registry.example/web@sha256:0",
                        "ready": ready == "True",
                        "restartCount": 0,
                        "state": {"running": {"startedAt": at}},
                    }
                ],
            }
        }
    ).encode()


def lease(turn: int) -> bytes:
    return json.dumps(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "n1"},
            "spec": {
                "holderIdentity": "n1",
                "leaseDurationSeconds": 40,
                "renewTime": f"2027-01-15T08:{turn // 60 % 60:02d}:{turn % 60:02d}.000000Z",
            },
        }
    ).encode()


def deployment(turn: int) -> bytes:
    template = json.loads(pod(0))
    del template["metadata"]["name"]
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {
                "replicas": turn % 50,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": template["metadata"], "spec": template["spec"]},
            },
        }
    ).encode()


def measured(plane: InProcess, requests: list[Request]) -> float:
    """Microseconds of CPU for each: of the quickest of many short stretches, because other processes disturb."""
    send, found = plane.send, []
    for start in range(0, len(requests) - _STRETCH + 1, _STRETCH):
        begin = time.process_time()
        for each in requests[start : start + _STRETCH]:
            reply = send(each)
            assert isinstance(reply, Reply)
            assert reply.status in (200, 201), reply
        found.append((time.process_time() - begin) * 1e6 / _STRETCH)
    return sorted(found)[len(found) // 10]


def run(writes: int) -> dict[str, float]:
    figures: dict[str, float] = {}

    def best(name: str, requests: Callable[[int], list[Request]], plane: InProcess) -> None:
        figures[name] = round(min(measured(plane, requests(round_)) for round_ in range(_ROUNDS)), 1)

    plane = InProcess()
    lease_at = ("coordination.k8s.io", "v1", "leases", "default")
    plane.send(Request("create", *lease_at, body=lease(0)))
    plane.send(Request("create", "apps", "v1", "deployments", "default", body=deployment(0)))
    best(
        "pod create",
        lambda round_: [
            Request("create", "", "v1", "pods", "default", body=pod(round_ * writes + i).encode())
            for i in range(writes)
        ],
        plane,
    )
    best(
        "pod status patch",
        lambda round_: [
            Request(
                verb="patch", group="", version="v1", plural="pods", namespace="default", name=f"web-{i:05d}", subresource="status",
                body=status(round_, i), content_type=MERGE_PATCH,
            )
            for i in range(writes)
        ],
        plane,
    )  # fmt: skip
    best(
        "lease update",
        lambda round_: [
            Request("update", *lease_at, "n1", body=lease(round_ * writes + i + 1)) for i in range(writes)
        ],
        plane,
    )
    best(
        "deployment update",
        lambda round_: [
            Request(
                verb="update",
                group="apps",
                version="v1",
                plural="deployments",
                namespace="default",
                name="web",
                body=deployment(i + 1),
            )
            for i in range(writes)
        ],
        plane,
    )
    pods = plane.store.list("pods", "default")
    figures["bytes of a pod"] = round(sum(len(each.data) for each in pods) / len(pods))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--writes", type=int, default=3000)
    options = parser.parse_args()
    figures = run(options.writes)
    if options.json:
        print(json.dumps(figures))
        return
    for name, figure in figures.items():
        print(f"{name:20} {figure:10} {'' if name.startswith('bytes') else 'µs of CPU'}")


if __name__ == "__main__":
    main()
