"""The condition `fairlead.dev/WaitingFor` of a workload whose pods are refused for something another object may change.

Used by the Deciders that make children, in `refused` and where they report; pure. Its reason names the kind of that
object (`model/waiting.py`), its message is the API's.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.times import timestamp
from fairlead.decision.contract import Refusal
from fairlead.model.reasons import DESIRED, WAITING_FOR, owner_of, owner_told
from fairlead.model.views import Condition
from fairlead.model.waiting import waiting_reason


def strip_name(refusal: Refusal, owner: str) -> str:
    """The message without the child's name: the next attempt may have another, and what is told is the same."""
    return refusal.message.replace(refusal.effect.name, f"{owner}-")


def add_waiting(
    conditions: Iterable[Condition], refusal: Refusal, owner: str, now: float
) -> tuple[Condition, ...]:
    """The conditions with what this refusal waits for; without it if it waits for nothing."""
    known = next((each for each in conditions if each.type == WAITING_FOR), None)
    others = drop_waiting(conditions)
    if not refusal.lifted_by:
        return others
    reason, message = waiting_reason(refusal.lifted_by), strip_name(refusal, owner)
    since = known.last_transition_time if known is not None else timestamp(now)
    return (*others, Condition(WAITING_FOR, "True", reason, message, since, owner=owner_of(DESIRED, reason)))


def refused_owner(refusal: Refusal, reason: str) -> str:
    """Who has the next step, for a condition that tells of a refusal in Kubernetes' words."""
    return owner_of(DESIRED, waiting_reason(refusal.lifted_by)) if refusal.lifted_by else owner_told(reason)


def drop_waiting(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions of a workload that waits for nobody."""
    return tuple(each for each in conditions if each.type != WAITING_FOR)
