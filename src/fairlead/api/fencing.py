"""Fenced writes: a request may name objects at the revisions that must still be theirs when the write commits.

A leader sends the fence it wrote when it took over (`control/leadership.py`) with each of its writes; once another has
taken over, the fence has moved, and what the former leader still sends is refused in the store itself. An effect may
add its premise (`decision/effects.py`): what was decided for an owner commits only while the owner is as it was.
"""

from __future__ import annotations

from functools import lru_cache

from fairlead.api.plan import Again, Plan
from fairlead.core.errors import BadRequest, Cause, Conflict
from fairlead.core.problems import shown
from fairlead.port.request import FENCE, Reply, Request
from fairlead.store.contract import Absent, AtRevision, Key, Outcome, Refused, Transaction

FENCES_MAX = 64
_FENCES_KEPT = 256  # a leader sends the same with each of its writes

Fence = AtRevision | Absent


def fences_of(request: Request) -> tuple[Fence, ...]:
    text = request.query.get(FENCE)
    return _fences(text) if text else ()


@lru_cache(maxsize=_FENCES_KEPT)
def _fences(text: str) -> tuple[Fence, ...]:
    parts = text.split(",")
    if len(parts) > FENCES_MAX:
        raise BadRequest(f"query parameter {FENCE}: at most {FENCES_MAX} objects can be named")
    return tuple(map(_fence, parts))


@lru_cache(maxsize=_FENCES_KEPT)
def _fence(text: str) -> Fence:
    """Revision 0 says that there is no such object."""
    address, _, revision = text.rpartition("@")
    parts = address.split("/")
    if len(parts) != 3 or not (revision.isascii() and revision.isdigit()):
        raise BadRequest(
            f"query parameter {FENCE}: {shown(text)} is not of the form RESOURCE/NAMESPACE/NAME@REVISION"
        )
    key = Key(*parts)
    return AtRevision(key, int(revision)) if int(revision) else Absent(key)


def fenced(plan: Plan, fences: tuple[Fence, ...]) -> Plan:
    """The same plan under further preconditions."""
    transaction = plan.transaction
    guarded = Transaction(
        transaction.operations, (*fences, *transaction.preconditions), transaction.notes, transaction.claim
    )

    def finish(outcome: Outcome) -> Reply | Plan | Again:
        if isinstance(outcome, Refused) and outcome.precondition in fences:
            moved = outcome.precondition
            told = f"{moved.key.resource} {moved.key.name} is not absent any more"
            if isinstance(moved, AtRevision):
                told = f"{moved.key.resource} {moved.key.name} is not at revision {moved.revision} any more"
            raise Conflict(
                f"the write was bound to a state that is gone: {told}",
                causes=(Cause("Fenced", told),),
                name=moved.key.name,
            )
        result = plan.finish(outcome)
        return fenced(result, fences) if isinstance(result, Plan) else result

    return Plan(guarded, finish)
