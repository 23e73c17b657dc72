"""What a request may do that only a grant allows: it ends with the grant, and commits only while that is as it was.

Asked by `api/server.py` with what the verb planned. A stream is given the grant's name as well, so that the runtime can
end it when the grant is revoked before its time.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.breakglass.in_force import HeldGrant
from fairlead.api.plan import AGAIN, Again, NodeStream, Plan, Step, Watch
from fairlead.port.request import Reply
from fairlead.store.contract import AtRevision, CommitOutcome, PreconditionFailed, Transaction


def under_grant(step: Step, held: HeldGrant, now: float) -> Step:
    if isinstance(step, Plan):
        return _guarded(step, AtRevision(held.key, held.revision))
    if isinstance(step, Watch):
        return replace(step, grant=held.name, timeout_seconds=min(step.timeout_seconds, held.ends - now))
    if isinstance(step, NodeStream):
        return replace(step, grant=held.name)
    return step


def _guarded(plan: Plan, unchanged: AtRevision) -> Plan:
    """A grant that was revoked meanwhile allows nothing: the request is planned, and judged, anew."""
    transaction = plan.transaction
    guarded = Transaction(
        transaction.operations, (unchanged, *transaction.preconditions), transaction.notes, transaction.claim
    )

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        if isinstance(outcome, PreconditionFailed) and outcome.precondition == unchanged:
            return AGAIN
        result = plan.finish(outcome)
        return _guarded(result, unchanged) if isinstance(result, Plan) else result

    return Plan(guarded, finish)
