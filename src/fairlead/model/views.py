"""Typed, frozen views of objects: only the fields that something is decided on, decoded on demand and shared.

Mirrors decode stored bytes into these; Deciders read them and never the raw JSON. A field that is absent has its
default. Parts that a Decider only passes on (a pod template, a whole spec) stay plain JSON. Adding a field here
costs memory for every object of the kind: add what is decided on, nothing else.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from fairlead.model.key import Key
from fairlead.model.marks import RELEASED

Json = dict[str, Any]


class View(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What all views share: unknown fields are skipped, names are Kubernetes'."""


class Owner(View, frozen=True):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(View, frozen=True):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def revision(self) -> int:
        return int(self.resource_version)

    @property
    def controller(self) -> Owner | None:
        """The one owner that manages it."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Condition(View, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    last_update_time: str = ""
    observed_generation: int = 0
    last_heartbeat_time: str = ""


class LabelSelector(View, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Json, ...] = ()


class Anything(View, frozen=True):
    """An object of any kind, metadata only."""

    metadata: Meta


_metadata = msgspec.json.Decoder(Anything).decode


class Stored(View, frozen=True):
    """An object of any kind as it is stored, for those who decide on metadata of every kind. It shares all it holds
    with the store; its metadata is decoded whenever it is asked for. Its bytes are searched once: most objects mention
    neither owners nor a deletion, and of those nothing needs to be decoded."""

    key: Key
    uid: str
    revision: int
    data: bytes
    mentions_owners: bool
    mentions_deletion: bool

    @staticmethod
    def of(key: Key, uid: str, revision: int, data: bytes) -> Stored:
        owners, deletion = b'"ownerReferences"' in data, b'"deletionTimestamp"' in data
        return Stored(key, uid, revision, data, owners, deletion)

    @property
    def metadata(self) -> Meta:
        return _metadata(self.data).metadata

    @property
    def owners(self) -> tuple[Owner, ...]:
        return self.metadata.owner_references if self.mentions_owners else ()

    @property
    def deleting(self) -> bool:
        return self.mentions_deletion and bool(self.metadata.deletion_timestamp)


# Namespaces


class NamespaceSpec(View, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(View, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(View, frozen=True):
    metadata: Meta
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


# Pods and nodes


class Needs(View, frozen=True):
    """What a container asks for, and may use at most, as quantities."""

    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class Container(View, frozen=True):
    name: str
    image: str = ""
    restart_policy: str = ""
    resources: Needs = Needs()
    ports: tuple[Json, ...] = ()


class Toleration(View, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodSpec(View, frozen=True):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[Json, ...] = ()
    affinity: Json = {}
    topology_spread_constraints: tuple[Json, ...] = ()
    overhead: dict[str, str | int | float] = {}
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None


class PodStatus(View, frozen=True):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    start_time: str = ""
    nominated_node_name: str = ""
    container_statuses: tuple[Json, ...] = ()
    init_container_statuses: tuple[Json, ...] = ()
    pod_ip: str = msgspec.field(default="", name="podIP")


class Pod(View, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        for condition in self.status.conditions:
            if condition.type == "Ready":
                return condition.status == "True"
        return False

    @property
    def ready_since(self) -> str:
        """When it became ready; "" if it is not."""
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status == "True":
                return condition.last_transition_time
        return ""

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def released(self) -> bool:
        """It no longer counts for its owner: its node was silent for too long (`reconcile/release.py`)."""
        for condition in self.status.conditions:
            if condition.type == RELEASED:
                return condition.status == "True"
        return False

    @property
    def live(self) -> bool:
        """Neither ended, nor on its way out, nor released."""
        return not self.finished and not self.metadata.deletion_timestamp and not self.released


class NodeSpec(View, frozen=True):
    unschedulable: bool = False
    taints: tuple[Json, ...] = ()
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class NodeStatus(View, frozen=True):
    allocatable: dict[str, Any] = {}
    conditions: tuple[Condition, ...] = ()


class Node(View, frozen=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)


# Workloads


class ReplicaSetSpec(View, frozen=True):
    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSetStatus(View, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(View, frozen=True):
    metadata: Meta
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class DeploymentSpec(View, frozen=True):
    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    strategy: Json = {}
    paused: bool = False
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    progress_deadline_seconds: int = 600


class DeploymentStatus(View, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    collision_count: int = 0
    conditions: tuple[Condition, ...] = ()
    progress: Json = {}  # ledger/progress.py


class Deployment(View, frozen=True):
    metadata: Meta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class JobSpec(View, frozen=True):
    selector: Json = {}
    template: Json = {}
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    pod_failure_policy: Json = {}
    success_policy: Json = {}
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_replacement_policy: str = ""
    managed_by: str = ""


class JobStatus(View, frozen=True):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    ready: int = 0
    terminating: int = 0
    start_time: str = ""
    completion_time: str = ""
    completed_indexes: str = ""
    failed_indexes: str = ""
    conditions: tuple[Condition, ...] = ()
    uncounted_terminated_pods: Json = {}
    progress: Json = {}  # ledger/progress.py


class Job(View, frozen=True):
    metadata: Meta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class CronJobSpec(View, frozen=True):
    schedule: str = ""
    job_template: Json = {}
    time_zone: str = ""
    concurrency_policy: str = "Allow"
    suspend: bool = False
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(View, frozen=True):
    active: tuple[Json, ...] = ()
    last_schedule_time: str = ""
    last_successful_time: str = ""


class CronJob(View, frozen=True):
    metadata: Meta
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class StatefulSetSpec(View, frozen=True):
    selector: Json = {}
    template: Json = {}
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: Json = {}
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    ordinals: Json = {}


class StatefulSetStatus(View, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    conditions: tuple[Condition, ...] = ()
    progress: Json = {}  # ledger/progress.py


class StatefulSet(View, frozen=True):
    metadata: Meta
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class ControllerRevision(View, frozen=True):
    metadata: Meta
    data: Json = {}
    revision: int = 0


class DaemonSetSpec(View, frozen=True):
    selector: Json = {}
    template: Json = {}
    update_strategy: Json = {}
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(View, frozen=True):
    observed_generation: int = 0
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    conditions: tuple[Condition, ...] = ()
    progress: Json = {}  # ledger/progress.py


class DaemonSet(View, frozen=True):
    metadata: Meta
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class BudgetSpec(View, frozen=True):
    selector: Json | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(View, frozen=True):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class Budget(View, frozen=True):
    metadata: Meta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class LeaseSpec(View, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(View, frozen=True):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class PlaneSettingsStatus(View, frozen=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    scheduling_policy: Json = {}  # the one in use; read by model/policy_in_use.py


class PlaneSettings(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by model/plane_knobs.py
    status: PlaneSettingsStatus = PlaneSettingsStatus()


# Quotas, reservations and policies


class ResourceQuotaSpec(View, frozen=True):
    hard: dict[str, str] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: Json = {}


class ResourceQuotaStatus(View, frozen=True):
    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class ResourceQuota(View, frozen=True):
    metadata: Meta
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PlacementQuotaSpec(View, frozen=True):
    node_selector: Json = {}
    hard: dict[str, str] = {}


class PlacementQuotaStatus(View, frozen=True):
    used: dict[str, str] = {}
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PlacementQuota(View, frozen=True):
    metadata: Meta
    spec: PlacementQuotaSpec = PlacementQuotaSpec()
    status: PlacementQuotaStatus = PlacementQuotaStatus()


class ReservationOwner(View, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str


class ReservationSpec(View, frozen=True):
    owner: ReservationOwner
    intent: str
    node_name: str = ""
    node_selector: Json | None = None
    capacity_class: str = ""
    requests: dict[str, str] = {}
    expires_at: str = ""
    ttl_seconds: int | None = None
    allocate_once: bool = True


class ReservationStatus(View, frozen=True):
    phase: str = ""
    node_name: str = ""
    allocated_to: ReservationOwner | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class Reservation(View, frozen=True):
    metadata: Meta
    spec: ReservationSpec
    status: ReservationStatus = ReservationStatus()


class SchedulingPolicyStatus(View, frozen=True):
    observed_generation: int = 0
    active: bool = False
    observed_by: str = ""
    conditions: tuple[Condition, ...] = ()


class SchedulingPolicy(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by schedule/policy.py
    status: SchedulingPolicyStatus = SchedulingPolicyStatus()


class EvidenceRelease(View, frozen=True):
    node: str
    uid: str
    lease: str
    at: str


class EvidenceZone(View, frozen=True):
    name: str
    state: str
    since: str = ""
    reason: str = ""
    message: str = ""
    silent: int = 0
    nodes: int = 0
    releases_in_window: int = 0
    released: tuple[EvidenceRelease, ...] = ()


class EvidencePolicyStatus(View, frozen=True):
    observed_generation: int = 0
    state: str = ""
    silent: int = 0
    zones: tuple[EvidenceZone, ...] = ()


class EvidencePolicy(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by ledger/evidence.py
    status: EvidencePolicyStatus = EvidencePolicyStatus()


T_co = TypeVar("T_co", bound=View, covariant=True)


class Resource(Generic[T_co]):
    """A stored resource and the view of it: how code names what it reads, with its type."""

    __slots__ = ("api_version", "kind", "name", "type")

    def __init__(self, name: str, api_version: str, kind: str, view: type[T_co]) -> None:
        self.name = name
        self.api_version = api_version
        self.kind = kind
        self.type = view

    def __repr__(self) -> str:
        return f"Resource({self.name})"


NAMESPACES = Resource("namespaces", "v1", "Namespace", Namespace)
PODS = Resource("pods", "v1", "Pod", Pod)
NODES = Resource("nodes", "v1", "Node", Node)
REPLICASETS = Resource("replicasets.apps", "apps/v1", "ReplicaSet", ReplicaSet)
DEPLOYMENTS = Resource("deployments.apps", "apps/v1", "Deployment", Deployment)
STATEFULSETS = Resource("statefulsets.apps", "apps/v1", "StatefulSet", StatefulSet)
DAEMONSETS = Resource("daemonsets.apps", "apps/v1", "DaemonSet", DaemonSet)
CONTROLLER_REVISIONS = Resource(
    "controllerrevisions.apps", "apps/v1", "ControllerRevision", ControllerRevision
)
JOBS = Resource("jobs.batch", "batch/v1", "Job", Job)
CRONJOBS = Resource("cronjobs.batch", "batch/v1", "CronJob", CronJob)
BUDGETS = Resource("poddisruptionbudgets.policy", "policy/v1", "PodDisruptionBudget", Budget)
LEASES = Resource("leases.coordination.k8s.io", "coordination.k8s.io/v1", "Lease", Lease)
PLANE_SETTINGS = Resource("planesettings.fairlead.dev", "fairlead.dev/v1", "PlaneSettings", PlaneSettings)
EVIDENCE_POLICIES = Resource(
    "evidencepolicies.fairlead.dev", "fairlead.dev/v1", "EvidencePolicy", EvidencePolicy
)
RESOURCE_QUOTAS = Resource("resourcequotas", "v1", "ResourceQuota", ResourceQuota)
PLACEMENT_QUOTAS = Resource(
    "placementquotas.fairlead.dev", "fairlead.dev/v1", "PlacementQuota", PlacementQuota
)
RESERVATIONS = Resource("reservations.fairlead.dev", "fairlead.dev/v1", "Reservation", Reservation)
SCHEDULING_POLICIES = Resource(
    "schedulingpolicies.fairlead.dev", "fairlead.dev/v1", "SchedulingPolicy", SchedulingPolicy
)
