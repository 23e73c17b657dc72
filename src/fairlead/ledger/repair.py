"""What is left over and would stay for ever: the rules by which it is found, and how each is told.

Pure; used by `reconcile/repair.py`, which removes what is clear, and by `fairlead repair`, which shows the same before
it happens. Ownership decides: an object is clear when whoever would have to take it away is gone for good, and nothing
can depend on it. Whatever else looks stuck is ambiguous: it is told, with what a person can do, and left.

What other controllers take away is not found twice: dependents of owners that are gone (`reconcile/garbage.py`),
Reservations (`reservation.py`), pods held for a Job that is gone (`reconcile/job/orphans.py`), pods that still run on
a node that is gone (`reconcile/nodes/release.py`, `reconcile/nodes/returned.py`). The API itself removes a pod that
was never bound as soon as its deletion is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.core.times import parse_time
from fairlead.ledger.reservation import IN_USE
from fairlead.model.key import Key
from fairlead.model.marks import GIVEN_UP, NODE_LEASES, RELEASED
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.model.reasons import CONFIRMATION
from fairlead.model.views import JOBS, LEASES, PODS, Condition, Job, Lease, Meta, Pod

TRACKING = "batch.kubernetes.io/job-tracking"
OURS = frozenset({FOREGROUND, ORPHAN, TRACKING, IN_USE})  # finalizers that a controller here removes
MARK = "fairlead.dev/Leftover"  # condition of a pod that will be removed: since when, and by which rule

_COUNTING_NOTHING = (("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "DaemonSet"))

# As Kubernetes' pod garbage collector: a node that was deleted by mistake has this long to come back.
#: bound: plane | an ended pod on a Node that is gone is kept for | it is removed
MISSING_NODE_SECONDS = 40.0
# A lease without a node may be the first sign of one: it is left for as long as no node would be silent.
#: bound: plane | a Lease of a Node that is gone is kept for | it is removed
LEASE_KEPT_SECONDS = 3600.0
# A deletion that lasts longer than this, beyond its grace, is told as stuck.
#: bound: plane | a deletion counts as stuck after | `fairlead repair` tells
STUCK_SECONDS = 300.0


class RepairRule(NamedTuple):
    """`act`: what is done about it; "" for one that is ambiguous, where `remedy` is for people."""

    name: str
    finds: str
    act: str
    after_seconds: float = 0.0
    remedy: str = ""

    @property
    def cited(self) -> str:
        return f"repair rule {self.name}"


ENDED_ON_MISSING_NODE = RepairRule(
    "EndedPodOnMissingNode", "a pod that has ended, on a Node that is gone", "remove", MISSING_NODE_SECONDS
)
ENDED_OVER_LIMIT = RepairRule(
    "EndedPodsOverLimit", "pods that have ended beyond repair.endedPodsMax, the earliest first", "remove"
)
TRACKING_LEFT = RepairRule(
    "JobFinalizerLeft",
    f"the finalizer {TRACKING} on a pod that belongs to no Job any more",
    "remove the finalizer",
)
LEASE_LEFT = RepairRule(
    "LeaseOfMissingNode",
    f"a Lease in {NODE_LEASES} that is nobody's, of a Node that is gone",
    "remove",
    LEASE_KEPT_SECONDS,
)
NODE_IS_BACK = RepairRule(
    "NodeIsBack", f"the mark {MARK} on a pod whose Node was gone and is back", "take the mark back"
)
CLEAR = (ENDED_ON_MISSING_NODE, ENDED_OVER_LIMIT, TRACKING_LEFT, LEASE_LEFT, NODE_IS_BACK)

UNKNOWN_FINALIZER = RepairRule(
    "UnknownFinalizer", "a deletion that waits for a finalizer that nobody here removes", "", STUCK_SECONDS,
    "find who set it; if that is gone: kubectl patch {kind} {name}{in_namespace} --type=merge "
    "-p '{{\"metadata\":{{\"finalizers\":null}}}}'",
)  # fmt: skip
UNKNOWN_OWNER = RepairRule(
    "OwnerOfUnknownKind", "an owner of a kind that is not served here, which nobody can tell the end of", "", 0.0,
    "if the owner is gone for good: kubectl delete {kind} {name}{in_namespace}",
)  # fmt: skip
NODE_DOES_NOT_END = RepairRule(
    "NodeDoesNotEndPod", "a pod whose deletion is over, that its Node does not end", "", STUCK_SECONDS,
    "it may still run; make sure, then: kubectl delete pod {name}{in_namespace} --grace-period=0 --force",
)  # fmt: skip
AWAITS_CONFIRMATION = RepairRule(
    "AwaitsConfirmation", "a pod of which at most one may run, on a silent Node that cannot confirm", "", 0.0,
    "make sure that nothing runs there, then: kubectl taint node {node} "
    "node.kubernetes.io/out-of-service=confirmed:NoExecute",
)  # fmt: skip
RUNS_ON_MISSING_NODE = RepairRule(
    "PodOnMissingNode", "a pod that has not ended, on a Node that is gone, which no row of evidence releases", "",
    MISSING_NODE_SECONDS,
    "let a row with the signal NodeGone decide (kubectl edit evidencepolicy default), or make sure, then: "
    "kubectl delete pod {name}{in_namespace} --grace-period=0 --force",
)  # fmt: skip
NOT_COUNTED = RepairRule(
    "EndedPodNotCounted",
    f"a pod that ended well and lost the finalizer {TRACKING} before its Job had counted it", "", 0.0,
    "its work was done and the Job does it once more; to have it counted: kubectl patch pod {name}{in_namespace} "
    f"--type=merge -p '{{{{\"metadata\":{{{{\"finalizers\":[\"{TRACKING}\"]}}}}}}}}'",
)  # fmt: skip
AMBIGUOUS = (
    UNKNOWN_FINALIZER,
    UNKNOWN_OWNER,
    NODE_DOES_NOT_END,
    AWAITS_CONFIRMATION,
    RUNS_ON_MISSING_NODE,
    NOT_COUNTED,
)


class Finding(NamedTuple):
    rule: RepairRule
    key: Key
    why: str
    since: float  # 0: unknown, it is noted now
    due_at: float
    remedy: str = ""  # for people, where it is ambiguous


def of_pod(pod: Pod, node_is_gone: bool, now: float, releasable: bool = True) -> Finding | None:
    """`releasable`: whether a row of evidence lets pods of Nodes that are gone be released."""
    meta = pod.metadata
    if meta.deletion_timestamp:
        return _ending(pod, node_is_gone, now)
    if TRACKING in meta.finalizers and _is_of_no_job(meta):
        return _found(TRACKING_LEFT, PODS.name, meta, "no Job counts it", now, now)
    mark = mark_of(pod) if pod.finished else None
    if not node_is_gone:
        if mark is not None:
            return _found(NODE_IS_BACK, PODS.name, meta, f"Node {pod.spec.node_name} is back", now, now)
        return _awaiting(pod)
    if pod.finished:
        return _ended_on_missing_node(pod, now)
    node = pod.spec.node_name
    if releasable or any(each.type == RELEASED for each in pod.status.conditions):
        return None
    return _found(RUNS_ON_MISSING_NODE, PODS.name, meta, f"Node {node} is gone", 0.0, now, node)


def over_limit(ended: Iterable[Pod], limit: int, now: float) -> list[Finding]:
    """The earliest made of those that have ended, as many as are too many; 0: there is no limit."""
    pods = [pod for pod in ended if not pod.metadata.deletion_timestamp]
    if not limit or len(pods) <= limit:
        return []
    pods.sort(key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.namespace, pod.metadata.name))
    why = f"{len(pods)} pods have ended, and {limit} are kept"
    return [
        _found(ENDED_OVER_LIMIT, PODS.name, pod.metadata, why, ended_at(pod), now)
        for pod in pods[: len(pods) - limit]
    ]


def is_let_go(pod: Pod) -> bool:
    """Ended well, of a Job, and without the finalizer: its Job has counted it, or somebody took that away. One that
    its Job gave up while it was at work is none of these."""
    meta = pod.metadata
    of_job = meta.controller is not None and meta.controller.kind == JOBS.kind
    ended = pod.status.phase == "Succeeded" and TRACKING not in meta.finalizers
    return of_job and ended and GIVEN_UP not in meta.annotations


def not_counted(job: Job, let_go: Sequence[Pod], now: float) -> list[Finding]:
    """`let_go`: its pods that are so. A Job counts a pod before it takes its finalizer away: what it has counted is
    never less than those. An indexed Job lets others go uncounted, and one that is being deleted all: of these
    nothing is said."""
    waiting = len(job.status.uncounted_terminated_pods.get("succeeded") or ())
    counted = job.status.succeeded + waiting
    more = len(let_go) - counted
    if job.spec.completion_mode == "Indexed" or job.metadata.deletion_timestamp or more <= 0:
        return []
    why = (
        f"Job {job.metadata.name} has counted {counted} of {len(let_go)} pods that ended well and were let go: of"
        f" {more} the finalizer was taken away by somebody else, which is no clean-up"
    )
    last = sorted(let_go, key=lambda pod: (ended_at(pod), pod.metadata.name))[-more:]
    return [_found(NOT_COUNTED, PODS.name, pod.metadata, why, ended_at(pod), now) for pod in last]


def of_lease(lease: Lease, node_is_gone: bool) -> Finding | None:
    """One that has an owner goes with it."""
    meta = lease.metadata
    if not node_is_gone or meta.owner_references or meta.deletion_timestamp:
        return None
    renewed = lease.spec.renew_time or meta.creation_timestamp
    since = parse_time(renewed) if renewed else 0.0
    why = f"there is no Node {meta.name}, and nobody has renewed it since {renewed or 'ever'}"
    return _found(LEASE_LEFT, LEASES.name, meta, why, since, since + LEASE_KEPT_SECONDS)


def find_held(resource: str, meta: Meta, now: float) -> Finding | None:
    """An object of any kind whose deletion waits for finalizers that nobody here removes."""
    unknown = [name for name in meta.finalizers if name not in OURS]
    if not meta.deletion_timestamp or not unknown:
        return None
    since = parse_time(meta.deletion_timestamp)
    if now < since + STUCK_SECONDS:
        return None
    return _found(UNKNOWN_FINALIZER, resource, meta, f"it waits for {', '.join(unknown)}", since, now)


def unknown_owner(resource: str, meta: Meta, kinds: Iterable[str]) -> Finding:
    """`kinds`: those of its owners that are not served here."""
    why = f"it belongs to {', '.join(kinds)}, which is not served here"
    return _found(UNKNOWN_OWNER, resource, meta, why, 0.0, 0.0)


def mark_of(pod: Pod) -> Condition | None:
    return next((each for each in pod.status.conditions if each.type == MARK), None)


def ended_at(pod: Pod) -> float:
    """The latest end of its containers; when it was made if none of them tells."""
    ends = [
        (each.get("state") or {}).get("terminated", {}).get("finishedAt")
        for each in pod.status.container_statuses
    ]
    known = [text for text in ends if text]
    made = pod.metadata.creation_timestamp
    return max(map(parse_time, known)) if known else parse_time(made) if made else 0.0


def _ending(pod: Pod, node_is_gone: bool, now: float) -> Finding | None:
    meta = pod.metadata
    stuck = find_held(PODS.name, meta, now)
    if stuck is not None:
        return stuck
    if node_is_gone and pod.finished and not meta.finalizers:
        return _ended_on_missing_node(pod, now)  # nobody is there to take it away, though that was asked for
    waiting = _awaiting(pod)
    since = parse_time(meta.deletion_timestamp)
    if waiting is not None or meta.finalizers or pod.released or node_is_gone or now < since + STUCK_SECONDS:
        return waiting
    why = f"Node {pod.spec.node_name} has not ended it"
    return _found(NODE_DOES_NOT_END, PODS.name, meta, why, since, now, pod.spec.node_name)


def _ended_on_missing_node(pod: Pod, now: float) -> Finding:
    mark = mark_of(pod)
    since = parse_time(mark.last_transition_time) if mark is not None and mark.last_transition_time else 0.0
    why = f"it has ended ({pod.status.phase}), and Node {pod.spec.node_name} is gone"
    due_at = (since or now) + MISSING_NODE_SECONDS
    return _found(ENDED_ON_MISSING_NODE, PODS.name, pod.metadata, why, since, due_at)


def _awaiting(pod: Pod) -> Finding | None:
    for each in pod.status.conditions:
        if each.type == RELEASED and each.status == "False" and each.reason == CONFIRMATION:
            since = parse_time(each.last_transition_time) if each.last_transition_time else 0.0
            node = pod.spec.node_name
            return _found(
                AWAITS_CONFIRMATION, PODS.name, pod.metadata, f"Node {node} is silent", since, 0.0, node
            )
    return None


def _is_of_no_job(meta: Meta) -> bool:
    """Nobody's, or taken over by one that counts no ends. Another kind of owner may know what the finalizer is for."""
    owners = [(owner.api_version.partition("/")[0], owner.kind) for owner in meta.owner_references]
    return all(owner in _COUNTING_NOTHING for owner in owners)


def _found(
    rule: RepairRule, resource: str, meta: Meta, why: str, since: float, due_at: float, node: str = ""
) -> Finding:
    inside = f" -n {meta.namespace}" if meta.namespace else ""
    remedy = rule.remedy.format(kind=resource, name=meta.name, in_namespace=inside, node=node)
    return Finding(
        rule=rule,
        key=Key(resource, meta.namespace, meta.name),
        why=why,
        since=since,
        due_at=due_at,
        remedy=remedy,
    )
