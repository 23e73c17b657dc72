"""Fenced writes: a request may name an object at a revision that must still be so when the write commits.

A leader sends the fence it wrote when it took over (`control/leadership.py`) with each of its writes; once another has
taken over, the fence has moved, and what the former leader still sends is refused in the store itself.
"""

from __future__ import annotations

from fairlead.api.plan import Again, Plan
from fairlead.core.errors import BadRequest, Cause, Conflict
from fairlead.core.problems import shown
from fairlead.port.request import Reply, Request
from fairlead.store.contract import AtRevision, Key, Outcome, Refused, Transaction

OPTION = "fence"  # RESOURCE/NAMESPACE/NAME@REVISION


def fence_of(request: Request) -> AtRevision | None:
    text = request.query.get(OPTION)
    if not text:
        return None
    address, _, revision = text.rpartition("@")
    parts = address.split("/")
    if len(parts) != 3 or not revision.isdigit():
        raise BadRequest(
            f"query parameter {OPTION}: {shown(text)} is not of the form RESOURCE/NAMESPACE/NAME@REVISION"
        )
    return AtRevision(Key(*parts), int(revision))


def fenced(plan: Plan, fence: AtRevision) -> Plan:
    """The same plan under one more precondition."""
    transaction = plan.transaction
    guarded = Transaction(transaction.operations, (fence, *transaction.preconditions), transaction.notes)

    def finish(outcome: Outcome) -> Reply | Plan | Again:
        if isinstance(outcome, Refused) and outcome.precondition == fence:
            raise Conflict(
                f"the fence {fence.key.name} has moved on from revision {fence.revision}: another plane leads",
                causes=(Cause("Fenced", "another plane leads"),),
                name=fence.key.name,
            )
        result = plan.finish(outcome)
        return fenced(result, fence) if isinstance(result, Plan) else result

    return Plan(guarded, finish)
