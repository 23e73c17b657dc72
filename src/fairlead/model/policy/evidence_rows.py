"""What each signal of failure may decide: the closed sets, who may have which authority, and the first rows.

The one table behind the kind EvidencePolicy (`model/kinds/evidencepolicy.py`), its documentation, the object that a
server makes when it starts (`runtime/server/bootstrap.py`) and those who act on it (`ledger/evidence.py`). A signal is
evidence, not proof: a row says how it may mislead, how far it is trusted, and after how long it may do what.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.model.kind import Json

NAME = "default"  # the only EvidencePolicy there is

# Acts
REPORT = "Report"  # tell people, nothing else
RETRY_SCHEDULING = "RetryScheduling"
STOP_PLACEMENT = "StopPlacement"  # a taint NoSchedule
PAUSE_EXPANSION = "PauseExpansion"
MARK_UNKNOWN = "MarkUnknown"  # Ready=Unknown, taint unreachable
RELEASE = "Release"  # its owner may replace the pod; nothing is deleted
FORGET = "Forget"  # the object of a released pod is removed
RELEASE_AT_MOST_ONE = "ReleaseAtMostOne"  # the same where a replacement must never run beside the original
EVICT = "Evict"  # a pod that runs is deleted
ACTS = (
    REPORT, RETRY_SCHEDULING, STOP_PLACEMENT, PAUSE_EXPANSION, MARK_UNKNOWN,
    RELEASE, FORGET, RELEASE_AT_MOST_ONE, EVICT,
)  # fmt: skip

LOW, MEDIUM, HIGH = "low", "medium", "high"
CONFIDENCES = (LOW, MEDIUM, HIGH)
_LOW_ACTS = (REPORT, RETRY_SCHEDULING)
_MEDIUM_ACTS = (*_LOW_ACTS, STOP_PLACEMENT, PAUSE_EXPANSION, MARK_UNKNOWN, RELEASE, FORGET)
# What a signal may be given to decide, by how far it is trusted.
AUTHORITY: dict[str, tuple[str, ...]] = {LOW: _LOW_ACTS, MEDIUM: _MEDIUM_ACTS, HIGH: ACTS}


class Signal(NamedTuple):
    """`acts`: what the plane knows to do on it. `confidence`: the most it can be trusted."""

    name: str
    acts: tuple[str, ...]
    confidence: str


MISSED_HEARTBEATS = "MissedHeartbeats"
LEASE_EXPIRED = "LeaseExpired"
NODE_SAYS_NOT_READY = "NodeSaysNotReady"
OUT_OF_SERVICE_SET = "OutOfServiceSet"
NODE_GONE = "NodeGone"
NO_EXECUTE_TAINT = "NoExecuteTaint"
ROLLOUT_LATE = "RolloutLate"
_REPORTED = (REPORT,)
SIGNALS = {
    each.name: each
    for each in (
        Signal(MISSED_HEARTBEATS, (REPORT, STOP_PLACEMENT, MARK_UNKNOWN, RELEASE, FORGET), MEDIUM),
        Signal(LEASE_EXPIRED, (REPORT, RELEASE_AT_MOST_ONE), HIGH),
        Signal(NODE_SAYS_NOT_READY, (REPORT, STOP_PLACEMENT, EVICT), HIGH),
        Signal(OUT_OF_SERVICE_SET, (REPORT, RELEASE, RELEASE_AT_MOST_ONE, FORGET), HIGH),
        Signal(NODE_GONE, (REPORT, RELEASE, RELEASE_AT_MOST_ONE, FORGET), HIGH),
        Signal(NO_EXECUTE_TAINT, (REPORT, EVICT), HIGH),
        Signal(ROLLOUT_LATE, (REPORT, PAUSE_EXPANSION), MEDIUM),
        Signal("ReadinessTransition", _REPORTED, MEDIUM),
        Signal("LivenessTransition", _REPORTED, MEDIUM),
        Signal("ApiTimeout", _REPORTED, LOW),
        Signal("WatchDisconnect", _REPORTED, LOW),
        Signal("QueueAge", _REPORTED, LOW),
        Signal("BindConflicts", _REPORTED, LOW),
        Signal("ControllerErrors", _REPORTED, LOW),
        Signal("GenerationNotObserved", _REPORTED, LOW),
        Signal("SloBurn", _REPORTED, LOW),
    )
}

# Zone limits and what else is a number: (field, default, low, high).
ZONE_LIMITS = (
    ("releasesPerMinute", 6.0, 0.0, 6000.0),
    ("slowedReleasesPerMinute", 0.6, 0.0, 6000.0),
    ("slowedShare", 0.55, 0.0, 1.0),
    ("stoppedShare", 1.0, 0.0, 1.0),
    ("silentNodesMin", 3, 1, 1_000_000),
)
REGION_LIMITS = tuple(each for each in ZONE_LIMITS if not each[0].endswith("PerMinute"))
#: bound: objects | `afterSeconds` of a row | 422
ACT_SECONDS_MAX = 30 * 86400.0
#: bound: objects | rows of an EvidencePolicy | 422
ROWS_MAX = 64


def row_problem(signal: str, confidence: str, act: str) -> str:
    """Why a row of this signal and confidence may not have this act; "" if it may."""
    known = SIGNALS[signal]
    if CONFIDENCES.index(confidence) > CONFIDENCES.index(known.confidence):
        return f"{signal} can be trusted no further than {known.confidence}"
    if act not in AUTHORITY[confidence]:
        return f"confidence {confidence} allows {', '.join(AUTHORITY[confidence])}"
    if act not in known.acts:
        return f"the plane knows to do {', '.join(known.acts)} on {signal}, and nothing else yet"
    return ""


def default_spec() -> Json:
    """What a plane begins with. Times of heartbeats are Kubernetes' (a lease of 40 s), as are the zone limits."""
    return {
        "rows": [
            _row(
                "NodeLeaseSilent", MISSED_HEARTBEATS, MEDIUM,
                "renewals are late under load, or lost on the way, while the node and its pods are well",
                {STOP_PLACEMENT: 20, MARK_UNKNOWN: 40, RELEASE: 40, FORGET: 3600},
            ),
            _row(
                "NodeFenced", LEASE_EXPIRED, HIGH,
                "a node whose clock runs slow fences late, so this is counted from the fence, as a margin",
                {RELEASE_AT_MOST_ONE: 5},
            ),
            _row(
                "NodeNotReady", NODE_SAYS_NOT_READY, HIGH,
                "the node judges by its own checks, which may be what is broken",
                {STOP_PLACEMENT: 0, EVICT: 0},
            ),
            _row(
                "NodeOutOfService", OUT_OF_SERVICE_SET, HIGH,
                "a human was sure and was wrong",
                {RELEASE: 0, RELEASE_AT_MOST_ONE: 0, FORGET: 0},
            ),
            _row(
                "NodeDeleted", NODE_GONE, HIGH,
                "the object was deleted by mistake while the machine runs on",
                {RELEASE: 40, RELEASE_AT_MOST_ONE: 40, FORGET: 0},
            ),
            _row(
                "NodeTainted", NO_EXECUTE_TAINT, HIGH,
                "whoever set the taint meant fewer pods",
                {EVICT: 0},
            ),
            _row(
                "RolloutDeadline", ROLLOUT_LATE, MEDIUM,
                "progressDeadlineSeconds is shorter than what the pods need to start",
                {PAUSE_EXPANSION: 0},
            ),
            _row("PodNotReady", "ReadinessTransition", MEDIUM, "a dependency of the pod is down, not the pod"),
            _row("PodNotAlive", "LivenessTransition", MEDIUM, "the probe is too strict for a busy process"),
            _row("ApiTimeout", "ApiTimeout", LOW, "the write was committed and only its answer was lost"),
            _row("WatchDisconnected", "WatchDisconnect", LOW, "the client fell behind, and the server is well"),
            _row("QueueOld", "QueueAge", LOW, "one hot key waits by design while all others are served"),
            _row("BindConflicts", "BindConflicts", LOW, "others were quicker; nothing is wrong with the pod"),
            _row("ControllerErrors", "ControllerErrors", LOW, "one object that cannot be read, and its retries"),
            _row("GenerationNotObserved", "GenerationNotObserved", LOW, "its controller waits for another"),
            _row("SloBurn", "SloBurn", LOW, "what users do has changed, not the service"),
        ],
        "zones": {name: default for name, default, _, _ in ZONE_LIMITS},
    }  # fmt: skip


def default_policy() -> Json:
    """The object that a plane begins with."""
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "EvidencePolicy",
        "metadata": {"name": NAME},
        "spec": default_spec(),
    }


def _row(
    name: str, signal: str, confidence: str, failure_mode: str, acts: dict[str, int] | None = None
) -> Json:
    return {
        "name": name,
        "signal": signal,
        "confidence": confidence,
        "failureMode": failure_mode,
        "acts": [{"act": act, "afterSeconds": after} for act, after in (acts or {REPORT: 0}).items()],
    }
