"""Fenced writes: a request may name objects at the revisions that must still be theirs when the write commits.

A leader sends the fence it wrote when it took over (`control/leadership.py`) with each of its writes; once another has
taken over, the fence has moved, and what the former leader still sends is refused in the store itself. An effect may
add its premises (`decision/effects.py`): what was decided for an owner commits only while the owner is as it was, and
what rests on something that ends (`ledger/override.py`) only before its end, by the clock of this server.
"""

from __future__ import annotations

from fairlead.api.plan import Again, Plan, Step
from fairlead.core.errors import FENCED, BadRequest, Cause, Conflict, current_version
from fairlead.model.key import Key
from fairlead.model.premise import FENCES_MAX, Premise, Premises
from fairlead.port.request import Reply
from fairlead.store.contract import (
    Absent,
    AtRevision,
    CommitOutcome,
    Entry,
    HasUid,
    PreconditionFailed,
    Transaction,
)

Fence = AtRevision | Absent | HasUid


def add_premises(step: Step, premises: Premises, now: float) -> Step:
    """The same step; what it writes commits only while the premises hold. It is planned and handed to the store at one
    instant, `now`: what has ended by then is refused here."""
    if len(premises) > FENCES_MAX:
        raise BadRequest(f"query parameter fence: at most {FENCES_MAX} objects can be named")
    for premise in premises:
        if premise.until and now >= premise.until:
            raise _moved(premise.key, f"{premise.key.resource} {premise.key.name} has ended")
    return _guarded(step, tuple(map(_fence, premises))) if isinstance(step, Plan) else step


def _fence(premise: Premise) -> Fence:
    if premise.uid:
        return HasUid(premise.key, premise.uid)
    return AtRevision(premise.key, premise.revision) if premise.revision else Absent(premise.key)


def _moved(key: Key, told: str, *newest: Cause) -> Conflict:
    return Conflict(
        f"the write was bound to a state that is gone: {told}",
        causes=(Cause(FENCED, told, "/".join(key)), *newest),
        name=key.name,
    )


def _guarded(plan: Plan, fences: tuple[Fence, ...]) -> Plan:
    transaction = plan.transaction
    guarded = Transaction(
        transaction.operations, (*fences, *transaction.preconditions), transaction.notes, transaction.claim
    )

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        if isinstance(outcome, PreconditionFailed) and outcome.precondition in fences:
            raise moved_error(outcome.precondition, outcome.current)
        result = plan.finish(outcome)
        return _guarded(result, fences) if isinstance(result, Plan) else result

    return Plan(guarded, finish)


def moved_error(moved: Fence, current: Entry | None) -> Conflict:
    """What a write was bound to is not so any more; `current`: what is there now."""
    told = f"{moved.key.resource} {moved.key.name} is not absent any more"
    if isinstance(moved, AtRevision):
        told = f"{moved.key.resource} {moved.key.name} is not at revision {moved.revision} any more"
    elif isinstance(moved, HasUid):
        told = f"{moved.key.resource} {moved.key.name} is not there any more"
    newest = () if current is None else (current_version(current.revision),)
    return _moved(moved.key, told, *newest)
