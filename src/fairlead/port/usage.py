"""What a node says of itself at GET /stats: how much CPU and memory its pods use, as data both sides share.

Made by `agent/usage.py`, read by `api/metrics.py`. CPU in billionths of a core over `window` seconds that end at `at`;
memory in bytes at that instant.
"""

from __future__ import annotations

import msgspec

NODE_STATS = "/stats"


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
