"""Which controllers exist. One list: production, the simulator and tests take it from here.

The scheduler is not among them: it decides over all pods at once (`placing.py`).
"""

from __future__ import annotations

from functools import cache

from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.marks import PLANE_FENCE
from fairlead.model.served import Served
from fairlead.model.service_views import SERVICES
from fairlead.model.views import AUTOSCALERS
from fairlead.model.views.objectives import OBJECTIVES
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.reconcile.autoscaling.decider import autoscaler_decider
from fairlead.reconcile.custom_definition import definition_decider
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.disruption_budget import budget_decider
from fairlead.reconcile.garbage import garbage_decider
from fairlead.reconcile.job.cronjob import cronjob_decider
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.job.orphans import job_orphan_decider
from fairlead.reconcile.namespace import namespace_decider
from fairlead.reconcile.nodes.evidence_policy import evidence_policy_decider
from fairlead.reconcile.nodes.health import node_health_decider
from fairlead.reconcile.nodes.pod_networks import pod_network_decider
from fairlead.reconcile.nodes.release import release_decider
from fairlead.reconcile.nodes.returned import returned_decider
from fairlead.reconcile.nodes.taint_eviction import taint_eviction_decider
from fairlead.reconcile.objectives import objective_decider
from fairlead.reconcile.overrides.capacity import capacity_decider
from fairlead.reconcile.overrides.decider import override_decider
from fairlead.reconcile.overrides.drain import drain_decider
from fairlead.reconcile.placement_quota import placement_quota_decider
from fairlead.reconcile.plane_settings import plane_settings_decider
from fairlead.reconcile.progress import progress_decider
from fairlead.reconcile.repair import repair_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.reservation import reservation_decider
from fairlead.reconcile.resource_quota import resource_quota_decider
from fairlead.reconcile.role_aggregation import CLUSTER_ROLES, role_aggregation_decider
from fairlead.reconcile.rollout_outcome import rollout_outcome_decider
from fairlead.reconcile.root_certificate import root_certificate_decider
from fairlead.reconcile.runbooks.decider import runbook_decider
from fairlead.reconcile.scheduling_policy import scheduling_policy_decider
from fairlead.reconcile.service_account import SERVICE_ACCOUNTS, service_account_decider
from fairlead.reconcile.services.endpoint_slices import endpoint_slice_decider
from fairlead.reconcile.stale_disruption import stale_disruption_decider
from fairlead.reconcile.statefulset import statefulset_decider
from fairlead.reconcile.viewer_role import viewer_role_decider


def serving_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """What the API promises by taking a deletion, a role or a run: without these, foreground deletions, namespaces and
    definitions of custom kinds would wait for ever, roles that gather others grant nothing, and runs of runbooks never
    begin. They run in every server, also in one that serves the API alone."""
    kinds = _with_custom(catalog)
    return (*_deletion_deciders(kinds), *access_deciders(catalog), *runbook_deciders(catalog, kinds))


def _deletion_deciders(kinds: Catalog) -> tuple[Decider, ...]:
    if not isinstance(kinds, Served):
        return garbage_decider(kinds), namespace_decider(kinds)
    return garbage_decider(kinds), namespace_decider(kinds), definition_decider(kinds)


def collecting_deciders(kinds: Served) -> tuple[Decider, ...]:
    """Where the API is served by others, who finalize definitions themselves and collect nothing."""
    return garbage_decider(kinds), namespace_decider(kinds)


def _with_custom(catalog: Catalog) -> Catalog:
    """The kinds that the plane adds to as definitions come and go, where there may be definitions."""
    return catalog if catalog.of_resource(DEFINITIONS) is None else Served(catalog)


def traffic_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Addresses and who is behind them; where there are no Services, nobody asks."""
    if catalog.of_resource(SERVICES.name) is None:
        return ()
    return pod_network_decider(), endpoint_slice_decider()


def account_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """What each namespace has from its first moment."""
    if catalog.of_resource(SERVICE_ACCOUNTS.name) is None:
        return ()
    return service_account_decider(), root_certificate_decider()


def autoscaling_deciders(catalog: Catalog = CATALOG, kinds: Catalog | None = None) -> tuple[Decider, ...]:
    """Where there are no autoscalers, nobody asks. `kinds`: with custom ones, which may be scaled as well."""
    if catalog.of_resource(AUTOSCALERS.name) is None:
        return ()
    return (autoscaler_decider(kinds if kinds is not None else catalog),)


def objective_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Where there are no objectives, nobody counts."""
    return () if catalog.of_resource(OBJECTIVES.name) is None else (objective_decider(),)


def access_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Roles that are made of others; where there are none, nobody asks."""
    if catalog.of_resource(CLUSTER_ROLES.name) is None:
        return ()
    if catalog.of_resource(DEFINITIONS) is None:
        return (role_aggregation_decider(),)
    return role_aggregation_decider(), viewer_role_decider()


def scheduling_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """Those of the objects that the scheduler reads: all that runs beside a cluster with controllers of its own."""
    return (
        plane_settings_decider(),
        scheduling_policy_decider(),
        placement_quota_decider(),
        reservation_decider(catalog),
    )


def default_deciders(catalog: Catalog = CATALOG) -> tuple[Decider, ...]:
    """All of them. `catalog`: which kinds there may be objects of."""
    kinds = _with_custom(catalog)
    return (
        *_deletion_deciders(kinds),
        *access_deciders(catalog),
        *workload_deciders(catalog, kinds),
        *runbook_deciders(catalog, kinds),
    )


def runbook_deciders(catalog: Catalog, kinds: Catalog) -> tuple[Decider, ...]:
    """Only in the process of the API, which knows this controller by its name and gives it the rights of others."""
    return () if catalog.of_resource(RUNBOOK_RUNS.name) is None else (runbook_decider(kinds),)


@cache  # they keep nothing: planes may have the same ones
def _of_workloads() -> tuple[Decider, ...]:
    return (
        deployment_decider(),
        replicaset_decider(),
        statefulset_decider(),
        daemonset_decider(),
        job_decider(),
        job_orphan_decider(),
        cronjob_decider(),
        budget_decider(),
        stale_disruption_decider(),
        progress_decider(),
        plane_settings_decider(),
        scheduling_policy_decider(),
        placement_quota_decider(),
    )


@cache
def _of_nodes() -> tuple[Decider, ...]:
    return (
        node_health_decider(),
        evidence_policy_decider(),
        release_decider(),
        returned_decider(),
        taint_eviction_decider(),
        repair_decider(),
        drain_decider(),
        capacity_decider(),
        rollout_outcome_decider(),
    )


def forget_made() -> None:
    """What is made from now on is shared with nobody who has one: for who asks whether a controller keeps anything."""
    _of_workloads.cache_clear()
    _of_nodes.cache_clear()


def workload_deciders(
    catalog: Catalog = CATALOG, kinds: Catalog | None = None, fence: str = PLANE_FENCE
) -> tuple[Decider, ...]:
    """All but those that run in every server. `kinds`: with custom ones, where the plane follows these; `fence`: the
    Lease that changes with their leader."""
    found = (
        *_of_workloads(),
        resource_quota_decider(kinds if kinds is not None else catalog),
        reservation_decider(catalog),
        *_of_nodes(),
        *traffic_deciders(catalog),
        *account_deciders(catalog),
        *autoscaling_deciders(catalog, kinds),
        *objective_deciders(catalog),
    )
    return (*found, override_decider(("scheduler", *(each.name for each in found)), fence))
