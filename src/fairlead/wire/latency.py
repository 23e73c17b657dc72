"""How long answers take, by verb and resource, as plain integers that `runtime/metrics/` turns into a histogram.

`handler.py` adds to those of its tally with every answer that is no stream, so it must cost next to nothing.
"""

from __future__ import annotations

from bisect import bisect_left

# Those of kube-apiserver that matter here: from a read out of memory to the longest a client waits.
BOUNDS_SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip


class Latency:
    """`counts[i]` answers took at most BOUNDS_SECONDS[i] and more than the bound before; the last had no bound."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.total = 0.0


class Latencies:
    """`seconds`: by verb and resource; both come from a bounded set (`tally.py`)."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], Latency] = {}

    def add(self, verb: str, resource: str, seconds: float) -> None:
        found = self.seconds.get((verb, resource))
        if found is None:
            found = self.seconds[verb, resource] = Latency()
        found.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        found.total += seconds

    def forget(self, resources: set[str]) -> None:
        """Kinds that are gone."""
        self.seconds = {each: kept for each, kept in self.seconds.items() if each[1] not in resources}
