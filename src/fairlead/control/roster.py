"""Which controllers exist. One list: production, the simulator and tests take it from here.

The scheduler is not among them: it decides over all pods at once (`placing.py`).
"""

from __future__ import annotations

from fairlead.decision.contract import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.served import Served
from fairlead.model.service_views import SERVICES
from fairlead.reconcile.cronjob import CronJobDecider
from fairlead.reconcile.custom_definition import DefinitionDecider
from fairlead.reconcile.daemonset import DaemonSetDecider
from fairlead.reconcile.deployment import DeploymentDecider
from fairlead.reconcile.disruption_budget import BudgetDecider
from fairlead.reconcile.endpoint_slices import EndpointSliceDecider
from fairlead.reconcile.evidence_policy import EvidencePolicyDecider
from fairlead.reconcile.garbage import GarbageDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.job_orphans import JobOrphanDecider
from fairlead.reconcile.namespace import NamespaceDecider
from fairlead.reconcile.node_health import NodeHealthDecider
from fairlead.reconcile.placement_quota import PlacementQuotaDecider
from fairlead.reconcile.plane_settings import PlaneSettingsDecider
from fairlead.reconcile.pod_networks import PodNetworkDecider
from fairlead.reconcile.progress import ProgressDecider
from fairlead.reconcile.release import ReleaseDecider
from fairlead.reconcile.repair import RepairDecider
from fairlead.reconcile.replicaset import ReplicaSetDecider
from fairlead.reconcile.reservation import ReservationDecider
from fairlead.reconcile.resource_quota import ResourceQuotaDecider
from fairlead.reconcile.returned import ReturnedDecider
from fairlead.reconcile.root_certificate import RootCertificateDecider
from fairlead.reconcile.scheduling_policy import SchedulingPolicyDecider
from fairlead.reconcile.service_account import SERVICE_ACCOUNTS, ServiceAccountDecider
from fairlead.reconcile.stale_disruption import StaleDisruptionDecider
from fairlead.reconcile.statefulset import StatefulSetDecider
from fairlead.reconcile.taint_eviction import TaintEvictionDecider


def deletion_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """What the API promises by taking a deletion: without these, foreground deletions, namespaces and definitions of
    custom kinds would wait for ever. They run in every server, also in one that serves the API alone."""
    return _deletion_deciders(_with_custom(catalog))


def _deletion_deciders(kinds: Catalog) -> tuple[Decider, ...]:
    if not isinstance(kinds, Served):
        return GarbageDecider(kinds), NamespaceDecider(kinds)
    return GarbageDecider(kinds), NamespaceDecider(kinds), DefinitionDecider(kinds)


def _with_custom(catalog: Catalog) -> Catalog:
    """The kinds that the plane adds to as definitions come and go, where there may be definitions."""
    return catalog if catalog.of_resource(DEFINITIONS) is None else Served(catalog)


def traffic_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Addresses and who is behind them; where there are no Services, nobody asks."""
    if catalog.of_resource(SERVICES.name) is None:
        return ()
    return PodNetworkDecider(), EndpointSliceDecider()


def account_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """What each namespace has from its first moment."""
    if catalog.of_resource(SERVICE_ACCOUNTS.name) is None:
        return ()
    return ServiceAccountDecider(), RootCertificateDecider()


def scheduling_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Those of the objects that the scheduler reads: all that runs beside a cluster with controllers of its own."""
    return (
        PlaneSettingsDecider(),
        SchedulingPolicyDecider(),
        PlacementQuotaDecider(),
        ReservationDecider(catalog),
    )


def default_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """All of them. `catalog`: which kinds there may be objects of."""
    kinds = _with_custom(catalog)
    return (*_deletion_deciders(kinds), *workload_deciders(catalog, kinds))


def workload_deciders(catalog: Catalog = CATALOG, kinds: Catalog | None = None) -> tuple[Decider, ...]:
    """All but those that run in every server. `kinds`: with custom ones, where the plane follows these."""
    return (
        DeploymentDecider(),
        ReplicaSetDecider(),
        StatefulSetDecider(),
        DaemonSetDecider(),
        JobDecider(),
        JobOrphanDecider(),
        CronJobDecider(),
        BudgetDecider(),
        StaleDisruptionDecider(),
        ProgressDecider(),
        PlaneSettingsDecider(),
        SchedulingPolicyDecider(),
        PlacementQuotaDecider(),
        ResourceQuotaDecider(kinds if kinds is not None else catalog),
        ReservationDecider(catalog),
        NodeHealthDecider(),
        EvidencePolicyDecider(),
        ReleaseDecider(),
        ReturnedDecider(),
        TaintEvictionDecider(),
        RepairDecider(),
        *traffic_deciders(catalog),
        *account_deciders(catalog),
    )
