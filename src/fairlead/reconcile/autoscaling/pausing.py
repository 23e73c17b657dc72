"""Who holds autoscaling: asked by `decider.py` before any change of a scale, and by nobody else."""

from __future__ import annotations

from fairlead.decision.contract import Reading
from fairlead.ledger import override as ledger
from fairlead.model.kinds.scheduleroverride import split
from fairlead.model.views import OVERRIDES

PAUSED = "AutoscalingPaused"


def paused_by(view: Reading, namespace: str, target: str, now: float) -> str:
    """The names of the overrides that hold autoscaling of `target` ("deployment/web") now; "": none does."""
    overrides = view.list(OVERRIDES)
    if not overrides:
        return ""
    sort, name = split(target.lower())
    hold = ledger.holding(overrides, ledger.autoscaling, namespace, (ledger.Name(sort, name),), now)
    return ", ".join(hold.names) if hold is not None else ""
