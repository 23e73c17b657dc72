"""Which controllers exist. One list: production, simulator and tests take it from here."""

from __future__ import annotations

from fairlead.decision.contract import Decider
from fairlead.reconcile.first_fit import FirstFitDecider


def default_deciders() -> tuple[Decider, ...]:
    return (FirstFitDecider(),)
