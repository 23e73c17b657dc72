"""What the status of an override says while no plane leads that runs its controllers, or that one has not heard of it:
who has not taken note of it.

No controller writes its status then, so the server does (`runtime/server/unled.py`). That nobody leads is judged by how
long the leader's Lease has not changed, by the clock of the server alone. Who comes to lead writes the status anew.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.ledger import override as ledger
from fairlead.model.kinds.scheduleroverride import APPROVED, OBSERVED
from fairlead.model.views import OVERRIDES, Condition, SchedulerOverride
from fairlead.model.views.rules import SchedulerOverrideStatus
from fairlead.reconcile.overrides.telling import AWAITING, affected_by

NO_LEADER, NOT_HEARD, ENDED = "NoLeader", "NotHeard", "Ended"
# What a plane that leads would have replaced as soon as it heard of an override that holds.
_UNHEARD = frozenset({NO_LEADER, NOT_HEARD, AWAITING})
_NAME = "unled"
#: bound: plane | nobody leads if the leader's Lease has not changed for this many times its length | overrides say so
UNLED_LEASES = 2.0


#: bound: plane | an override that the leading plane has not heard of for so long says so, as if its watch is held | -
UNHEARD_SECONDS = 3.0


class LeaderWatch:
    """When the leader's Lease last changed, as this server saw it."""

    def __init__(self) -> None:
        self._revision, self._since = -1, 0.0

    def silent_seconds(self, revision: int, now: float) -> float:
        """`revision`: of the Lease, 0 while there is none."""
        if revision != self._revision:
            self._revision, self._since = revision, now
        return now - self._since


def unled(
    overrides: Iterable[SchedulerOverride], silent_seconds: float, lease_seconds: float, now: float
) -> Iterator[ChangeStatus]:
    """What to write of those that hold: of all where nobody leads, else of those that no leader has looked at. While
    the Lease moves somebody leads, for however long that plane has not heard of one, as where its watch is held. Where
    nobody leads, one that has ended is told as ended."""
    patience = UNLED_LEASES * lease_seconds
    for override in overrides:
        status = override.status
        if now >= ledger.end_of(override):
            if silent_seconds >= patience and status.active:
                yield from _end(override, now)
            continue
        if not ledger.is_active(override, now):
            continue
        age = now - parse_time(_held_since(override))
        is_known = any(each.type == OBSERVED and each.reason not in _UNHEARD for each in status.conditions)
        if silent_seconds < patience and (is_known or age < UNHEARD_SECONDS):
            continue
        told, reason = "no plane leads", NO_LEADER
        if silent_seconds < patience:
            told, reason = "the leading plane has not heard of it, or does not run it", NOT_HEARD
        whole = f"{told}: not observed by {', '.join(affected_by(override))}"
        conditions = tuple(_conditions(override, told, whole, reason, now))
        yield from _write(override, structs.replace(status, conditions=conditions))


def _held_since(override: SchedulerOverride) -> str:
    """When it was made, or approved."""
    approved = (each for each in override.status.conditions if each.type == APPROVED)
    at = next((each.last_transition_time for each in approved), "")
    return at or override.metadata.creation_timestamp


def _end(override: SchedulerOverride, now: float) -> Iterator[ChangeStatus]:
    """What it left is looked for by the plane that leads next."""
    whole = f"it ended at {override.spec.expires_at}; no plane leads that would look for what it left"
    conditions = tuple(_conditions(override, "it has ended", whole, ENDED, now))
    yield from _write(
        override, structs.replace(override.status, active=False, raised=(), conditions=conditions)
    )


def _write(override: SchedulerOverride, wanted: SchedulerOverrideStatus) -> Iterator[ChangeStatus]:
    effect = ensure_status(_NAME, OVERRIDES, override, wanted, ("active",))
    if effect is not None:
        yield effect


def _conditions(
    override: SchedulerOverride, each_told: str, whole: str, reason: str, now: float
) -> Iterator[Condition]:
    told = {f"{ledger.OBSERVED_BY}{name}": each_told for name in affected_by(override)}
    told[OBSERVED] = whole
    yield from (each for each in override.status.conditions if each.type not in told)
    for type_, message in told.items():
        known = next((each for each in override.status.conditions if each.type == type_), None)
        if known is not None and (known.status, known.reason) == ("False", reason):
            yield known
            continue
        generation = override.metadata.generation
        yield Condition(type_, "False", reason, message, timestamp(now), observed_generation=generation)
