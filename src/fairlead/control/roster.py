"""Which controllers exist. One list: production, the simulator and tests take it from here."""

from __future__ import annotations

from fairlead.decision.contract import Decider
from fairlead.reconcile.deployment import DeploymentDecider
from fairlead.reconcile.first_fit import FirstFitDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.replicaset import ReplicaSetDecider


def default_deciders() -> tuple[Decider, ...]:
    return (DeploymentDecider(), ReplicaSetDecider(), JobDecider(), FirstFitDecider())
