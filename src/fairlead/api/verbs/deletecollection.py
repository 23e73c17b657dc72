"""DELETE of a collection: in name order, a few dozen objects to a transaction.

Not atomic as a whole, as in Kubernetes: what was deleted before a failure stays deleted, and asking again goes
on. A batch that a concurrent write spoils is planned again on fresh state.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api import deletion
from fairlead.api.deletion import DeleteOptions
from fairlead.api.desk import Desk
from fairlead.api.listing import render_list, select_entries
from fairlead.api.plan import Again, Context, Plan
from fairlead.api.verbs.delete import admit_deletion
from fairlead.api.writing import commit_error, transaction_for
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import OPERATIONS_MAX, CommitFailed, CommitOutcome, Committed, Entry, Transaction


def deletecollection(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    wanted = deletion.read_options(request, desk)
    entries = select_entries(request, kind, desk.read.list(kind.resource, request.namespace))
    return _from(0, desk, request, kind, context, wanted, entries)


def _from(
    start: int,
    desk: Desk,
    request: Request,
    kind: Kind,
    context: Context,
    wanted: DeleteOptions,
    matched: Sequence[Entry],
) -> Reply | Plan:
    """Plan the next batch; `start` is the first of `matched` not yet dealt with."""
    end, transaction = _batch(start, desk, kind, context, wanted, matched)
    if not transaction.operations:
        return render_list(request, kind, list(matched), desk.read.revision, context.now, "", None)

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        if isinstance(outcome, CommitFailed):
            raise commit_error(outcome)
        done = isinstance(outcome, Committed)
        return _from(end if done else start, desk, request, kind, context, wanted, matched)

    return Plan(transaction, finish)


def _batch(
    start: int, desk: Desk, kind: Kind, context: Context, wanted: DeleteOptions, matched: Sequence[Entry]
) -> tuple[int, Transaction]:
    """As many deletions as one transaction takes, and where the next batch begins."""
    whole, position = Transaction(), start
    while position < len(matched):
        entry = desk.read.get(matched[position].key)
        # Only what was listed is deleted: a namesake that came later was not asked for.
        if entry is not None and entry.uid == matched[position].uid and entry.key not in desk.read.damaged:
            attempt = admit_deletion(desk, kind, context, entry, wanted)
            if not attempt.dry_run and attempt.new != attempt.old:
                one = transaction_for(desk, attempt)
                if len(whole.operations) + len(one.operations) > OPERATIONS_MAX:
                    break
                whole = Transaction(
                    whole.operations + one.operations,
                    whole.preconditions + one.preconditions,
                    whole.notes + one.notes,
                    one.claim,
                )
        position += 1
    return position, whole
