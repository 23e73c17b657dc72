"""What is said of a pod that fits nowhere, in the words that users of Kubernetes search for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.schedule.contract import FilterRefusal

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = "not eligible due to preemptionPolicy=Never."
LEAVING = "not eligible due to a terminating pod on the nominated node."


def explain_unschedulable(nodes: int, refusals: Sequence[FilterRefusal], preemption: str = "") -> str:
    """`0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: ...`"""
    if not nodes:
        return "no nodes available to schedule pods"
    told = _counted(nodes, [(each.reason, each.nodes) for each in refusals])
    return f"{told} preemption: {preemption}" if preemption else told


def explain_preemption(nodes: int, reasons: Mapping[str, int]) -> str:
    """Why evicting does not help: `0/3 nodes are available: 3 No preemption victims found for incoming pod.`"""
    return _counted(nodes, list(reasons.items()))


def _counted(nodes: int, reasons: Sequence[tuple[str, int]]) -> str:
    told = ", ".join(sorted(f"{number} {reason}" for reason, number in reasons))
    return f"0/{nodes} nodes are available: {told}." if told else f"0/{nodes} nodes are available."
