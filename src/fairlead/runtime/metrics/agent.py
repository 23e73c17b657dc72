"""What a node's agent counts of itself, for /metrics of its endpoint: heartbeats, pods, mirrors, Services, usage.

Read off the machine's plain numbers when somebody asks (`runtime/node/process.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead import __version__
from fairlead.agent.machine import Agent
from fairlead.cache.mirror import MirrorPhase
from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.runtime.metrics.mirrors import (
    BUILD,
    MIRROR_FOLLOWING,
    MIRROR_LAG,
    MIRROR_REVISION,
)
from fairlead.runtime.metrics.services import service_samples
from fairlead.runtime.node.service_proxy import ServiceProxy

RENEWALS = Metric("fairlead_agent_lease_renewals_total", "Renewals of the node's lease.")
RENEWALS_FAILED = Metric("fairlead_agent_lease_renewals_failed_total", "Renewals that did not succeed.")
LEASE_LEFT = Metric(
    "fairlead_agent_lease_left_seconds",
    "Until pods of which at most one may run end, unless the lease is renewed; negative: since then.",
)
PODS = Metric("fairlead_agent_pods", "Pods that this node has, those that are ending included.")
CPU = Metric("fairlead_agent_cpu_cores", "CPU that the node's pods and its agent use, in cores.")
MEMORY = Metric("fairlead_agent_memory_bytes", "Memory that the node's pods and its agent use.")
METRICS = (RENEWALS, RENEWALS_FAILED, LEASE_LEFT, PODS, CPU, MEMORY)
_BILLION = 1e9


def agent_samples(agent: Agent, proxy: ServiceProxy, now: float) -> Iterator[MetricSample]:
    heartbeat = agent.heartbeat
    yield BUILD.sample(1, __version__)
    yield RENEWALS.sample(heartbeat.renewals)
    yield RENEWALS_FAILED.sample(heartbeat.failures)
    if heartbeat.deadline:
        yield LEASE_LEFT.sample(round(heartbeat.deadline - now, 3))
    yield PODS.sample(len(agent.works))
    if heartbeat.usage is not None:
        yield CPU.sample(heartbeat.usage.usage.cpu_nanos / _BILLION)
        yield MEMORY.sample(heartbeat.usage.usage.memory_bytes)
    for name, mirror in agent.mirrors.items():
        yield MIRROR_REVISION.sample(mirror.revision, name)
    for name, mirror in agent.mirrors.items():
        yield MIRROR_FOLLOWING.sample(mirror.phase is MirrorPhase.FOLLOWING, name)
    for name, mirror in agent.mirrors.items():
        since = mirror.unfollowed_since
        yield MIRROR_LAG.sample(round(max(0.0, now - since), 3) if since else 0, name)
    yield from service_samples(proxy)
