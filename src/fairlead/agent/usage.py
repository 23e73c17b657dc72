"""From samples of what containers have used so far to what they use now: CPU as a rate between two of them.

The node's endpoint (`runtime/node_endpoint.py`) takes a sample now and then and when somebody asks, and keeps the last
few here. A container that has been read only once is told from its start on, if its total is since then; otherwise the
next sample will tell.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from fairlead.port.usage import Amount, ContainerUsage, NodeUsage, PodUsage

SAMPLES_KEPT_MAX = 8
WINDOW_SECONDS = 10.0  # rates are over this long, or as long as is known
_LEAST_SECONDS = 1.0  # a rate over less is noise


class Reading(NamedTuple):
    cpu_nanos: int  # so far
    memory_bytes: int


class PodSample(NamedTuple):
    at: float
    # By container; with the instant since which its total counts, None where that is not known.
    containers: dict[str, tuple[Reading, float | None]]


class Sample(NamedTuple):
    at: float
    pods: dict[str, PodSample]  # by uid
    others: dict[int, Reading]  # what it takes to run pods here, by process


class UsageHistory:
    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_KEPT_MAX)

    def add(self, sample: Sample) -> None:
        """Samples that come in quick succession must not push out the one that a window begins with."""
        if len(self._samples) >= 2 and sample.at - self._samples[-2].at < WINDOW_SECONDS / 4:
            self._samples.pop()
        self._samples.append(sample)

    @property
    def newest_at(self) -> float:
        return self._samples[-1].at if self._samples else float("-inf")

    def told(self) -> NodeUsage | None:
        """None before the first sample."""
        if not self._samples:
            return None
        newest = self._samples[-1]
        pods = tuple(pod for uid in newest.pods if (pod := self._pod(uid)) is not None)
        before = self._before(newest.at)
        seconds = newest.at - before.at if before is not None else 0.0
        cpu = sum(each.usage.cpu_nanos for pod in pods for each in pod.containers)
        memory = sum(each.usage.memory_bytes for pod in pods for each in pod.containers)
        for process, reading in newest.others.items():
            memory += reading.memory_bytes
            if before is not None and process in before.others and seconds > 0:
                cpu += round(max(0, reading.cpu_nanos - before.others[process].cpu_nanos) / seconds)
        window = max((seconds, *(pod.window for pod in pods)))
        return NodeUsage(newest.at, window, Amount(cpu, memory), pods)

    def _pod(self, uid: str) -> PodUsage | None:
        now = self._samples[-1].pods[uid]
        containers = []
        window = 0.0
        for name, (reading, counts_since) in now.containers.items():
            used, since = reading.cpu_nanos, counts_since
            before = self._before(now.at, uid, name)
            if before is not None:
                past = before.pods[uid]
                total = past.containers[name][0].cpu_nanos
                if total <= used:  # less: it was started anew, and counts from there
                    used, since = used - total, past.at
            if since is None or now.at - since < _LEAST_SECONDS:
                continue
            window = max(window, now.at - since)
            rate = round(used / (now.at - since))
            containers.append(ContainerUsage(name, Amount(rate, reading.memory_bytes)))
        return PodUsage(uid, now.at, window, tuple(containers)) if containers else None

    def _before(self, at: float, uid: str = "", container: str = "") -> Sample | None:
        """The newest that is a window old and knows of the container; if none is, the oldest that is old enough."""
        found: Sample | None = None
        for sample in reversed(self._samples):
            if at - sample.at < _LEAST_SECONDS or (uid and container not in _containers(sample, uid)):
                continue
            found = sample
            if at - sample.at >= WINDOW_SECONDS:
                break
        return found


def _containers(sample: Sample, uid: str) -> dict[str, tuple[Reading, float | None]]:
    pod = sample.pods.get(uid)
    return pod.containers if pod is not None else {}
