"""An EvidencePolicy as arithmetic: which row allows an act, how far a silent node has come, when a pod is due.

Pure; used by the controllers of node health, release, return and eviction (`reconcile/`), which all judge by the same
functions and cite the row they acted on. Without the object, because somebody deleted it or because the API has no such
kind, the rows hold that a server begins with: what is missing switches nothing off (docs/adr/0038).

    silence of a node's lease      what the node is
    less than StopPlacement        Heard      nothing; from 3/8 of the lease on its pods are not counted on
    from StopPlacement             Suspect    nothing new is placed there
    from MarkUnknown               Unknown    Ready=Unknown; its pods' grace begins
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.core.times import parse_time
from fairlead.model.at_most_one import accepted_seconds
from fairlead.model.kind import Json
from fairlead.model.marks import (
    NOT_READY,
    OUT_OF_SERVICE,
    REGION,
    SILENT_SINCE,
    SUSPECT,
    UNREACHABLE,
    ZONE,
)
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.tolerations import covers_taint
from fairlead.model.views import EvidencePolicy, Lease, Node, Pod, Toleration

HEARD, SUSPECTED, UNKNOWN = "Heard", "Suspect", "Unknown"
NEVER = float("inf")
NO_ZONE = "-"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
# A share of the lease's duration: a node that lives has renewed it by then.
MISSED_SHARE = 0.375
# A lease that does not say how long it is for; agents make theirs for so long.
_LEASE_SECONDS = 40
_BUILT_IN_ROWS: Sequence[Json] = tuple(rows.default_spec()["rows"])


class Allowed(NamedTuple):
    """What a row allows: after how long, and how it is cited. `built_in`: it is a row of no object."""

    row: str
    after_seconds: float
    built_in: bool = False

    @property
    def cited(self) -> str:
        return f"EvidencePolicy/{rows.NAME} row {self.row}{', built in' if self.built_in else ''}"


class Evidence:
    """The rows by signal and act. A row that claims more than it may (written by an older or newer server) is left
    out: it allows nothing."""

    __slots__ = ("_allowed", "_built_in", "_rows")

    def __init__(self, policy: EvidencePolicy | None) -> None:
        self._built_in = policy is None
        self._rows: Sequence[Json] = (policy.spec.get("rows") or ()) if policy is not None else _BUILT_IN_ROWS
        self._allowed: dict[tuple[str, str], Allowed | None] = {}  # what was asked for

    def allows(self, signal: str, act: str) -> Allowed | None:
        asked = (signal, act)
        if asked not in self._allowed:
            self._allowed[asked] = self._find(signal, act)
        return self._allowed[asked]

    def _find(self, signal: str, act: str) -> Allowed | None:
        """By the first row that may say so."""
        for row in self._rows:
            confidence = row.get("confidence")
            if (
                row.get("signal") != signal
                or signal not in rows.SIGNALS
                or confidence not in rows.CONFIDENCES
            ):
                continue
            for each in row.get("acts") or ():
                if each.get("act") == act in rows.ACTS and not rows.row_problem(signal, confidence, act):
                    after = float(each.get("afterSeconds") or 0.0)
                    return Allowed(row.get("name") or "", after, self._built_in)
        return None

    @property
    def silence_seconds(self) -> float:
        """From when on a node counts as silent; NEVER if nothing follows from silence."""
        return min(self._after(rows.STOP_PLACEMENT), self._after(rows.MARK_UNKNOWN))

    def state(self, silent_seconds: float) -> str:
        if silent_seconds >= self._after(rows.MARK_UNKNOWN):
            return UNKNOWN
        return SUSPECTED if silent_seconds >= self._after(rows.STOP_PLACEMENT) else HEARD

    def next_state_in(self, silent_seconds: float) -> float:
        """Seconds of further silence until it is something else; NEVER if it stays what it is."""
        ahead = [self._after(rows.STOP_PLACEMENT), self._after(rows.MARK_UNKNOWN)]
        return min((at - silent_seconds for at in ahead if at > silent_seconds), default=NEVER)

    def _after(self, act: str) -> float:
        allowed = self.allows(rows.MISSED_HEARTBEATS, act)
        return NEVER if allowed is None else allowed.after_seconds


def renewal_of(lease: Lease) -> str:
    """What tells one renewal of a lease from the next, by the node's own clock where it says."""
    return lease.spec.renew_time or f"revision {lease.metadata.resource_version}"


def overdue_seconds(lease: Lease) -> float:
    """After so long without a renewal one was missed: nodes renew every quarter of the time."""
    return MISSED_SHARE * (lease.spec.lease_duration_seconds or _LEASE_SECONDS)


def is_overdue(lease: Lease, silent_seconds: float) -> bool:
    """No renewal was heard in the time in which it should have come."""
    return silent_seconds >= overdue_seconds(lease)


def is_unheard(node: Node, renewal: str) -> bool:
    """Marked unreachable, and not renewed since. A mark that outlives a renewal is about to be taken off, and says
    nothing about a silence that came later."""
    since = node.metadata.annotations.get(SILENT_SINCE)
    return taint_of(node, UNREACHABLE, NO_EXECUTE) is not None and since == renewal


def zone_of(node: Node) -> str:
    return node.metadata.labels.get(ZONE) or NO_ZONE


def region_of(node: Node) -> str:
    """ "": it says none, and is judged by its zone alone."""
    return node.metadata.labels.get(REGION) or ""


def taint_of(node: Node, key: str, effect: str) -> Json | None:
    for taint in node.spec.taints:
        if taint.get("key") == key and taint.get("effect") == effect:
            return taint
    return None


def is_closed(node: Node) -> bool:
    """Silent for long enough to be marked, be it with a taint for new pods only, or confirmed to be out of service."""
    return (
        SILENT_SINCE in node.metadata.annotations
        or taint_of(node, SUSPECT, NO_SCHEDULE) is not None
        or taint_of(node, UNREACHABLE, NO_EXECUTE) is not None
        or taint_of(node, OUT_OF_SERVICE, NO_EXECUTE) is not None
    )


def tolerated_seconds(tolerations: Iterable[Toleration], taint: Json) -> float:
    """For how long a pod bears a taint: the least that a matching toleration says, 0 without one."""
    key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
    found = [each for each in tolerations if covers_taint(each, key, value, effect)]
    if not found:
        return 0.0
    said = [each.toleration_seconds for each in found if each.toleration_seconds is not None]
    return float(max(0, min(said))) if said else NEVER


def added_at(taint: Json) -> float | None:
    """None for a taint nobody has dated yet."""
    text = taint.get("timeAdded")
    return parse_time(text) if text else None


def ended_at(evidence: Evidence, pod: Pod, lease: Lease, seen_at: float) -> float:
    """When a pod of which at most one may run has surely ended, its node's last renewal having been seen at `seen_at`.
    NEVER unless its status says that its supervisor accepted a deadline, and a row trusts that."""
    allowed = evidence.allows(rows.LEASE_EXPIRED, rows.RELEASE_AT_MOST_ONE)
    accepted = accepted_seconds(pod.status.conditions)
    if allowed is None or accepted is None:
        return NEVER
    # The last renewal may have been for longer than those before, which the pod's status does not say yet.
    return seen_at + max(accepted, float(lease.spec.lease_duration_seconds)) + allowed.after_seconds


def release_due_at(evidence: Evidence, node: Node, pod: Pod) -> float:
    """When the pod's grace on an unreachable node is over; NEVER if it has none that ends, or the node is not."""
    taint = taint_of(node, UNREACHABLE, NO_EXECUTE)
    allowed = evidence.allows(rows.MISSED_HEARTBEATS, rows.RELEASE)
    begun = added_at(taint) if taint is not None else None
    if taint is None or allowed is None or begun is None:
        return NEVER
    marked = evidence.allows(rows.MISSED_HEARTBEATS, rows.MARK_UNKNOWN)
    # The taint came when the node was marked; what the row asks for beyond that is still to pass.
    rest = max(0.0, allowed.after_seconds - (marked.after_seconds if marked is not None else 0.0))
    if pod.metadata.deletion_timestamp:  # it is wanted nowhere any more, whatever it tolerates
        return begun + rest
    return begun + max(rest, tolerated_seconds(pod.spec.tolerations, taint))


def confirmed_by_human(node: Node, pod: Pod) -> bool:
    """Somebody said that nothing runs there any more, and the pod does not ask to stay all the same."""
    taints = (taint_of(node, OUT_OF_SERVICE, NO_EXECUTE), taint_of(node, OUT_OF_SERVICE, NO_SCHEDULE))
    return any(
        taint is not None and tolerated_seconds(pod.spec.tolerations, taint) == 0.0 for taint in taints
    )


def eviction_signal(taint: Json) -> str:
    """Who asks for pods to leave: the node itself, a human, or ("") somebody whose case is judged elsewhere."""
    if taint.get("effect") != NO_EXECUTE or taint.get("key") in (UNREACHABLE, OUT_OF_SERVICE):
        return ""
    return rows.NODE_SAYS_NOT_READY if taint.get("key") == NOT_READY else rows.NO_EXECUTE_TAINT
