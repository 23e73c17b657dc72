"""What a node says of itself at GET /stats: how much CPU and memory its pods use, as data both sides share.

Made by `agent/usage.py`, read by `api/metrics.py`. CPU in billionths of a core over `window` seconds that end at `at`;
memory in bytes at that instant. What an agent tells of it with its lease (`usage_text`) is read by the autoscaler.
"""

from __future__ import annotations

import msgspec

NODE_STATS = "/stats"
NODE_METRICS = "/metrics"


class Amount(msgspec.Struct, frozen=True, rename="camel"):
    cpu_nanos: int
    memory_bytes: int


class ContainerUsage(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    usage: Amount


class PodUsage(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    at: float
    window: float
    containers: tuple[ContainerUsage, ...]


class NodeUsage(msgspec.Struct, frozen=True, rename="camel"):
    """`usage` is of all pods, their supervisors and the agent."""

    at: float
    window: float
    usage: Amount
    pods: tuple[PodUsage, ...] = ()


class ToldUsage(msgspec.Struct, frozen=True):
    """What a node tells of its pods with its lease: by uid of the pod and name of the container."""

    at: float
    window: float
    pods: dict[str, dict[str, Amount]]


class _Brief(msgspec.Struct, frozen=True):
    at: float
    window: float
    pods: dict[str, dict[str, tuple[int, int]]] = {}


#: bound: endpoint | what a node tells of its pods with its lease | pods beyond it are left out
TOLD_BYTES_MAX = 64 * 1024


def usage_text(usage: NodeUsage) -> str:
    """For the annotation of a lease: short, as it is written with every renewal."""
    pods: dict[str, dict[str, tuple[int, int]]] = {}
    room = TOLD_BYTES_MAX - 100
    for pod in usage.pods:
        used = {each.name: (each.usage.cpu_nanos, each.usage.memory_bytes) for each in pod.containers}
        room -= len(pod.uid) + sum(len(name) + 40 for name in used) + 10
        if room < 0:
            break
        pods[pod.uid] = used
    return msgspec.json.encode(_Brief(round(usage.at, 3), round(usage.window, 3), pods)).decode()


def read_usage(text: str) -> ToldUsage | None:
    """None for what is no such text."""
    try:
        found = msgspec.json.decode(text, type=_Brief)
    except msgspec.MsgspecError:
        return None
    pods = {
        uid: {name: Amount(*amounts) for name, amounts in used.items()} for uid, used in found.pods.items()
    }
    return ToldUsage(found.at, found.window, pods)
