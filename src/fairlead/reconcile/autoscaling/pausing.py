"""Who holds autoscaling: asked by `decider.py` before any change of a scale, and by nobody else."""

from __future__ import annotations

from fairlead.decision.contract import Reading

PAUSED = "AutoscalingPaused"


def paused_by(view: Reading, namespace: str, target: str, now: float) -> str:
    """The name of the override that holds autoscaling of `target` ("deployment/web") now; "": none does."""
    return ""
