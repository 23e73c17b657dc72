"""Places that somebody closed for a while: zones, pools and nodes that a workload is to avoid, and cordons of places.

Only what is not yet there is kept off; whoever runs there stays. A cordon is tolerated as that of a node is, so that
DaemonSets have their pods there. No SchedulingPolicy can take this plugin out: an override that says that it holds,
holds.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from fairlead.model.views import OVERRIDES
from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints
from fairlead.schedule.overrides import Closing
from fairlead.schedule.plugins.node_unschedulable import CORDONED
from fairlead.schedule.plugins.static import Static
from fairlead.schedule.plugins.taint_toleration import is_tolerated
from fairlead.schedule.snapshot import Snapshot


class SchedulerOverrides:
    name: ClassVar[str] = "SchedulerOverrides"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", OVERRIDES.name})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "node-admin")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        if not snapshot.overrides:
            return None
        found = snapshot.overrides.closing(snapshot.nodes, facts, _heeds_cordons)
        if found is None:
            return None
        if found.prepared is None:
            found.prepared = Static(found.open, partial(_reasons, found))
        return found.prepared


def _heeds_cordons(facts: Facts) -> bool:
    return not is_tolerated(CORDONED, facts.tolerations)


def _reasons(found: Closing, slots: Ints) -> dict[str, int]:
    """Each node once, by the first override that closes it."""
    told: dict[str, int] = {}
    left = np.ones(len(slots), np.bool_)
    for each, where in zip(found.overrides, found.closed, strict=True):
        refused = left & where[slots]
        left &= ~refused
        if refused.any():
            meta = each.metadata
            count = int(np.count_nonzero(refused))
            told[f"node(s) were closed by SchedulerOverride {meta.namespace}/{meta.name}"] = count
    return told
