"""Words of Events, and what conditions and records call the same: one registry, so that one leads to the others.

Most Events tell a deed and are no reason why something waits: these stand here without another word. Those that tell
why are called as the condition and the record are, but for the few that Kubernetes' clients know by another name. A
test holds every Event that the sources tell, and those of a plane at work, against this table; the one in
docs/reference/reasons.md is made of it. Words that follow from an object (`Zone...`, `Run...`, a condition's own
reason) are as they are there.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.model.reasons import FAILED_CREATE, WAITING_PREFIX

FINALIZER_REMOVED = "FinalizerRemoved"


class EventWord(NamedTuple):
    """`same`: reasons of conditions, reasons or verdicts of records, that say the same; a word that ends with `*`
    stands for all that begin so. None: the Event tells a deed."""

    event: str
    same: tuple[str, ...]
    means: str


EVENT_WORDS = (
    EventWord("FailedScheduling", ("Unschedulable",), "no node fits; Kubernetes' word"),
    EventWord("SchedulingRetrying", ("SchedulingRetrying",), "a binding did not go through"),
    EventWord(FAILED_CREATE, (FAILED_CREATE, f"{WAITING_PREFIX}*"), "the API refuses to have a child made"),
    EventWord("FailedDelete", ("FailedDelete",), "the API refuses to have a child removed"),
    EventWord(
        "FailedRescale", ("FailedUpdateScale",), "an autoscaler could not write the size; Kubernetes' words"
    ),
    EventWord("ReplicaSetCreateError", ("ReplicaSetCreateError",), "the API refuses a ReplicaSet"),
    EventWord("ProgressDeadlineExceeded", ("ProgressDeadlineExceeded",), "a rollout is late"),
    EventWord(
        "RolloutStuck", ("RolloutStuck", "RolloutFailed"), "a rollout that failed, and nobody said what then"
    ),
    EventWord(
        "SurgeRefused",
        (f"{WAITING_PREFIX}*",),
        "a quota refuses what a rollout may have beyond its size",
    ),
    EventWord("BudgetSpent", ("BudgetSpent",), "an objective is missed"),
    EventWord("WithinBudget", ("WithinBudget",), "an objective is met again"),
    EventWord("RepairNeedsSomebody", ("LeftoversFound",), "what is left over is a person's to judge"),
    EventWord("Unreadable", ("Unreadable",), "an object that a decision reads cannot be understood"),
    EventWord("WeightsNotFollowed", ("WeightsNotFollowed",), "traffic weights cannot be followed"),
    EventWord("ClockStepped", (), "the wall clock was set"),
    EventWord("Completed", (), "a Job is done"),
    EventWord(FINALIZER_REMOVED, (), "a person removed a finalizer: what it guarded was looked for"),
    EventWord("Suspended", (), "a Job is suspended"),
    EventWord("Resumed", (), "a Job is resumed"),
    EventWord("DrainLeft", (), "an override's drain leaves pods where they are"),
    EventWord("Drained", (), "an override's drain is done"),
    EventWord("OverrideEnded", (), "an override has ended"),
    EventWord("OverrideEndsSoon", (), "an override ends soon"),
    EventWord("OverrideRemoved", (), "an override was removed before its end"),
    EventWord("PodReleased", (), "a pod of a silent node is released"),
    EventWord("Released", (), "pods of a silent node are released"),
    EventWord("Preempted", (), "a pod makes room for another"),
    EventWord("Repaired", (), "what was left over is put right"),
    EventWord("Returned", (), "a released pod came back"),
    EventWord("RolloutRolledBack", (), "a rollout that failed is rolled back"),
    EventWord("ScalingReplicaSet", (), "a Deployment sizes a ReplicaSet"),
    EventWord("Scheduled", (), "a pod has a node"),
    EventWord("SuccessfulCreate", (), "a child was made"),
    EventWord("SuccessfulDelete", (), "a child was removed"),
    EventWord("SuccessfulRescale", (), "an autoscaler changed a size"),
    EventWord("TaintManagerEviction", (), "a taint drives a pod out, or no longer does"),
)
