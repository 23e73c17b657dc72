"""Who has the next step: one table from the stage at which pods wait, and the reason, to the owner of what comes next.

Everything that names an owner takes it from here, so that no two can differ: the writers of conditions
(`Condition.owner`: scheduler, release of silent nodes, agents, controllers whose pods are refused), `model/stages.py`
for a pod, `ledger/progress.py` for a workload, and through these `fairlead progress` and `fairlead explain`. The table
in docs/reference/reasons.md is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.model.marks import RELEASED

DESIRED, ADMITTED, QUEUED, SCHEDULED, BOUND = "desired", "admitted", "queued", "scheduled", "bound"
STARTING, READY, SERVING = "starting", "ready", "serving"

# People, by what they may do. A scheduling plugin's `concerns` are of these, too.
USER, QUOTA_ADMIN, NODE_ADMIN, CLUSTER_ADMIN = "user", "quota-admin", "node-admin", "cluster-admin"
AUTOSCALER, SCHEDULER = "autoscaler", "scheduler"
# Parts of the plane, and who is meant by the object itself.
CONTROLLER, NODE_HEALTH, ENDPOINTS = "its controller", "node health", "endpoints of its Service"
AGENT, CONTAINER = "agent of {node}", "the container"
GATES, READINESS, REPLACING = (
    "who set the gates",
    "who reports the readiness gates",
    "its owner, who replaces it",
)

WAITING_FOR = (
    "fairlead.dev/WaitingFor"  # condition of a workload: what must change before its pods can be made
)
HELD = "fairlead.dev/Held"  # condition of a workload: what somebody keeps it from, for a while
WAITING_PREFIX = "WaitingFor"  # of its reasons; the kind of the object follows
# Conditions of others that tell the same, and the word that Kubernetes has for it there.
_WAITING = WAITING_FOR
_SCHEDULED, _READY, _UNREADY = "PodScheduled", "Ready", "ContainersNotReady"


class Row(NamedTuple):
    """Why pods that have come to `stage` come no further. `condition` tells it, by its reason or by `word`.
    `adds`: whether an autoscaler may add replicas meanwhile; where further ones would wait for the same, it may not."""

    stage: str
    reason: str
    owner: str
    condition: str
    means: str
    word: str = ""
    adds: bool = False


NOT_CREATED, PAUSED, SUSPENDED, FAILED_CREATE = (
    "NotCreated",
    "DeploymentPaused",
    "JobSuspended",
    "FailedCreate",
)
HELD_BY_OVERRIDE, REPAIR_PAUSED = "HeldByOverride", "RepairPaused"
LATE, GATED, OTHER_SCHEDULER = "ProgressDeadlineExceeded", "SchedulingGated", "OtherScheduler"
UNSCHEDULABLE, RETRYING, NOMINATED = "Unschedulable", "SchedulingRetrying", "Nominated"
NOT_STARTED, LOST, NOT_READY = "NotStarted", "NodeUnknown", "NotReady"
TURN, BRAKED, FENCE = "AwaitingTurn", "Braked", "AwaitingFence"
CONFIRMATION, GONE = "AwaitingConfirmation", "NodeGone"
CRASH_LOOP, CONFIG_ERROR, CREATE_ERROR = (
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
)
FAILED_MOUNT = "FailedMount"  # the Event's word; the container says ContainerCreating, and begins with:
MOUNT_FAILED = "MountVolume.SetUp failed"

TABLE = (
    Row(DESIRED, NOT_CREATED, CONTROLLER, "", "the next turn of its controller makes it", adds=True),
    Row(DESIRED, "WaitingForResourceQuota", QUOTA_ADMIN, _WAITING, "the namespace's quota is used up"),
    Row(DESIRED, "WaitingForPlacementQuota", QUOTA_ADMIN, _WAITING, "the quota for some nodes is used up"),
    Row(
        DESIRED, "WaitingForLimitRange", QUOTA_ADMIN, _WAITING, "it asks for more, or less, than one pod may"
    ),
    Row(DESIRED, "WaitingForPriorityClass", CLUSTER_ADMIN, _WAITING, "its priority class is missing"),
    Row(DESIRED, "WaitingForRuntimeClass", CLUSTER_ADMIN, _WAITING, "its runtime class is missing"),
    Row(
        DESIRED,
        "WaitingForValidatingAdmissionPolicy",
        CLUSTER_ADMIN,
        _WAITING,
        "a policy refuses pods like this",
    ),
    Row(
        DESIRED,
        "WaitingForMutatingAdmissionPolicy",
        CLUSTER_ADMIN,
        _WAITING,
        "a policy that should change such pods fails",
    ),
    Row(DESIRED, "WaitingForNamespace", USER, _WAITING, "the namespace is being deleted"),
    Row(DESIRED, FAILED_CREATE, USER, "ReplicaFailure", "pods like this are refused, whatever else changes"),
    Row(
        DESIRED,
        "ReplicaSetCreateError",
        USER,
        "Progressing",
        "ReplicaSets like this are refused, whatever else changes",
    ),
    Row(
        DESIRED,
        PAUSED,
        USER,
        "Progressing",
        "somebody paused the Deployment: it makes no pods of its template",
    ),
    Row(DESIRED, HELD_BY_OVERRIDE, USER, HELD, "a SchedulerOverride pauses its rollout, or keeps its size"),
    Row(DESIRED, SUSPENDED, USER, "Suspended", "somebody suspended the Job: it has no pods"),
    Row(DESIRED, LATE, USER, "Progressing", "the rollout is late, and goes no further by itself"),
    Row(DESIRED, "BackoffLimitExceeded", USER, "Failed", "the Job was given up: too many of its pods failed"),
    Row(DESIRED, "DeadlineExceeded", USER, "Failed", "the Job was given up: it was active for too long"),
    Row(DESIRED, "PodFailurePolicy", USER, "Failed", "the Job was given up: a rule of its own asks for it"),
    Row(DESIRED, "FailedIndexes", USER, "Failed", "the Job was given up: some of its indexes failed"),
    Row(DESIRED, "MaxFailedIndexesExceeded", USER, "Failed", "the Job was given up: too many indexes failed"),
    Row(ADMITTED, GATED, GATES, _SCHEDULED, "`spec.schedulingGates` hold it back"),
    Row(
        QUEUED, UNSCHEDULABLE, USER, _SCHEDULED, "it fits on no node; the owner is whoever may react to that"
    ),
    Row(
        QUEUED, RETRYING, SCHEDULER, _SCHEDULED, "a binding was refused, or not answered, and is tried again"
    ),
    Row(
        QUEUED,
        OTHER_SCHEDULER,
        "scheduler {scheduler}",
        "",
        "`spec.schedulerName` asks for another scheduler",
    ),
    Row(
        stage=SCHEDULED,
        reason=NOMINATED,
        owner=SCHEDULER,
        condition=_SCHEDULED,
        means="others leave a node to make room",
        word=UNSCHEDULABLE,
    ),
    Row(BOUND, NOT_STARTED, AGENT, "", "its node has not begun with it", adds=True),
    Row(
        BOUND,
        "NodeSilent",
        REPLACING,
        RELEASED,
        "its node was silent for too long: it was released",
        adds=True,
    ),
    Row(
        BOUND,
        "NodeFenced",
        REPLACING,
        RELEASED,
        "it has surely ended on its silent node: it was released",
        adds=True,
    ),
    Row(BOUND, "NodeDeleted", REPLACING, RELEASED, "its Node was deleted: it was released", adds=True),
    Row(
        BOUND,
        "OutOfServiceConfirmed",
        REPLACING,
        RELEASED,
        "somebody confirmed that it runs no more: released",
        adds=True,
    ),
    Row(BOUND, "Returned", CONTROLLER, RELEASED, "its node is back, and it is to count again", adds=True),
    Row(
        STARTING,
        LOST,
        NODE_HEALTH,
        RELEASED,
        "its node is silent; what becomes of the pod, and when, is told",
        adds=True,
    ),
    Row(STARTING, TURN, NODE_HEALTH, RELEASED, "other silent nodes of the zone are first"),
    Row(
        STARTING,
        BRAKED,
        NODE_ADMIN,
        RELEASED,
        "so much of the zone is silent that little or nothing is released",
    ),
    Row(
        STARTING,
        FENCE,
        NODE_HEALTH,
        RELEASED,
        "at most one may run: until the first one has surely ended",
        adds=True,
    ),
    Row(STARTING, CONFIRMATION, NODE_ADMIN, RELEASED, "somebody must confirm that nothing runs on the node"),
    Row(
        STARTING,
        GONE,
        NODE_HEALTH,
        RELEASED,
        "the Node was deleted; a little time for that to be noticed",
        adds=True,
    ),
    Row(
        stage=STARTING,
        reason=CRASH_LOOP,
        owner=USER,
        condition=_READY,
        means="a container ends again and again",
        word=_UNREADY,
        adds=True,
    ),
    Row(
        stage=STARTING,
        reason=CONFIG_ERROR,
        owner=USER,
        condition=_READY,
        means="a ConfigMap, a Secret or a key of one is missing",
        word=_UNREADY,
    ),
    Row(
        stage=STARTING,
        reason=FAILED_MOUNT,
        owner=USER,
        condition=_READY,
        means="a volume's ConfigMap or Secret is missing, or a key of it",
        word=_UNREADY,
    ),
    Row(
        stage=STARTING,
        reason=CREATE_ERROR,
        owner=USER,
        condition=_READY,
        means="what a container asks for is not to be had on the node",
        word=_UNREADY,
        adds=True,
    ),
    Row(
        stage=STARTING,
        reason=NOT_READY,
        owner=CONTAINER,
        condition=_READY,
        means="it runs, and does not say yet that it is ready",
        word=_UNREADY,
        adds=True,
    ),
    Row(
        STARTING,
        "ReadinessGatesNotReady",
        READINESS,
        _READY,
        "`spec.readinessGates` are not all true",
        adds=True,
    ),
)
# Where the reason is not in the table: an exit code, a word of another's container runtime, or none at all.
OTHERWISE = {
    DESIRED: USER,
    ADMITTED: GATES,
    QUEUED: SCHEDULER,
    SCHEDULED: SCHEDULER,
    BOUND: AGENT,
    STARTING: AGENT,
    READY: ENDPOINTS,
    SERVING: "",
}
_BY_REASON = {each.reason: each for each in TABLE}


def owner_of(stage: str, reason: str, *, node: str = "", scheduler: str = "") -> str:
    """Who has the next step for pods that wait at this stage for this reason."""
    row = _BY_REASON.get(reason)
    if row is not None and (row.stage == DESIRED) != (stage == DESIRED):
        row = None  # a container may have a word of its own that is a workload's, too
    owner = row.owner if row is not None else OTHERWISE[stage]
    return owner.format(node=node, scheduler=scheduler) if "{" in owner else owner


def may_add_replicas(stage: str, reason: str) -> bool:
    """Whether an autoscaler may add replicas while some wait at this stage for this reason. What has no row is a word
    of one container, or no trouble yet."""
    row = _BY_REASON.get(reason)
    return row is None or (row.stage == DESIRED) != (stage == DESIRED) or row.adds


def owner_told(reason: str) -> str:
    """What a workload's condition with this reason says of it; "": nobody is waited for."""
    row = _BY_REASON.get(reason)
    return row.owner if row is not None else ""


def most_concerned(refusals: Iterable[tuple[int, tuple[str, ...]]], nodes: int) -> str:
    """The owner of a pod that fits on none of so many nodes: whoever may react to what refuses most of them.
    `refusals`: by how many nodes, and whom that concerns."""
    if not nodes:
        return NODE_ADMIN
    _, concerned = max(refusals, key=lambda each: each[0], default=(0, ()))
    return " or ".join(concerned) or SCHEDULER
