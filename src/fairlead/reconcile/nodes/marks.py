"""What one node should show of its health, against what it shows: taints, Ready, and the note of its last renewal.

Made by `health.py` for each node that is not plainly well; pure. Gives one effect at a time: a node that becomes
unknown first says so in its status, then gets the taints; one that is heard again loses them in the reverse order.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import EventNote
from fairlead.decision.effects import Change, Effect, premise_of
from fairlead.decision.ensure import ensure_fields, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.ledger import brake
from fairlead.ledger.evidence import (
    HEARD,
    NO_EXECUTE,
    NO_SCHEDULE,
    SUSPECTED,
    UNKNOWN,
    Evidence,
    renewal_of,
    zone_of,
)
from fairlead.model.marks import NOT_READY, PRESSURES, SILENT_SINCE, SUSPECT, UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.premise import Premises
from fairlead.model.views import (
    LEASES,
    NODES,
    Condition,
    EvidencePolicy,
    Json,
    Lease,
    Node,
)

NAME = "node-health"
#: bound: plane | a new node that has never been ready alarms nobody for | Event `NodeNotReady`, taint `NoExecute`
STARTING_SECONDS = 30.0  # a new node that has never been ready is given so long before anybody is alarmed
_CLOCKS_APART_SECONDS = 1.0  # its own clock says since when it is not ready, the server's when it was made
_OURS = (SUSPECT, UNREACHABLE, NOT_READY, *PRESSURES.values())
# Why Ready is Unknown, and what it is again when the node is heard before it says so itself.
_WAS = {"NodeStatusUnknown": "True", "NodeNotReadyThenSilent": "False"}


class NodeJudgement(NamedTuple):
    """`state` None: nothing new is known of it, its marks stay as they are."""

    state: str | None
    silent_seconds: float = 0.0


def ready_of(node: Node) -> Condition | None:
    return next((each for each in node.status.conditions if each.type == "Ready"), None)


def pressures_of(node: Node) -> tuple[Condition, ...]:
    """What it says it is short of."""
    return tuple(each for each in node.status.conditions if each.status == "True" and each.type in PRESSURES)


class NodeMarks:
    """What one node should show, against what it shows."""

    def __init__(
        self,
        policy: EvidencePolicy | None,
        evidence: Evidence,
        node: Node,
        lease: Lease | None,
        judged: NodeJudgement,
        now: float,
    ) -> None:
        self._policy, self._evidence, self._node, self._lease = policy, evidence, node, lease
        self._state, self._now = judged.state, now
        self.waits: list[float] = []
        self._told: tuple[str, str, str] | None = None

    def effect(self) -> Effect | None:
        if self._state is None:
            return self.dated()
        if self._state == UNKNOWN:
            return self._status() or self._taints()
        return self._taints() or self._status()

    def dated(self) -> Effect | None:
        """The taints as they are, each that drives pods out with its date."""
        return self._retainted([self._with_date(each) for each in self._node.spec.taints], None)

    def notes(self, place: int) -> tuple[EventNote, ...]:
        if self._told is None:
            return ()
        kind, reason, message = self._told
        return (EventNote(regarding_of(NODES, self._node.metadata), kind, reason, message, place),)

    # Taints

    def _taints(self) -> Effect | None:
        node = self._node
        wanted = [each for each in node.spec.taints if each.get("key") not in _OURS]
        wanted += (self._known(key, effect) for key, effect in self._ours())
        lease = self._lease
        assert lease is not None
        noted = None if self._state == HEARD else renewal_of(lease)
        effect = self._retainted([self._with_date(each) for each in wanted], noted, noted_too=True)
        if effect is not None:
            self._tell_taints()
        return effect

    def _ours(self) -> list[tuple[str, str]]:
        if self._state == UNKNOWN:
            return [(UNREACHABLE, NO_SCHEDULE), (UNREACHABLE, NO_EXECUTE)]
        if self._state == SUSPECTED:
            return [(SUSPECT, NO_SCHEDULE)]
        chosen = []
        for each in pressures_of(self._node):
            if self._may(each, rows.STOP_PLACEMENT):
                chosen.append((PRESSURES[each.type], NO_SCHEDULE))
        ready = ready_of(self._node)
        if ready is None or ready.status != "False":
            return chosen
        if self._may(ready, rows.STOP_PLACEMENT):
            chosen.append((NOT_READY, NO_SCHEDULE))
        if not self._is_braked() and self._may(ready, rows.EVICT) and not self._is_starting():
            chosen.append((NOT_READY, NO_EXECUTE))
        return chosen

    def _is_not_ready(self) -> bool:
        return any(key == NOT_READY for key, _ in self._ours())

    def _is_starting(self) -> bool:
        """New and not ready yet: nothing runs there that would have to leave, and nobody need be told. If the policy
        never drives pods out for this there is no second occasion to tell, and so it is told at once."""
        ready = ready_of(self._node)
        made, since = self._node.metadata.creation_timestamp, ready.last_transition_time if ready else ""
        if not made or not since or self._evidence.allows(rows.NODE_SAYS_NOT_READY, rows.EVICT) is None:
            return False
        begun = parse_time(made)
        ahead = begun + STARTING_SECONDS - self._now
        if parse_time(since) > begun + _CLOCKS_APART_SECONDS or ahead <= 0:
            return False
        self.waits.append(ahead)
        return True

    def _may(self, said: Condition, act: str) -> bool:
        """Whether what the node says of itself, for so long, allows this."""
        allowed = self._evidence.allows(rows.NODE_SAYS_NOT_READY, act)
        if allowed is None:
            return False
        since = parse_time(said.last_transition_time) if said.last_transition_time else 0.0
        ahead = allowed.after_seconds - (self._now - since)
        if ahead > 0:
            self.waits.append(ahead)
        return ahead <= 0

    def _is_braked(self) -> bool:
        """While much of its zone is silent, a node's own word is not enough to drive pods out that it still has."""
        if any(
            taint.get("key") == NOT_READY and taint.get("effect") == NO_EXECUTE
            for taint in self._node.spec.taints
        ):
            return False
        zones = self._policy.status.zones if self._policy is not None else ()
        return any(each.name == zone_of(self._node) and each.state != brake.NORMAL for each in zones)

    def _known(self, key: str, effect: str) -> Json:
        """The taint as it stands, with its date; else a new one."""
        for taint in self._node.spec.taints:
            if (taint.get("key"), taint.get("effect")) == (key, effect):
                return taint
        return {"key": key, "effect": effect}

    def _with_date(self, taint: Json) -> Json:
        if taint.get("effect") != NO_EXECUTE or taint.get("timeAdded"):
            return taint
        return {**taint, "timeAdded": timestamp(self._now)}

    def _retainted(self, taints: list[Json], noted: str | None, *, noted_too: bool = False) -> Change | None:
        node = self._node
        current: Json = {"spec": {"taints": list(node.spec.taints) or None}}
        wanted: Json = {"spec": {"taints": taints or None}}
        if noted_too:
            current["metadata"] = {"annotations": {SILENT_SINCE: node.metadata.annotations.get(SILENT_SINCE)}}
            wanted["metadata"] = {"annotations": {SILENT_SINCE: noted}}
        premises = (premise_of(LEASES, self._lease.metadata),) if noted and self._lease is not None else ()
        return ensure_fields(
            NAME,
            node.metadata,
            NODES,
            node,
            intent="taints",
            current=current,
            wanted=wanted,
            premises=premises,
        )

    def _tell_taints(self) -> None:
        name = self._node.metadata.name
        cited = self._cited()
        if self._state == SUSPECTED:
            self._told = (WARNING, "NodeSuspect", f"{name} is silent: nothing new is placed there ({cited})")
        elif self._state == UNKNOWN:
            told = f"{name} is unreachable: the grace of its pods begins ({cited})"
            self._told = (WARNING, "NodeNotReady", told)
        elif SILENT_SINCE in self._node.metadata.annotations:
            self._told = (NORMAL, "NodeHeardAgain", f"{name} is heard again: its marks of silence are gone")
        elif self._is_not_ready() and not self._is_starting():
            self._told = (WARNING, "NodeNotReady", f"{name} says that it is not ready ({cited})")
        elif short := pressures_of(self._node):
            said = "; ".join(f"{each.type}: {each.message}" for each in short)
            self._told = (WARNING, "NodeUnderPressure", f"nothing new is placed on {name}: {said} ({cited})")

    def _cited(self) -> str:
        signal, act = rows.MISSED_HEARTBEATS, rows.MARK_UNKNOWN
        if self._state == SUSPECTED:
            act = rows.STOP_PLACEMENT
        elif self._state == HEARD:
            signal, act = rows.NODE_SAYS_NOT_READY, rows.STOP_PLACEMENT
        allowed = self._evidence.allows(signal, act)
        return allowed.cited if allowed is not None else ""

    # Ready

    def _status(self) -> Effect | None:
        node, lease, known = self._node, self._lease, ready_of(self._node)
        assert lease is not None
        premises: Premises = ()
        if self._state == UNKNOWN and (known is None or known.status != "Unknown"):
            reason = next(why for why, was in _WAS.items() if was == ("True" if node.ready else "False"))
            told = f"no heartbeat since {renewal_of(lease)} ({self._cited()})"
            status, premises = "Unknown", (premise_of(LEASES, lease.metadata),)
        elif (
            self._state == HEARD and known is not None and known.status == "Unknown" and known.reason in _WAS
        ):
            status = _WAS[known.reason]
            reason, told = "HeartbeatsResumed", "it is heard again and has not said anything else since"
        else:
            return None
        heartbeat = known.last_heartbeat_time if known is not None else ""
        condition = Condition(
            "Ready", status, reason, told, timestamp(self._now), last_heartbeat_time=heartbeat
        )
        others = tuple(each for each in node.status.conditions if each.type != "Ready")
        wanted = structs.replace(node.status, conditions=(*others, condition))
        effect = ensure_status(NAME, NODES, node, wanted)
        return None if effect is None else structs.replace(effect, premises=premises)
