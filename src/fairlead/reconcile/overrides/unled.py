"""What the status of an override says while no plane leads that runs its controllers: who has not taken note of it.

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
from fairlead.model.kinds.scheduleroverride import OBSERVED
from fairlead.model.views import OVERRIDES, Condition, SchedulerOverride
from fairlead.reconcile.overrides.telling import affected_by

NO_LEADER = "NoLeader"
_NAME = "unled"
#: bound: plane | nobody leads if the leader's Lease has not changed for this many times its length | overrides say so
UNLED_LEASES = 2.0


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
    """What to write of those that hold: of all where nobody leads, else of those that no leader has looked at."""
    patience = UNLED_LEASES * lease_seconds
    for override in ledger.active(overrides, now):
        status = override.status
        is_known = any(each.type == OBSERVED for each in status.conditions)
        is_new = now - parse_time(override.metadata.creation_timestamp) < patience
        if silent_seconds < patience and (is_known or is_new):
            continue
        told = "no plane leads" if silent_seconds >= patience else "no plane leads that runs it"
        wanted = structs.replace(status, conditions=tuple(_conditions(override, told, now)))
        effect = ensure_status(_NAME, OVERRIDES, override, wanted, ("active",))
        if effect is not None:
            yield effect


def _conditions(override: SchedulerOverride, why: str, now: float) -> Iterator[Condition]:
    affected = affected_by(override)
    told = {f"{ledger.OBSERVED_BY}{name}": why for name in affected}
    told[OBSERVED] = f"{why}: not observed by {', '.join(affected)}"
    yield from (each for each in override.status.conditions if each.type not in told)
    for type_, message in told.items():
        known = next((each for each in override.status.conditions if each.type == type_), None)
        if known is not None and (known.status, known.reason) == ("False", NO_LEADER):
            yield known
            continue
        generation = override.metadata.generation
        yield Condition(type_, "False", NO_LEADER, message, timestamp(now), observed_generation=generation)
