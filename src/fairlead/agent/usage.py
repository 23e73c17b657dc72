"""From what containers have used so far to what they use now: CPU as the rate between two samples.

The node's endpoint (`runtime/node/endpoint.py`) takes a sample now and then and when somebody asks, and keeps the last
few here. A container that was read only once is not told yet, as with Kubernetes' metrics server.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.port.usage import Amount, ContainerUsage, NodeUsage, PodUsage

#: bound: endpoint | samples of usage a node keeps | the oldest goes
SAMPLES_KEPT_MAX = 8
#: bound: endpoint | usage is a rate over | -
USAGE_WINDOW_SECONDS = 10.0  # rates are over this long, or as long as is known
_LEAST_SECONDS = 1.0  # a rate over less is noise


class UsageReading(NamedTuple):
    cpu_seconds: float  # so far
    memory_bytes: int


Readings = Mapping[str, Mapping[str, UsageReading]]  # by uid of the pod and name of the container


class UsageSample(NamedTuple):
    at: float
    pods: Readings
    agent: UsageReading


class UsageHistory:
    def __init__(self) -> None:
        self._samples: deque[UsageSample] = deque(maxlen=SAMPLES_KEPT_MAX)

    def add(self, sample: UsageSample) -> None:
        """Samples in quick succession replace each other: they must not push out the one that a window begins with."""
        kept = self._samples
        if len(kept) >= 2 and sample.at - kept[-2].at < USAGE_WINDOW_SECONDS / 4:
            kept.pop()
        kept.append(sample)

    @property
    def newest_at(self) -> float:
        return self._samples[-1].at if self._samples else float("-inf")

    def latest(self) -> NodeUsage | None:
        """None while there is nothing to compare with."""
        if not self._samples:
            return None
        newest = self._samples[-1]
        before = self._before()
        if before is None:
            return None
        pods = tuple(pod for uid in newest.pods if (pod := self._pod(newest, uid)) is not None)
        amounts = [each.usage for pod in pods for each in pod.containers]
        amounts.append(_amount(newest.agent, before.agent, newest.at - before.at))
        total = Amount(sum(each.cpu_nanos for each in amounts), sum(each.memory_bytes for each in amounts))
        return NodeUsage(newest.at, newest.at - before.at, total, pods)

    def _pod(self, newest: UsageSample, uid: str) -> PodUsage | None:
        containers = []
        window = 0.0
        for name, reading in newest.pods[uid].items():
            before = self._before(uid, name)
            if before is None:
                continue
            seconds = newest.at - before.at
            window = max(window, seconds)
            containers.append(ContainerUsage(name, _amount(reading, before.pods[uid][name], seconds)))
        return PodUsage(uid, newest.at, window, tuple(containers)) if containers else None

    def _before(self, uid: str = "", container: str = "") -> UsageSample | None:
        """The newest that is a window old and knows of the container; if none is, the oldest that is old enough."""
        at = self._samples[-1].at
        found: UsageSample | None = None
        for sample in reversed(self._samples):
            if at - sample.at < _LEAST_SECONDS or (uid and container not in sample.pods.get(uid, ())):
                continue
            found = sample
            if at - sample.at >= USAGE_WINDOW_SECONDS:
                break
        return found


def _amount(now: UsageReading, before: UsageReading, seconds: float) -> Amount:
    used = now.cpu_seconds - before.cpu_seconds
    if used < 0:  # started anew, or a process took its count with it: what is counted now was used since
        used = now.cpu_seconds
    return Amount(round(used / seconds * 1e9), now.memory_bytes)
