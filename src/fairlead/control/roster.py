"""Which controllers exist. One list: production, the simulator and tests take it from here."""

from __future__ import annotations

from fairlead.decision.contract import Decider
from fairlead.reconcile.cronjob import CronJobDecider
from fairlead.reconcile.daemonset import DaemonSetDecider
from fairlead.reconcile.deployment import DeploymentDecider
from fairlead.reconcile.disruption_budget import BudgetDecider
from fairlead.reconcile.first_fit import FirstFitDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.job_orphans import JobOrphanDecider
from fairlead.reconcile.replicaset import ReplicaSetDecider
from fairlead.reconcile.statefulset import StatefulSetDecider


def default_deciders() -> tuple[Decider, ...]:
    return (
        DeploymentDecider(),
        ReplicaSetDecider(),
        StatefulSetDecider(),
        DaemonSetDecider(),
        JobDecider(),
        JobOrphanDecider(),
        CronJobDecider(),
        BudgetDecider(),
        FirstFitDecider(),
    )
