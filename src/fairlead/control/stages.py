"""How long pods take from stage to stage, and how many are on their way: plain numbers that become metrics.

The plane tells it of every change of a pod. Only pods on their way are remembered, so it costs nothing for those that
run; a pod counts from when this plane first saw it, and one that was ready when first seen does not count at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.control.placement_tally import Distribution
from fairlead.ledger.progress import stage_of
from fairlead.model.policy.plane_knobs import TIMED_STAGES
from fairlead.model.reasons import READY, SERVING
from fairlead.model.stages import ENDED
from fairlead.model.views import Pod, View

#: bound: plane | pods whose stages are timed at once | not timed
ON_THE_WAY_MAX = 100_000
_BOUNDS = tuple(0.01 * 4**power for power in range(10))
_THERE = frozenset({READY, SERVING, ENDED})


class _Way(NamedTuple):
    stage: str
    since: float


class StageTally:
    """`limits`: how long a pod may stay at each stage before it counts as stuck there (PlaneSettings, `stages`)."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self.seconds = {stage: Distribution(_BOUNDS) for stage in TIMED_STAGES}
        self.exceeded = dict.fromkeys(
            TIMED_STAGES, 0
        )  # stays that had lasted longer than the limit when they ended
        self._ways: dict[str, _Way] = {}

    def observe(self, before: View | None, after: View | None, now: float) -> None:
        """One change; None: it was not there, it is gone."""
        pod = after if after is not None else before
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        way = self._ways.get(uid)
        if way is None and before is not None:
            return
        stage = ENDED if after is None or pod.metadata.deletion_timestamp else stage_of(pod)
        if way is None:
            if stage not in _THERE and len(self._ways) < ON_THE_WAY_MAX:
                self._ways[uid] = _Way(stage, now)
        elif stage != way.stage:
            stayed = max(0.0, now - way.since)
            self.seconds[way.stage].add(stayed)
            self.exceeded[way.stage] += stayed > self.limits[way.stage]
            if stage in _THERE:
                del self._ways[uid]
            else:
                self._ways[uid] = _Way(stage, now)

    def on_the_way(self) -> Counter[str]:
        return Counter(way.stage for way in self._ways.values())

    def stuck(self, now: float) -> Counter[str]:
        """Those that have been at one stage for longer than its limit."""
        limits = self.limits
        return Counter(way.stage for way in self._ways.values() if now - way.since > limits[way.stage])
