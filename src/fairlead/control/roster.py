"""Which controllers exist. One list: production, the simulator and tests take it from here.

The scheduler is not among them: it decides over all pods at once (`placing.py`).
"""

from __future__ import annotations

from fairlead.decision.contract import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.reconcile.cronjob import CronJobDecider
from fairlead.reconcile.daemonset import DaemonSetDecider
from fairlead.reconcile.deployment import DeploymentDecider
from fairlead.reconcile.disruption_budget import BudgetDecider
from fairlead.reconcile.garbage import GarbageDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.job_orphans import JobOrphanDecider
from fairlead.reconcile.namespace import NamespaceDecider
from fairlead.reconcile.placement_quota import PlacementQuotaDecider
from fairlead.reconcile.plane_settings import PlaneSettingsDecider
from fairlead.reconcile.replicaset import ReplicaSetDecider
from fairlead.reconcile.reservation import ReservationDecider
from fairlead.reconcile.resource_quota import ResourceQuotaDecider
from fairlead.reconcile.scheduling_policy import SchedulingPolicyDecider
from fairlead.reconcile.statefulset import StatefulSetDecider


def deletion_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """What the API promises by taking a deletion: without these two, foreground deletions and namespaces would wait for
    ever. They run in every server, also in one that serves the API alone."""
    return GarbageDecider(catalog), NamespaceDecider(catalog)


def default_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """All of them. `catalog`: which kinds there may be objects of."""
    return (
        *deletion_deciders(catalog),
        DeploymentDecider(),
        ReplicaSetDecider(),
        StatefulSetDecider(),
        DaemonSetDecider(),
        JobDecider(),
        JobOrphanDecider(),
        CronJobDecider(),
        BudgetDecider(),
        PlaneSettingsDecider(),
        SchedulingPolicyDecider(),
        PlacementQuotaDecider(),
        ResourceQuotaDecider(catalog),
        ReservationDecider(catalog),
    )
