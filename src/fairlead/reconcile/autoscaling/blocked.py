"""Replicas that wait, and what follows for an autoscaler: nothing is added while those there are wait for others.

Who may react to a reason is in the table of reasons (`model/reasons.py`): while replicas wait for a quota, a brake, a
class or a node, more of them would wait for the same. And whatever they wait for, lag of the scheduler among it, no
more are asked for than a multiple of those that have come as far as a node, nor, however they come there one by one,
than a multiple of those that there were a window ago. Called by `decider.py`; pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from fairlead.ledger.progress import counts, progress
from fairlead.model.policy.plane_knobs import Numbers
from fairlead.model.reasons import may_add_replicas
from fairlead.model.views import Autoscaler, Pod
from fairlead.reconcile.autoscaling.memory import ScalingMemory
from fairlead.reconcile.autoscaling.pace import Paced, size_at
from fairlead.reconcile.autoscaling.targets import ScaleTarget

REACT_TO_BLOCKED = "fairlead.dev/react-to-blocked"
BLOCKED, AMPLIFIED = "ReplicasBlocked", "AmplificationLimit"


class Waiters(NamedTuple):
    """`placed`: replicas that have a node. `waiting`: those that have none. `blocked`: of all that are not ready,
    those whose reason an autoscaler may not react to; what most of them wait for is in the other fields."""

    placed: int
    waiting: int
    blocked: int = 0
    stage: str = ""
    reason: str = ""
    owner: str = ""
    message: str = ""


def find_waiters(target: ScaleTarget, pods: Sequence[Pod]) -> Waiters:
    """Of a custom kind there may be no pods at all: what its status counts is then taken to be where it should."""
    placed = sum(bool(pod.spec.node_name) for pod in pods if counts(pod)) if pods else target.status_replicas
    waiting = max(0, target.replicas - placed)
    told = progress(pods, target.replicas, None, target.conditions).get("pending") or ()
    groups = [each for each in told if not may_add_replicas(each["stage"], each.get("reason") or "")]
    if not groups:
        return Waiters(placed, waiting)
    most = max(groups, key=lambda each: int(each["count"]))
    return Waiters(
        placed,
        waiting,
        sum(int(each["count"]) for each in groups),
        most["stage"],
        most.get("reason") or "",
        most.get("owner") or "",
        most.get("message") or "",
    )


class Bounds(NamedTuple):
    """What bounds a number of replicas while some of them wait, and by what."""

    placed: float  # times those that have a node
    window: float  # times those that there were a window ago
    window_seconds: float
    window_replicas: int  # so many were there then, as far as it was not the autoscaler that changed it

    def limit(self, waiters: Waiters) -> tuple[int, str]:
        by_placed, by_window = ceil(waiters.placed * self.placed), ceil(self.window_replicas * self.window)
        if by_placed <= by_window:
            return by_placed, f"{self.placed:g} times the {waiters.placed} that have one"
        ago = f"{self.window_replicas} of {self.window_seconds:g} s ago"
        return by_window, f"{self.window:g} times the {ago}"


def bounds_of(knobs: Numbers, current: int, memory: ScalingMemory, now: float) -> Bounds:
    window = knobs["amplificationWindowSeconds"]
    return Bounds(
        knobs["amplificationMax"],
        knobs["amplificationPerWindowMax"],
        window,
        size_at(current, memory.rescalings, now - window),
    )


def held_back(found: Autoscaler, target: ScaleTarget, wanted: int, waiters: Waiters, bounds: Bounds) -> Paced:
    """How many of `wanted` may be asked for. Fewer than there are may always be."""
    current, least = target.replicas, found.spec.min_replicas
    if wanted <= current:
        return Paced(wanted)
    if waiters.blocked and found.metadata.annotations.get(REACT_TO_BLOCKED) != "true":
        some = f"{waiters.blocked} of {current} replicas wait"
        why = f": {waiters.message}" if waiters.message else ""
        return Paced(
            current,
            BLOCKED,
            f"{some} at {waiters.stage} for {waiters.reason}, which more replicas would wait for as well;"
            f" next step: {waiters.owner}{why}",
        )
    most, told = bounds.limit(waiters)
    limit = max(current, least, most)
    if waiters.waiting and wanted > limit:
        some = f"{waiters.waiting} of {current} replicas have no node yet: no more than {limit} are asked for"
        bound = f"which is {told}" if limit == most else f"as the bound is {most}, {told}"
        return Paced(limit, AMPLIFIED, f"{some}, {bound}")
    return Paced(wanted)
