"""Who leads: one plane at a time acts, the others keep their mirrors warm and wait.

A Lease says who holds leadership; it is taken when its holder has not changed it for a whole duration as observed
here, on this clock, never by comparing its times with ours (clocks differ). Whoever takes it then writes the fence, an
object that changes only when the holder changes; its revision goes with every write of the plane as a precondition,
so that a leader that was paused and replaced cannot write any more (laws.md 6). A leader that cannot renew stops by
itself a margin before its lease ends.

Where the API knows no fences (Kubernetes), the margin is all there is, so it must be longer than a request may take.
Then FENCING is left out, nobody takes a lease before it has run out, not even one in its own name (a former process may
still have writes under way), a renewal whose outcome is open is looked for, and the Lease says how weak this is.

A machine within the plane's (`plane.py`), which tells it of the answers to its own calls. After an answer that leaves
the outcome open it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

from fairlead.control.instructions import Call, Replied
from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.model.key import Key
from fairlead.model.marks import PLANE_FENCE, PLANE_LEASE, PLANE_NAMESPACE
from fairlead.model.premise import Premise, Premises
from fairlead.port.driving import Started, WakeAt, Woke
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import Request

NAMESPACE, LEASE, FENCE = PLANE_NAMESPACE, PLANE_LEASE, PLANE_FENCE
RESOURCE = "leases.coordination.k8s.io"
_NAME = "leadership"
FENCING = "fairlead.dev/fencing"  # annotation of a Lease whose holder has no fence
_NO_FENCE = (
    "none: the holder stops {margin:g} s before this lease ends, and late writes meet uid and resourceVersion"
)


LeadershipEvent = Started | Woke | Replied
LeadershipInstruction = Call | WakeAt


class LeadershipPhase(Enum):
    STANDBY = "standby"  # while somebody else renews
    TAKING = "taking"  # the lease was free, or not renewed for a duration: it is being written
    FENCING = "fencing"  # the lease is ours, the fence not yet
    LEADING = "leading"


@dataclass(frozen=True, slots=True)
class LeadershipSettings:
    duration_seconds: float = 15.0
    renew_seconds: float = 4.0
    retry_seconds: float = 2.0
    margin_seconds: float = 3.0


# Without fences: the margin is longer than a request may take (`runtime/remote/process.py`).
UNFENCED = LeadershipSettings(duration_seconds=20.0, renew_seconds=3.0, retry_seconds=2.0, margin_seconds=6.0)


class Leadership:
    """In a phase (rows), an event leads to one of the phases named; `-` is an event without effect.

    |         | Started | Woke            | Replied                        |
    | ------- | ------- | --------------- | ------------------------------ |
    | STANDBY | STANDBY | STANDBY         | STANDBY TAKING                 |
    | TAKING  | -       | STANDBY         | STANDBY FENCING LEADING        |
    | FENCING | -       | STANDBY FENCING | STANDBY FENCING LEADING        |
    | LEADING | -       | STANDBY LEADING | STANDBY LEADING                |

    From TAKING it comes to LEADING at once where the API knows no fences. An answer that came after the end of our time
    leads to STANDBY, whatever it says. An answer to another call than the last is late, and has no effect.
    """

    def __init__(
        self,
        identity: str,
        new_call: Callable[[], int],
        settings: LeadershipSettings | None = None,
        fencing: bool = True,
        lease_name: str = LEASE,
    ) -> None:
        self.identity = identity
        self.fencing = fencing
        self.lease_name, self.fence_name = lease_name, f"{lease_name}-fence"
        self.settings = settings or (LeadershipSettings() if fencing else UNFENCED)
        self.phase = LeadershipPhase.STANDBY
        self.fence_revision = 0
        self.takeovers = 0
        self._new_call = new_call
        self._call = 0  # under way; 0: none
        self._next_at = 0.0
        self._seen: tuple[str, int] = ("", 0)  # holder and revision of the lease, as last read
        self._seen_at = 0.0  # since when it is so
        self._transitions = 0
        self._renewed_at = 0.0
        self._asked_at = 0.0  # when the write of the lease that is under way was sent
        self._reading_fence = False
        self._reading_lease = False
        self._unsure = False  # whether the last renewal was done

    @property
    def next_at(self) -> float:
        """When it wants to be woken; 0 while it waits for an answer."""
        return 0.0 if self._call else self._next_at

    @property
    def leads(self) -> bool:
        return self.phase is LeadershipPhase.LEADING

    def may_act(self, now: float) -> bool:
        """Leading, and far enough from the lease's end."""
        settings = self.settings
        leads = self.phase is LeadershipPhase.LEADING
        return leads and now < self._renewed_at + settings.duration_seconds - settings.margin_seconds

    def other_holder(self, now: float) -> tuple[str, float]:
        """Who else held the lease when it was last read, and for how long it had not changed since; "" for nobody."""
        holder, _ = self._seen
        if not holder or holder == self.identity:
            return "", 0.0
        return holder, max(0.0, now - self._seen_at)

    @property
    def fence(self) -> Premise | None:
        """What every write of the leader rests on; None without fences."""
        key = Key(RESOURCE, NAMESPACE, self.fence_name)
        return Premise(key, self.fence_revision) if self.fencing else None

    def answers(self, call: int) -> bool:
        """Whether this call is ours."""
        return call == self._call

    def handle(self, event: LeadershipEvent) -> tuple[LeadershipInstruction, ...]:
        match event:
            case Woke():
                return self._woke(event.now)
            case Replied():
                return self._answered(event.outcome, event.now) if self.answers(event.call) else ()
            case Started():
                return self._read_lease() if self.phase is LeadershipPhase.STANDBY else ()
            case _:
                assert_never(event)

    def _woke(self, now: float) -> tuple[LeadershipInstruction, ...]:
        if self.phase is not LeadershipPhase.STANDBY and now >= self._lease_ends():
            self._stand_by()
        if self._call or now < self._next_at:
            return ()
        if self.phase is LeadershipPhase.LEADING:
            return self._read_lease() if self._unsure else self._write_lease("update", now)
        if self.phase is LeadershipPhase.FENCING:
            return self._read_fence()
        return self._read_lease()

    def _answered(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        self._call = 0
        if self.phase is not LeadershipPhase.STANDBY and now >= self._lease_ends():
            # An answer that comes so late gives back nothing: what was under way is forgotten by then, and only a new
            # fence says for certain which of it was done.
            self._stand_by()
            return self._again_at(now)
        if self.phase is LeadershipPhase.STANDBY:
            # What was asked before standing by, and is answered now, says nothing about the lease.
            return self._lease_was_read(outcome, now) if self._reading_lease else self._again_at(now)
        if self.phase is LeadershipPhase.TAKING:
            return self._was_taken(outcome, now)
        if self.phase is LeadershipPhase.FENCING:
            return self._fence_answered(outcome, now)
        return self._was_renewed(outcome, now)

    # Standing by

    def _lease_was_read(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if isinstance(outcome, Refused) and outcome.status == 404:
            self.phase = LeadershipPhase.TAKING
            return self._write_lease("create", now)
        if not isinstance(outcome, Done):
            return self._again_at(now + self.settings.retry_seconds)
        lease = codec.decode(outcome.body)
        spec = lease.get("spec") or {}
        current = (str(spec.get("holderIdentity", "")), int(lease["metadata"]["resourceVersion"]))
        if current != self._seen:
            self._seen, self._seen_at = current, now
        self._transitions = int(spec.get("leaseTransitions", 0))
        duration = float(spec.get("leaseDurationSeconds") or self.settings.duration_seconds)
        free = not current[0] or (self.fencing and current[0] == self.identity)
        if free or now >= self._seen_at + duration:
            self.phase = LeadershipPhase.TAKING
            self._transitions += 1
            return self._write_lease("update", now)
        return self._again_at(min(self._seen_at + duration, now + self.settings.retry_seconds))

    # Taking

    def _was_taken(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if isinstance(outcome, Done):
            self._seen, self._seen_at = (self.identity, outcome.revision), now
            if not self.fencing:
                return self._lead(outcome.revision, now)
            self.phase = LeadershipPhase.FENCING
            return self._read_fence()
        self._stand_by()
        # Lost the race, or may not, or nobody knows: either way the lease tells, and only the last is worth a look now.
        return self._again_at(now + (0.0 if isinstance(outcome, Unknown) else self.settings.retry_seconds))

    # Fencing

    def _fence_answered(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if self._reading_fence:
            self._reading_fence = False
            if isinstance(outcome, Refused) and outcome.status == 404:
                return self._write_fence("create", "", now)
            if not isinstance(outcome, Done):
                return self._again_at(now + self.settings.retry_seconds / 4)
            found = codec.decode(outcome.body)
            if ((found.get("spec") or {}).get("leaseTransitions") or 0) > self._transitions:
                self._stand_by()  # a later holder has fenced already
                return self._again_at(now)
            if (found.get("spec") or {}).get("leaseTransitions") == self._transitions and (
                found["spec"].get("holderIdentity") == self.identity
            ):
                return self._lead(int(found["metadata"]["resourceVersion"]), now)
            return self._write_fence("update", found["metadata"]["resourceVersion"], now)
        if isinstance(outcome, Done):
            return self._lead(outcome.revision, now)
        if isinstance(outcome, Conflict):
            self._stand_by()  # the lease or the fence has moved: the lease tells whose it is
            return self._again_at(now)
        if isinstance(outcome, Refused):
            return self._again_at(now + self.settings.retry_seconds / 4)
        return self._read_fence()

    def _lead(self, fence_revision: int, now: float) -> tuple[LeadershipInstruction, ...]:
        self.phase, self.fence_revision = LeadershipPhase.LEADING, fence_revision
        self.takeovers += 1
        return self._again_at(self._renewed_at + self.settings.renew_seconds)

    # Leading

    def _was_renewed(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if isinstance(outcome, Done):
            lease = codec.decode(outcome.body)
            if lease["spec"].get("holderIdentity") != self.identity:
                self._stand_by()
                return self._again_at(now)
            if self._unsure and lease["spec"].get("renewTime") != microtime(self._asked_at):
                self._unsure = False  # it was not done; if it still arrives, the next one meets a conflict
                return self._write_lease("update", now)
            self._unsure = False
            self._seen, self._seen_at = (self.identity, outcome.revision), now
            self._renewed_at = self._asked_at
            return self._again_at(now + self.settings.renew_seconds)
        if isinstance(outcome, Conflict) or (isinstance(outcome, Refused) and outcome.status == 404):
            self._stand_by()
            return self._again_at(now)
        self._unsure = not self.fencing and (self._unsure or isinstance(outcome, Unknown))
        return self._again_at(now + self.settings.retry_seconds / 2)

    # Requests

    def _write_lease(self, verb: str, now: float) -> tuple[LeadershipInstruction, ...]:
        # Measured from before the request is sent: the server may have seen it at any time since.
        self._asked_at = now
        if self.phase is LeadershipPhase.TAKING:
            self._renewed_at = now
        revision = str(self._seen[1]) if verb == "update" else ""
        told = {} if self.fencing else {FENCING: _NO_FENCE.format(margin=self.settings.margin_seconds)}
        return self._send(_put(verb, self.lease_name, self._spec(now), revision, annotations=told))

    def _write_fence(self, verb: str, revision: str, now: float) -> tuple[LeadershipInstruction, ...]:
        """Only while the lease is still the one we took: a slow taker must not fence out its successor."""
        lease = Premise(Key(RESOURCE, NAMESPACE, self.lease_name), self._seen[1])
        return self._send(_put(verb, self.fence_name, self._spec(now), revision, (lease,)))

    def _spec(self, now: float) -> dict[str, Any]:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.settings.duration_seconds),
            "renewTime": microtime(now),
            "leaseTransitions": self._transitions,
        }

    def _read_lease(self) -> tuple[LeadershipInstruction, ...]:
        return self._send(_get(self.lease_name), reads_lease=True)

    def _read_fence(self) -> tuple[LeadershipInstruction, ...]:
        self._reading_fence = True
        return self._send(_get(self.fence_name))

    def _send(self, request: Request, reads_lease: bool = False) -> tuple[LeadershipInstruction, ...]:
        self._call = self._new_call()
        self._reading_lease = reads_lease
        return (Call(self._call, _NAME, request),)

    def _again_at(self, at: float) -> tuple[LeadershipInstruction, ...]:
        self._next_at = at
        return (WakeAt(at),)

    def _stand_by(self) -> None:
        self.phase, self.fence_revision, self._reading_fence = LeadershipPhase.STANDBY, 0, False
        self._unsure = False

    def _lease_ends(self) -> float:
        return self._renewed_at + self.settings.duration_seconds - self.settings.margin_seconds


def _get(name: str) -> Request:
    return Request(
        verb="get", group="coordination.k8s.io", version="v1", plural="leases", namespace=NAMESPACE, name=name
    )


def _put(
    verb: str,
    name: str,
    spec: dict[str, Any],
    revision: str,
    premises: Premises = (),
    annotations: dict[str, str] | None = None,
) -> Request:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    if annotations:
        metadata["annotations"] = annotations
    if revision:
        metadata["resourceVersion"] = revision
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    named = name if verb == "update" else ""
    raw = codec.encode(body)
    return Request(
        verb=verb,
        group="coordination.k8s.io",
        version="v1",
        plural="leases",
        namespace=NAMESPACE,
        name=named,
        body=raw,
        premises=premises,
    )
