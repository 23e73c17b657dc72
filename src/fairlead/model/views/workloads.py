"""Views of what makes pods and keeps them: sets, Deployments, Jobs, and the budgets of their disruption."""

from __future__ import annotations

from fairlead.model.views.common import Condition, Json, Meta, Resource, View


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
    unknown_replicas: int = 0
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


class DisruptionBudget(View, frozen=True):
    metadata: Meta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class TargetReference(View, frozen=True):
    kind: str = ""
    name: str = ""
    api_version: str = ""


class AutoscalerSpec(View, frozen=True):
    scale_target_ref: TargetReference = TargetReference()
    min_replicas: int = 1
    max_replicas: int = 1
    metrics: tuple[Json, ...] = ()
    behavior: Json = {}


class AutoscalerStatus(View, frozen=True):
    observed_generation: int = 0
    last_scale_time: str = ""
    current_replicas: int = 0
    desired_replicas: int = 0
    current_metrics: tuple[Json, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Autoscaler(View, frozen=True):
    metadata: Meta
    spec: AutoscalerSpec = AutoscalerSpec()
    status: AutoscalerStatus = AutoscalerStatus()


REPLICASETS = Resource("replicasets.apps", "apps/v1", "ReplicaSet", ReplicaSet)
DEPLOYMENTS = Resource("deployments.apps", "apps/v1", "Deployment", Deployment)
STATEFULSETS = Resource("statefulsets.apps", "apps/v1", "StatefulSet", StatefulSet)
DAEMONSETS = Resource("daemonsets.apps", "apps/v1", "DaemonSet", DaemonSet)
CONTROLLER_REVISIONS = Resource(
    "controllerrevisions.apps", "apps/v1", "ControllerRevision", ControllerRevision
)
JOBS = Resource("jobs.batch", "batch/v1", "Job", Job)
CRONJOBS = Resource("cronjobs.batch", "batch/v1", "CronJob", CronJob)
BUDGETS = Resource("poddisruptionbudgets.policy", "policy/v1", "PodDisruptionBudget", DisruptionBudget)
AUTOSCALERS = Resource(
    "horizontalpodautoscalers.autoscaling", "autoscaling/v2", "HorizontalPodAutoscaler", Autoscaler
)
